"""One artifact of a run without the others: what it does not hold is not told."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.wfpy.folders import ROUND, checkpoint, folder, opened, pipe, record, state_at, trace

CHAT = [{"role": "user", "content": "Ring."}, {"role": "assistant", "content": "Rung."}]
HEAD = {"version": 1, "runId": "r1", "workflowName": "shop", "sourcePath": "/x/flow.py"}
CONTEXT = {**HEAD, "contextVersion": 2, "contextStore": {"bells": 3}, "contextJournalSize": 2}
AGENTS = {**HEAD, "agents": [{"instanceName": "scribe", "entityName": "Scribe", "fireCount": 1, "chatHistory": CHAT}]}


def alone(path: Path, value: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def test_without_journal_and_trace_nobody_knows_how_many_firings_there_were(tmp_path: Path) -> None:
    saved = checkpoint({}, {}, {"message": "torn", "entityInstancePath": ["bell"]})
    for value in (record([("bell", "Bell", "internal", 3)]), saved):
        assert opened(alone(tmp_path / "some.json", value)).run().steps is None
    assert opened(folder(tmp_path / "run", pipe(3, 2))).run().steps == 5


def test_a_trace_alone_does_not_tell_what_is_pending(tmp_path: Path) -> None:
    run = opened(alone(tmp_path / "some.json", trace(("bell", "internal", 1, 1, {ROUND: 1}))))
    assert (len(run), run.run().status, state_at(run, 1).pending) == (1, "unknown", None)


@pytest.mark.parametrize("name", ["run.wf-context.json", "some.json"])
def test_a_shared_context_alone(tmp_path: Path, name: str) -> None:
    run = opened(alone(tmp_path / name, CONTEXT))
    assert (run.run().id, run.run().name, run.run().status, run.run().steps) == ("r1", "shop", "unknown", None)
    assert (state_at(run, 0).values, state_at(run, 0).pending) == ({"bells": 3}, None)


def test_the_chats_of_agents_alone(tmp_path: Path) -> None:
    run = opened(alone(tmp_path / "some.json", AGENTS))
    assert [(said.role, said.text) for said in state_at(run, 0).messages or ()] == [
        ("user", "Ring."),
        ("assistant", "Rung."),
    ]


def test_the_chats_of_a_record(tmp_path: Path) -> None:
    actors = [{"instanceName": "scribe", "entityName": "Scribe", "entityKind": "agent", "chatHistory": CHAT}]
    run = opened(alone(tmp_path / "some.json", record([]) | {"actors": actors}))
    assert len(state_at(run, 0).messages or ()) == 2


def test_a_shared_context_in_its_run_folder_stands_for_the_run(tmp_path: Path) -> None:
    place = folder(tmp_path / "run", pipe(3, 2))
    for name, value in (("run.wf-context.json", CONTEXT), ("run.wf-agent-context.json", AGENTS)):
        assert len(opened(alone(place / name, value))) == 5
