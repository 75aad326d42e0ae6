"""Requests in, reports out: over made-up runs and files that grow."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inspector.errors import UnreadableError
from inspector.formats import open_path
from inspector.formats.memory import OneRun
from inspector.model.run import RawRecord, State, Step
from inspector.model.source import RunSet
from inspector.tui import loader as loading
from inspector.tui.columns import Filter
from inspector.tui.loader import Loader
from inspector.tui.reports import (
    Damaged,
    Exported,
    Failed,
    Fetched,
    Known,
    Listed,
    Opened,
    Part,
    Report,
    Scanned,
    Searched,
    Stood,
)
from tests.tui import fakes

WAIT = 10.0


class Watched(Loader):
    """A loader whose reports are kept."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self._came = threading.Condition()
        super().__init__(self._take)

    def _take(self, report: Report) -> None:
        with self._came:
            self.reports.append(report)
            self._came.notify()

    def wait(self, kind: type, so: Callable[[object], bool] = lambda report: True):  # type: ignore[no-untyped-def]
        """The first report of a kind that fits; it and all before it are dropped."""
        with self._came:
            assert self._came.wait_for(
                lambda: any(isinstance(report, kind) and so(report) for report in self.reports), WAIT
            ), f"no {kind.__name__} among {self.reports}"
            at = next(at for at, report in enumerate(self.reports) if isinstance(report, kind) and so(report))
            found = self.reports[at]
            del self.reports[: at + 1]
            return found


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    found = Watched()
    monkeypatch.setattr(loading, "PERIOD", 0.01)
    yield found
    found.close()


def opened(loader: Watched, runs: RunSet, monkeypatch: pytest.MonkeyPatch) -> Opened:
    monkeypatch.setattr("inspector.formats.open_path", fakes.opener(runs))
    loader.open("x", None)
    found = loader.wait(Opened)
    loader.read_on()
    return found


