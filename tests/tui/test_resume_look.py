"""What every state of a resume looks like. A picture that changed on purpose: look at it before it is kept."""

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from inspector.errors import UsageError
from inspector.formats.memory import OneRun
from inspector.model.joined import Joined
from inspector.model.run import Pending, RunLink
from inspector.resume import jobs as resuming
from inspector.resume.jobs import Driver, Edit, Ended, Need, Plan, Planned, Refusal, warn
from inspector.resume.judge import judged
from inspector.resume.steering import Steering
from inspector.tui.app import Inspector
from inspector.tui.capture import Output
from inspector.tui.driving import Finished, Happened, Resumption, Said
from inspector.tui.live import Live
from inspector.tui.means import Means
from inspector.tui.outputpage import OutputPage
from inspector.tui.runscreen import RunScreen
from tests.tui import fakes
from tests.tui.resuming import planned
from tests.tui.screens import NARROW, app_for, press, run_screen, settle

LARGE = (200, 50)
SIZES = pytest.mark.parametrize("size", [NARROW, LARGE], ids=lambda size: f"{size[0]}x{size[1]}")
RUN = "examples/refund-suspended.jsonl"
AGENT = "examples/refund_agent.py:agent"
Compare = Callable[..., bool]

REFUSED = Plan(
    resumable=False,
    driver="fake",
    step=4,
    refusals=(
        Refusal(
            code="tool_missing",
            subject="email",
            detail="the call c4 needs it, and there is no tool of that name any more",
            remedy="accept",
        ),
        Refusal(
            code="arguments_invalid",
            subject="refund",
            detail="the arguments of the call c3 do not validate any more: amount: 80 is no text",
        ),
    ),
    needs=(Need(call_id="c3", name="refund", question="approve"),),
    warnings=(warn("tool_changed", "refund", "schema, description changed since the call c3 was made"),),
    replays=(Planned(name="model", kind="model", step=1), Planned(name="lookup_order", kind="tools", step=2)),
)
AMBIGUOUS = Plan(
    resumable=True,
    driver="fake",
    step=4,
    needs=(
        Need(
            call_id="c3",
            name="refund",
            question="reconcile",
            detail="it was started and no result is recorded: it may have happened",
        ),
        Need(call_id="q1", name="ask", question="answer", detail="Which address?"),
    ),
    runs=(Planned(name="send_email", kind="tools", call_id="c5"),),
    runs_again=(Planned(name="check_policy", kind="tools", call_id="c2", note="the tool says that this is harmless"),),
    warnings=(
        warn("already_resumed", "refund-suspended", "was resumed before, as 20260301T093000-aa at 2026-03-01"),
        warn("side_effects", "refund", "step 9 ran after the chosen step; what it did is not undone"),
    ),
    replays=(Planned(name="model", kind="model", step=1),),
)
NOT_ON_OFFER = Plan(
    resumable=True,
    driver="fake",
    step=4,
    runs=(
        Planned(
            name="lock",
            kind="tools",
            call_id="c3",
            note="it was not on offer; hooks are asked what becomes of it, and without a word of theirs the run fails",
            ways=("repair:look", "repair:lock_order", "retry", "skip", "fail", "stop"),
        ),
    ),
    replays=(Planned(name="model", kind="model", step=1),),
)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))


remembered = functools.cache(judged)
"""What a process says of the example's code: the same for every picture."""


@pytest.fixture(autouse=True)
def judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.tui.code.judged", remembered)


def plan(monkeypatch: pytest.MonkeyPatch, made: Plan | Callable[[Any], Plan]) -> None:
    fake = Driver(
        name="fake",
        drives=lambda source, run: True,
        plan=lambda job: made if isinstance(made, Plan) else made(job),
        resume=lambda job, plan, emit: Ended(run="r", status="completed"),
    )
    monkeypatch.setattr(resuming, "all_drivers", lambda: [fake])


EDITED = Plan(
    resumable=True,
    driver="fake",
    step=2,
    edits=(Edit(path="messages[0].text", before="before", after="Refund order B-02"),),
    runs=(Planned(name="model", kind="model"),),
    replays=(Planned(name="model", kind="model", step=1),),
)


@pytest.fixture
def looks(snap_compare: Compare) -> Callable[..., bool]:
    """Whether the plan, after these keys, looks as it did."""

    def compare(*keys: str, size: tuple[int, int] = NARROW, step: int | None = None) -> bool:
        app = Inspector(RUN, now=lambda: fakes.NOW, means=Means(app=AGENT))

        async def before(pilot: Pilot[object]) -> None:
            await settle(pilot)
            await press(pilot, "r")
            await planned(app, pilot)
            for key in keys:
                await press(pilot, key)
                if hasattr(app.screen, "deciding"):
                    await planned(app, pilot)
            await settle(pilot)

        return snap_compare(app, terminal_size=size, run_before=before)

    return compare


