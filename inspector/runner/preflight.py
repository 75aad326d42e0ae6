"""Before a saved run goes on: does it still fit the code of today, and what is owed to it?

Everything is looked at and nothing is run. What does not fit is refused by name; what may be accepted all
the same has its code, and the acceptance is an argument of the resume, never part of the run.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from inspector.model.run import Definition, Hook, Tool
from inspector.model.values import Value, preview, to_json
from inspector.runner.ambiguity import Ambiguity
from inspector.runner.data import (
    WAITS,
    Advancing,
    Awaiting,
    Executing,
    Failed,
    Preparing,
    Resolving,
    RunData,
    Slot,
    WaitReason,
)
from inspector.runner.errors import RequestError, ResumeRefused
from inspector.runner.messages import Call
from inspector.runner.tools import AnyTool, ToolError, plain

ACCEPTABLE = frozenset(
    {"tool_missing", "arguments_invalid", "hook_missing", "model_in_flight", "other_run", "definition_changed"}
)
"""Refusals that can be accepted, each by its code."""

MODEL = "model"
"""What a model call is called in decisions."""
Limit = Literal["max_turns", "token_budget"]
"""What a run may spend."""
LIMITS: dict[str, Limit] = {"max_turns": "max_turns", "budget": "token_budget"}
"""The limit that was spent, by how a run failed."""


class Finding(msgspec.Struct, frozen=True):
    """Something that does not fit. A refusal ends the resume unless its code is accepted; so does a warning
    with `accept`."""

    code: str
    subject: str
    detail: str
    refusal: bool = True
    accept: bool = False
    limit: Limit | None = None
    """The spent limit that may be raised to go on."""


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
    ways: tuple[str, ...] = ()
    """Of a call that was not on offer: what it can be resolved to, `repair:NAME` for each name that was."""


Reconciling = Literal["retry", "result", "failure", "abort", "leave"]
"""What may be decided about what may have happened."""
Resolution = Literal["repair", "retry", "skip", "fail", "stop"]
"""What may be decided about a call that was not on offer."""


class Decided(msgspec.Struct, kw_only=True):
    """What was decided, by call id (the provider's or the run's own)."""

    approve: list[str] = msgspec.field(default_factory=list)
    deny: dict[str, str | None] = msgspec.field(default_factory=dict)
    answer: dict[str, Value] = msgspec.field(default_factory=dict)
    edit: dict[str, Value] = msgspec.field(default_factory=dict)
    reconcile: dict[str, tuple[str, Value]] = msgspec.field(default_factory=dict)
    edits: dict[str, Value] = msgspec.field(default_factory=dict)
    """Other values for what the state holds, by place (see `model.places`)."""
    resolve: dict[str | None, tuple[Resolution, str | None]] = msgspec.field(default_factory=dict)
    """How, and a text, by the call that was not on offer; None: the one that waits."""
    accept: set[str] = msgspec.field(default_factory=set)
    max_turns: int | None = None
    token_budget: int | None = None
    why: dict[str, str] = msgspec.field(default_factory=dict)
    """The operator's reasons, by call or place."""
    take_over: str | None = None
    """Why the run is taken from whoever drives it; None: it is not."""

    def calls(self) -> set[str]:
        """Every call that something was decided about."""
        named = {*self.approve, *self.deny, *self.answer, *self.edit, *self.reconcile}
        return named | {call for call in self.resolve if call is not None}

    def any(self) -> bool:
        """Whether anything was decided that the run goes on with."""
        return bool(self.calls() or self.edits or self.resolve) or self.take_over is not None


def savable(subject: str, value: Value) -> Value:
    """What somebody gave, as it stands where that can be saved. Raises RequestError where nothing like it can be."""
    try:
        to_json(value)
        return value
    except (TypeError, ValueError):
        pass
    try:
        return plain(value)
    except ToolError as error:
        raise RequestError(subject, f"was given what cannot be saved: a {type(value).__name__}") from error


