"""Performing a model call: what the request is, one or more tries, and the hooks on what came back.

The order is peek, prepare, commit: until the request is whole nothing is spent. A try that fails gives its
turn back and is a failed step of its own.
"""

import json
from typing import Any

import msgspec

from inspector.model.records import Operation
from inspector.model.run import Step, Tool
from inspector.model.text import shorten
from inspector.model.values import decimal, integer, to_json
from inspector.runner import hookchain, output, view
from inspector.runner.data import Advancing, Awaiting, Failed, ModelCall, Resolving
from inspector.runner.effects import (
    Begin,
    CallModel,
    Hear,
    Heard,
    Record,
    Resolve,
    ResolveCall,
    Retry,
    Rollback,
    Stop,
    Turn,
)
from inspector.runner.errors import ModelError, RequestError
from inspector.runner.hookchain import Stopped
from inspector.runner.hooks import (
    CompletionCall,
    CompletionResponse,
    InvalidToolCall,
    ModelSelect,
    ModelTurnFinished,
    Patch,
    ReasoningDelta,
    StreamResponseFinish,
    TextDelta,
    ToolCallDelta,
)
from inspector.runner.items import CallDelta, ModelCalled, TurnRetried
from inspector.runner.items import ReasoningDelta as ReasoningItem
from inspector.runner.items import TextDelta as TextItem
from inspector.runner.leg import Leg, run_error
from inspector.runner.messages import Message, ModelTurn, Text, words
from inspector.runner.models import Delta, Model, ModelRequest, as_model
from inspector.runner.threads import ends

_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer)
OUTPUT_TOOL = "Give the final answer with this. It ends the conversation."


class Prepared(msgspec.Struct, frozen=True):
    """A request that can be sent, and the event that spends its turn."""

    model: Model
    request: ModelRequest
    begin: Begin


async def call_model(leg: Leg, effect: CallModel) -> None:
    """Perform the effect. Raises RequestError and ModelError; the machine can go on from there later."""
    try:
        prepared = await _prepare(leg, effect)
    except Stopped as stopped:
        leg.tell(Stop(stopped.reason))
        return
    attempt = 1
    while not await _tried(leg, prepared, attempt):
        attempt += 1


async def _prepare(leg: Leg, effect: CallModel) -> Prepared:
    leg.snapshot = None
    heard = leg.heard(effect.turn)
    hooks = leg.setup.hooks
    patch = await hookchain.patched(hooks, CompletionCall(**heard, messages=effect.messages))
    choosing = ModelSelect(**heard, model=leg.model, previous=effect.previous_model)
    model = hookchain.selected(hooks, choosing, as_model)
    snapshot = await leg.setup.registry.snapshot(_query(effect.messages))
    everything = {tool.name for tool in snapshot.specs()}
    snapshot = snapshot.narrowed(patch.active_tools)
    choice = effect.choice if patch.choice is None else patch.choice
    offered, tool_name = _with_output(leg, snapshot.specs(), everything, choice, effect)
    leg.snapshot = snapshot
    request = _request(leg, effect, patch, offered, choice, native=tool_name is None)
    before = leg.data.advertised.tools if leg.data.advertised is not None else None
    begin = Begin(None if before == offered else offered, True, choice, model.name, None, tool_name)
    return Prepared(model, request, begin)


def _query(messages: tuple[Message, ...]) -> str:
    """The text that tools are searched for with: the last that anybody said."""
    return next((message.text for message in reversed(messages) if message.text), "")


def _with_output(
    leg: Leg, specs: tuple[Tool, ...], taken: set[str], choice: Any, effect: CallModel
) -> tuple[tuple[Tool, ...], str | None]:
    """The tools on offer, with the output tool where the answer is asked for through one, and its name."""
    wanted = effect.output
    if wanted.schema is None:
        return specs, None
    name = wanted.tool
    if name is None:
        callable_ = choice in (None, "auto", "required")
        if leg.setup.output_mode == "native" or not callable_ or (leg.setup.output_mode == "auto" and not specs):
            return specs, None
        name = output.choose_name(taken)
    elif name in taken:
        raise RequestError(name, "is the output tool of this run, and now a tool of the registry too")
    tool = Tool(name=name, description=OUTPUT_TOOL, schema=wanted.schema)
    return (*specs, tool), name


