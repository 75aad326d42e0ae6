"""Journals that are torn, damaged, used twice, empty, or of runs that were killed."""

from itertools import pairwise
from pathlib import Path

import pytest

from inspector.formats import open_path
from inspector.formats.readers.wfpy.tokens import Store
from inspector.model.changes import change
from tests.formats.wfpy.folders import (
    REPORT,
    ROUND,
    Writer,
    contents,
    folder,
    header,
    opened,
    pipe,
    sizes,
    state_at,
    told,
)


def test_a_killed_run_is_rebuilt_from_its_journal(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "watch-1", pipe(3, 2)))
    found = run.run()
    assert (found.id, found.name, found.kind, found.status, found.steps) == (
        "watch-1",
        "shop",
        "dataflow",
        "interrupted",
        5,
    )
    assert (found.error, found.ended, found.resumed_from) == (None, None, None)
    assert [step.name for step in run.steps(1, 9)] == ["bell", "bell", "bell", "guard", "guard"]
    assert contents(run, 3) == {ROUND: [1, 2, 3], REPORT: []}
    assert contents(run, 5) == {ROUND: [3], REPORT: ["round 1 quiet", "round 2 quiet"]}
    assert contents(run, 0) == {ROUND: [], REPORT: []}
    assert [(one.name, one.status) for one in state_at(run, 5).pending or ()] == [("guard", "ambiguous")]
    assert told(run) == []


