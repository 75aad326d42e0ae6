"""What was decided about a run that is to be resumed: plain Python, one change at a time."""

from typing import Any

import msgspec

from inspector.model.values import Value, to_json
from inspector.resume.jobs import Need, Plan
from inspector.resume.plan import Decisions, Reconciliation, Resolved
from inspector.tui.driving import Planned

WORDS = {
    "approve": "approved",
    "deny": "denied",
    "answer": "answered",
    "retry": "runs once more",
    "result": "has this result",
    "failure": "failed",
    "abort": "the run is given up",
    "leave": "stays open",
}
"""What was decided, in a word or two."""
RESOLVED = {
    "repair": "runs as {}",
    "retry": "the model is asked once more",
    "skip": "does not run, and the model is told",
    "fail": "the run fails",
    "stop": "the run is stopped",
}
"""The same of a call that was not on offer."""


FREE = ("resolve", "mend")
"""What may be decided, and need not."""


class Deciding:
    """The decisions so far, and the last plan that was made with them."""

    def __init__(self) -> None:
        self.decisions = Decisions()
        self.planned: Planned | None = None
        self._known: dict[str, Need] = {}
        self.originals: dict[str, Value] = {}
        """What stood in each place before it was edited first."""

    @property
    def plan(self) -> Plan | None:
        """The plan; None before there is one, and where there is none."""
        return self.planned.plan if self.planned else None

    @property
    def owned(self) -> bool:
        """Whether somebody drives the run, known or not, or it is to be taken over."""
        refused = any(refusal.code == "owned" for refusal in (self.plan.refusals if self.plan else ()))
        owner = self.planned.owner if self.planned else None
        return refused or owner is not None or self.decisions.take_over is not None

    def needs(self) -> list[Need]:
        """What is owed, or can be resolved, or was: also what is decided by now, as the plan no longer names it then,
        and what a plan that is refused does not name. Their order stays."""
        open_calls = {need.call_id for need in _open(self.plan)} if self.plan else set()
        every = self.plan is not None and bool(self.plan.refusals)
        return [need for call, need in self._known.items() if every or call in open_calls or self.decisions.met(need)]

    def owed(self) -> list[Need]:
        """What is still to be decided."""
        return [need for need in self.needs() if need.question not in FREE and not self.decisions.met(need)]

    def waited_for(self) -> list[Need]:
        """What must be decided before the run key does anything. What is under way where the run is taken from is
        another thing at each boundary there: it may wait for its word until the run has been taken."""
        taken = self.decisions.take_over is not None
        return [need for need in self.owed() if not (taken and need.question == "reconcile")]

    def ways(self, need: Need) -> tuple[str, ...]:
        """What a call that was not on offer can be resolved to."""
        runs = self.plan.runs if self.plan else ()
        return next((item.ways for item in runs if item.ways and item.call_id == need.call_id), ())

    def take(self, planned: Planned) -> None:
        """A plan has come. One that was made with other decisions is overtaken."""
        if planned.decisions != self.decisions:
            return
        self.planned = planned
        for need in _open(planned.plan) if planned.plan else ():
            self._known.setdefault(need.call_id, need)

    def word(self, need: Need) -> str | None:
        """What was decided about a need."""
        made, call = self.decisions, need.call_id
        if call in made.approve:
            return WORDS["approve"]
        if call in made.deny:
            reason = made.deny[call]
            return WORDS["deny"] + (f": {reason}" if reason else "")
        if call in made.answer:
            return f"{WORDS['answer']}: {to_json(made.answer[call])[:200]}"
        if call in made.reconcile:
            how = made.reconcile[call]
            return WORDS[how.how] + (f": {to_json(how.value)[:200]}" if how.value is not None else "")
        if call in made.resolve:
            resolved, text = made.resolve[call], made.resolve[call].text or ""
            return RESOLVED[resolved.how].format(text) + (f": {text}" if text and resolved.how != "repair" else "")
        if need.question == "mend" and call in made.arguments and call not in _refused(self.plan):
            return "runs with these arguments"
        return None

    def decide(self, need: Need, how: str, value: Value = None) -> None:
        """Decide about a call, in place of what was decided before. `how` is `approve`, `deny` (a reason),
        `answer` (a value), `retry`, `result` (a value), `failure` (a text), `abort` or `leave`; about one that was
        not on offer `repair:NAME`, or `retry`, `skip`, `fail` or `stop` (each with a text, or none)."""
        self.undo(need)
        made, call = self.decisions, need.call_id
        change: dict[str, Any] = {}
        if how == "approve":
            change["approve"] = (*made.approve, call)
        elif how == "deny":
            change["deny"] = {**made.deny, call: value}
        elif how == "answer":
            change["answer"] = {**made.answer, call: value}
        elif need.question == "resolve":
            way, _, name = how.partition(":")
            resolved = Resolved(how=way, text=name or value)  # type: ignore[arg-type]
            change["resolve"] = {**made.resolve, call: resolved}
        else:
            change["reconcile"] = {**made.reconcile, call: Reconciliation(how=how, value=value)}  # type: ignore[arg-type]
        self._set(**change)

    def undo(self, need: Need) -> None:
        """Take a decision back."""
        made, call = self.decisions, need.call_id
        self._set(
            arguments=_without(made.arguments, call) if need.question == "mend" else made.arguments,
            approve=tuple(other for other in made.approve if other != call),
            deny=_without(made.deny, call),
            answer=_without(made.answer, call),
            reconcile=_without(made.reconcile, call),
            resolve=_without(made.resolve, call),
        )

    def edit(self, call: str, arguments: Value) -> None:
        """Have a call run with these arguments; with those that it has already, it is not edited."""
        others = _without(self.decisions.arguments, call)
        own = next((item.arguments for item in self._pending(call)), None)
        same = to_json(arguments) == to_json(own)
        self._set(arguments=others if same else {**others, call: arguments})

    def change(self, place: str, before: Value, after: Value) -> None:
        """Have the run go on with another value in a place of its state; with the one that it has, it is not edited."""
        if to_json(self.originals.setdefault(place, before)) == to_json(after):
            self.unchange(place)
            return
        self._set(edits={**self.decisions.edits, place: after})

    def unchange(self, place: str) -> None:
        """Take an edit back."""
        self.originals.pop(place, None)
        self._set(edits=_without(self.decisions.edits, place), why=_without(self.decisions.why, place))

    def because(self, call: str, reason: str) -> None:
        """Why a call was decided about as it was; an empty text: no reason."""
        why = _without(self.decisions.why, call)
        self._set(why={**why, call: reason} if reason else why)

    def accept(self, code: str) -> None:
        """Accept what has this code, or no longer."""
        self._set(accept=self.decisions.accept ^ {code})

    def limit(self, name: str, number: str) -> None:
        """Give the run another limit, a whole number."""
        self._set(**{name: int(number)})

    def take_over(self, reason: str) -> None:
        """Take the run from whoever drives it."""
        self._set(take_over=reason or None)

    def _set(self, **change: Any) -> None:
        self.decisions = msgspec.structs.replace(self.decisions, **change)

    def arguments(self, call: str) -> Value:
        """What a call would run with."""
        if call in self.decisions.arguments:
            return self.decisions.arguments[call]
        return next((item.arguments for item in self._pending(call)), None)

    def firing(self, call: str) -> bool:
        """Whether it is a firing of a network that is decided about, and no call of a model."""
        return any(item.kind == "firing" for item in self._pending(call))

    def _pending(self, call: str) -> list[Any]:
        pending = self.planned.pending if self.planned else ()
        return [item for item in pending if call in (item.call_id, item.internal_call_id)]

    def hindrance(self) -> str | None:
        """Why the run cannot go on yet, in words; None when it can."""
        if self.planned is None:
            return "the plan is being made …"
        plan = self.planned.plan
        if self.planned.decisions != self.decisions:
            return "the plan is being made again …"
        if plan is None:
            return self.planned.error or "there is no plan"
        if plan.refusals:
            return f"refused: {', '.join(dict.fromkeys(item.code for item in plan.refusals))}"
        owed = self.waited_for()
        if owed:
            return f"{len(owed)} decision{'' if len(owed) == 1 else 's'} owed: {', '.join(n.call_id for n in owed)}"
        waiting = self.unaccepted()
        return f"to be accepted first: {', '.join(waiting)}" if waiting else None

    def unaccepted(self) -> tuple[str, ...]:
        """The codes of the warnings that are still to be accepted."""
        waiting = self.plan.unaccepted(self.decisions.accept) if self.plan else ()
        return tuple(dict.fromkeys(item.code for item in waiting))


def _open(plan: Plan) -> list[Need]:
    """What a plan wants decided, and what it lets one decide."""
    named = ((item.call_id, item) for item in plan.runs if item.ways)
    free = [Need(call_id=call, name=item.name, question="resolve", detail=item.note) for call, item in named if call]
    known = {need.call_id for need in plan.needs}
    refused = {call: name for call, name in _refused(plan).items() if call not in known}
    return [*plan.needs, *free, *(Need(call_id=call, name=name, question="mend") for call, name in refused.items())]


def _refused(plan: Plan | None) -> dict[str, str]:
    """The calls of an agent that cannot run as they are, with their names."""
    if plan is None or plan.driver != "agent":
        return {}
    names = {item.subject for item in plan.refusals if item.code in ("tool_missing", "arguments_invalid")}
    return {item.call_id: item.name for item in plan.runs if item.call_id and item.name in names and not item.ways}


def _without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}
