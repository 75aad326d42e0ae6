"""Steps and states of a run that is a conversation: messages in, a timeline out.

A model's message is a step `model`; the tool results behind it are a step `tools`; a later user message
is a step `input`. What stands before the run's first answer (history, the prompt) belongs to step 0.
Nothing is decoded for this but the letter that says what each message is, so a conversation of any
length costs nine bytes a message.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from inspector.model.run import Call, Message, Pending, PendingStatus, State, Step, StepStatus, Usage
from inspector.model.text import shorten
from inspector.model.values import Value, preview

SUMMARY = 160


def letter(message: Message) -> str:
    """What a message is, for `Conversation`: `a` a model's message, `c` one that calls tools, `t` a tool
    result, `i` anything else (user, system)."""
    if message.role == "assistant":
        return "c" if message.calls else "a"
    return "t" if message.role == "tool" else "i"


class Conversation:
    """The timeline of `messages`, of which the first `prelude` belong to step 0.

    `letters` holds one character per message (see `letter`); without it every message is looked at.
    `batch` is the reader's word on the last batch of tool calls: a `Pending` per call, used for the state
    after the last step when calls are open there; without it each open call is `ready`.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        prelude: int,
        *,
        letters: str | None = None,
        batch: Sequence[Pending] | None = None,
        usage: Callable[[int], Usage | None] = lambda model_call: None,
    ) -> None:
        self.messages, self.prelude = messages, prelude
        self._batch, self._usage = batch, usage
        self._kinds = bytearray()
        self._ends = array("Q", [prelude])
        self._models = array("Q", [0])
        self._lay(letters if letters is not None else "".join(map(letter, messages)))

    def __len__(self) -> int:
        """How many steps there are."""
        return len(self._kinds)

    def _lay(self, letters: str) -> None:
        at, models = self.prelude, 0
        while at < len(letters):
            kind = letters[at]
            end = at + 1
            if kind in "ti":
                while end < len(letters) and letters[end] == kind:
                    end += 1
            models += kind in "ac"
            self._add(kind, end, models)
            at = end
        if self._kinds and chr(self._kinds[-1]) == "c" and self._batch != ():
            self._add("o", len(letters), models)

    def _add(self, kind: str, end: int, models: int) -> None:
        self._kinds.append(ord(kind))
        self._ends.append(end)
        self._models.append(models)

    def steps(self) -> "Steps":
        """The steps, built when asked for."""
        return Steps(self)

    def step(self, seq: int) -> Step:
        """Step `seq`, from 1."""
        kind = chr(self._kinds[seq - 1])
        begin, end = self._ends[seq - 1], self._ends[seq]
        if kind in "ac":
            message = self.messages[begin]
            calls = ", ".join(_shown(call) for call in message.calls or ())
            text = " → ".join(part for part in (message.text or "", calls) if part)
            usage = self._usage(self._models[seq] - 1)
            return Step(seq=seq, kind="model", name="model", status="done", summary=shorten(text, SUMMARY), usage=usage)
        if kind == "i":
            text = " ".join(message.text or "" for message in self.messages[begin:end])
            return Step(seq=seq, kind="input", name="input", status="done", summary=shorten(text, SUMMARY))
        calls_made = self._calls(seq)
        results = self.messages[begin:end]
        names = [call.name for call in calls_made] or [message.name or message.call_id or "?" for message in results]
        open_calls = self._open(seq)
        status: StepStatus = "pending" if kind == "o" or (open_calls and seq == len(self)) else "done"
        said = "; ".join(f"{message.name or message.call_id}: {message.text or ''}" for message in results)
        return Step(
            seq=seq,
            kind="tools",
            name=shorten(", ".join(names), SUMMARY),
            status=status,
            summary=shorten(said or ", ".join(_shown(call) for call in calls_made), SUMMARY),
        )

    def span(self, seq: int) -> tuple[int, int]:
        """The messages begin <= index < end that step `seq` is made of; of step 0, the prelude."""
        return (self._ends[seq - 1] if seq else 0), self._ends[seq]

    def state(self, seq: int) -> State:
        """The state after step `seq`; messages are a view, not a copy."""
        end = self._ends[seq]
        return State(step=seq, messages=Prefix(self.messages, end), pending=tuple(self.pending(seq)))

    def pending(self, seq: int) -> list[Pending]:
        """The calls that are open after step `seq`."""
        if not 0 < seq <= len(self):
            return list(self._batch or ()) if seq == 0 == len(self) else []
        last = len(self)
        kind = chr(self._kinds[seq - 1])
        if self._batch is not None and (seq == last or (seq == last - 1 and chr(self._kinds[-1]) == "o")):
            if seq == last:
                return list(self._batch)
            return [as_pending(call) for call in self.messages[self._ends[seq] - 1].calls or ()]
        if kind == "c":
            return [as_pending(call) for call in self.messages[self._ends[seq] - 1].calls or ()]
        return [as_pending(call) for call in self._open(seq)] if kind in "to" else []

    def _calls(self, seq: int) -> Sequence[Call]:
        """The calls that step `seq`, a batch of results, answers."""
        if seq < 2 or chr(self._kinds[seq - 2]) != "c":
            return ()
        return self.messages[self._ends[seq - 1] - 1].calls or ()

    def _open(self, seq: int) -> list[Call]:
        """The calls of a batch that have no result in it. Results answer calls of their id in order, so
        one id used twice keeps two calls apart."""
        answered = [message.call_id for message in self.messages[self._ends[seq - 1] : self._ends[seq]]]
        left = []
        for call in self._calls(seq):
            if call.call_id in answered:
                answered.remove(call.call_id)
            else:
                left.append(call)
        return left

    def unpaired(self) -> Iterator[tuple[int, str, Sequence[str]]]:
        """(message index, `result` or `call`, ids) of results that answer no call, and of calls that were
        passed over: a later message stands where their result should. Looks at every message."""
        for seq in range(1, len(self) + 1):
            kind = chr(self._kinds[seq - 1])
            begin, end = self._ends[seq - 1], self._ends[seq]
            if kind == "t":
                known = [call.call_id for call in self._calls(seq)]
                orphans = []
                for message in self.messages[begin:end]:
                    if message.call_id in known:
                        known.remove(message.call_id)
                    else:
                        orphans.append(message.call_id or "?")
                if orphans:
                    yield begin, "result", orphans
                if known and seq < len(self):
                    yield begin - 1, "call", [name or "?" for name in known]
            elif kind == "c" and seq < len(self) and chr(self._kinds[seq]) not in "to":
                yield begin, "call", [call.call_id or call.name for call in self.messages[begin].calls or ()]


def as_pending(call: Call, status: PendingStatus = "ready", result: Value = None) -> Pending:
    """A call of a model's message as pending work."""
    return Pending(
        kind="tool",
        name=call.name,
        status=status,
        call_id=call.call_id,
        internal_call_id=call.internal_call_id,
        arguments=call.arguments,
        result=result,
    )


def _shown(call: Call) -> str:
    return f"{call.name}({preview(call.arguments, 60)})"


class Steps(Sequence[Step]):
    """The steps of a conversation, built one by one."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __len__(self) -> int:
        return len(self._conversation)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        if isinstance(index, slice):
            return [self._conversation.step(at + 1) for at in range(*index.indices(len(self)))]
        return self._conversation.step(range(len(self))[index] + 1)


class Prefix(Sequence[Message]):
    """The first `length` messages of a conversation: a view."""

    def __init__(self, messages: Sequence[Message], length: int) -> None:
        self._messages, self._length = messages, length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._messages[at] for at in range(*index.indices(self._length))]
        return self._messages[range(self._length)[index]]
