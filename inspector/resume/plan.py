"""What a resume would do, as data: made without running anything of the run.

`Plan` is the document of `runinspect check --json`; `Decisions` is what the operator said about it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec

from inspector.errors import UsageError
from inspector.model.places import FORMS, read_place
from inspector.model.run import Record, RunStatus
from inspector.model.values import Value
from inspector.runner.preflight import ACCEPTABLE, Finding, Reconciling, Resolution, Work

Question = Literal["approve", "answer", "reconcile", "resolve", "mend"]

MUST_ACCEPT = frozenset({"runs_again", "side_effects", "already_resumed", "tool_changed"})
"""Warnings that somebody must accept before anything runs."""

Remedy = Literal["accept", "take_over", "max_turns", "token_budget"]
"""What lets a refused run go on all the same: that its code is accepted, that the run is taken over, or another
limit."""


class Planned(Record, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of work in a plan: a step of the run, or a call of it."""

    name: str
    kind: str | None = None
    step: int | None = None
    call_id: str | None = None
    note: str | None = None
    ways: tuple[str, ...] = ()
    """Of a call that was not on offer: what can be decided about it, as `--resolve` takes it."""


class Need(Record, frozen=True, kw_only=True):
    """A decision that is owed before the run can go on; `detail` says what about. One to `resolve` a call that was
    not on offer is owed by nobody: hooks may do it. To `mend` one is a way around a refusal, and no plan's own."""

    call_id: str
    name: str
    question: Question
    detail: str | None = None


