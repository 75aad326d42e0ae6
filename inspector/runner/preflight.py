"""Before a saved run goes on: does it still fit the code of today, and what is owed to it?

Everything is looked at and nothing is run. What does not fit is refused by name; what may be accepted all
the same has its code, and the acceptance is an argument of the resume, never part of the run.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from inspector.model.run import Definition, Hook, Tool
from inspector.model.values import Value, preview
from inspector.runner.ambiguity import Ambiguity
from inspector.runner.data import Advancing, Awaiting, Executing, Failed, Preparing, Resolving, RunData, Slot
from inspector.runner.messages import Call
from inspector.runner.tools import AnyTool

ACCEPTABLE = frozenset(
    {"tool_missing", "arguments_invalid", "hook_missing", "model_in_flight", "other_run", "definition_changed"}
)
"""Refusals that can be accepted, each by its code."""


class Finding(msgspec.Struct, frozen=True):
    """Something that does not fit. A refusal ends the resume unless its code is accepted; so does a warning
    with `accept`."""

    code: str
    subject: str
    detail: str
    refusal: bool = True
    accept: bool = False


class Owed(msgspec.Struct, frozen=True):
    """A decision that is owed before a call can go on."""

    call_id: str
    name: str
    question: Literal["approve", "answer", "reconcile"]
    detail: str | None = None


class Work(msgspec.Struct, frozen=True):
    """Something that would run."""

    name: str
    kind: str
    call_id: str | None = None
    note: str | None = None


class Decided(msgspec.Struct, kw_only=True):
    """What was decided, by call id (the provider's or the run's own)."""

    approve: list[str] = msgspec.field(default_factory=list)
    deny: dict[str, str | None] = msgspec.field(default_factory=dict)
    answer: dict[str, Value] = msgspec.field(default_factory=dict)
    edit: dict[str, Value] = msgspec.field(default_factory=dict)
    reconcile: dict[str, tuple[str, Value]] = msgspec.field(default_factory=dict)
    resolve: tuple[str, str | None] | None = None
    accept: set[str] = msgspec.field(default_factory=set)
    max_turns: int | None = None
    why: dict[str, str] = msgspec.field(default_factory=dict)
    """The operator's reasons, by call."""
    take_over: str | None = None
    """Why the run is taken from whoever drives it; None: it is not."""

    def calls(self) -> set[str]:
        """Every call that something was decided about."""
        return {*self.approve, *self.deny, *self.answer, *self.edit, *self.reconcile}


class Preflight(msgspec.Struct, kw_only=True):
    """What was found. `runs`: what would run; `again`: what may have run before. `consults`: a hook is asked about
    what may have happened."""

    ambiguity: Ambiguity = Ambiguity()
    consults: bool = False
    findings: list[Finding] = msgspec.field(default_factory=list)
    owed: list[Owed] = msgspec.field(default_factory=list)
    runs: list[Work] = msgspec.field(default_factory=list)
    again: list[Work] = msgspec.field(default_factory=list)

    def standing(self, accepted: Iterable[str]) -> list[Finding]:
        """The findings that end the resume."""
        known = set(accepted)
        return [
            finding
            for finding in self.findings
            if (finding.refusal and not (finding.code in ACCEPTABLE and finding.code in known))
            or (finding.accept and finding.code not in known)
        ]


def examine(
    data: RunData,
    recorded: Definition | None,
    name: str | None,
    today: Mapping[str, AnyTool],
    hooks: tuple[Hook, ...],
    agent: str,
    decided: Decided,
    ambiguity: Ambiguity,
) -> Preflight:
    """Look at a saved run with today's tools and hooks."""
    found = Preflight(ambiguity=ambiguity, consults=any(hook.event == "ambiguous" for hook in hooks))
    if name is not None and name != agent:
        found.findings.append(Finding("other_run", name, f"the run is of the agent {name!r}, not of {agent!r}"))
    _phase(data, decided, found)
    offer = data.advertised.tools if data.advertised is not None else None
    names = today if offer is None else {tool.name for tool in offer}
    offered = {name: tool for name, tool in today.items() if name in names}
    for slot in _open(data):
        _call(slot, recorded, offered, decided, found)
    if recorded is not None:
        _hooks(recorded, hooks, found)
        _tools(recorded, today, {slot.call.name for slot in _open(data)}, found)
    return found


def _phase(data: RunData, decided: Decided, found: Preflight) -> None:
    phase = data.phase
    if isinstance(phase, Failed):
        raised = phase.kind == "max_turns" and decided.max_turns is not None and decided.max_turns > data.turn
        if not raised:
            advice = ": raise it to go on" if phase.kind == "max_turns" else ""
            found.findings.append(Finding("terminal", "run", f"failed: {phase.kind}: {phase.message}{advice}"))
    elif isinstance(phase, Awaiting):
        detail = f"turn {data.turn} was sent and no answer is recorded: it would be sent, and billed, again"
        again = "runs_again" in decided.accept or "model_in_flight" in decided.accept or bool(decided.reconcile)
        if not again and not found.consults and found.ambiguity.model == "require_reconciliation":
            found.findings.append(Finding("model_in_flight", "model", detail))
        found.again.append(Work("model", "model", None, detail))
    elif isinstance(phase, Resolving):
        call = phase.turn.parts[phase.index]
        assert isinstance(call, Call)
        found.runs.append(Work(call.name, "tools", call.call_id, "was not on offer; the hooks, or you, decide"))
    if isinstance(phase, Preparing) or (isinstance(phase, Executing) and not _open(data)):
        lost = "the usage of an abandoned stream was still to come, and is not counted"
        note = lost if isinstance(phase, Preparing) and phase.owed else None
        found.runs.append(Work("model", "model", None, note))


