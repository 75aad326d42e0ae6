"""The agent run as a machine that never waits.

It is asked `next()` for an effect and told, as events, what came of it. It has no clock, no ids of its own
making but places, no IO and no idea of the registry of today. Everything that it knows is `RunData`, so it
can be written down between any two events and go on elsewhere; and the same events on the same run make
the same run, which is how a journal becomes a run again.

`transitions.TRANSITIONS` says which event is allowed in which phase and where it may lead. An event out of
order raises ProtocolViolation and changes nothing. Real failures lead to `failed`, for good; but for a spent budget,
which can be raised.
"""

import json
from collections.abc import Iterable
from typing import Any, Self

import msgspec

from inspector.model.values import Value, decimal, integer, to_json
from inspector.runner import batch, turns
from inspector.runner.data import (
    FORMAT,
    Advancing,
    Executing,
    Failed,
    FailureKind,
    Finished,
    Output,
    Preparing,
    Resolving,
    RunData,
    Slot,
    WaitReason,
)
from inspector.runner.effects import (
    Announce,
    Answer,
    AnyEvent,
    Approve,
    Begin,
    CallModel,
    Configure,
    Deny,
    Done,
    Edit,
    Effect,
    Event,
    Fail,
    Hear,
    Heard,
    Hold,
    Record,
    Remembered,
    Resolve,
    ResolveCall,
    Retry,
    Rollback,
    Scratch,
    Start,
    Steer,
    Stop,
    Turn,
)
from inspector.runner.errors import ProtocolViolation, RequestError, RunClosed, RunFailed
from inspector.runner.messages import Call, Message, ModelTurn, Usage
from inspector.runner.rigread import from_rig
from inspector.runner.rigwrite import to_rig
from inspector.runner.transitions import TRANSITIONS, phase_name

_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer)