def test_a_state_names_who_is_ready(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", pipe(2, 1)))
    assert [one.name for one in state_at(run, 0).pending or ()] == ["bell"]
    assert [one.name for one in state_at(run, 1).pending or ()] == ["bell", "guard"]


def test_actors_have_counts_and_states(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", pipe(2, 1)))
    actors = {actor.id: (actor.fire_count, actor.state) for actor in state_at(run, 3).actors or ()}
    assert actors == {"bell": (2, {"_n": 2}), "guard": (1, {"walked": 1})}
    assert [actor.fire_count for actor in state_at(run, 0).actors or ()] == [0, 0]


def test_what_a_firing_took_and_put(tmp_path: Path) -> None:
    step = opened(folder(tmp_path / "run", pipe(2, 1))).steps(3, 4)[0]
    assert step.consumed is not None
    assert step.produced is not None
    assert [(part.queue, part.count, part.tokens) for part in step.consumed] == [(ROUND, 1, (1,))]
    assert [(part.queue, part.tokens) for part in step.produced] == [(REPORT, ("round 1 quiet",))]
    assert step.summary == "Report: round 1 quiet"


def test_a_torn_last_line_is_a_problem_and_no_step(tmp_path: Path) -> None:
    text = pipe(3, 2).text()
    run = opened(folder(tmp_path / "run", text[:-20]))
    assert len(run) == 4
    place = len(text[: text.rstrip("\n").rindex("\n") + 1])
    assert [line.split(" byte ")[0] for line in told(run)] == ["run.wf-journal.jsonl:6"]
    assert int(told(run)[0].split(" byte ")[1].split(":")[0]) >= place
    assert contents(run, 4)[ROUND] == [2, 3]


@pytest.mark.parametrize("end", ["", "\n\n", "\r\n"])
def test_the_end_of_the_last_line_does_not_matter(tmp_path: Path, end: str) -> None:
    text = pipe(2, 2).text().rstrip("\n")
    run = opened(folder(tmp_path / "run", text.replace("\n", end.lstrip("\n") or "\n") + end))
    assert len(run) == 4
    assert told(run) == []


def test_behind_a_damaged_line_sizes_are_unknown_where_they_may_be_wrong(tmp_path: Path) -> None:
    lines = pipe(3, 3).text().splitlines()
    lines[2] = lines[2][:40]
    run = opened(folder(tmp_path / "run", "\n".join(lines) + "\n"))
    assert len(run) == 5
    assert [line.split(" byte ")[0] for line in told(run)] == ["run.wf-journal.jsonl:3"]
    assert contents(run, 1) == {ROUND: [1], REPORT: []}
    assert sizes(run, 5) == {ROUND: None, REPORT: 3}
    resume = run.resume()
    assert (resume.possible, resume.from_, resume.reasons) == (False, (0, 1), ("step_not_resumable",))
    took = [step.consumed[0].tokens for step in run.steps(3, 6) if step.consumed]
    assert took == [(1,), None, (3,)]


def test_a_missing_line_is_named(tmp_path: Path) -> None:
    lines = pipe(3, 1).text().splitlines()
    del lines[2]
    run = opened(folder(tmp_path / "run", "\n".join(lines) + "\n"))
    assert len(run) == 3
    assert told(run)[0].startswith("run.wf-journal.jsonl:3 byte ")
    assert "lines are missing" in told(run)[0]


def test_an_id_used_twice_shows_the_later_run(tmp_path: Path) -> None:
    first, second = pipe(3, 3), pipe(2, 1)
    run = opened(folder(tmp_path / "run", first.text() + second.text()))
    assert len(run) == 3
    assert contents(run, 3) == {ROUND: [2], REPORT: ["round 1 quiet"]}
    assert [line.split(" byte ")[0] for line in told(run)] == ["run.wf-journal.jsonl:8"]
    raw = run.raw(0)
    assert raw is not None
    assert raw.where.startswith("run.wf-journal.jsonl:8 ")


def test_a_second_run_begun_on_a_torn_line(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", pipe(3, 3).text()[:-30] + pipe(2, 1).text()))
    assert len(run) == 3
    assert contents(run, 3)[ROUND] == [2]
    assert {line.split(" byte ")[0] for line in told(run)} == {"run.wf-journal.jsonl:7"}


def test_two_lines_grown_together_are_both_read(tmp_path: Path) -> None:
    lines = pipe(3, 1).text().splitlines()
    run = opened(folder(tmp_path / "run", "\n".join([*lines[:2], lines[2] + lines[3], lines[4]]) + "\n"))
    assert len(run) == 4
    assert contents(run, 4)[ROUND] == [2, 3]
    assert [line.split(" byte ")[0] for line in told(run)] == ["run.wf-journal.jsonl:3"]


def test_an_empty_journal_is_a_run_of_which_nothing_is_known(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "refused", ""))
    assert (run.run().status, len(run), run.run().id) == ("unknown", 0, "refused")
    assert "a resume that was refused" in told(run)[0]
    assert not run.resume().possible
    assert run.state(0) is not None


def test_a_header_alone_is_a_run_killed_before_its_first_firing(tmp_path: Path) -> None:
    run = opened(folder(tmp_path / "run", Writer(header({"X": 1})).text()))
    assert (run.run().status, len(run)) == ("interrupted", 0)
    assert run.resume().possible


def test_a_journal_without_a_header_knows_no_beginning(tmp_path: Path) -> None:
    text = "".join(pipe(3, 1).text().splitlines(keepends=True)[1:])
    run = opened(folder(tmp_path / "run", text))
    assert len(run) == 4
    assert sizes(run, 4) == {ROUND: None, REPORT: None}
    assert run.resume().reasons == ("not_resumable",)


def test_lines_that_are_no_firings(tmp_path: Path) -> None:
    odd = ["[]", "5", "{}", '{"actor": 5, "fireCount": 1}', '{"actor": "a", "fireCount": "x"}', '{"actor": "b"']
    run = opened(folder(tmp_path / "run", pipe(2, 0).text() + "\n".join(odd) + "\n"))
    assert len(run) == 2
    assert [line.split(" byte ")[0].rpartition(":")[2] for line in told(run)] == ["4", "5", "6", "7", "8", "9"]


def test_tokens_that_the_quick_decoder_refuses(tmp_path: Path) -> None:
    deep = "[" * 3000 + "]" * 3000
    writer = Writer(header())
    writer.fire("bell", put={ROUND: ["NAN", "\ud83d", 10**30, "DEEP"]}, state={"_n": 1})
    text = writer.text().replace('"NAN"', "NaN").replace('"DEEP"', deep)
    run = opened(folder(tmp_path / "run", text))
    tokens = contents(run, 1)[ROUND]
    assert tokens is not None
    assert [repr(token) for token in tokens[:3]] == ["Number('NaN')", "'\\\\ud83d'", str(10**30)]
    assert len(run) == 1


def test_a_digest_that_does_not_fit_is_named_by_its_line(tmp_path: Path) -> None:
    writer = Writer(header())
    writer.fire("bell", put={ROUND: [1]}).fire("guard", {ROUND: [2]}, {REPORT: ["x"]})
    run = opened(folder(tmp_path / "run", writer))
    assert len(told(run)) == 1
    assert told(run)[0].startswith("run.wf-journal.jsonl:3 byte ")
    assert "guard took a token of bell.Round-->guard.Round that is not the one put there" in told(run)[0]


def test_digests_are_over_sorted_keys(tmp_path: Path) -> None:
    token = {"z": [1], "a": {"y": 1.5, "b": None}}
    writer = Writer(header())
    writer.fire("bell", put={ROUND: [token, "x"]}).fire("guard", {ROUND: [token, "x"]})
    run = opened(folder(tmp_path / "run", writer))
    assert told(run) == []
    assert run.steps(2, 3)[0].consumed[0].tokens == (token, "x")  # type: ignore[index]


def test_a_token_that_nobody_put(tmp_path: Path) -> None:
    writer = Writer(header())
    writer.fire("bell", put={ROUND: [1]}).fire("guard", {ROUND: [1]}).fire("guard", {ROUND: [2]}).fire("bell")
    run = opened(folder(tmp_path / "run", writer))
    assert [step.name for step in run.steps(1, 9)] == ["bell", "guard", "bell", "guard"]
    assert "run.wf-journal.jsonl:4" in told(run)[0]
    assert "no line puts that many there" in told(run)[0]


def test_firings_that_cannot_be_replayed(tmp_path: Path) -> None:
    writer = Writer(header())
    writer.fire("bell", put={ROUND: [1]})
    writer.fire("bell", consumed=..., produced=..., state=..., notReplayable="bell._lock: a lock cannot be saved")
    run = opened(folder(tmp_path / "run", writer))
    second = run.steps(2, 3)[0]
    assert (second.consumed, second.produced) == (None, None)
    assert "a lock cannot be saved" in (second.summary or "")
    assert sizes(run, 1)[ROUND] == 1
    assert sizes(run, 2)[ROUND] is None
    assert run.resume().from_ == (0, 1)
    assert run.resume().reasons == ("step_not_resumable",)


def test_two_queues_of_one_id_are_kept_apart(tmp_path: Path) -> None:
    writer = Writer(header())
    writer.fire("a", produced=[["a.Out-->b.In", [1]], ["a.Out-->b.In", [1]]])
    writer.fire("b", {"a.Out-->b.In": [1]})
    run = opened(folder(tmp_path / "run", writer))
    assert [(queue.id, queue.size) for queue in state_at(run, 2).queues or ()] == [
        ("a.Out-->b.In", 0),
        ("a.Out-->b.In", 1),
    ]


def test_names_with_control_characters(tmp_path: Path) -> None:
    writer = Writer(header())
    writer.fire("b\x1b[2J", put={"b\x1b[2J.Out-->c.In": ["\x07"]}).fire("c", {"b\x1b[2J.Out-->c.In": ["\x07"]})
    run = opened(folder(tmp_path / "run", writer))
    assert [step.name for step in run.steps(1, 3)] == ["b\\u001b[2J", "c"]
    assert told(run) == []
    assert sizes(run, 2) == {"b\\u001b[2J.Out-->c.In": 0}


def test_inputs_are_where_a_run_begins(tmp_path: Path) -> None:
    writer = Writer(header({"Seed": {"$wfType": "tuple", "items": [1]}, "Other": 5}))
    writer.fire("till", {"WF.Seed-->till.Seed": [{"$wfType": "tuple", "items": [1]}]})
    run = opened(folder(tmp_path / "run", writer))
    assert contents(run, 0) == {"WF.Seed-->till.Seed": [{"$type": "tuple", "items": [1]}]}
    assert contents(run, 1) == {"WF.Seed-->till.Seed": []}
    assert told(run) == []


def test_inputs_that_could_not_be_saved(tmp_path: Path) -> None:
    writer = Writer({"header": {"version": 1, "workflowName": "x", "graph": "g", "inputsNotSaved": "a lock"}})
    writer.fire("till", {"WF.Seed-->till.Seed": [1]})
    run = opened(folder(tmp_path / "run", writer))
    assert told(run) == []
    queue = (state_at(run, 0).queues or ())[0]
    assert (queue.size, queue.contents) == (1, "size")
    assert run.resume().reasons == ("inputs_missing",)


def test_too_large_a_network_is_a_problem(tmp_path: Path) -> None:
    writer = Writer(header())
    writer.fire("/".join("x" * 200), put={})
    writer.fire("a", put={})
    run = opened(folder(tmp_path / "run", writer))
    assert len(run) == 1
    assert "nested more than" in told(run)[0]


def test_a_journal_from_a_pipe_is_known_by_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "some-lines.txt"
    path.write_text(pipe(2, 1).text())
    runs = open_path(str(path))
    assert runs.source.format == "wfpy"
    assert runs.rows()[0].steps == 3


def test_what_stays_in_a_queue_is_not_looked_at_to_tell_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = opened(folder(tmp_path / "run", pipe(200, 200)))
    look, looked = Store.value, list[int]()
    monkeypatch.setattr(Store, "value", lambda store, ref, *text: looked.append(ref) or look(store, ref, *text))
    states = [state_at(run, step) for step in range(401)]
    found = [change(before, after) for before, after in pairwise(states)]
    assert len(looked) < 10 * 400
    assert [(one.taken, list(one.put)) for one in found[300].moved] == [(1, []), (0, ["round 101 quiet"])]
