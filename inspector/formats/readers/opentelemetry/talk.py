"""What the model calls of a trace tell: the conversation, the calls that are open, the tools on offer."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from inspector.formats.readers.opentelemetry import genai
from inspector.formats.readers.opentelemetry.answers import answering
from inspector.formats.readers.opentelemetry.span import Span
from inspector.model.run import Call, Definition, Message, Pending, PendingStatus, RunStatus, State, Tool
from inspector.model.values import Value

if TYPE_CHECKING:
    from inspector.formats.readers.opentelemetry.run import Trace

BACK = 512
"""Spans before a step that are looked at for the last model call."""
NEAR = 40
"""Spans that are looked at for the calls of the agents around, when one is found."""
DEEPEST = 100
"""Spans above a step that are looked at for the agents that it is of."""


Agent = int | str | None
"""The step of an agent's span, or of a tool's, whose model calls are another conversation; the id of a span that is
not in the file, and may be one's; None for no agent."""


class Seen:
    """The model calls and tools before a step, back to the last model call that is of no agent within another.
    `calls` has the last model call of each agent."""

    def __init__(self, run: "Trace", step: int) -> None:
        self.calls: dict[Agent, Span] = {}
        self.tools: list[tuple[Agent, Span]] = []
        self.latest: Agent = None
        for seq in range(step, max(step - BACK, 0), -1):
            if self.calls and step - seq > NEAR:
                break
            span = run.span(seq)
            kind = genai.kind(span) if span is not None else "node"
            if span is None or kind not in ("model", "tools"):
                continue
            if kind == "model" and (span.failed or _is_part(run, seq)) and genai.conversation(span) is None:
                continue  # some libraries write what was said when there is an answer
            agent, outer = _agents(run, seq)
            if kind == "tools":
                # Those before the model call are in what it was given.
                self.tools += [] if agent in self.calls else [(agent, span)]
                continue
            self.latest = agent if not self.calls else self.latest
            self.calls.setdefault(agent, span)
            if outer is None and not isinstance(agent, str) and not _is_tool(run, agent):
                break
        # One within another tool that calls no model is how that was done.
        self.tools = [one for one in reversed(self.tools) if one[0] in self.calls or not _is_tool(run, one[0])]

    def ran(self, agent: Agent) -> list[Span]:
        """The tools that an agent ran since its last model call; those of which nobody knows whose they are too."""
        return [span for whose, span in self.tools if whose == agent or whose not in self.calls]


def _is_part(run: "Trace", seq: int) -> bool:
    """Whether a model call is a part of another, as of the client that a library calls; both have a span."""
    above = run.parent(seq)
    for _ in range(DEEPEST):
        span = run.span(above) if above is not None else None
        if above is None or span is None or genai.is_agent(span) or genai.kind(span) == "tools":
            return False
        if genai.kind(span) == "model":
            return True
        above = run.parent(above)
    return False


def _is_tool(run: "Trace", agent: Agent) -> bool:
    span = run.span(agent) if isinstance(agent, int) else None
    return span is not None and genai.kind(span) == "tools"


def _agents(run: "Trace", seq: int) -> tuple[Agent, Agent]:
    """The agent that a step is of, and the agent around that one."""
    found: list[Agent] = []
    span, above = run.span(seq), run.parent(seq)
    named = False
    for _ in range(DEEPEST):
        if above is None or len(found) == 2:
            break
        span = run.span(above)
        if span is not None and (genai.is_agent(span) or (genai.kind(span) == "tools" and not named)):
            named = genai.is_agent(span)
            found.append(above)
        above = run.parent(above)
    if above is None and span is not None and span.parent is not None:
        found.append(span.parent)
    return (found[0] if found else None), (found[1] if len(found) > 1 else None)


def state(run: "Trace", step: int) -> State:
    """The state after a step: what the last model call before it and the tools run since then tell, of the agent that
    the step is of, or of the one around that as long as it has not called a model; before the first such call, what
    that one began with. The attributes of the step's own span are its values; those of the resource belong to step
    0."""
    if step == 0:
        first = run.span(1) if len(run) else None
        return _before(run, 0, first.resource if first else {})
    seen = Seen(run, step)
    values = _values(run.span(step))
    if not seen.calls:
        return _before(run, step, values)
    talking = _talking(run, step, seen)
    call = seen.calls.get(talking)
    said = genai.conversation(call) if call else None
    if call is None or said is None:
        return State(step=step, values=values)
    done, calls = seen.ran(talking), said[-1].calls or () if said else ()
    spans = answering(calls, done)
    told = (
        _told(run, [call for call, span in zip(calls, spans, strict=True) if span is None]) if step == len(run) else {}
    )
    pending = [one for one in _pending(run, step, calls, spans) if one.call_id not in told]
    asked_by = {id(span): call for span, call in zip(spans, calls, strict=True)}
    for agent, other in seen.calls.items():
        if agent != talking and _goes_on(run, agent, step):
            asked = [
                one for message in genai.messages(genai.attribute(other, genai.OUTPUT)) for one in message.calls or ()
            ]
            pending += _pending(run, step, asked, answering(asked, seen.ran(agent)))
    return State(
        step=step,
        messages=(
            *said,
            *(_result(span, asked_by.get(id(span))) for span in done if span.end is not None),
            *told.values(),
        ),
        pending=tuple(pending),
        values=values,
    )


def _told(run: "Trace", calls: Sequence[Call]) -> dict[str | None, Message]:
    """Call id → the result of a call without a span that an agent's own span tells: the output of the run itself is
    called as a tool, and no tool runs."""
    wanted = {call.call_id for call in calls if call.call_id}
    found: dict[str | None, Message] = {}
    for span in _roots(run) if wanted else ():
        for message in genai.messages(genai.attribute(span, genai.ALL)):
            for call in message.calls or ():
                found.pop(call.call_id, None)  # an id may be used again
            if message.role == "tool" and message.call_id in wanted:
                found[message.call_id] = message
    return found


