"""A run that still runs: lines that come, files that come at its end, files that are replaced."""

import os
import shutil
from pathlib import Path

import pytest

from inspector.formats import open_path
from tests.formats.wfpy.folders import (
    REPORT,
    ROUND,
    Writer,
    checkpoint,
    contents,
    folder,
    header,
    opened,
    pipe,
    record,
    sizes,
    state_at,
    told,
)

JOURNAL = "run.wf-journal.jsonl"


def test_appended_lines_are_taken_in_byte_by_byte(tmp_path: Path) -> None:
    text = pipe(3, 2).text().encode()
    cut = text.index(b"\n") + 1
    place = folder(tmp_path / "run", text[:cut])
    run = opened(place)
    assert len(run) == 0
    with open(place / JOURNAL, "ab") as file:
        for begin in range(cut, len(text), 37):
            file.write(text[begin : begin + 37])
            file.flush()
            assert run.refresh()
            whole = text[: begin + 37].count(b"\n") - 1
            assert len(run) in (whole, whole + 1)
    assert len(run) == 5
    assert contents(run, 5) == {ROUND: [3], REPORT: ["round 1 quiet", "round 2 quiet"]}
    assert told(run) == []
    assert not run.refresh()


def test_a_run_that_ends_gets_its_record(tmp_path: Path) -> None:
    place = folder(tmp_path / "run", pipe(2, 1))
    run = opened(place)
    assert run.run().status == "interrupted"
    error = {"message": "bit", "entityInstanceName": "guard", "entityInstancePath": ["guard"]}
    actors = {"bell": {"fireCount": 2, "state": {}}, "guard": {"fireCount": 1, "state": {}}}
    saved = checkpoint({ROUND: [2], REPORT: ["round 1 quiet"]}, actors, failed=error)
    rows = [("bell", "Bell", "internal", 2), ("guard", "Guard", "internal", 1)]
    folder(place, checkpoint=saved, run=record(rows, error))
    assert run.refresh()
    assert (run.run().status, len(run)) == ("failed", 3)
    assert [one.name for one in state_at(run, 3).pending or ()] == ["guard"]


def test_a_second_run_begun_in_the_same_folder(tmp_path: Path) -> None:
    place = folder(tmp_path / "run", pipe(3, 3))
    run = opened(place)
    with open(place / JOURNAL, "a") as file:
        file.write(pipe(1, 0).text())
    assert run.refresh()
    assert len(run) == 1
    assert "used twice" in told(run)[0]


def test_a_journal_that_is_replaced_or_cut(tmp_path: Path) -> None:
    place = folder(tmp_path / "run", pipe(3, 3))
    run = opened(place)
    (place / "new").write_text(pipe(2, 0).text())
    os.replace(place / "new", place / JOURNAL)
    assert run.refresh()
    assert sizes(run, len(run)) == {ROUND: 2}
    (place / JOURNAL).write_text(pipe(1, 0).text())
    assert run.refresh()
    assert len(run) == 1


def test_a_nested_workflow_that_shows_more_of_itself_later(tmp_path: Path) -> None:
    writer = Writer(header())
    for number in (1, 2):
        writer.fire("a", put={"a.Out-->box.In": [number]})
    writer.fire("box/b", {"WF.In-->b.In": [1]}, {"b.Out-->WF.Out": [-1]})
    place = folder(tmp_path / "run", writer)
    run = opened(place)
    assert sizes(run, 3)["box/b.Out-->WF.Out"] is None
    writer.fire("box/d", {"WF.In-->d.In": [1]}).fire("c", {"box.Out-->c.In": [-1]})
    (place / JOURNAL).write_text(writer.text())
    assert run.refresh()
    assert told(run) == []
    assert contents(run, 3)["box.Out-->c.In"] == [-1]
    assert contents(run, 3)["box/WF.In-->d.In"] == [1]


def test_a_line_whose_makers_line_comes_later(tmp_path: Path) -> None:
    writer = Writer(header()).fire("bell", put={ROUND: [1]}).fire("guard", {ROUND: [1]}).fire("guard", {ROUND: [2]})
    writer.fire("bell", put={ROUND: [2]})
    lines = writer.text().splitlines(keepends=True)
    place = folder(tmp_path / "run", "".join(lines[:4]))
    run = opened(place)
    assert [step.name for step in run.steps(1, 9)] == ["bell", "guard", "guard"]
    with open(place / JOURNAL, "a") as file:
        file.write(lines[4])
    assert run.refresh()
    assert [step.name for step in run.steps(1, 9)] == ["bell", "guard", "bell", "guard"]
    assert told(run) == []


def test_an_index_that_is_left_is_taken_up_again(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", pipe(3000, 2000)), index=False)
    known = [0]
    while True:
        batch = next(run.index(), None)
        if batch is None:
            break
        known.append(len(run))
        assert 0 <= batch[0] <= batch[1]
    assert known == sorted(known)
    assert len(known) > 10
    assert len(run) == 5000
    assert contents(run, 5000)[ROUND] == list(range(2001, 3001))


def test_searching_finds_steps_in_both_directions(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", pipe(1500, 1200)))
    assert [hit for hit in run.find("round 1100 quiet", 1) if isinstance(hit, int)] == [2600]
    assert [hit for hit in run.find("round 110", 2700, backward=True) if isinstance(hit, int)] == [
        *range(2609, 2599, -1),
        1610,
    ]
    assert [hit for hit in run.find("nowhere", 1) if isinstance(hit, int)] == []


@pytest.mark.parametrize("lost", [(JOURNAL,), ("run.wf-run.json",), ("run.wf-run.json", JOURNAL), ()])
def test_what_was_known_of_a_run_stays_when_its_files_go(lost: tuple[str, ...], tmp_path: Path) -> None:
    error = {"message": "bit", "entityInstanceName": "guard", "entityInstancePath": ["guard"]}
    rows = [("bell", "Bell", "internal", 2), ("guard", "Guard", "internal", 1)]
    place = folder(tmp_path / "run", pipe(2, 1), run=record(rows, error))
    run = opened(place)

    def known() -> object:
        return run.run(), len(run), contents(run, 2), run.definition(), run.steps(1, 4)

    before = known()
    for name in lost:
        (place / name).unlink()
        assert run.refresh()
        assert known() == before
    if not lost:
        shutil.rmtree(place)
        assert run.refresh()
    assert known() == before
    (problem,) = run.problems()
    assert problem.where in (lost or ("run",))
    assert "is gone since it was opened" in told(run)[0]
    assert not run.refresh()
    folder(place, pipe(1, 0))
    assert run.refresh()
    assert (len(run), told(run)) == (1, [])


def test_runs_of_a_folder_that_is_gone_stay_listed(tmp_path: Path) -> None:
    place = tmp_path / "base"
    for name in ("one", "two"):
        folder(place / name, pipe(2, 1))
    (place / "run-log.jsonl").write_text('{"runId": "three", "workflowName": "watch", "outDir": "/x"}\n')
    runs = open_path(str(place))
    before = runs.rows()
    shutil.rmtree(place)
    assert runs.refresh()
    assert runs.rows() == before
    assert "is gone since it was opened" in runs.problems()[0].message
    assert not runs.refresh()
