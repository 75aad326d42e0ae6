"""A run and the ones that go on from it as one timeline, against the runs as they are by themselves."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.formats.memory import MemoryRun
from inspector.model.joined import Joined, part, parts
from inspector.model.run import Definition, Problem, RawRecord, Resume, Run, RunError, RunLink, SourceInfo, State, Step
from inspector.model.source import RunSource


class Growing(MemoryRun):
    """A run of which `known` steps are known until it is indexed."""

    def __init__(self, name: str, count: int, *, known: int | None = None, back: RunLink | None = None) -> None:
        steps = [
            Step(seq=seq, kind="node", name=f"{name}{seq}", status="done", parent=seq - 1 if seq > 1 else None)
            for seq in range(1, count + 1)
        ]
        super().__init__(
            source=SourceInfo(path=f"{name}.jsonl", format="runinspect"),
            run=Run(
                id=name,
                kind="dataflow",
                status="failed",
                steps=count,
                error=RunError(step=count, message="no"),
                resumed_from=back,
            ),
            steps=steps,
            definition=Definition(model=name),
            state=lambda step: State(step=step, values={"of": f"{name}{step}"}),
            raw=lambda step: RawRecord(where=f"{name}.jsonl:{step}", text=f"{name}{step} stands here"),
            resume=Resume(possible=True, driver=name),
            problems=[Problem(severity="warning", where=f"{name}.jsonl", message="!")],
        )
        self._count, self._seen = count, count if known is None else known

    def __len__(self) -> int:
        return self._seen

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        return super().steps(start, min(stop, self._seen + 1))

    def index(self) -> Iterator[tuple[int, int]]:
        while self._seen < self._count:
            self._seen += 1
            yield self._seen, self._count


def read(source: RunSource) -> None:
    for _ in source.index():
        pass


def names(source: RunSource, start: int, stop: int) -> Sequence[tuple[int, str]]:
    return [(step.seq, step.name) for step in source.steps(start, stop)]


def test_the_old_steps_a_seam_and_the_new_ones() -> None:
    joined = Joined(Growing("a", 4, back=RunLink(run="z", step=9)), 3, Growing("b", 2, back=RunLink(run="a", step=3)))
    read(joined)
    assert names(joined, 1, 99) == [(1, "a1"), (2, "a2"), (3, "a3"), (4, "resumed"), (5, "b1"), (6, "b2")]
    (seam,) = joined.steps(4, 5)
    assert (seam.kind, seam.summary) == ("event", "b goes on from step 3; its own step 1 is 5 here")
    assert [step.parent for step in joined.steps(1, 99)] == [None, 1, 2, None, None, 5]
    run = joined.run()
    assert (run.id, run.steps, run.error and run.error.step) == ("b", 6, 6)
    assert run.resumed_from == RunLink(run="z", step=9), "what stands before the first of them"
    assert [joined.state(step).values for step in (3, 4, 6)] == [{"of": "a3"}, {"of": "b0"}, {"of": "b2"}]  # type: ignore[union-attr]
    assert [joined.state(step).step for step in (3, 4, 6)] == [3, 4, 6]  # type: ignore[union-attr]
    assert [joined.raw(step).where for step in (0, 3, 4, 5)] == [  # type: ignore[union-attr]
        "a.jsonl:0",
        "a.jsonl:3",
        "b.jsonl:0",
        "b.jsonl:1",
    ]
    assert (joined.definition().model, joined.resume().driver, len(joined.problems())) == ("b", "b", 2)
    assert parts(joined) == [(joined.before, 0), (joined.after, 4)]
    assert (part(joined, 3), part(joined, 5)) == ((joined.before, 3), (joined.after, 1))


def test_steps_keep_their_numbers_while_more_becomes_known() -> None:
    joined = Joined(Growing("a", 4, known=1), 3, Growing("b", 2, known=0))
    seen: dict[int, str] = {}
    for _ in joined.index():
        for seq, name in names(joined, 1, 99):
            assert seen.setdefault(seq, name) == name
        assert len(joined) == max(seen)
    assert len(seen) == 6


def test_a_run_that_is_shorter_than_it_was_and_one_of_which_all_counts() -> None:
    for step, count in ((7, 2), (None, 2)):
        joined = Joined(Growing("a", count, known=0), step, Growing("b", 1))
        assert (len(joined), parts(joined)) == (0, [(joined.before, 0)])
        read(joined)
        assert names(joined, 1, 99) == [(1, "a1"), (2, "a2"), (3, "resumed"), (4, "b1")]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6) | st.none()), min_size=1, max_size=4),
    st.integers(0, 5),
    st.integers(0, 25),
    st.integers(0, 25),
)
def test_any_chain_is_the_runs_one_behind_the_other(
    parts: list[tuple[int, int | None]], last: int, start: int, stop: int
) -> None:
    runs = [Growing(letter, count, known=0) for letter, (count, _) in zip("abcd", parts, strict=False)]
    whole: RunSource = runs[0]
    counts = [*(count for count, _ in parts[1:]), last]
    expected = [("a", step) for step in range(1, min(parts[0][0], _up_to(parts[0][1])) + 1)]
    for at, (count, letter) in enumerate(zip(counts, "bcde", strict=False)):
        whole = Joined(whole, parts[at][1], Growing(letter, count, known=0))
        up_to = min(count, _up_to(parts[at + 1][1])) if at + 1 < len(parts) else count
        expected += [(letter, step) for step in range(up_to + 1)]
    read(whole)
    assert len(whole) == len(expected)
    for seq, (letter, step) in enumerate(expected, 1):
        source, own = part(whole, seq)
        assert (source.run().id, own) == (letter, step)
    told = [f"{letter}{step}" if step else "resumed" for letter, step in expected]
    assert [name for _, name in names(whole, start, stop)] == told[max(start - 1, 0) : max(stop - 1, 0)]
    assert [seq for seq, _ in names(whole, 0, 99)] == list(range(1, len(told) + 1))


def _up_to(step: int | None) -> int:
    return 99 if step is None else step


@pytest.mark.parametrize("start", range(1, 7))
@pytest.mark.parametrize("text", ["stands here", "a2", "b0", "b2", "goes on", "nowhere"])
def test_a_search_finds_what_reading_on_from_there_finds(text: str, start: int) -> None:
    joined = Joined(Growing("a", 4), 3, Growing("b", 2))
    there = [
        step.seq
        for step in joined.steps(1, 99)
        if any(text in said for said in (step.name, step.summary or "", joined.raw(step.seq).text))  # type: ignore[union-attr]
    ]
    for backward in (False, True):
        hits = [item for item in joined.find(text, start, backward=backward) if isinstance(item, int)]
        assert hits == ([s for s in reversed(there) if s <= start] if backward else [s for s in there if s >= start])
