"""An id of one's own is that of one run of this host, as long as that run is there."""

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, Call, Network, ScriptedModel, actor, open_store, tool
from inspector.errors import UsageError
from inspector.runner.claims import Claims

BODIES: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    BODIES.clear()


@tool
def pay(amount: int) -> str:
    BODIES.append("pay")
    return f"paid {amount}"


@actor
def work(x: int) -> int:
    BODIES.append("work")
    return x


def agent() -> Agent:
    return Agent("payer", ScriptedModel([Call("pay", {"amount": 1})], "done"), tools=[pay])


def network() -> Network:
    net = Network("net")
    node = net.add(work)
    net.connect(net.input("x"), node.x)
    net.connect(node.out, net.output("y"))
    return net


async def begin(kind: str, run_id: str, **where: Any) -> Any:
    if kind == "network":
        return await network().run({"x": [1]}, id=run_id, **where)
    if "store" in where:
        return await agent().prompt("go").id(run_id).durable(where["store"], where["key"]).run()
    return await agent().prompt("go").id(run_id).run(**where)


@pytest.mark.parametrize("first", ["agent", "network"])
@pytest.mark.parametrize("second", ["agent", "network"])
async def test_a_second_new_run_of_an_id_is_refused_with_where_the_first_is(
    tmp_path: Path, first: str, second: str
) -> None:
    trace, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    await begin(first, "order-17", trace=str(trace))
    BODIES.clear()
    with pytest.raises(UsageError, match=f"order-17: is the id of a run that was begun before, in {trace}"):
        await begin(second, "order-17", trace=str(other))
    assert BODIES == []
    assert not other.exists()
    assert (await begin(second, "order-18", trace=str(other))).status == "completed"


async def test_an_id_is_free_again_once_its_run_is_deleted(tmp_path: Path) -> None:
    trace, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    await begin("agent", "order-17", trace=str(trace))
    trace.unlink()
    await begin("agent", "order-17", trace=str(other))
    with pytest.raises(UsageError, match=str(other)):
        await begin("agent", "order-17", trace=str(trace))
    other.unlink()
    await begin("agent", "order-17", trace=str(other))


async def test_an_id_that_we_made_is_an_id_that_was_used(tmp_path: Path) -> None:
    first = await agent().prompt("go").run(trace=str(tmp_path / "a"))
    resumed = await network().run({"x": [1]}, trace=str(tmp_path / "b"))
    for used in (first.run_id, resumed.run_id):
        with pytest.raises(UsageError, match="begun before"):
            await begin("agent", used, trace=str(tmp_path / "c"))


@pytest.mark.parametrize("kind", ["agent", "network"])
async def test_runs_of_a_store_have_ids_of_their_own_too(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "runs.db"
    with_store: dict[str, Any] = {"store": open_store(str(path))}
    await begin(kind, "order-17", key="one", **with_store)
    BODIES.clear()
    for where in ({"key": "two", **with_store}, {"trace": str(tmp_path / "t")}):
        with pytest.raises(UsageError, match=f"begun before, in {path}/one"):
            await begin(kind, "order-17", **where)
    assert BODIES == []
    assert [row.key for row in with_store["store"].runs()] == ["one"]
    with_store["store"].delete("one")
    assert (await begin(kind, "order-17", key="one", **with_store)).status == "completed"
    with_store["store"].close()
    path.unlink()
    assert (await begin(kind, "order-17", trace=str(tmp_path / "t"))).status == "completed"


async def test_a_network_that_goes_on_under_a_used_id_leaves_no_mark(tmp_path: Path) -> None:
    await begin("agent", "used", trace=str(tmp_path / "a"))
    first = await network().run({"x": [1]}, trace=str(tmp_path / "b"))
    with pytest.raises(UsageError, match="begun before"):
        await network().resume(str(tmp_path / "b"), step=0).id("used").run(trace=str(tmp_path / "c"))
    assert Claims().successors(first.run_id) == []


@pytest.mark.parametrize("kind", ["agent", "network"])
async def test_a_resume_that_can_have_no_file_leaves_no_mark(tmp_path: Path, kind: str) -> None:
    path = str(tmp_path / "a")
    first = await begin(kind, "first", trace=path)
    asked: Any = agent().resume(path, step=1) if kind == "agent" else network().resume(path, step=0)
    with pytest.raises(FileNotFoundError):
        await asked.run(trace=str(tmp_path / "nosuch" / "b"))
    assert Claims().successors(first.run_id) == []
    asked = agent().resume(path, step=1) if kind == "agent" else network().resume(path, step=0)
    second = await asked.run(trace=str(tmp_path / "b"))
    assert [one.run for one in Claims().successors(first.run_id)] == [second.run_id]


async def test_runs_without_a_file_use_no_id_up() -> None:
    for _ in range(2):
        assert (await agent().prompt("go").id("mine").run()).status == "completed"
        assert (await network().run({"x": [1]}, id="mine")).status == "completed"


async def test_an_id_that_two_take_at_once_is_that_of_one(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom inspector.errors import UsageError\nfrom inspector.runner.claims import Claims\n"
        "sys.stdin.readline()\n"
        "try:\n    Claims(sys.argv[1]).begin('x', sys.argv[2])\n    print('mine')\n"
        "except UsageError:\n    print('refused')\n"
    )
    pipe = asyncio.subprocess.PIPE
    others = []
    for number in range(4):
        place = tmp_path / f"{number}.jsonl"
        place.touch()
        arguments = (sys.executable, "-c", program, str(tmp_path), str(place))
        others.append(await asyncio.create_subprocess_exec(*arguments, stdin=pipe, stdout=pipe))
    told = [out for out, _ in await asyncio.gather(*(other.communicate(b"\n") for other in others))]
    assert sorted(told) == [b"mine\n", b"refused\n", b"refused\n", b"refused\n"]


async def test_what_the_host_knows_can_be_deleted(tmp_path: Path) -> None:
    claims = Claims(str(tmp_path / "state"))
    await agent().prompt("go").id("x").claims(claims).run(trace=str(tmp_path / "a"))
    with pytest.raises(UsageError):
        await agent().prompt("go").id("x").claims(claims).run(trace=str(tmp_path / "b"))
    shutil.rmtree(tmp_path / "state")
    await agent().prompt("go").id("x").claims(claims).run(trace=str(tmp_path / "b"))


def test_where_a_run_was_begun_is_known(tmp_path: Path) -> None:
    claims, store = Claims(str(tmp_path / "state")), tmp_path / "runs.db"
    store.touch()
    claims.begin("in a trace", str(tmp_path / "a.jsonl"))
    claims.begin("in a store", str(store), key="order/1 a")
    assert claims.begun("in a trace") == (str(tmp_path / "a.jsonl"), None)
    assert claims.begun("in a store") == (str(store), "order/1 a")
    assert claims.begun("another") is None