def _request(
    leg: Leg, effect: CallModel, patch: Patch, offered: tuple[Tool, ...], choice: Any, *, native: bool
) -> ModelRequest:
    setup = leg.setup
    messages = effect.messages
    if patch.history is not None:
        messages = (*patch.history, *messages[len(leg.data.history or ()) :])
    instructions = setup.instructions if patch.instructions is None else patch.instructions
    if patch.documents:
        instructions = "\n\n".join(part for part in (instructions, *patch.documents) if part)
    return ModelRequest(
        messages=messages,
        instructions=instructions,
        tools=offered,
        choice=choice,
        output=effect.output.schema if native else None,
        temperature=setup.temperature if patch.temperature is None else patch.temperature,
        max_tokens=setup.max_tokens if patch.max_tokens is None else patch.max_tokens,
        params={**setup.params, **(patch.params or {})},
    )


async def _tried(leg: Leg, prepared: Prepared, attempt: int) -> bool:
    """One try; False when another one is due, after the wait for it."""
    recorder, run = leg.recorder, leg.run
    turn, seq, number = leg.data.turn + 1, recorder.seq + 1, leg.data.tries + 1
    operation = Operation(
        id=f"model-{turn}.{number}", seq=seq, kind="model", name=prepared.model.name, status="planned", attempt=number
    )
    if recorder.journal is not None:
        operation = msgspec.structs.replace(operation, digest=leg.request_digest(prepared.request))
    started = recorder.clock()
    leg.keep_scratch()
    recorder.operation(operation, "planned")
    recorder.operation(operation, "started", durable=True, event=prepared.begin)
    run.send(prepared.begin)
    leg.note("operation", kind="model", name=prepared.model.name, status="started", step=seq)
    try:
        with leg.setup.telemetry.span("model", prepared.model.name, leg=leg, request=prepared.request) as span:
            answer = await _asked(leg, prepared)
            leg.setup.telemetry.answered(span, answer)
    except Stopped as stopped:
        stop = Stop(stopped.reason)
        recorder.operation(operation, "failed", error=run_error(stopped, "stopped"), event=stop)
        run.send(stop)
        return True
    except ModelError as failure:
        error = failure  # the name of an except clause ends with it
        with recorder.together():
            recorder.operation(operation, "failed", error=run_error(error), event=Rollback())
            run.send(Rollback())
            recorder.step(lambda seq: _failed_step(seq, prepared.model.name, error, started, recorder.clock()))
        leg.note("step", seq=recorder.seq, kind="model", status="failed", summary=error.message)
        if not error.retry or attempt >= leg.setup.retries.tries:
            raise
        leg.send(TurnRetried(turn))
        await leg.control.back_off(leg.setup.retries.delay(attempt, error.after))
        return leg.control.stopping
    told = Turn(answer, leg.streaming)
    with recorder.together():
        recorder.operation(operation, "succeeded", durable=True, event=told)
        run.send(told)
        phase = leg.data.phase
        held = phase.turn if isinstance(phase, Advancing | Resolving) else None
        recorder.step(lambda seq: view.model_step(seq, held, answer.usage, started, recorder.clock()))
    leg.note("step", seq=recorder.seq, kind="model", status="done", summary=shorten(_said(answer), view.SUMMARY))
    leg.send(ModelCalled(leg.data.calls[-1]))
    return True


def _failed_step(seq: int, name: str, error: ModelError, started: str, ended: str) -> Step:
    return Step(
        seq=seq,
        kind="model",
        name="model",
        status="failed",
        started=started,
        ended=ended,
        summary=shorten(f"{name}: {error.message}", view.SUMMARY),
        error=f"{error.kind}: {error.message}",
    )


def _said(answer: ModelTurn) -> str:
    return " ".join(part.text if isinstance(part, Text) else getattr(part, "name", "") for part in answer.content)


async def _asked(leg: Leg, prepared: Prepared) -> ModelTurn:
    try:
        if not leg.streaming or not hasattr(prepared.model, "stream"):
            answer = await prepared.model.request(prepared.request)
        else:
            answer = await _streamed(leg, prepared)
        return _savable(prepared.model.name, answer)
    except (ModelError, Stopped, RequestError):
        raise
    except BaseException as error:
        if ends(error):
            raise
        raise ModelError(prepared.model.name, "other", f"{type(error).__name__}: {words(error)}") from error


