"""Steps and states of a run that is a conversation: messages in, a timeline out.

A model's message is a step `model`; the tool results behind it are a step `tools`; each later user message
is a step `input`. What stands before the run's first answer (history, the prompt) belongs to step 0.
Nothing is decoded for this but the letter that says what each message is, so a conversation of any
length costs seventeen bytes a step.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from inspector.formats.pairing import Pairing, Unpaired, outline
from inspector.model.lazy import Lazy
from inspector.model.run import Call, Message, Pending, PendingStatus, State, Step, StepStatus, Usage
from inspector.model.text import shorten
from inspector.model.values import Value, preview

SUMMARY = 160
"""Characters of a summary."""
SHOWN = 100
"""Calls and results of one batch that names and summaries are made of, and messages of calls without a
result between them that are taken for one batch."""


def letter(message: Message) -> str:
    """What a message is, for `Conversation`: `a` a model's message, `c` one that calls tools, `t` a tool
    result, `i` anything else (user, system)."""
    return outline(message)[0]


class Conversation:
    """The timeline of `messages`, of which the first `prelude` belong to step 0.

    `letters` holds one character per message (see `letter`); without it every message is looked at. One that
    is `growing` is laid out by `extend`, and ended by `finish`.
    `batch` is the reader's word on the last batch of tool calls: a `Pending` per call, used for the state
    after the last step when calls are open there; without it each open call is of `open_status`. () says that
    nothing is open. `usage` tells the tokens of the model call of that number, from 0.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        prelude: int,
        *,
        letters: str | None = None,
        batch: Sequence[Pending] | None = None,
        usage: Callable[[int], Usage | None] = lambda model_call: None,
        open_status: PendingStatus = "ready",
        growing: bool = False,
    ) -> None:
        self.messages, self.prelude = messages, prelude
        self._batch, self._usage, self._open_status = batch, usage, open_status
        self._kinds = bytearray()
        self._ends = array("Q", [prelude])
        self._models = array("Q", [0])
        self._seen = 0
        if not growing:
            self.extend(letters if letters is not None else "".join(map(letter, messages)))
            self.finish()

    def __len__(self) -> int:
        """How many steps there are."""
        return len(self._kinds)

    def extend(self, letters: str) -> None:
        """Take in the letters of the messages that follow."""
        for kind in letters:
            self._seen += 1
            if self._seen <= self.prelude:
                continue
            if kind == "t" and self._kinds and self._kinds[-1] == ord("t"):
                self._ends[-1] = self._seen
            else:
                self._add(kind)

    def finish(self) -> None:
        """No more messages follow: calls that wait at the end are a batch of their own."""
        last = chr(self._kinds[-1]) if self._kinds else ""
        waits = last == "c" if self._batch is None else last != "t" and _has_tools(self._batch)
        if waits:
            self._add("o")

    def _add(self, kind: str) -> None:
        self._kinds.append(ord(kind))
        self._ends.append(max(self._seen, self.prelude))
        self._models.append(self._models[-1] + (kind in "ac"))

    def models(self, upto: int = -1) -> int:
        """How many of the steps are model calls; of the first `upto` steps alone, if it is given."""
        return self._models[upto]

    def steps(self) -> "Steps":
        """The steps, built when asked for."""
        return Steps(self)

    def step(self, seq: int) -> Step:
        """Step `seq`, from 1."""
        kind = chr(self._kinds[seq - 1])
        if kind in "to":
            return self._tools(seq)
        message = self.messages[self._ends[seq] - 1]
        text = (message.text or "")[: 2 * SUMMARY]
        if kind == "i":
            return Step(seq=seq, kind="input", name="input", status="done", summary=shorten(text, SUMMARY))
        calls = ", ".join(_shown(call) for call in (message.calls or ())[:SHOWN])
        summary = shorten(" → ".join(part for part in (text, calls) if part), SUMMARY)
        usage = self._usage(self._models[seq] - 1)
        return Step(seq=seq, kind="model", name="model", status="done", summary=summary, usage=usage)

    def _tools(self, seq: int) -> Step:
        begin, end = self.span(seq)
        calls, results = self._calls(seq), self.messages[begin : min(end, begin + SHOWN)]
        names = [call.name for call in calls[:SHOWN]]
        names = names or [message.name or message.call_id or "?" for message in results]
        if not names and seq == len(self):
            names = [pending.name for pending in (self._batch or ())[:SHOWN]]
        status: StepStatus = "pending" if self._waits(seq) else "done"
        said = "; ".join(f"{part.name or part.call_id or '?'}: {(part.text or '')[: 2 * SUMMARY]}" for part in results)
        return Step(
            seq=seq,
            kind="tools",
            name=shorten(", ".join(names), SUMMARY) or "tools",
            status=status,
            summary=shorten(said or ", ".join(_shown(call) for call in calls[:SHOWN]), SUMMARY),
        )

    def _waits(self, seq: int) -> bool:
        if seq < len(self):
            return False
        return bool(self._open(seq)) if self._batch is None else _has_tools(self._batch)

    def span(self, seq: int) -> tuple[int, int]:
        """The messages begin <= index < end that step `seq` is made of; of step 0, the prelude."""
        return (self._ends[seq - 1] if seq else 0), self._ends[seq]

    def state(self, seq: int) -> State:
        """The state after step `seq`; messages are a view, not a copy."""
        return State(step=seq, messages=Prefix(self.messages, self._ends[seq]), pending=tuple(self.pending(seq)))

    def pending(self, seq: int) -> list[Pending]:
        """The calls that are open after step `seq`."""
        if seq == len(self) and self._batch is not None:
            return list(self._batch)
        if seq == 0:
            return []
        calls = self._calls(seq + 1) if chr(self._kinds[seq - 1]) == "c" else self._open(seq)
        last = seq == len(self) or (seq == len(self) - 1 and self._kinds[-1] == ord("o"))
        status = self._open_status if last and self._batch is None else "ready"
        return [as_pending(call, status) for call in calls]

    def _calls(self, seq: int) -> Sequence[Call]:
        """The calls that step `seq`, a batch of results, answers: those of the model's messages that stand
        right before it."""
        first = seq
        while first > max(seq - SHOWN, 1) and chr(self._kinds[first - 2]) == "c":
            first -= 1
        return [call for at in range(first, seq) for call in self.messages[self._ends[at] - 1].calls or ()]

    def _open(self, seq: int) -> list[Call]:
        """The calls of a batch that have no result in it. Results answer calls of their id in order, so
        one id used twice keeps two calls apart."""
        if chr(self._kinds[seq - 1]) not in "to":
            return []
        begin, end = self.span(seq)
        answered = Counter(message.call_id for message in self.messages[begin:end])
        left = []
        for call in self._calls(seq):
            if answered[call.call_id] > 0:
                answered[call.call_id] -= 1
            else:
                left.append(call)
        return left

    def unpaired(self) -> Iterator[Unpaired]:
        """Results that answer no call, calls that were passed over, ids that two calls of a batch share.
        Looks at every message."""
        pairing = Pairing()
        for index, message in enumerate(self.messages):
            yield from pairing.add(index, *outline(message))


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


def _has_tools(batch: Sequence[Pending]) -> bool:
    return any(pending.kind == "tool" for pending in batch)


def _shown(call: Call) -> str:
    return f"{shorten(call.name, 60)}({preview(call.arguments, 60)})"


class Steps(Lazy[Step]):
    """The steps of a conversation, built one by one."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __len__(self) -> int:
        return len(self._conversation)

    def item(self, at: int) -> Step:
        return self._conversation.step(at + 1)


class Prefix(Lazy[Message]):
    """The first `length` messages of a conversation: a view."""

    def __init__(self, messages: Sequence[Message], length: int) -> None:
        self._messages, self._length = messages, min(length, len(messages))

    def __len__(self) -> int:
        return self._length

    def shared(self, other: Sequence[Message]) -> int | None:
        """How many messages both begin with, when they are views of one conversation; None: not known."""
        same = isinstance(other, Prefix) and other._messages is self._messages
        return min(len(self), len(other)) if same else None

    def item(self, at: int) -> Message:
        return self._messages[at]