class AgentRun:
    """An agent run between two steps. `data` is all there is to it."""

    def __init__(self, data: RunData) -> None:
        self.data = data

    @classmethod
    def start(
        cls,
        prompt: str | Message,
        *,
        history: Iterable[Message] | None = None,
        id: str = "",
        agent: str | None = None,
        max_turns: int = 10,
        max_invalid_retries: int = 1,
        token_budget: int | None = None,
        tool_choice: Any = None,
        output: Output | None = None,
        conversation: str | None = None,
    ) -> Self:
        """A new run with its prompt."""
        return cls(
            RunData(
                id=id,
                agent=agent,
                max_turns=max_turns,
                max_invalid_retries=max_invalid_retries,
                token_budget=token_budget,
                tool_choice=tool_choice,
                output=output or Output(),
                history=None if history is None else tuple(history),
                messages=[Message.user(prompt)],
                conversation=conversation,
            )
        )

    def copy(self) -> Self:
        """The same run, apart from this one."""
        return self.from_json(self.to_json())

    def to_json(self) -> str:
        """The run as JSON text, at any time; nothing of it is lost."""
        return to_json(self.data)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The run of `to_json`. Raises RequestError for anything else, naming a format that is not ours."""
        try:
            return cls.from_value(_decoder.decode(text if isinstance(text, str) else text.decode()))
        except (ValueError, RecursionError) as error:
            raise RequestError("agent run", f"is no JSON: {error}") from error

    @classmethod
    def from_value(cls, value: Value) -> Self:
        """The run whose JSON was decoded already."""
        if not isinstance(value, dict) or "phase" not in value:
            raise RequestError("agent run", "is no agent run")
        if value.get("format") != FORMAT:
            raise RequestError("agent run", f"has the format {value.get('format')!r}; this program knows {FORMAT}")
        try:
            return cls(msgspec.convert(value, RunData, str_keys=True))
        except msgspec.ValidationError as error:
            raise RequestError("agent run", f"is damaged: {error}") from error

    @classmethod
    def from_rig(cls, text: str | bytes) -> Self:
        """The run that a rig program saved: 0.39 to 0.42, formats 1 and 2. Raises RequestError."""
        return cls(from_rig(text))

    def to_rig(self) -> str:
        """The run as rig 0.42 saves it. Raises RequestError when it cannot be handed over as it stands."""
        return to_rig(self.data)

    # What it wants

    def next(self) -> Effect:
        """What is to be done now; asking again changes nothing. Raises RunFailed when the run has failed."""
        while True:
            before = phase_name(self.data.phase)
            self._allowed("next", before)
            effect = self._next()
            self._arrived("next", before)
            if effect is not None:
                return effect

    def _next(self) -> Effect | None:
        data, phase = self.data, self.data.phase
        if isinstance(phase, Preparing):
            return self._prepare()
        if isinstance(phase, Resolving):
            call = phase.turn.parts[phase.index]
            assert isinstance(call, Call)
            offer = data.advertised
            names = tuple(tool.name for tool in offer.tools or ()) if offer else ()
            return ResolveCall(call, names, (offer.allowed if offer else None) or (), offer.choice if offer else None)
        if isinstance(phase, Advancing):
            if not phase.turn.heard:
                return Hear(data.turn, phase.turn.parts, phase.turn.streamed)
            turns.advance(data)
            return None
        if isinstance(phase, Executing):
            wanted = batch.effect(phase)
            if wanted is None:
                batch.commit(data, phase)
                turns.take_queued(data)
                data.phase = Preparing()
            return wanted
        if isinstance(phase, Finished):
            return Done(phase.output, phase.value)
        assert isinstance(phase, Failed)
        raise RunFailed(data.agent or "agent run", phase.kind, phase.message)

    def _prepare(self) -> Effect | None:
        data = self.data
        if not data.messages:
            turns.fail(data, "cancelled", "the run lost its prompt")
            return None
        if data.turn >= data.max_turns:
            turns.fail(data, "max_turns", f"the limit of {data.max_turns} model turns is reached")
            return None
        if data.token_budget is not None and data.usage.spent >= data.token_budget:
            turns.fail(data, "budget", f"{data.usage.spent} tokens are spent of {data.token_budget}")
            return None
        messages = (*(data.history or ()), *data.messages)
        return CallModel(data.turn + 1, messages, data.tool_choice, data.output, data.previous_model)

    # What it is told

    def send(self, event: AnyEvent) -> None:
        """Tell what happened. Raises ProtocolViolation when the phase does not allow it and RequestError
        when it makes no sense; nothing has changed then."""
        verb = str(event.__struct_config__.tag)
        before = phase_name(self.data.phase)
        if isinstance(event, Steer) and before in ("finished", "failed"):
            raise RunClosed(self.data.agent or "agent run", f"the run is {before}: it takes no more messages")
        self._allowed(verb, before)
        self._take(event)
        self._arrived(verb, before)

    def replay(self, event: AnyEvent) -> None:
        """Tell it again: as `send`, with the `next` that came before it when it first happened."""
        if phase_name(self.data.phase) not in TRANSITIONS[str(event.__struct_config__.tag)]:
            self.next()
        self.send(event)

    def _allowed(self, verb: str, phase: str) -> None:
        if phase not in TRANSITIONS[verb]:
            raise ProtocolViolation(verb, phase)

    def _arrived(self, verb: str, before: str) -> None:
        after = phase_name(self.data.phase)
        assert after in TRANSITIONS[verb][before], f"{verb} led from {before} to {after}"

    def _take(self, event: Event) -> None:
        data, phase = self.data, self.data.phase
        handler = batch.HANDLERS.get(type(event))
        if handler is not None:
            assert isinstance(phase, Executing)
            handler(phase.slots, event)
        elif isinstance(event, Turn):
            turns.absorb(data, event)
        elif isinstance(event, Begin):
            turns.begin(data, event)
        elif isinstance(event, Record):
            if phase.recorded:  # type: ignore[union-attr]
                raise ProtocolViolation("record", "awaiting", "the call is recorded already")
            turns.record(data, event)
        elif isinstance(event, Rollback):
            turns.rollback(data)
        elif isinstance(event, Resolve):
            turns.resolve(data, event)
        elif isinstance(event, Retry):
            turns.retry(data, event)
        elif isinstance(event, Heard):
            assert isinstance(phase, Advancing)
            phase.turn.heard = True
        elif isinstance(event, Stop):
            turns.fail(data, "cancelled", event.reason)
        elif isinstance(event, Fail):
            turns.fail(data, event.kind, event.message)
        else:
            self._note(event)

    def _note(self, event: Event) -> None:
        data = self.data
        if isinstance(event, Steer):
            (data.messages if isinstance(data.phase, Preparing) else data.queued).append(event.message)
        elif isinstance(event, Announce):
            data.announced = True
            if event.prompt is not None:
                data.messages[0] = event.prompt
        elif isinstance(event, Scratch):
            data.scratch = dict(event.values)
        elif isinstance(event, Remembered):
            data.remembered = True
        else:
            assert isinstance(event, Configure)
            self._configure(event)

    def _configure(self, event: Configure) -> None:
        data, phase = self.data, self.data.phase
        data.max_turns = data.max_turns if event.max_turns is None else event.max_turns
        if event.max_invalid_retries is not None:
            data.max_invalid_retries = event.max_invalid_retries
        data.token_budget = data.token_budget if event.token_budget is None else event.token_budget
        data.tool_choice = data.tool_choice if event.choice is None else event.choice
        if isinstance(phase, Failed) and phase.kind in ("max_turns", "budget"):
            data.phase = Preparing()

    # The same, by name

    def absorb(self, turn: ModelTurn, *, streamed: bool = False) -> None:
        """The model answered."""
        self.send(Turn(turn, streamed))
        if isinstance(self.data.phase, Advancing) and not self.data.phase.turn.heard:
            self.send(Heard())

    def record(self, usage: Usage | None, message_id: str | None = None) -> None:
        """A stream told its usage before it ended."""
        self.send(Record(usage, message_id))

    def rollback(self) -> None:
        """The model call came to nothing: the turn is given back."""
        self.send(Rollback())

    def absorb_result(self, call: str, value: Value, *, outcome: Any = "success", kind: Any = None) -> None:
        """A call of the batch was answered: by the provider's id, or by the run's own."""
        self.send(Answer(self.slot(call).call.internal_id, value, outcome, kind))

    def resolve(self, how: str, text: str | None = None) -> None:
        """Decide on a call of a tool that was not on offer: `fail`, `retry`, `repair`, `skip`, `stop`."""
        self.send(Resolve(how, text))

    def retry(self, feedback: str | None = None) -> None:
        """Have the accepted turn made again."""
        self.send(Retry(feedback))

    def hold(self, call: str, why: WaitReason = "approval", question: Value = None) -> None:
        """Let a call wait for somebody."""
        self.send(Hold(self.slot(call).call.internal_id, why, question))

    def approve(self, call: str) -> None:
        """Let a call that waits run."""
        self.send(Approve(self.slot(call).call.internal_id))

    def deny(self, call: str, reason: str | None = None) -> None:
        """Keep a call from running; the reason becomes its result."""
        self.send(Deny(self.slot(call).call.internal_id, reason))

    def edit(self, call: str, arguments: Value) -> None:
        """Have a call run with other arguments."""
        self.send(Edit(self.slot(call).call.internal_id, arguments))

    def start_call(self, call: str) -> None:
        """A call begins to run: if nothing more is heard of it, it may have happened."""
        self.send(Start(self.slot(call).call.internal_id))

    def steer(self, message: str | Message) -> None:
        """A message for the model, before its next call. Raises RunClosed when the run is over."""
        self.send(Steer(Message.user(message)))

    def stop(self, reason: str) -> None:
        """End the run now."""
        self.send(Stop(reason))

    def fail(self, kind: FailureKind, message: str) -> None:
        """The run cannot go on."""
        self.send(Fail(kind, message))

    # What it is

    def slot(self, call: str) -> Slot:
        """The slot of a call in the open batch. Raises RequestError when there is none."""
        if not isinstance(self.data.phase, Executing):
            raise RequestError(call, f"no calls are open: the run is {phase_name(self.data.phase)}")
        return batch.find(self.data.phase.slots, call)

    @property
    def slots(self) -> list[Slot]:
        """The open batch; none in other phases."""
        return self.data.phase.slots if isinstance(self.data.phase, Executing) else []

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation: history, prompt and all that came of it."""
        return (*(self.data.history or ()), *self.data.messages)

    @property
    def new_messages(self) -> tuple[Message, ...]:
        """The prompt and all that came of it."""
        return tuple(self.data.messages)

    @property
    def is_done(self) -> bool:
        """Whether it has its answer."""
        return isinstance(self.data.phase, Finished)
