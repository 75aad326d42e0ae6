"""Reading a journal from its end, or from a step: what is found, and how little is looked at."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import Agent, Call, Network, ScriptedModel, action, actor, emit, tool
from inspector.journal import TraceFile
from inspector.model.records import JournalRecord, Operation
from inspector.runner.network import restore, tail
from inspector.runner.network.recorder import STEPS_BETWEEN
from tests.dataflow.networks import double

ROUNDS = 700


@actor
class Numbers:
    next: int = 0

    @action(guard=lambda self: self.next < ROUNDS)
    def give(self) -> object:
        self.next += 1
        return emit(out=self.next)


@actor
class Last:
    number: int = 0

    def fire(self, number: int) -> None:
        self.number = number


def row() -> Network:
    net = Network("row")
    numbers, doubling, last = net.add(Numbers()), net.add(double), net.add(Last())
    net.connect(numbers.out, doubling.number)
    net.connect(doubling.out, last.number)
    return net


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("long")
    path = str(folder / "t.jsonl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder))
        assert row().run_sync(trace=path).steps == 3 * ROUNDS
    return path


@pytest.mark.parametrize("step", [None, 0, 1, 255, 256, 257, 1000, 1791, 1792, 3 * ROUNDS - 1, 3 * ROUNDS])
def test_a_resume_looks_at_what_stands_behind_a_checkpoint(trace: str, step: int | None) -> None:
    with open(trace, "rb") as file:
        records = len(file.readlines())
    lines = tail.of_file(trace)
    saved = restore.read(trace, lines, step)
    at = 3 * ROUNDS if step is None else step
    assert (saved.step, saved.last) == (at, 3 * ROUNDS)
    run = saved.restore(row().plan())
    assert sum(run.completed(number) for number in range(3)) == at
    assert len(saved.changes) <= STEPS_BETWEEN
    # Each step has two more lines; a search by halves looks at blocks of some hundred.
    assert lines.passed < 4 * 3 * STEPS_BETWEEN < records / 2
    assert sum(1 for _ in saved.later()) == 3 * ROUNDS - at


def test_rerunning_a_node_looks_back_to_its_last_step_only(trace: str) -> None:
    lines = tail.of_file(trace)
    saved = restore.read(trace, lines, rerun="double")
    assert [*saved.later()] == ["double", "last"]
    assert lines.passed < 4 * 3 * STEPS_BETWEEN


class Killed(TraceFile):
    """A journal that a process leaves which is killed when `far` firings have succeeded."""

    def __init__(self, path: str, far: int) -> None:
        super().__init__(path)
        self.far = far

    def append(self, *records: JournalRecord, durable: bool = False) -> None:
        if self.far > 0:
            super().append(*records, durable=durable)
        self.far -= sum(isinstance(record, Operation) and record.status == "succeeded" for record in records)


@pytest.mark.parametrize("idempotency", ["supported", "unknown"])
async def test_a_firing_that_began_before_the_last_checkpoint_is_open(tmp_path: Path, idempotency: Any) -> None:
    begun = []

    def net() -> Network:
        @actor(idempotency=idempotency)
        async def slow(number: int) -> int:
            begun.append(number)
            if len(begun) == 1:
                await asyncio.Event().wait()
            return number

        made = Network("two")
        numbers, doubling, last, slowly = made.add(Numbers()), made.add(double), made.add(Last()), made.add(slow)
        made.connect(numbers.out, doubling.number)
        made.connect(doubling.out, last.number)
        made.connect(made.input("x"), slowly.number)
        made.connect(slowly.out, made.output("y"))
        return made

    path = str(tmp_path / "t.jsonl")
    journal = Killed(path, 2 * STEPS_BETWEEN)
    going = asyncio.ensure_future(net().run({"x": [7]}, workers=2, journal=journal))
    while journal.far > 0:
        await asyncio.sleep(0)
    going.cancel()
    await asyncio.wait([going])
    saved = restore.load(path)
    assert saved.state.step == STEPS_BETWEEN
    assert [found.id for found in saved.open] == ["slow#1"]
    asked = net().resume(path)
    if idempotency == "unknown":
        again = str(tmp_path / "u.jsonl")
        left = await net().resume(path).run(trace=again)
        assert (left.status, left.open, begun) == ("suspended", ["slow#1"], [7])
        # Also of a process that ends at once, before it comes to the firing.
        Path(again).write_bytes(b"".join(Path(again).read_bytes().splitlines(keepends=True)[:2]))
        assert [found.id for found in restore.load(again).open] == ["slow#1"]
        asked = net().resume(again).reconcile("slow#1", "retry")
    done = await asked.run()
    assert (done.status, done.outputs, begun) == ("completed", {"y": [7]}, [7, 7])


async def test_an_agent_that_began_before_the_last_checkpoint_goes_on_inside(tmp_path: Path) -> None:
    did: list[str] = []

    @tool
    async def note(text: str) -> str:
        did.append(text)
        return text

    @tool(idempotency="supported")
    async def wait() -> str:
        did.append("wait")
        if did.count("wait") == 1:
            await asyncio.Event().wait()
        return "waited"

    def net() -> Network:
        made = Network("two")
        model = ScriptedModel([Call("note", {"text": "once"})], [Call("wait", {})], "done")
        numbers, last, desk = made.add(Numbers()), made.add(Last()), made.add(Agent("desk", model, tools=[note, wait]))
        made.connect(numbers.out, last.number)
        made.connect(made.input("question"), desk.prompt)
        made.connect(desk.answer, made.output("answer"))
        return made

    path = str(tmp_path / "t.jsonl")
    journal = Killed(path, 2 * STEPS_BETWEEN)
    going = asyncio.ensure_future(net().run({"question": ["q"]}, workers=2, journal=journal))
    while journal.far > 0:
        await asyncio.sleep(0)
    going.cancel()
    await asyncio.wait([going])
    saved = restore.load(path)
    assert (saved.state.step, did) == (STEPS_BETWEEN, ["once", "wait"])
    assert saved.nested["desk#1"][0]["record"] == "header"
    done = await net().resume(path).run()
    assert (done.status, done.outputs, did) == ("completed", {"answer": ["done"]}, ["once", "wait", "wait"])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 300)), max_size=60), st.integers(1, 200), st.booleans())
def test_lines_are_found_from_both_ends(parts: list[tuple[bool, int]], block: int, ended: bool) -> None:
    lines, seq = [], 0
    for is_step, size in parts:
        seq += is_step
        head = b'{"record":"step","step":{"seq":%d,"name":"n","more":"%s"}}' if is_step else b'{"seq":%d,"x":"%s"}'
        lines.append(head % (seq, b"x" * size) + b"\n")
    data = b"".join(lines)
    data = data if ended else data.removesuffix(b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "BLOCK", block)
        found = tail.of_bytes(data)
        forwards = [*found.forwards(0)]
        assert b"".join(line for _, line in forwards) == data
        assert [*found.backwards(len(data))] == forwards[::-1]
        assert all(data[offset:].startswith(line) for offset, line in forwards)
        steps = [offset for offset, line in forwards if line.startswith(tail.STEP)]
        assert [found.step(number + 1) for number in range(seq + 1)] == [*steps, len(data)]