@SIZES
def test_a_decision_is_owed(looks: Compare, size: tuple[int, int]) -> None:
    assert looks(size=size)


@SIZES
def test_ready_to_run(looks: Compare, size: tuple[int, int]) -> None:
    assert looks("down", "a", size=size)


async def asked(pilot: Pilot[object]) -> None:
    await settle(pilot)
    await press(pilot, "r")
    await settle(pilot)


@SIZES
def test_the_code_is_asked_for(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(Inspector(RUN, now=lambda: fakes.NOW), terminal_size=size, run_before=asked)


@SIZES
def test_the_plan_is_being_made(snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Resumption, "plan", lambda *_: None)
    app = Inspector(RUN, now=lambda: fakes.NOW, means=Means(app=AGENT))
    assert snap_compare(app, terminal_size=size, run_before=asked)


@SIZES
def test_no_plan_can_be_made(looks: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(job: Any) -> Plan:
        raise UsageError(AGENT, "it is no agent that can be gone on with")

    plan(monkeypatch, fails)
    assert looks(size=size)


@SIZES
def test_the_run_is_starting(looks: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan(monkeypatch, EDITED)
    monkeypatch.setattr(RunScreen, "start", lambda *_: None)
    assert looks("r", size=size)


@SIZES
def test_a_message_was_edited(snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan(monkeypatch, EDITED)
    app = Inspector(RUN, now=lambda: fakes.NOW, means=Means(app=AGENT))

    async def before(pilot: Pilot[object]) -> None:
        await settle(pilot)
        screen = run_screen(app)
        deciding = screen.decided_at(4)
        deciding.change("messages[0].text", "Refund order A-17, the kettle was damaged on arrival", "Refund order B-02")
        deciding.because("messages[0].text", "it was the teapot")
        deciding.change("values.calls", 2, 0)
        screen.keep(4, deciding)
        await press(pilot, "r")
        await planned(app, pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)


@SIZES
def test_denied_with_a_reason(looks: Compare, size: tuple[int, int]) -> None:
    assert looks("down", "x", *"not that one", "enter", size=size)


@SIZES
def test_a_reason_is_being_typed(looks: Compare, size: tuple[int, int]) -> None:
    assert looks("down", "x", *"not that", size=size)


@SIZES
def test_arguments_are_being_edited(looks: Compare, size: tuple[int, int]) -> None:
    assert looks("down", "e", "backspace", "enter", size=size)


@SIZES
def test_all_that_can_be_decided_about_a_call(looks: Compare, size: tuple[int, int]) -> None:
    assert looks("down", "enter", size=size)


@SIZES
def test_help(looks: Compare, size: tuple[int, int]) -> None:
    assert looks("question_mark", size=size)


@SIZES
def test_refused(looks: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan(monkeypatch, REFUSED)
    assert looks(size=size)


@pytest.mark.parametrize(
    ("size", "taken_over"),
    [(NARROW, False), (LARGE, False), (NARROW, True)],
    ids=["80x24", "200x50", "80x24-taken over"],
)
def test_driven_by_somebody_else(
    snap_compare: Compare, size: tuple[int, int], taken_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = "process 4711 on till since 2026-03-01T09:26:55Z"
    refusal = Refusal(code="owned", subject="refund-suspended", detail=f"is driven by {who}", remedy="take_over")
    plan(
        monkeypatch,
        Plan(
            resumable=taken_over,
            driver="fake",
            step=4,
            refusals=() if taken_over else (refusal,),
            runs_again=(Planned(name="refund", kind="tools", call_id="c3"),) if taken_over else (),
            replays=(Planned(name="model", kind="model", step=1),),
        ),
    )
    app = Inspector(RUN, now=lambda: fakes.NOW, means=Means(app=AGENT))
    call = Pending(kind="tool", name="refund", call_id="c3", status="in_flight", since="2026-03-01T09:29:58Z")

    async def before(pilot: Pilot[object]) -> None:
        await settle(pilot)
        await press(pilot, "r")
        page = await planned(app, pilot)
        assert page.deciding.planned is not None
        if taken_over:
            page.deciding.decisions = msgspec.structs.replace(page.deciding.decisions, take_over="it hangs")
        made = page.deciding.planned._replace(decisions=page.deciding.decisions)
        page.planned(made._replace(owner=f"{who} (3m05s)", pending=(call,)))
        await settle(pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)


@SIZES
def test_a_limit_that_was_reached(looks: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    detail = "failed: max_turns: the limit of 4 model turns is reached: raise it to go on"
    refusal = Refusal(code="terminal", subject="run", detail=detail, remedy="max_turns")
    done = (Planned(name="model", kind="model", step=1),)
    plan(monkeypatch, Plan(resumable=False, driver="fake", step=4, refusals=(refusal,), replays=done))
    assert looks(size=size)


@SIZES
def test_ambiguous_and_to_be_accepted(looks: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan(monkeypatch, AMBIGUOUS)
    assert looks(size=size)


@SIZES
def test_what_may_have_happened(looks: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan(monkeypatch, AMBIGUOUS)
    assert looks("down", "enter", size=size)


@pytest.mark.parametrize(
    ("size", "keys"), [(NARROW, ()), (LARGE, ()), (NARROW, ("enter",))], ids=["80x24", "200x50", "80x24-choice"]
)
def test_a_call_that_was_not_on_offer(
    looks: Compare, size: tuple[int, int], keys: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(monkeypatch, NOT_ON_OFFER)
    assert looks(*keys, size=size)


@SIZES
def test_the_run_is_finished(looks: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan(monkeypatch, Plan(resumable=True, driver="fake", step=4))
    assert looks(size=size)


def live(state: str) -> Live:
    """A run that is driven, in a state."""
    resumption: Any = SimpleNamespace(steering=Steering(lambda event: None), path="x", begins=0, output=Output())
    found = Live(resumption)
    found.take(Happened({"event": "run", "run": "r2", "trace": "r2.jsonl"}))
    found.take(Happened({"event": "step"}))
    found.take(Happened({"event": "operation", "name": "send_email", "status": "started"}))
    match state:
        case "streams":
            found.take(Said("I will tell the customer that their"))
        case "held":
            found.take(Happened({"event": "held", "before": "tool refund", "why": "breakpoint tool:refund"}))
        case "pausing":
            found.resumption.steering.pause()
        case "stopping":
            found.stop()
        case "leaving":
            found.detaching = True
            found.stop()
        case "completed":
            found.take(Finished(Ended(run="r2", status="completed", output="On its way.", replayed=4, ran=3)))
        case "tokens are left":
            found.take(Happened({"event": "leftover", "queue": "cars.car->two.in", "count": 1, "kind": "starved"}))
            found.take(Finished(Ended(run="r2", status="completed", replayed=4, ran=3)))
        case "failed":
            found.take(Finished(Ended(run="r2", status="failed", replayed=4, ran=1)))
        case "given up":
            found.take(Finished(error="given up: what was under way may have happened"))
    return found


@pytest.mark.parametrize(
    "state",
    [
        *("runs", "streams", "held", "pausing", "stopping", "leaving"),
        *("completed", "tokens are left", "failed", "given up"),
    ],
)
@SIZES
def test_live(state: str, snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_for(monkeypatch, fakes.one())

    async def before(pilot: Pilot[object]) -> None:
        await settle(pilot)
        run_screen(app).shows = live(state)
        run_screen(app).update_live()
        await settle(pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)


def shown(app: Inspector, screen: Callable[[], Any]) -> Callable[[Pilot[object]], Awaitable[None]]:
    async def before(pilot: Pilot[object]) -> None:
        await settle(pilot)
        app.push_screen(screen())
        await settle(pilot)

    return before


@SIZES
def test_output(snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    output = Output()
    output.add(b"paying A-17\n\x1b]0;owned\x07 a title\nno end of line")
    output.end()
    app = app_for(monkeypatch, fakes.one())
    assert snap_compare(app, terminal_size=size, run_before=shown(app, lambda: OutputPage(output)))


@SIZES
def test_the_run_has_not_stopped(snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_for(monkeypatch, fakes.one())

    async def before(pilot: Pilot[object]) -> None:
        await settle(pilot)
        run_screen(app).shows = live("stopping")
        await press(pilot, "ctrl+c")

    assert snap_compare(app, terminal_size=size, run_before=before)


@SIZES
def test_a_run_goes_on_behind_another(
    snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    again = fakes.refund(
        (), fakes.REFUND[:2], id="4712", status="running", reason=None, resumed_from=RunLink(run="4711", step=4)
    )
    whole = Joined(fakes.refund((), resumed_from=RunLink(run="4699", step=12)), 4, again)
    app = app_for(monkeypatch, OneRun(whole, "4712"))

    async def before(pilot: Pilot[object]) -> None:
        await settle(pilot)
        await press(pilot, "left", "left")

    assert snap_compare(app, terminal_size=size, run_before=before)
