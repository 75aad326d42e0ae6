"""The rebuilt queues are those of a plain model, at each firing, also where lines were written late."""

import os
import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats.readers.wfpy.run import WfpyRun
from tests.formats.wfpy.folders import GRAPH, contents, folder, opened, told
from tests.formats.wfpy.networks import Model, Plan, late

TIMES = max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)
SEEDS = st.integers(0, 2**32)


def checkpoint_of(model: Model) -> Any:
    """A checkpoint of the model's end: it tells the network, and must agree."""

    def plan(part: Plan, path: tuple[str, ...]) -> Any:
        actors: dict[str, Any] = {}
        for name in part.leaves:
            actors[name] = {"fireCount": model.writer.counts.get("/".join((*path, name)), 0), "state": {}}
        for name, inner in part.nested.items():
            actors[name] = {"fireCount": 0, "state": {}, "subPlan": plan(inner, (*path, name))}
        queues = [{"id": name, "tokens": tokens} for name, tokens in model.queues[path].items()]
        return {"queues": queues, "actors": actors}

    head = {"version": 1, "runId": "run", "workflowName": "shop", "graph": GRAPH, "resumable": True}
    return head | {"failed": {"message": "broke"}, "plan": plan(model.root, ())}


def run_of(model: Model, place: str, journal: Any, **files: Any) -> WfpyRun:
    return opened(folder(Path(place) / "run", journal, **files))


@given(SEEDS)
@settings(max_examples=35 * TIMES, deadline=None)
def test_every_queue_at_every_firing(seed: int) -> None:
    model = Model(random.Random(seed), depth=seed % 3).run(40)
    with tempfile.TemporaryDirectory() as place:
        run = run_of(model, place, model.writer, checkpoint=checkpoint_of(model))
        assert len(run) == len(model.truth)
        assert told(run) == []
        for step, truth in enumerate(model.truth, 1):
            assert contents(run, step) == truth, f"after step {step}"


@given(SEEDS)
@settings(max_examples=25 * TIMES, deadline=None)
def test_a_journal_alone_tells_the_queues_it_names(seed: int) -> None:
    model = Model(random.Random(seed), depth=0).run(40)
    with tempfile.TemporaryDirectory() as place:
        run = run_of(model, place, model.writer)
        assert told(run) == []
        for step, truth in enumerate(model.truth, 1):
            found = contents(run, step)
            assert found == {name: truth[name] for name in found}
            assert all(name in found for name, tokens in truth.items() if tokens)


@given(SEEDS)
@settings(max_examples=35 * TIMES, deadline=None)
def test_late_lines_are_put_in_causal_order(seed: int) -> None:
    rng = random.Random(seed)
    model = Model(rng, depth=seed % 3).run(60)
    with tempfile.TemporaryDirectory() as place:
        run = run_of(model, place, late(model.writer, rng, 6), checkpoint=checkpoint_of(model))
        assert told(run) == []
        assert len(run) == len(model.truth)
        seen: dict[str, int] = {}
        for step in run.steps(1, len(run) + 1):
            seen[step.name] = seen.get(step.name, 0) + 1
            truth = model.took[step.name, seen[step.name]]
            assert [group.queue for group in step.consumed or ()] == list(truth)
            assert all(group.tokens in (None, tuple(truth[group.queue])) for group in step.consumed or ())
        assert contents(run, len(run)) == (model.truth[-1] if model.truth else model.snapshot())


@given(SEEDS)
@settings(max_examples=20 * TIMES, deadline=None)
def test_a_state_in_the_middle_is_that_of_the_journal_up_to_there(seed: int) -> None:
    rng = random.Random(seed)
    model = Model(rng, depth=1).run(30)
    cut = rng.randrange(len(model.truth) + 1)
    with tempfile.TemporaryDirectory() as place:
        run = run_of(model, place, model.writer, checkpoint=checkpoint_of(model))
        truth = model.truth[cut - 1] if cut else {name: [] for name in model.snapshot()}
        assert contents(run, cut) == truth