class Refusal(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Why the run cannot be resumed: a stable word, what it is about, the difference in words, and the `remedy`, where
    there is one."""

    code: str
    subject: str
    detail: str
    remedy: Remedy | None = None


def planned(work: Work, agent: str | None = None) -> Planned:
    """What an agent, that of a network by its name, does when it goes on."""
    name = work.name if agent is None else f"{agent}/{work.name}"
    return Planned(name=name, kind=work.kind, call_id=work.call_id, note=work.note, ways=work.ways)


def refusal(finding: Finding, agent: str | None = None) -> Refusal:
    """What does not let an agent, that of a network by its name, go on."""
    remedy: Remedy | None = "accept" if finding.code in ACCEPTABLE else finding.limit
    remedy = "take_over" if finding.code == "owned" else remedy
    subject = finding.subject if agent is None else f"{agent}: {finding.subject}"
    return Refusal(code=finding.code, subject=subject, detail=finding.detail, remedy=remedy)


class Warned(Record, frozen=True, kw_only=True):
    """What should be known before the run goes on; with `accept` it must be accepted."""

    code: str
    subject: str
    detail: str
    accept: bool = False


def warn(code: str, subject: str, detail: str) -> Warned:
    """A warning, which must be accepted when its code is one of those."""
    return Warned(code=code, subject=subject, detail=detail, accept=code in MUST_ACCEPT)


class Edit(Record, frozen=True, kw_only=True):
    """A value of the state that the run goes on with in place of its own: `path` says where it stands."""

    path: str
    before: Value
    after: Value


class Plan(Record, frozen=True, kw_only=True):
    """`runinspect.check/1`. `plan` is a token of the file, the step and the code that it was made from."""

    schema: str = "runinspect.check/1"
    resumable: bool
    driver: str | None
    step: int
    plan: str | None = None
    replays: tuple[Planned, ...] = ()
    runs: tuple[Planned, ...] = ()
    runs_again: tuple[Planned, ...] = ()
    needs: tuple[Need, ...] = ()
    edits: tuple[Edit, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[Warned, ...] = ()
    diff: Any = None

    @property
    def takes_over(self) -> bool:
        """Whether the run is taken from whoever drives it: that is something to do, though nothing else may be."""
        return any(warning.code == "owned" for warning in self.warnings)

    def unaccepted(self, accepted: Iterable[str]) -> tuple[Warned, ...]:
        """The warnings that still must be accepted."""
        known = set(accepted)
        return tuple(warning for warning in self.warnings if warning.accept and warning.code not in known)


class Reconciliation(Record, frozen=True, kw_only=True):
    """What is to become of an operation that may have happened: run it again, take this `value` as its
    result or its failure, give up the run, or leave it open."""

    how: Reconciling
    value: Value = None


class Resolved(Record, frozen=True, kw_only=True):
    """What is to become of a call that was not on offer: `repair` to the name in `text`, `retry` or `skip` with it as
    what the model is told, `fail` or `stop` with it as the reason."""

    how: Resolution
    text: str | None = None


class Decisions(Record, frozen=True, kw_only=True):
    """What the operator decided, by call id."""

    approve: tuple[str, ...] = ()
    deny: dict[str, str | None] = msgspec.field(default_factory=dict)
    answer: dict[str, Value] = msgspec.field(default_factory=dict)
    reconcile: dict[str, Reconciliation] = msgspec.field(default_factory=dict)
    resolve: dict[str, Resolved] = msgspec.field(default_factory=dict)
    arguments: dict[str, Value] = msgspec.field(default_factory=dict)
    """Arguments to run a call with, in place of the model's."""
    edits: dict[str, Value] = msgspec.field(default_factory=dict)
    """Other values for what the state holds, by place (see `model.places`): the run goes on as one of its own."""
    accept: frozenset[str] = frozenset()
    why: dict[str, str] = msgspec.field(default_factory=dict)
    """Reasons, by call or place; they go into the new run's journal."""
    take_over: str | None = None
    """Why the run is taken from whoever drives it; None: it is not."""
    max_turns: int | None = None
    token_budget: int | None = None
    """Other limits than the run has; None: its own."""

    def met(self, need: Need) -> bool:
        """Whether a need has its decision."""
        if need.question in ("approve", "answer") and need.call_id in self.deny:
            return True
        if need.question == "approve":
            return need.call_id in self.approve
        if need.question == "mend":
            return need.call_id in {*self.deny, *self.answer, *self.arguments}
        made = {"answer": self.answer, "reconcile": self.reconcile, "resolve": self.resolve}
        return need.call_id in made[need.question]

    def calls(self) -> set[str]:
        """Every call id that something was decided about."""
        return {*self.approve, *self.deny, *self.answer, *self.reconcile, *self.resolve, *self.arguments}


class Ended(Record, frozen=True, kw_only=True):
    """How a resumed run ended, or that it is suspended again. `trace` is its file or store; `replayed`
    and `ran` count steps. `outcome`: whether it went on, or was over and gave its result again; None where there was
    nothing that could have gone on."""

    run: str | None
    status: RunStatus
    reason: str | None = None
    output: Value = None
    trace: str | None = None
    resumed_from: str | None = None
    replayed: int = 0
    ran: int = 0
    outcome: Literal["started", "terminal_replay"] | None = "started"
    final: bool = False
    """Whether a run that failed is over for good. One that reached a limit is not: with another it goes on."""


def split(option: str, text: str, known: Iterable[str]) -> tuple[str, str | None]:
    """`CALL=REST` or `CALL`: a call id may itself hold `=`, so the known ids are tried first."""
    for call_id in sorted(known, key=len, reverse=True):
        if text == call_id:
            return call_id, None
        if text.startswith(f"{call_id}="):
            return call_id, text[len(call_id) + 1 :]
    call_id, sign, rest = text.partition("=")
    if not call_id:
        raise UsageError(option, f"{text!r} names no call")
    return call_id, rest if sign else None


def split_edit(text: str) -> tuple[str, Value]:
    """`PATH=JSON`: a path may itself hold `=`. Raises UsageError."""
    wrong = UsageError("--edit", f"{text!r} is no PATH=JSON, with a PATH of {FORMS}")
    for at in (at for at, letter in enumerate(text) if letter == "="):
        if read_place(text[:at]) is None:
            continue
        try:
            return text[:at], _json("--edit", text[at + 1 :])
        except UsageError as error:
            wrong = error
    raise wrong


def read_decisions(options: Mapping[str, Iterable[str]], known: Iterable[str]) -> Decisions:
    """The decisions of the command line: texts by option name (`approve`, `deny`, `answer`, `reconcile`,
    `resolve`, `arguments`, `edit`, `accept`, `why`, `take_over`). Raises UsageError."""
    edits = dict(split_edit(text) for text in options.get("edit", ()))
    ids = [*known, *edits]
    parts = {
        name: [split(f"--{name}", text, ids) for text in options.get(name, ())]
        for name in ("approve", "deny", "answer", "reconcile", "resolve", "arguments", "why")
    }
    if both := {call for call, _ in parts["approve"]} & {call for call, _ in parts["deny"]}:
        raise UsageError("--approve", f"{', '.join(sorted(both))} is approved and denied at once")
    return Decisions(
        approve=tuple(call for call, _ in parts["approve"]),
        deny=dict(parts["deny"]),
        answer={call: _json("--answer", text) for call, text in parts["answer"]},
        arguments={call: _json("--arguments", text) for call, text in parts["arguments"]},
        edits=edits,
        reconcile={call: _reconciliation(text) for call, text in parts["reconcile"]},
        resolve={call: _resolved(text) for call, text in parts["resolve"]},
        accept=frozenset(options.get("accept", ())),
        why={call: text for call, text in parts["why"] if text},
        take_over=next(iter(options.get("take_over", ())), None),
    )


def _json(option: str, text: str | None) -> Value:
    try:
        return msgspec.json.decode(text or "")
    except msgspec.DecodeError:
        raise UsageError(option, f"{text!r} is no JSON (a text needs its quotes: CALL='\"yes\"')") from None


def _reconciliation(text: str | None) -> Reconciliation:
    how, _, rest = (text or "").partition(":")
    if how == "result":
        return Reconciliation(how="result", value=_json("--reconcile", rest))
    if how == "failure":
        return Reconciliation(how="failure", value=rest)
    if how in ("retry", "abort", "leave"):
        return Reconciliation(how=how)  # type: ignore[arg-type]
    raise UsageError("--reconcile", f"{text!r} is none of retry, result:JSON, failure:TEXT, abort, leave")


def _resolved(text: str | None) -> Resolved:
    how, _, rest = (text or "").partition(":")
    if how not in get_args(Resolution) or (how == "repair" and not rest):
        known = "repair:NAME, retry[:TEXT], skip[:TEXT], fail[:TEXT], stop[:TEXT]"
        raise UsageError("--resolve", f"{text!r} is none of {known}")
    return Resolved(how=how, text=rest or None)  # type: ignore[arg-type]