def _open(data: RunData) -> list[Slot]:
    """The calls that are not answered."""
    phase = data.phase
    if isinstance(phase, Executing):
        return [slot for slot in phase.slots if slot.status not in ("answered", "denied")]
    if isinstance(phase, Advancing) and not phase.turn.skipped:
        calls = [part for part in phase.turn.parts if isinstance(part, Call) and part.name != data.output.tool]
        return [Slot(call) for call in calls]
    return []


def _of(decisions: Mapping[str, Any] | Iterable[str], call: Call) -> str | None:
    """The id by which a decision names a call."""
    return next((key for key in (call.internal_id, call.call_id) if key and key in decisions), None)


def _call(
    slot: Slot, recorded: Definition | None, today: Mapping[str, AnyTool], decided: Decided, found: Preflight
) -> None:
    call = slot.call
    tool = today.get(call.name)
    will_run = _will_run(slot, tool, decided, found)
    if tool is None:
        detail = f"the call {call.call_id} needs it, and there is no tool of that name any more"
        found.findings.append(Finding("tool_missing", call.name, detail))
        return
    if not will_run:
        return
    edited = _of(decided.edit, call)
    problem = tool.check(decided.edit[edited] if edited else slot.effective)
    if problem is not None:
        detail = f"the arguments of the call {call.call_id} do not validate any more: {problem}"
        found.findings.append(Finding("arguments_invalid", call.name, detail))
    before = _recorded(recorded, call.name)
    gated = slot.why == "approval" or (before is not None and before.needs_approval)
    if gated and tool.needs_approval is False:
        detail = f"the call {call.call_id} waited for an approval that the tool does not ask for any more"
        found.findings.append(Finding("hook_missing", call.name, detail))
    if before is not None and before.digest and tool.spec.digest and before.digest != tool.spec.digest:
        detail = f"the tool changed since the call {call.call_id} was made: {_what(before, tool.spec)}"
        found.findings.append(Finding("tool_changed", call.name, detail, False, True))


def _will_run(slot: Slot, tool: AnyTool | None, decided: Decided, found: Preflight) -> bool:
    """What is to become of a call; False when nothing of it can run any more."""
    call = slot.call
    if _of(decided.answer, call) or slot.why == "input":
        if not _of(decided.answer, call) and not _of(decided.deny, call):
            found.owed.append(Owed(call.call_id, call.name, "answer", preview(slot.question, 160)))
        return False
    if slot.status == "started":
        return _again(slot, tool, decided, found)
    gated = slot.status == "waiting" or (slot.status == "ready" and tool is not None and tool.needs_approval is True)
    if gated and not _of(decided.approve, call) and not _of(decided.deny, call):
        found.owed.append(Owed(call.call_id, call.name, "approve"))
    elif not _of(decided.deny, call):
        found.runs.append(Work(call.name, "tools", call.call_id))
    # Also what is denied is looked at: a gate that is gone says that the code is not what it was.
    return True


def _again(slot: Slot, tool: AnyTool | None, decided: Decided, found: Preflight) -> bool:
    """The same for a call that may have run."""
    call = slot.call
    key = _of(decided.reconcile, call)
    if key is not None:
        retried = decided.reconcile[key][0] == "retry"
        if retried:
            found.again.append(Work(call.name, "tools", call.call_id, "it may have happened before"))
        return retried
    repeated = found.ambiguity.tool == "retry_idempotent_only"
    if tool is not None and tool.spec.idempotency == "supported" and repeated:
        found.again.append(Work(call.name, "tools", call.call_id, "the tool says that this is without harm"))
        return True
    detail = "it was started and no result is recorded: it may have happened"
    found.owed.append(Owed(call.call_id, call.name, "reconcile", detail))
    return False


def _recorded(recorded: Definition | None, name: str) -> Tool | None:
    tools = recorded.tools if recorded is not None else None
    return next((tool for tool in tools or () if tool.name == name), None)


def _what(before: Tool, after: Tool) -> str:
    fields = ("description", "schema", "idempotency", "needs_approval")
    return ", ".join(field for field in fields if getattr(before, field) != getattr(after, field)) or "digest"


def _hooks(recorded: Definition, hooks: tuple[Hook, ...], found: Preflight) -> None:
    there = {(hook.event, hook.name) for hook in hooks}
    for hook in recorded.hooks or ():
        if (hook.event, hook.name) not in there:
            detail = f"the hook {hook.name} on {hook.event} was registered when the run was saved"
            found.findings.append(Finding("hook_missing", hook.name, detail))


def _tools(recorded: Definition, today: Mapping[str, AnyTool], pending: set[str], found: Preflight) -> None:
    if recorded.tools is None:
        return
    before = {tool.name: tool for tool in recorded.tools}
    if extra := [name for name in today if name not in before]:
        detail = "new since the run was saved; the open batch cannot call them"
        found.findings.append(Finding("extra_tools", ", ".join(extra), detail, False))
    for name, tool in today.items():
        if name in before and name not in pending and before[name].digest not in (None, tool.spec.digest):
            found.findings.append(Finding("tool_changed", name, _what(before[name], tool.spec), False, False))
