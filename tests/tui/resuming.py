"""Programs and runs for the screens of a resume: an agent of which two calls wait, one slow, one that is gated."""

import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from inspector.resume.apps import load
from inspector.tui.app import Inspector
from inspector.tui.means import Means
from inspector.tui.resumescreen import ResumePage
from tests.tui import fakes
from tests.tui.screens import NARROW, run_screen, settle, until

TWO = '''
import asyncio, os, subprocess, sys
from inspector import Agent, Call, ScriptedModel, tool

@tool(needs_approval=True)
def pay(order: str, amount: int) -> str:
    """Pay."""
    print("paying", order)
    subprocess.run(["sh", "-c", "echo a child prints"], check=True)
    return f"paid {amount} for {order}"

@tool
async def ship(order: str) -> str:
    """Ship."""
    while not os.path.exists(GATE):
        await asyncio.sleep(0.01)
    return f"shipped {order}"

GATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gate")
print("imported")
agent = Agent(
    "shop",
    model=ScriptedModel(
        [Call("pay", {"order": "A-1", "amount": 5}), Call("pay", {"order": "B-2", "amount": 7})],
        [Call("ship", {"order": "A-1"})],
        "All done.",
    ),
    tools=[pay, ship],
)
'''


def two(folder: Path, name: str = "two_calls_app") -> tuple[str, str]:
    """(the run of an agent of which two calls wait, its code as a target). `folder/gate` opens its second tool."""
    file = folder / f"{name}.py"
    file.write_text(TWO)
    path = str(folder / "shop.jsonl")
    with ThreadPoolExecutor(1) as pool:  # a test has an event loop of its own
        result = pool.submit(lambda: load(f"{file}:agent").value.prompt("Go.").run_sync(trace=path)).result()
    assert result.status == "suspended"
    return path, f"{file}:agent"


ASKS = '''
from inspector import Agent, Call, ScriptedModel, ToolContext, tool

@tool
def ask(question: str, context: ToolContext) -> str:
    """Ask somebody."""
    context.ask(question)

agent = Agent("asks", model=ScriptedModel([Call("ask", {"question": "which one?"})], "Thanks."), tools=[ask])
'''


def asking(folder: Path) -> tuple[str, str]:
    """(the run of an agent that asks a question, its code as a target)."""
    file = folder / "asking_app.py"
    file.write_text(ASKS)
    path = str(folder / "asks.jsonl")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: load(f"{file}:agent").value.prompt("Go.").run_sync(trace=path)).result()
    return path, f"{file}:agent"


BLOCKED = """
import os, time
from inspector import Network, actor

FOLDER = os.path.dirname(os.path.abspath(__file__))

@actor
def block(number: int) -> int:
    if not os.path.exists(os.path.join(FOLDER, "open")):
        raise ValueError("the gate is shut")
    while not os.path.exists(os.path.join(FOLDER, "gate")):
        time.sleep(0.01)
    return number

net = Network("blocked")
node = net.add(block)
net.connect(net.input("number"), node.number)
net.connect(node.out, net.output("number"))
"""


def blocked(folder: Path) -> tuple[str, str]:
    """(the run of a network that failed, its code as a target). With `folder/open` its body blocks, until there is
    `folder/gate`."""
    file = folder / "blocked_app.py"
    file.write_text(BLOCKED)
    path = str(folder / "blocked.jsonl")
    with ThreadPoolExecutor(1) as pool:
        net = load(f"{file}:net").value
        assert pool.submit(lambda: net.run_sync({"number": [1]}, trace=path)).result().status == "failed"
    return path, f"{file}:net"


def gate(folder: Path) -> None:
    """Let the second tool end."""
    (folder / "gate").touch()


@asynccontextmanager
async def opened(
    path: str, app: str | None, size: tuple[int, int] = NARROW, **means: object
) -> AsyncIterator[tuple[Inspector, Pilot[object]]]:
    """The app over a path, at rest."""
    inspector = Inspector(path, now=lambda: fakes.NOW, means=Means(app=app, **means))  # type: ignore[arg-type]
    async with inspector.run_test(size=size) as pilot:
        await settle(pilot)
        yield inspector, pilot


def plan_page(app: Inspector) -> ResumePage:
    assert isinstance(app.screen, ResumePage), app.screen
    return app.screen


async def planned(app: Inspector, pilot: Pilot[object]) -> ResumePage:
    """The screen of a resume, with a plan that is made with what is decided by now."""
    await until(pilot, lambda: isinstance(app.screen, ResumePage))
    page = plan_page(app)
    await until(pilot, lambda: page.deciding.planned and page.deciding.planned.decisions == page.deciding.decisions)
    await pilot.pause()
    return page


async def ended(app: Inspector, pilot: Pilot[object], status: str) -> None:
    """The run that was begun is shown, has ended like that, and everything of it is there."""
    await until(pilot, lambda: app.desk and app.desk.parent and app.desk.run and app.desk.run.shows)
    live = run_screen(app).shows
    assert live is not None
    await until(pilot, lambda: not live.driven)
    assert live.ended is not None, live.error
    assert live.ended.status == status, live.line_text()
    await until(pilot, lambda: run_screen(app).session.facts and run_screen(app).session.facts.run.status == status)
    await settle(pilot)


def lines_of(path: str) -> list[str]:
    """The lines of a trace."""
    return [line for line in Path(path).read_text().split(os.linesep) if line]