def _talking(run: "Trace", step: int, seen: Seen) -> Agent:
    """The agent whose conversation is that of a step."""
    agent, outer = _agents(run, step)
    if agent in seen.calls or not seen.calls:
        return agent
    return outer if outer in seen.calls else seen.latest


def _goes_on(run: "Trace", agent: Agent, step: int) -> bool:
    """Whether an agent is not over when a step begins. What the outermost left open is open when it is over too."""
    if not isinstance(agent, int) or (_agents(run, agent)[0] is None and not _is_tool(run, agent)):
        return True
    span = run.span(agent)
    now = run.span(step)
    if span is None or span.end is None or now is None or now.start is None:
        return True
    return span.end > now.start and step < len(run)


def _values(span: Span | None) -> dict[str, Value]:
    if span is None:
        return {}
    return {
        name: genai.attribute(span, name) if name == genai.DEFINITIONS else value
        for name, value in span.attributes.items()
        if not genai.shown_elsewhere(name)
    }


def _before(run: "Trace", step: int, values: dict[str, Value]) -> State:
    """The state after a step that no model call comes before: of those behind it, the first one's prompt."""
    for seq in range(step + 1, min(len(run), BACK) + 1):
        span = run.span(seq)
        if span and genai.kind(span) == "model":
            said = genai.conversation(span)
            answer = len(list(genai.messages(genai.attribute(span, genai.OUTPUT))))
            prompt = None if said is None else tuple(said[: len(said) - answer])
            return State(step=step, messages=prompt, pending=() if said else None, values=values)
    return State(step=step, values=values)


def _result(span: Span, call: Call | None) -> Message:
    result = genai.attribute(span, genai.RESULT)
    return Message(
        role="tool",
        text=genai.failure(span) if span.failed and result is None else genai.as_text(result),
        call_id=genai.call_id(span) or (call.call_id if call else None),
        name=genai.tool_name(span),
    )


def _pending(run: "Trace", step: int, calls: Sequence[Call], spans: Sequence[Span | None]) -> Iterator[Pending]:
    """The calls of the last answer that no span of a tool is for, or one without an end."""
    last = step == len(run)
    waits = _waiting(run) if last and calls else {}
    ended = last and all(span.end is not None for span in _roots(run)) and bool(run.sorted.roots)
    for call, span in zip(calls, spans, strict=True):
        if span is not None and span.end is not None:
            continue
        status, note = _status(call, span, last, ended, waits)
        yield Pending(
            kind="tool",
            name=call.name,
            status=status,
            call_id=call.call_id,
            arguments=call.arguments,
            since=span.started if span else None,
            note=note,
        )


def _status(
    call: Call, span: Span | None, last: bool, ended: bool, waits: dict[str, str]
) -> tuple[PendingStatus, str | None]:
    if span is not None:
        return "ambiguous", "its span has no end: it may have happened"
    if not last:
        return "ready", None
    why = waits.get(call.call_id or "")
    if why is not None:
        return "waiting", f"needs {'an approval' if why == 'approval' else 'a result from outside'}"
    if ended:
        return "ready", "the run ended without a span for it"
    return "ambiguous", "no span for it, and the run's own has no end: it may have happened"


def _roots(run: "Trace") -> list[Span]:
    return [span for seq in run.sorted.roots[:100] if (span := run.span(seq)) is not None]


def _waiting(run: "Trace") -> dict[str, str]:
    """Call id → what the run's own spans say that it waits for."""
    return {name: why for span in _roots(run) for name, why in genai.deferred(span).items()}


def outcome(roots: list[Span]) -> tuple[RunStatus, str | None]:
    """Status and reason of a run, from the spans that have no parent. They are exported when they end, so
    a run that was killed has none."""
    if any(span.failed for span in roots):
        return "failed", None
    if not roots or any(span.end is None for span in roots):
        return "interrupted", None
    waits = [why for span in roots for why in genai.deferred(span).values()]
    if waits:
        return "suspended", "approval" if "approval" in waits else "tools"
    return "completed", None


def definition(run: "Trace", step: int) -> Definition:
    """Up to a step, the tools that the last model call was offered, or that an agent around it says that it has;
    without such a record, those that were run."""
    called: dict[str, None] = {}
    model: str | None = None
    last: int | None = None
    for seq in range(step, max(step - BACK, 0), -1):
        if (span := run.span(seq)) is None:
            continue
        what = genai.kind(span)
        model = model or next(filter(None, (_text(span.attributes.get(name)) for name in _MODELS)), None)
        if what == "model" and (tools := genai.tools(span)) is not None:
            return Definition(tools=tools, tools_known="advertised", model=model)
        last = seq if last is None and what != "node" else last
        if what == "tools" and (name := genai.tool_name(span)) is not None:
            called.setdefault(name)
    for span in _around(run, step if last is None else last):
        if (tools := genai.tools(span)) is not None:
            return Definition(tools=tools, tools_known="advertised", model=model)
    if called:
        names = tuple(Tool(name=name) for name in sorted(called))
        return Definition(tools=names, tools_known="called", model=model)
    return Definition(model=model)


def _around(run: "Trace", seq: int) -> Iterator[Span]:
    """The span of a step, and those that it is in."""
    above: int | None = seq or None
    for _ in range(DEEPEST):
        span = run.span(above) if above is not None else None
        if above is None or span is None:
            return
        yield span
        above = run.parent(above)


_MODELS = ("gen_ai.request.model", "llm.model_name")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