def _savable(name: str, answer: ModelTurn) -> ModelTurn:
    """The answer, when a run that holds it can be saved and loaded again. Raises ModelError."""
    if not isinstance(answer, ModelTurn):
        raise ModelError(name, "provider", f"its answer is a {type(answer).__name__}, not a ModelTurn")
    try:
        msgspec.convert(_decoder.decode(to_json(answer)), ModelTurn, str_keys=True)
    except RecursionError:
        pass  # deep, and as it is saved at any depth
    except (TypeError, ValueError) as error:
        raise ModelError(name, "provider", f"its answer cannot be saved: {error}") from error
    return answer


async def _streamed(leg: Leg, prepared: Prepared) -> ModelTurn:
    whole: ModelTurn | None = None
    stream = prepared.model.stream(prepared.request)
    try:
        async for piece in stream:
            if whole is not None:
                raise ModelError(prepared.model.name, "provider", "the stream went on behind its end")
            if isinstance(piece, ModelTurn):
                whole = piece
            else:
                await _delta(leg, piece)
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if whole is None:
        raise ModelError(prepared.model.name, "truncated", "the stream broke off", retry=True)
    return whole


async def _delta(leg: Leg, piece: Delta) -> None:
    phase = leg.data.phase
    if piece.usage is not None and isinstance(phase, Awaiting) and not phase.recorded:
        leg.tell(Record(piece.usage))
    hooks = leg.setup.hooks
    if piece.text:
        if leg.hearing("text_delta"):
            await hookchain.first(hooks, TextDelta(**leg.heard(), text=piece.text))
        leg.send(TextItem(piece.text))
    if piece.reasoning:
        if leg.hearing("reasoning_delta"):
            await hookchain.first(hooks, ReasoningDelta(**leg.heard(), text=piece.reasoning))
        leg.send(ReasoningItem(piece.reasoning))
    if piece.place is not None:
        internal = f"{leg.data.turn}.{piece.place + 1}"
        if leg.hearing("tool_call_delta"):
            event = ToolCallDelta(**leg.heard(), internal_id=internal, name=piece.name, arguments=piece.arguments)
            await hookchain.first(hooks, event)
        leg.send(CallDelta(internal, piece.name, piece.arguments))


async def hear(leg: Leg, effect: Hear) -> None:
    """The hooks on an accepted turn."""
    call = leg.data.calls[-1] if leg.data.calls else ModelCall(0)
    answer = ModelTurn(
        parts=effect.parts,
        usage=call.usage,
        finish_reason=call.finish_reason if isinstance(call.finish_reason, str) else None,
        message_id=call.message_id,
        response_id=call.response_id,
    )
    hooks, heard = leg.setup.hooks, leg.heard()
    try:
        if not effect.streamed:
            await hookchain.first(hooks, CompletionResponse(**heard, answer=answer))
        elif any(isinstance(part, Text) and part.text for part in effect.parts):
            await hookchain.first(hooks, StreamResponseFinish(**heard, answer=answer))
        action = await hookchain.first(hooks, ModelTurnFinished(**heard, parts=effect.parts, usage=call.usage))
    except Stopped as stopped:
        leg.tell(Stop(stopped.reason))
        return
    if action.kind == "retry":
        leg.tell(Retry(action.value))
        if not isinstance(leg.data.phase, Failed):
            leg.send(TurnRetried(leg.data.turn))
    else:
        leg.tell(Heard())


async def resolve(leg: Leg, effect: ResolveCall) -> None:
    """The hooks on a call that was not on offer; without one the run fails."""
    event = InvalidToolCall(
        **leg.heard(),
        call=effect.call,
        available=effect.available,
        allowed=effect.allowed,
        choice=effect.choice,
        history=leg.run.messages,
    )
    try:
        action = await hookchain.first(leg.setup.hooks, event)
    except Stopped as stopped:
        leg.tell(Resolve("stop", stopped.reason))
        return
    how = "fail" if action.kind == "proceed" else action.kind
    told = Resolve(how, action.value)
    try:
        leg.run.copy().send(told)
    except RequestError as error:
        told = Resolve("fail", f"a hook's answer makes no sense: {error}")
    leg.tell(told)
    if how == "retry" and not isinstance(leg.data.phase, Failed):
        leg.send(TurnRetried(leg.data.turn))
