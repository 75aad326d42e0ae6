"""Hooks and telemetry of a network: heard at each firing, in its agents and tools, and gone on with by a resume."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from inspector import Agent, Call, Hook, Network, OpenTelemetry, ScriptedModel, actor, tool
from inspector.formats import open_path
from inspector.resume.apps import App
from inspector.resume.jobs import check, open_job
from inspector.runner.errors import ResumeRefused

FAILS: set[str] = set()


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FAILS.clear()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@tool
def look(place: str) -> str:
    return f"saw {place}"


@actor
def shout(text: str) -> str:
    if text in FAILS:
        raise ValueError("no voice")
    return text.upper()


class Listening(Hook):
    """Hears everything; `does` says what it wants done, by event and node or tool."""

    def __init__(self, **does: Any) -> None:
        self.told: list[Any] = []
        self.does = does

    def _heard(self, event: Any, name: str, *about: Any) -> Any:
        self.told.append((event.kind, name, *about))
        event.scratch["heard"] = event.scratch.get("heard", 0) + 1
        act = self.does.get(f"{event.kind}_{name}")
        return act(event) if act else None

    def on_firing(self, event: Any) -> Any:
        return self._heard(event, event.node, event.tokens)

    def on_firing_result(self, event: Any) -> Any:
        return self._heard(event, event.node, dict(event.put), event.error)

    def on_tool_call(self, event: Any) -> Any:
        return self._heard(event, event.name, event.arguments)

    def on_tool_result(self, event: Any) -> Any:
        return self._heard(event, event.name, event.value)

    def on_run_settled(self, event: Any) -> Any:
        return self._heard(event, event.agent, event.status)


def office(*hooks: Hook, inner: tuple[Hook, ...] = (), **options: Any) -> Network:
    """A tool, an agent that calls a tool, and an actor in a nested network."""
    net, nested = Network("office", hooks=hooks, **options), Network("nested", hooks=inner)
    node = nested.add(shout)
    nested.connect(nested.input("text"), node.text)
    nested.connect(node.out, nested.output("text"))
    clerk = net.add(Agent("clerk", ScriptedModel([Call("look", {"place": "sea"})], "fine"), tools=[look]))
    looking, inside = net.add(look), net.add(nested)
    net.connect(net.input("place"), looking.place)
    net.connect(looking.out, clerk.prompt)
    net.connect(clerk.answer, inside.text)
    net.connect(inside.text, net.output("said"))
    return net


async def test_hooks_hear_firings_tools_and_agents() -> None:
    hook, inner = Listening(), Listening()
    result = await office(hook, inner=(inner,)).run({"place": ["lake"]})
    assert result.outputs == {"said": ["FINE"]}
    assert hook.told == [
        ("firing", "look", {"place": "lake"}),
        ("tool_call", "look", {"place": "lake"}),
        ("tool_result", "look", "saw lake"),
        ("firing_result", "look", {"out": "saw lake"}, None),
        ("firing", "clerk", {"prompt": "saw lake"}),
        ("tool_call", "look", {"place": "sea"}),
        ("tool_result", "look", "saw sea"),
        ("run_settled", "clerk", "completed"),
        ("firing_result", "clerk", {"answer": "fine"}, None),
        ("firing", "nested/shout", {"text": "fine"}),
        ("firing_result", "nested/shout", {"out": "FINE"}, None),
        ("run_settled", "office", "completed"),
    ]
    assert inner.told == hook.told[-3:-1]


async def test_a_tool_can_be_called_otherwise_or_not_at_all() -> None:
    def rewriting(event: Any) -> Any:
        return event.rewrite({"place": "hill"})

    net = office(Listening(tool_call_look=rewriting, tool_result_look=lambda event: event.rewrite(f"{event.value}!")))
    assert (await net.run({"place": ["lake"]}, trace=None)).status == "completed"
    told = net.hooks[0].told  # type: ignore[attr-defined]
    assert told[3] == ("firing_result", "look", {"out": "saw hill!"}, None)
    net = office(Listening(tool_call_look=lambda event: event.skip("closed")))
    await net.run({"place": ["lake"]})
    assert net.hooks[0].told[3] == ("firing_result", "look", {"out": "closed"}, None)  # type: ignore[attr-defined]


@pytest.mark.parametrize("event", ["firing_clerk", "tool_call_look", "firing_result_look"])
async def test_a_hook_stops_the_run_and_a_resume_goes_on_there(event: str, tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    result = await office(Listening(**{event: lambda event: event.stop("not today")})).run(
        {"place": ["lake"]}, trace=trace
    )
    assert (result.status, result.reason) == ("cancelled", "not today")
    assert result.steps == (0 if event == "tool_call_look" else 1)
    run = open_path(trace).open()
    list(run.index())
    state = run.state(len(run))
    assert state is not None
    waits = "look" if event == "tool_call_look" else "clerk"
    assert [(item.name, item.status) for item in state.pending or ()] == [(waits, "ready")]
    hook = Listening()
    done = await office(hook).resume(trace).run()
    assert done.outputs == {"said": ["FINE"]}
    assert hook.told[0][:2] == ("firing", waits)


async def test_a_hook_that_raises_stops_the_run_by_name() -> None:
    result = await office(Listening(firing_look=lambda event: 1 / 0)).run({"place": ["lake"]})
    assert result.status == "cancelled"
    assert result.reason == "the hook Listening raised ZeroDivisionError: division by zero"


async def test_the_scratchpad_goes_on_and_a_missing_hook_is_refused(tmp_path: Path) -> None:
    trace = str(tmp_path / "t.jsonl")
    FAILS.add("fine")
    hook = Listening()
    failed = await office(hook).run({"place": ["lake"]}, trace=trace)
    assert failed.status == "failed"
    assert hook.told[-2] == ("firing_result", "nested/shout", {}, "no voice")
    FAILS.clear()
    seen: list[int] = []
    again = Listening(firing_nested=None)
    again.does["firing_nested/shout"] = lambda event: seen.append(event.scratch["heard"])
    assert (await office(again).resume(trace).run()).status == "completed"
    network = [told for told in hook.told if told[0] != "run_settled" and told[:2] != ("tool_call", "look")]
    assert seen == [len([told for told in network if told[0].startswith("firing")]) + 1 + 2]
    with pytest.raises(ResumeRefused, match=r"Listening \(firing\)") as caught:
        await office().resume(trace).run()
    assert caught.value.code == "hook_missing"
    plan = await asyncio.to_thread(check, open_job(trace, App(target="a:b", value=office(), digest="d")))
    assert [(refusal.code, refusal.remedy == "accept") for refusal in plan.refusals] == [("hook_missing", True)]
    assert (await office().resume(trace).accept("hook_missing", "already_resumed").run()).status == "completed"


async def test_spans_are_nested_and_a_resume_links_to_the_run_before(tmp_path: Path) -> None:
    spans, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace = str(tmp_path / "t.jsonl")
    FAILS.add("fine")
    net = office(telemetry=OpenTelemetry(provider))
    await net.run({"place": ["lake"]}, trace=trace, workers=2)
    first = {span.name: span for span in spans.get_finished_spans()}
    names = {span.context.span_id: span.name for span in first.values()}
    assert {name: span.parent and names[span.parent.span_id] for name, span in first.items()} == {
        "execute_tool look": "invoke_agent clerk",  # the last of two
        "chat scripted": "invoke_agent clerk",
        "invoke_agent clerk": "firing clerk",
        "firing clerk": "invoke_workflow office",
        "firing nested/shout": "invoke_workflow office",
        "invoke_workflow office": None,
    }
    failed = first["firing nested/shout"]
    assert failed.status.status_code.name == "ERROR"
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "ValueError"
    whole = first["invoke_workflow office"]
    assert whole.attributes is not None
    assert (whole.attributes["runinspect.run.status"], whole.attributes["error.type"]) == ("failed", "ValueError")
    assert "fine" not in str([span.to_json() for span in first.values()])
    FAILS.clear()
    spans.clear()
    await net.resume(trace).run()
    last = spans.get_finished_spans()[-1]
    assert [link.context.span_id for link in last.links] == [first["invoke_workflow office"].context.span_id]


@pytest.mark.parametrize(
    ("says", "status", "reason", "said"),
    [
        (None, "suspended", "reconciliation", []),
        (lambda event: event.retry(), "completed", None, ["A"]),
        (lambda event: event.result("B"), "completed", None, ["B"]),
        (lambda event: event.result({"$type": "codec", "name": "gone", "value": 1}), "failed", None, []),
        (lambda event: event.failure("lost"), "failed", None, []),
        (lambda event: event.abort(), "failed", "operator_abort_with_unknown_outcome", []),
        (lambda event: event.leave(), "suspended", "reconciliation", []),
        (lambda event: 1 / 0, "cancelled", "the hook Deciding raised ZeroDivisionError: division by zero", []),
    ],
)
async def test_a_hook_decides_about_a_firing_that_may_have_happened(
    tmp_path: Path, says: Any, status: str, reason: str | None, said: list[str]
) -> None:
    told: list[Any] = []

    class Deciding(Hook):
        def on_ambiguous(self, event: Any) -> Any:
            told.append((event.operation, event.name, event.call_id, event.arguments, event.idempotency))
            event.scratch["asked"] = len(told)
            return says(event) if says is not None else None

    @actor
    async def slow(text: str) -> str:
        if text in FAILS:
            await asyncio.Event().wait()
        return text.upper()

    def net() -> Network:
        made = Network("line", hooks=[Deciding()])
        node = made.add(slow)
        made.connect(made.input("text"), node.text)
        made.connect(node.out, made.output("said"))
        return made

    first, second = str(tmp_path / "t.jsonl"), str(tmp_path / "u.jsonl")
    FAILS.add("a")
    going = asyncio.ensure_future(net().run({"text": ["a"]}, trace=first))
    while b'"status":"started"' not in (Path(first).read_bytes() if Path(first).exists() else b""):
        await asyncio.sleep(0)
    going.cancel()
    await asyncio.wait([going])
    FAILS.clear()
    job = open_job(first, App(target="a:b", value=net(), digest="d"))
    plan = await asyncio.to_thread(check, job)
    assert (plan.needs, [work.call_id for work in plan.runs_again]) == ((), ["slow#1"])
    done = await net().resume(first).run(trace=second)
    assert (done.status, done.reason, done.outputs) == (status, reason, {"said": said})
    assert told == [("firing", "slow", "slow#1", {"text": "a"}, "unknown")]
    written = Path(second).read_text()
    assert ('"record":"decision"' in written) == (status != "cancelled" and says is not None)
    if status in ("suspended", "cancelled"):  # nothing happened: it is asked again
        assert (await net().resume(second).run()).status == status
        assert (len(told), told[1]) == (2, told[0])
        decided = net().resume(second).accept("already_resumed").reconcile("slow#1", "result", "by hand")
        assert (await decided.run()).outputs == {"said": ["by hand"]}
        assert len(told) == 2


@pytest.mark.parametrize("event", ["firing", "firing_result", "run_settled"])
async def test_what_cannot_be_saved_stops_the_network_by_name(tmp_path: Path, event: str) -> None:
    class Keeps(Hook):
        def __init__(self) -> None:
            setattr(self, f"on_{event}", lambda event: event.scratch.update(bad=object(), good=1))

    net = Network("office", hooks=[Keeps()])
    node = net.add(shout)
    net.connect(net.input("text"), node.text)
    net.connect(node.out, net.output("out"))
    trace = str(tmp_path / "t.jsonl")
    result = await net.run({"text": ["a", "b"]}, trace=trace)
    if event == "run_settled":
        assert result.outputs == {"out": ["A", "B"]}
        return
    assert (result.status, result.steps) == ("cancelled", 1)
    assert "cannot be saved as bad" in str(result.reason)
    again = Network("office")
    node = again.add(shout)
    again.connect(again.input("text"), node.text)
    again.connect(node.out, again.output("out"))
    done = await again.resume(trace).accept("hook_missing").run()
    assert done.outputs == {"out": ["A", "B"]}