class Preflight(msgspec.Struct, kw_only=True):
    """What was found. `runs`: what would run; `again`: what may have run before. `consults`: a hook is asked about
    what may have happened."""

    ambiguity: Ambiguity = Ambiguity()
    consults: bool = False
    findings: list[Finding] = msgspec.field(default_factory=list)
    owed: list[Owed] = msgspec.field(default_factory=list)
    runs: list[Work] = msgspec.field(default_factory=list)
    again: list[Work] = msgspec.field(default_factory=list)

    @property
    def reason(self) -> WaitReason | None:
        """What the run waits for, where a decision is owed."""
        return WAITS[self.owed[0].question] if self.owed else None

    def standing(self, accepted: Iterable[str]) -> list[Finding]:
        """The findings that end the resume."""
        known = set(accepted)
        return [
            finding
            for finding in self.findings
            if (finding.refusal and not (finding.code in ACCEPTABLE and finding.code in known))
            or (finding.accept and finding.code not in known)
        ]

    def hold_up(self, accepted: Iterable[str], within: str = "") -> None:
        """Raises ResumeRefused, which names each of the findings that end the resume; `within` stands before them."""
        standing = self.standing(accepted)
        if standing:
            first, *more = standing
            told = [first.detail, *(f"{finding.subject}: {finding.code}: {finding.detail}" for finding in more)]
            raise ResumeRefused(f"{within}{first.subject}", first.code, "; ".join(told))


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
    slots = _open(data)
    words = [_word(slots, place, decided) for place in range(len(slots))]
    for slot, word in zip(slots, words, strict=True):
        _call(slot, word, recorded, offered.get(slot.call.name), found)
    if any(word.reconciled == "abort" for word in words):
        # The whole run ends with that: what else could run does not, and nothing more is owed.
        found.runs, found.again, found.owed = [], [], []
    if recorded is not None:
        _hooks(recorded, hooks, found)
        _tools(recorded, today, {slot.call.name for slot in slots}, found)
    return found


def _phase(data: RunData, decided: Decided, found: Preflight) -> None:
    phase = data.phase
    if isinstance(phase, Failed):
        if raised(data, decided.max_turns, decided.token_budget):
            found.runs.append(Work("model", "model", None))
        else:
            limit = LIMITS.get(phase.kind)
            advice = "" if limit is None else ": raise it to go on"
            detail = f"failed: {phase.kind}: {phase.message}{advice}"
            found.findings.append(Finding("terminal", "run", detail, limit=limit))
    elif isinstance(phase, Awaiting):
        detail = f"turn {data.turn} was sent and no answer is recorded: it would be sent, and billed, again"
        again = "runs_again" in decided.accept or "model_in_flight" in decided.accept or bool(decided.reconcile)
        if not again and not found.consults and found.ambiguity.model == "require_reconciliation":
            found.findings.append(Finding("model_in_flight", "model", detail))
        if decided.reconcile.get(MODEL, ("retry",))[0] == "retry":
            found.again.append(Work("model", "model", None, detail))
    elif isinstance(phase, Resolving):
        call = phase.turn.parts[phase.index]
        assert isinstance(call, Call)
        found.runs.append(_not_offered(data, call))
    if isinstance(phase, Preparing) or (isinstance(phase, Executing) and not _open(data)):
        lost = "the usage of an abandoned stream was still to come, and is not counted"
        note = lost if isinstance(phase, Preparing) and phase.owed else None
        found.runs.append(Work("model", "model", None, note))


def _not_offered(data: RunData, call: Call) -> Work:
    """What can become of a call that was not on offer."""
    offer = data.advertised
    names = (offer.allowed if offer is not None else None) or ()
    left = data.max_invalid_retries - data.invalid_retries
    told = {f"repair it to one of these ({', '.join(names)})": [f"repair:{name}" for name in names]}
    told |= {f"retry ({left} left)": ["retry"] if left > 0 else []}
    told |= {"skip": [] if offer is not None and offer.choice == "none" else ["skip"]}
    told |= {"fail": ["fail"], "stop": ["stop"]}
    known = ", ".join(words for words, ways in told.items() if ways)
    note = f"was not on offer: {known}; else the hooks decide, and where none does the run fails"
    return Work(call.name, "tools", call.call_id, note, tuple(way for ways in told.values() for way in ways))


def raised(data: RunData, max_turns: int | None, token_budget: int | None) -> bool:
    """Whether a run that failed for a spent limit can go on with these."""
    kind = data.phase.kind if isinstance(data.phase, Failed) else None
    if kind == "max_turns":
        return max_turns is not None and max_turns > data.turn
    return kind == "budget" and token_budget is not None and token_budget > data.usage.spent


def _open(data: RunData) -> list[Slot]:
    """The calls that are not answered."""
    phase = data.phase
    if isinstance(phase, Executing):
        return [slot for slot in phase.slots if slot.status not in ("answered", "denied")]
    if isinstance(phase, Advancing) and not phase.turn.skipped:
        calls = [part for part in phase.turn.parts if isinstance(part, Call) and part.name != data.output.tool]
        return [Slot(call) for call in calls]
    return []


