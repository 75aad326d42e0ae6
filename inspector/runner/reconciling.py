"""What becomes of what may have happened: a model call without its answer, tool calls without their results.

Somebody decided, or a hook on `ambiguous` does, or the rules of the agent do; what is left open suspends the run.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from inspector.model.run import RunError
from inspector.model.values import Value
from inspector.runner import hookchain
from inspector.runner.ambiguity import ABORTED
from inspector.runner.data import Executing, Slot
from inspector.runner.effects import Again, Answer, AnyEvent, Fail, Rollback, Turn
from inspector.runner.errors import RequestError
from inspector.runner.hooks import Ambiguous
from inspector.runner.leg import Leg
from inspector.runner.machine import AgentRun
from inspector.runner.messages import ModelTurn
from inspector.runner.preflight import MODEL, Decided
from inspector.runner.toolstep import idempotency_key

if TYPE_CHECKING:
    from inspector.runner.driving import Deciding

Word = tuple[str, Value, str | None]
"""How, with which value, and why."""


async def model(leg: Leg, asked: "Deciding[Any]") -> None:
    """Settle the model call that is under way; it stays so when nobody decides."""
    decided, rules = asked.decided, leg.setup.ambiguity
    how: Word | None = None
    if decided.reconcile:
        call, (word, value) = next(iter(decided.reconcile.items()))
        how = (word, value, decided.why.get(call))
    elif decided.accept & {"runs_again", "model_in_flight"}:
        how = ("retry", None, None)
    else:
        operation = leg.open.get("")
        number = leg.data.tries
        how = await _heard(
            leg,
            Ambiguous(
                **leg.heard(), operation=MODEL, name=_name(leg), attempt=operation.attempt if operation else number
            ),
        )
        if how is None and rules.model == "retry_with_duplicate_risk":
            how = ("retry", None, "model_retry_duplicate_risk")
    if how is None or not _known(leg, MODEL, how):
        return
    word, value, _ = how
    if word == "retry":
        leg.resolved("", Rollback())
    elif word == "result":
        leg.resolved("", Turn(_turn(value)), "succeeded", result=value)
    elif word == "failure":
        error = RunError(type="model", message=str(value))
        leg.resolved("", Fail("model", str(value)), error=error)
    else:
        leg.tell(Fail("aborted", f"{ABORTED}: the answer of {_name(leg)} in turn {leg.data.turn}"))


def _name(leg: Leg) -> str:
    return leg.data.previous_model or MODEL


def _turn(value: Value) -> ModelTurn:
    """The answer that somebody gives in the place of a model's. Raises RequestError."""
    if isinstance(value, str):
        return ModelTurn(text=value)
    try:
        return msgspec.convert(value, ModelTurn)
    except msgspec.ValidationError as error:
        raise RequestError(MODEL, f"is no answer of a model: {error}") from error


async def calls(leg: Leg, asked: "Deciding[Any]") -> None:
    """Settle the calls that were begun; those stay so on which nobody has a word."""
    decided = asked.decided.reconcile
    why = asked.decided.why.get
    given = {
        leg.run.slot(call).call.internal_id: (call, (how, value, why(call))) for call, (how, value) in decided.items()
    }
    for slot in [slot for slot in leg.run.slots if slot.status == "started"]:
        call = slot.call.internal_id
        name = slot.call.call_id
        how: Word | None
        if call in given:
            name, how = given.pop(call)
        else:
            how = await _unasked(leg, slot)
        if how is not None and _known(leg, name, how) and not _settle(leg, slot, how):
            return
    for call, (name, word) in given.items():
        # Not begun, or settled by now: the machine says so.
        if _known(leg, name, word) and not _settle(leg, leg.run.slot(call), word):
            return


async def _unasked(leg: Leg, slot: Slot) -> Word | None:
    call, operation = slot.call, leg.open.get(slot.call.internal_id)
    key = idempotency_key(leg.data.id, call, slot.effective)
    tools = (await leg.tools()).tools
    tool = tools.get(call.name)
    idempotency = tool.spec.idempotency if tool is not None else None
    event = Ambiguous(
        **leg.heard(),
        operation="tool",
        name=call.name,
        call_id=call.call_id,
        internal_id=call.internal_id,
        arguments=slot.effective,
        attempt=slot.attempt,
        idempotency=idempotency,
        idempotency_key=operation.idempotency_key if operation is not None else key,
    )
    how = await _heard(leg, event)
    if how is None and idempotency == "supported" and leg.setup.ambiguity.tool == "retry_idempotent_only":
        return ("retry", None, "the tool is idempotent")
    return how


async def _heard(leg: Leg, event: Ambiguous) -> Word | None:
    """What the hooks say; None when they leave it to the rules."""
    if not leg.hearing("ambiguous"):
        return None
    action = await hookchain.first(leg.setup.hooks, event)
    return None if action.kind == "proceed" else (action.kind, action.value, "a hook decided")


def check(run: AgentRun, decided: Decided) -> None:
    """Tell a run, which is a copy, what was decided. Raises RequestError for what cannot be carried out."""
    for call, (word, value) in decided.reconcile.items():
        if isinstance(run.data.phase, Executing):
            event = _event(run.slot(call), word, value)
            if word != "leave" and not isinstance(event, Fail):
                tell(run, call, event)
        elif word == "result":
            _turn(value)


def tell(run: AgentRun, call: str, event: AnyEvent) -> None:
    """Tell a run what was decided about a call. Raises RequestError, which names it as it was named."""
    try:
        run.send(event)
    except RequestError as error:
        raise RequestError(call, error.reason) from None


def _known(leg: Leg, name: str, how: Word) -> bool:
    """Write a decision down; False when it is to leave things as they are."""
    word, value, why = how
    told = {"how": word} if value is None else {"how": word, "value": value}
    leg.recorder.decision("reconcile", name, told, why)
    return word != "leave"


def _settle(leg: Leg, slot: Slot, how: Word) -> bool:
    """False when the run ends with it."""
    call, (word, value, _) = slot.call.internal_id, how
    event = _event(slot, word, value)
    if word == "retry":
        leg.resolved(call, event)
    elif word == "result":
        leg.resolved(call, event, "succeeded", result=value)
    elif word == "failure":
        leg.resolved(call, event, error=RunError(type="other", message=str(value)), result=str(value))
    else:
        leg.tell(event)
    return not isinstance(event, Fail)


def _event(slot: Slot, word: str, value: Value) -> Again | Answer | Fail:
    """What the run is told about a call."""
    call = slot.call.internal_id
    if word == "retry":
        return Again(call)
    if word == "result":
        return Answer(call, value)
    if word == "failure":
        return Answer(call, str(value), "error", "other")
    return Fail("aborted", f"{ABORTED}: {slot.call.name} ({slot.call.call_id})")
