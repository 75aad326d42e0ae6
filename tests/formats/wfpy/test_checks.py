"""Disagreements between journal, checkpoint and trace are problems with their places; others are none."""

from pathlib import Path
from typing import Any

import pytest

from tests.formats.wfpy.folders import REPORT, ROUND, checkpoint, folder, opened, pipe, record, told, trace

STATES = {"bell": {"fireCount": 3, "state": {}}, "guard": {"fireCount": 1, "state": {}}}


def against(tmp_path: Path, queues: Any, actors: Any = STATES, **fields: Any) -> list[str]:
    return told(opened(folder(tmp_path / "run", pipe(3, 1), checkpoint=checkpoint(queues, actors, **fields))))


def test_a_checkpoint_that_agrees(tmp_path: Path) -> None:
    assert against(tmp_path, {ROUND: [2, 3], REPORT: ["round 1 quiet"]}) == []


def test_tokens_put_by_the_firing_that_failed(tmp_path: Path) -> None:
    found = against(tmp_path, {ROUND: [2, 3], REPORT: ["round 1 quiet", "round 2"]})
    assert len(found) == 1
    assert found[0].startswith(f"run.wf-checkpoint.json {REPORT}: 1 of its tokens are of the firing that failed")


@pytest.mark.parametrize(
    ("queues", "words"),
    [
        ({ROUND: [2, 3, 4], REPORT: ["round 1 quiet"]}, "it holds 3 tokens, and the journal's firings leave 2"),
        ({ROUND: [3], REPORT: ["round 1 quiet"]}, "its token 1 is not the one"),
        ({ROUND: [2], REPORT: ["round 1 quiet"]}, "it holds 1 tokens, and the journal's firings leave 2"),
        ({ROUND: [2, 3.0], REPORT: ["round 1 quiet"]}, "its token 2 is not the one"),
        ({ROUND: [2, 3], REPORT: []}, "it holds 0 tokens, and the journal's firings leave 1"),
    ],
)
def test_tokens_that_the_journal_does_not_explain(tmp_path: Path, queues: Any, words: str) -> None:
    assert words in "\n".join(against(tmp_path, queues))


def test_firings_that_the_journal_does_not_have(tmp_path: Path) -> None:
    actors = STATES | {"bell": {"fireCount": 4, "state": {}}}
    found = against(tmp_path, {ROUND: [2, 3], REPORT: ["round 1 quiet"]}, actors)
    assert found == ["run.wf-checkpoint.json bell: it fired 4 times, and the journal has 3"]


def traced(tmp_path: Path, third: int, last: int) -> list[str]:
    """A trace whose sizes of the queue of rounds after the third and the last step are as given."""
    at = [{ROUND: number, REPORT: 0} for number in (1, 2, third)]
    steps = [("bell", "internal", number, number, at[number - 1]) for number in (1, 2, 3)]
    steps += [("guard", "internal", n, 3 + n, {ROUND: 3 - n, REPORT: n}) for n in (1, 2)]
    steps += [("guard", "internal", 3, 6, {ROUND: last, REPORT: 3})]
    actors = [("bell", "Bell", "internal", 3), ("guard", "Guard", "internal", 3)]
    return told(opened(folder(tmp_path / "run", pipe(3, 3), queues=trace(*steps), run=record(actors))))


def test_a_trace_that_agrees(tmp_path: Path) -> None:
    assert traced(tmp_path, 3, 0) == []


def test_a_token_in_flight_is_no_disagreement(tmp_path: Path) -> None:
    assert traced(tmp_path, 2, 0) == []


@pytest.mark.parametrize(("third", "last", "step"), [(4, 0, 3), (1, 0, 3), (3, 1, 6)])
def test_sizes_that_the_journal_does_not_explain(tmp_path: Path, third: int, last: int, step: int) -> None:
    found = traced(tmp_path, third, last)
    assert len(found) == 1
    assert found[0].startswith("run.wf-queues.json:")
    assert f"step {step}: {third if step == 3 else last} tokens in {ROUND}" in found[0]


def test_disagreements_are_not_listed_without_end(tmp_path: Path) -> None:
    steps = [("bell", "internal", number, number, {ROUND: number + 5, REPORT: 0}) for number in range(1, 60)]
    found = told(opened(folder(tmp_path / "run", pipe(60, 0), queues=trace(*steps))))
    assert len(found) == 21
    assert "not listed" in found[-1]


def test_trace_steps_are_matched_to_firings(tmp_path: Path) -> None:
    steps = trace(("bell", "internal", 1, 1, {}), ("guard", "internal", 1, 3, {}), ("bell", "internal", 2, 2, {}))
    run = opened(folder(tmp_path / "run", pipe(2, 1), queues=steps))
    assert [(step.name, step.trace_step) for step in run.steps(1, 4)] == [("bell", 1), ("bell", 3), ("guard", 2)]