class Word(msgspec.Struct, kw_only=True):
    """What was decided about one open call, and the id that tells it from the others: the provider's, where no other
    open call has that too."""

    call_id: str
    approved: bool
    denied: bool
    answered: bool
    edited: Value | UnsetType
    reconciled: str | None

    @property
    def settled(self) -> bool:
        """Whether the call has its result, so that no tool is needed for it."""
        return self.denied or self.answered or self.reconciled in ("result", "failure", "abort")


def _word(slots: Sequence[Slot], place: int, decided: Decided) -> Word:
    call = slots[place].call
    sharing = [number for number, slot in enumerate(slots) if slot.call.call_id == call.call_id]
    # An id that several have is that of the first, as it is when the decision is carried out.
    ids = {call.internal_id, *((call.call_id,) if sharing[0] == place else ())} - {None, ""}
    return Word(
        call_id=call.call_id if len(sharing) == 1 else call.internal_id or call.call_id,
        approved=not ids.isdisjoint(decided.approve),
        denied=not ids.isdisjoint(decided.deny),
        answered=not ids.isdisjoint(decided.answer),
        edited=next((value for name, value in decided.edit.items() if name in ids), UNSET),
        reconciled=next((how for name, (how, _) in decided.reconcile.items() if name in ids), None),
    )


def _call(slot: Slot, word: Word, recorded: Definition | None, tool: AnyTool | None, found: Preflight) -> None:
    name, call_id = slot.call.name, word.call_id
    will_run = _will_run(slot, word, tool, found)
    if tool is None and not word.settled:
        detail = f"the call {call_id} needs it, and there is no tool of that name any more"
        found.findings.append(Finding("tool_missing", name, detail))
    if tool is None or not will_run:
        return
    problem = None if word.settled else tool.check(slot.effective if word.edited is UNSET else word.edited)
    if problem is not None:
        told = "do not validate any more" if word.edited is UNSET else "were edited, and do not validate"
        detail = f"the arguments of the call {call_id} {told}: {problem}"
        found.findings.append(Finding("arguments_invalid", name, detail))
    before = _recorded(recorded, name)
    gated = slot.why == "approval" or (before is not None and before.needs_approval)
    if gated and tool.needs_approval is False:
        detail = f"the call {call_id} waited for an approval that the tool does not ask for any more"
        found.findings.append(Finding("hook_missing", name, detail))
    changed = before is not None and before.digest and tool.spec.digest and before.digest != tool.spec.digest
    if before is not None and changed and not word.settled:
        detail = f"the tool changed since the call {call_id} was made: {_what(before, tool.spec)}"
        found.findings.append(Finding("tool_changed", name, detail, False, True))


def _will_run(slot: Slot, word: Word, tool: AnyTool | None, found: Preflight) -> bool:
    """What is to become of a call; False when nothing of it can run any more."""
    name, call_id = slot.call.name, word.call_id
    if word.answered or slot.why == "input":
        if not word.answered and not word.denied:
            found.owed.append(Owed(call_id, name, "answer", preview(slot.question, 160)))
        return False
    if slot.status == "started":
        return _again(slot, word, tool, found)
    gated = slot.status == "waiting" or (slot.status == "ready" and tool is not None and tool.needs_approval is True)
    if gated and not word.approved and not word.denied:
        why = None if slot.question is None else preview(slot.question, 160)
        found.owed.append(Owed(call_id, name, "approve", why))
    elif not word.denied:
        found.runs.append(Work(name, "tools", call_id))
    # Also of what is denied the gate is looked at: one that is gone says that the code is not what it was.
    return True


def _again(slot: Slot, word: Word, tool: AnyTool | None, found: Preflight) -> bool:
    """The same for a call that may have run."""
    name, call_id = slot.call.name, word.call_id
    if word.reconciled is not None:
        if word.reconciled == "retry":
            found.again.append(Work(name, "tools", call_id, "it may have happened before"))
        return word.reconciled == "retry"
    if found.consults:
        found.again.append(Work(name, "tools", call_id, "it may have happened; a hook is asked"))
        return True
    repeated = found.ambiguity.tool == "retry_idempotent_only"
    if tool is not None and tool.spec.idempotency == "supported" and repeated:
        found.again.append(Work(name, "tools", call_id, "the tool says that this is without harm"))
        return True
    detail = "it was started and no result is recorded: it may have happened"
    found.owed.append(Owed(call_id, name, "reconcile", detail))
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
