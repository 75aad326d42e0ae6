"""The review pipeline of the examples: its failed run is what the program makes, and goes on to the clean run's end."""

from pathlib import Path

import pytest

from inspector import Network
from inspector.formats import open_path
from inspector.resume.apps import load
from inspector.runner.claims import Claims

EXAMPLES = Path(__file__).parents[3] / "examples"
TRACE = str(EXAMPLES / "review-failed.jsonl")


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch) -> Network:
    monkeypatch.delenv("REVIEW_FAILS", raising=False)
    found = load(f"{EXAMPLES}/review_pipeline.py:net").value
    assert isinstance(found, Network)
    return found


def test_it_fails_at_its_fortieth_firing_in_the_loop() -> None:
    run = open_path(TRACE).open()
    list(run.index())
    firings = [step for step in run.steps(1, len(run) + 1) if step.kind == "firing"]
    error = run.run().error
    assert error is not None
    assert (len(firings), run.run().status, error.where) == (39, "failed", ("sections", "polish"))
    assert [tool.name for tool in run.definition().tools or ()] == ["find_claims"]
    assert run.problems() == []


async def test_an_agent_in_a_network_waits_and_goes_on(tmp_path: Path) -> None:
    net = load(f"{EXAMPLES}/claims.py:net").value
    assert isinstance(net, Network)
    path, paid = str(EXAMPLES / "claims-waiting.jsonl"), []
    for number in (1, 2):
        resuming = net.resume(path).claims(Claims(str(tmp_path)))
        path = str(tmp_path / f"{number}.jsonl")
        result = await resuming.approve("c2").run(trace=path)
        paid += [call["arguments"] for call in result.pending]
    assert paid == [{"amount": 240_000}]
    assert result.outputs["settled"] == ["1: paid 350 for a bicycle", "2: paid 240000 for a house"]


@pytest.mark.parametrize("step", [None, 0, 20])
async def test_it_goes_on_to_the_end_of_the_clean_run(net: Network, step: int | None, tmp_path: Path) -> None:
    papers = load(f"{EXAMPLES}/review_pipeline.py:PAPERS").value
    clean = await net.run({"paper": papers})
    result = await net.resume(TRACE, step=step).claims(Claims(str(tmp_path))).run()
    assert result.outputs == clean.outputs
    assert result.replayed + result.steps == clean.steps