def test_a_run_is_opened_indexed_and_passed_over(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    run = opened(loader, fakes.one(), monkeypatch)
    assert (run.facts.run.id, run.facts.known, run.facts.done) == ("4711", 9, True), "a small one is known at once"
    assert list(run.rows) == [*range(1, 10)]
    assert len(loader.wait(Scanned).chunk.marks) == 9


def test_of_a_long_run_the_head_comes_first_and_the_rest_when_it_is_asked_for(
    loader: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.formats.open_path", fakes.opener(OneRun(fakes.Long(1000, batch=400), "x")))
    monkeypatch.setattr(loading, "SMALL", 999)
    loader.open("x", None)
    run = loader.wait(Opened)
    assert (run.facts.known, run.facts.done) == (400, False)
    assert list(run.rows) == [*range(1, 65)]
    assert not loader.reports
    loader.read_on()
    assert loader.wait(Known, lambda report: report.facts.done).facts.known == 1000


@pytest.mark.parametrize("soon", [WAIT, 0.0])
def test_a_run_that_is_soon_read_is_shown_when_it_is(
    soon: float, loader: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspector.formats.open_path", fakes.opener(OneRun(fakes.Long(1000, batch=400), "x")))
    monkeypatch.setattr(loading, "SOON", soon)
    loader.open("x", None)
    run = loader.wait(Opened)
    assert (run.facts.known, run.facts.done) == ((1000, True) if soon else (400, False))


def test_of_several_runs_there_is_a_list(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = fakes.several()
    monkeypatch.setattr("inspector.formats.open_path", fakes.opener(runs))
    loader.open("x", None)
    assert len(loader.wait(Listed).rows) == len(runs.rows())


def test_one_of_several_runs_is_opened_when_it_is_named(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = fakes.several()
    monkeypatch.setattr("inspector.formats.open_path", fakes.opener(runs))
    loader.open("x", None, runs.rows()[1].id)
    assert loader.wait(Opened).run_id == runs.rows()[1].id


def test_rows_and_states_are_fetched(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(loader, fakes.one(), monkeypatch)
    loader.rows([(2, 4), (7, 8)])
    rows = loader.wait(Fetched).rows
    assert sorted(rows) == [2, 3, 7]
    assert rows[2].since == 2.4
    assert (rows[7].depth, rows[2].depth) == (1, 0)
    loader.state(3)
    stood = loader.wait(Stood)
    assert (stood.step, stood.state.step, stood.before.step, stood.step_record.seq) == (3, 3, 2, 3)
    loader.state(0)
    stood = loader.wait(Stood)
    assert (stood.state.step, stood.before, stood.step_record) == (0, None, None)


def test_damage_is_placed_before_the_step_behind_it(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(loader, fakes.one(), monkeypatch)
    assert {step: problem.message for step, problem in loader.wait(Damaged).before.items()} == {
        7: "is cut short; skipped"
    }


def test_a_search_passes_the_end_and_keeps_to_the_filter(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(loader, fakes.one(), monkeypatch)

    def find(text: str, start: int, backward: bool = False, filter: Filter | None = None) -> int | None:
        loader.find(7, text, start, backward, filter or Filter())
        return loader.wait(Searched, lambda report: report.ended).seq

    assert find("refund", 1) == 4
    assert find("refund", 5) == 8
    assert find("order", 9, backward=True) == 4
    assert find("I will look", 5) == 1
    assert find("email", 2, backward=True) == 9
    assert find("refund", 1, filter=Filter(kinds=("tools",))) == 9
    assert find("nowhere", 1) is None


def test_a_search_tells_how_far_it_is_and_can_be_given_up(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(fakes.Long):
        def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
            while True:
                yield 1000, 5000

    opened(loader, OneRun(Endless(2000), "x"), monkeypatch)
    loader.find(1, "x", 1, False, Filter())
    assert loader.wait(Searched).progress.total == 5000
    loader.cancel_find()
    loader.state(1)
    loader.wait(Stood)
    assert not any(isinstance(report, Searched) and report.ended for report in loader.reports)


@pytest.mark.parametrize(
    ("error", "place", "reason"),
    [
        (UnreadableError("x", "is empty"), "x", "is empty"),
        (OSError(5, "Input/output error", "x"), "x", "Input/output error"),
        (MemoryError(), "x", "out of memory: the file is too large for what was asked"),
        (ValueError("a defect"), "x", "internal error: ValueError: a defect; please report it"),
    ],
)
def test_what_cannot_be_opened_is_told_in_words(
    loader: Watched, monkeypatch: pytest.MonkeyPatch, error: Exception, place: str, reason: str
) -> None:
    def fail(path: str, format: str | None = None) -> RunSet:
        raise error

    monkeypatch.setattr("inspector.formats.open_path", fail)
    loader.open("x", None)
    failed = loader.wait(Failed)
    assert (failed.fatal, failed.error.place, failed.error.reason) == (True, place, reason)


def test_a_state_that_fails_is_not_fatal(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(fakes.Long):
        def state(self, step: int) -> State | None:
            raise UnreadableError("x", "cannot be read")

    opened(loader, OneRun(Broken(3), "x"), monkeypatch)
    loader.state(1)
    assert (failed := loader.wait(Failed)).what == "state"
    assert not failed.fatal
    loader.rows([(1, 3)])
    loader.wait(Fetched)


class Growing(fakes.Long):
    """A run that takes in what is appended."""

    def refresh(self) -> bool:
        before, self.length = self.length, self.to
        return self.length != before


def test_a_run_that_was_cut_short_is_looked_at_anew(loader: Watched, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    shutil.copy("examples/trace.json", path)
    loader.open(str(path), None)
    loader.wait(Opened)
    loader.read_on()
    loader.wait(Scanned)
    path.write_bytes(b"")
    loader.state(13)
    assert loader.wait(Stood).state is None
    known = loader.wait(Known, lambda report: report.facts.done)  # type: ignore[attr-defined]
    assert known.facts.known == 0
    assert any("replaced" in problem.message for problem in known.facts.problems)


def test_damage_that_is_mended_is_not_told_any_more(loader: Watched, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    whole = Path("examples/trace.json").read_bytes()
    path.write_bytes(whole[:-40])
    loader.open(str(path), None)
    loader.read_on()
    assert loader.wait(Damaged).before
    loader.follow(True)
    path.write_bytes(whole)  # a look may come in the middle of it
    loader.wait(Damaged, lambda report: not report.before)  # type: ignore[attr-defined]


def test_the_list_of_runs_tells_what_changed_while_one_was_open(loader: Watched, tmp_path: Path) -> None:
    shutil.copy("examples/refund-failed.jsonl", tmp_path / "a.jsonl")
    lines = Path("examples/trace.json").read_bytes().splitlines(keepends=True)
    grows = tmp_path / "b.jsonl"
    grows.write_bytes(b"".join(lines[:-1]))
    loader.open(str(tmp_path), None)
    row = next(row for row in loader.wait(Listed).rows if row.name == "refunds" and row.status == "interrupted")
    loader.open_run(row.id)
    loader.wait(Opened)
    loader.read_on()
    loader.wait(Scanned)
    loader.follow(True)
    grows.write_bytes(b"".join(lines))
    loader.wait(Known, lambda report: report.facts.run.status == "suspended")  # type: ignore[attr-defined]
    loader.leave_run()
    loader.follow(True)
    assert {row.status for row in loader.wait(Listed).rows} == {"failed", "suspended"}


def test_following_takes_in_what_was_appended(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Growing(10)
    run.to = 10
    opened(loader, OneRun(run, "x"), monkeypatch)
    loader.wait(Scanned)
    loader.follow(True)
    run.to = 15
    known = loader.wait(Known, lambda report: report.revised is not None)
    assert (known.facts.known, known.revised) == (15, 1)
    assert list(known.rows) == [*range(1, 16)], "what is seen next comes with it"
    assert loader.wait(Scanned).chunk.start == 1


def test_what_was_appended_before_the_first_reading_goes_on_is_taken_in(
    loader: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a run that goes on is shown: its screen follows it, and has the rest of it read."""
    run = Growing(10)
    run.to = 10
    monkeypatch.setattr("inspector.formats.open_path", fakes.opener(OneRun(run, "x")))
    loader.open("x", None)
    loader.wait(Opened)
    run.to = 15
    loader._plan.ask("look", lambda: (loader._look(), loader._read_on()))
    loader.follow(True)
    assert loader.wait(Known, lambda report: report.facts.known == 15).revised is not None
    assert len(loader.wait(Scanned, lambda report: report.chunk.start == 1).chunk.marks) == 15


def test_behind_a_burst_of_steps_some_looks_are_left_out(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PERIOD", 0.001)
    monkeypatch.setattr(loading, "SKIPPED", 1_000_000)
    run = Growing(10)
    run.to = 10
    opened(loader, OneRun(run, "x"), monkeypatch)
    loader.wait(Scanned)
    loader.follow(True)
    for to in (12, 40):
        run.to = to
        loader.wait(Known, lambda report, to=to: report.facts.known == to)  # type: ignore[misc]
    run.to = 41
    for _ in range(50):
        loader.state(1)
        loader.wait(Stood)
    assert not any(isinstance(report, Known) for report in loader.reports)
    loader.look()
    loader.wait(Known, lambda report: report.facts.known == 41)
    run.to = 80
    loader.look()
    loader.wait(Known, lambda report: report.facts.known == 80)
    run.to = 81
    loader.follow(True)
    loader.wait(Known, lambda report: report.facts.known == 81)


def test_a_source_that_takes_nothing_in_is_read_again_when_its_file_changes(
    loader: Watched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "steps"
    closed = []

    def read(path: str, format: str | None = None) -> RunSet:
        steps = [fakes.a_step(seq, "node", f"step {seq}") for seq in range(1, len(Path(path).read_text()) + 1)]
        run = OneRun(fakes.refund((), steps), "x")
        monkeypatch.setattr(run, "close", lambda: closed.append(len(steps)))
        return run

    path.write_text("aa")
    monkeypatch.setattr("inspector.formats.open_path", read)
    loader.open(str(path), None)
    loader.read_on()
    loader.wait(Scanned)
    loader.follow(True)
    changed = tmp_path / "changed"
    changed.write_text("aaaa")
    changed.replace(path)  # never seen while it is empty
    assert loader.wait(Known, lambda report: report.revised is not None).facts.known == 4
    loader.wait(Scanned)
    assert closed == [2]
    loader.state(4)
    assert loader.wait(Stood).step_record.name == "step 4"


def test_a_file_in_a_folder_that_changes_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text("a")
    before = loading.look_of(str(tmp_path))
    assert loading.look_of(str(tmp_path)) == before
    (tmp_path / "journal").write_text("ab")
    assert loading.look_of(str(tmp_path)) != before


def test_parents_that_form_a_ring_or_are_missing_end_somewhere(
    loader: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = {1: 1, 2: 3, 3: 2, 4: 99, 5: 4, 6: None}
    steps = [
        Step(seq=seq, kind="node", name=f"span {seq}", status="done", parent=parent) for seq, parent in parents.items()
    ]
    opened(loader, OneRun(fakes.refund((), steps), "x"), monkeypatch)
    loader.rows([(1, 7)])
    depths = {seq: row.depth for seq, row in loader.wait(Fetched).rows.items()}
    assert depths[6] == depths[4] == 0
    assert depths[5] == 1
    assert set(depths) == {1, 2, 3, 4, 5, 6}


def test_a_pass_over_the_run_looks_at_each_step_about_once(loader: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fakes.Long(5000)
    run.raw = lambda step: RawRecord(where="x", text="")  # type: ignore[method-assign]
    opened(loader, OneRun(run, "x"), monkeypatch)
    loader.hurry(True)
    seen = 0
    while seen < 5000:
        seen += len(loader.wait(Scanned).chunk.marks)
    assert seen == 5000
    assert run.made < 5200


def test_a_run_stands_behind_those_that_can_still_be_opened(loader: Watched, tmp_path: Path) -> None:
    there = [str(shutil.copy("examples/refund-suspended.jsonl", tmp_path / f"{name}.jsonl")) for name in "abc"]
    behind = [Part(there[0]), Part(str(tmp_path / "gone.jsonl"), step=1), Part(there[1], step=2)]
    loader.open(there[2], None, behind=behind)
    facts = loader.wait(Opened).facts
    assert (facts.seams, facts.known) == ((3,), 3 + 4), "of what is before the one that is gone there is nothing"
    loader.state(5)
    stood = loader.wait(Stood)
    assert (stood.state.step, stood.step_record.seq, stood.step_record.name) == (5, 5, "lookup_order")
    copy = str(tmp_path / "copy.jsonl")
    loader.export(copy)
    loader.wait(Exported, lambda report: report.ended)
    written = open_path(copy).open(None)
    assert list(written.index())
    assert len(written) == 4, "the run that is open, and none of those before it"


def test_a_damaged_place_is_found_in_the_run_that_it_is_of(loader: Watched, tmp_path: Path) -> None:
    whole = Path("examples/refund-suspended.jsonl").read_bytes().splitlines(keepends=True)
    steps = [at for at, line in enumerate(whole) if line.startswith(b'{"record":"step"')]
    paths = []
    for name, broken in (("a", steps[1::2]), ("b", steps[2:3])):
        lines = [b"{torn\n" if at in broken else line for at, line in enumerate(whole)]
        (tmp_path / f"{name}.jsonl").write_bytes(b"".join(lines))
        paths.append(str(tmp_path / f"{name}.jsonl"))
    loader.open(paths[1], None, behind=[Part(paths[0], step=1)])
    loader.wait(Opened)
    loader.read_on()
    damage = loader.wait(Damaged).before
    assert {step: problem.where.partition(":")[0].rpartition("/")[2] for step, problem in damage.items()} == {
        2: "a.jsonl",
        2 + 3: "b.jsonl",
    }, "what is damaged behind the step that was gone on from is none of this"
