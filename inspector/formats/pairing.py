"""Which tool results answer which calls, message by message: what does not pair is damage of its own kind."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from inspector.model.run import Message


class Unpaired(NamedTuple):
    """At a message, by its number: a `result` that answers no call, a `call` that was passed over (a later message
    stands where its result should), or ids that are given `twice` in one message. `ids` names them."""

    message: int
    what: Literal["result", "call", "twice"]
    ids: Sequence[str]

    def __str__(self) -> str:
        names = ", ".join(self.ids[:10]) + (f" and {len(self.ids) - 10} more" if len(self.ids) > 10 else "")
        if self.what == "result":
            return f"a result for {names}, which nobody called"
        if self.what == "call":
            return f"{names} was called and never answered"
        return f"{names} is the id of more than one call of this message: which result is whose cannot be told"


def outline(message: Message) -> tuple[str, tuple[str | None, ...]]:
    """What a message is: `a` a model's message, `c` one that calls tools, `t` a tool result, `i` anything
    else (user, system); and the ids of its calls or of the call that it answers."""
    if message.role == "assistant":
        calls = message.calls or ()
        return ("c" if calls else "a"), tuple(call.call_id for call in calls)
    return ("t", (message.call_id,)) if message.role == "tool" else ("i", ())


class Pairing:
    """The calls that are open, while one message after another is added."""

    def __init__(self) -> None:
        self._open: dict[str | None, int] = {}
        self._index = 0
        self._last = ""

    def add(self, index: int, letter: str, ids: Sequence[str | None]) -> Sequence[Unpaired]:
        """Take in the next message by its outline; what turns out not to pair."""
        before, self._last = self._last, letter
        if letter == "t":
            return self._answer(index, ids[0])
        found: list[Unpaired] = []
        # Two messages of calls, one behind the other, are answered together.
        if self._open and not (letter == before == "c"):
            found.append(Unpaired(self._index, "call", [call_id or "?" for call_id in self.open()]))
            self._open = {}
        if letter == "c":
            self._index = index
            for call_id in ids:
                self._open[call_id] = self._open.get(call_id, 0) + 1
            if len(set(ids)) < len(ids):
                twice = [call_id for call_id, count in Counter(ids).items() if count > 1 and call_id]
                found += [Unpaired(index, "twice", twice)] if twice else []
        return found

    def _answer(self, index: int, call_id: str | None) -> Sequence[Unpaired]:
        count = self._open.get(call_id, 0)
        if count == 0:
            return (Unpaired(index, "result", [call_id or "?"]),)
        if count == 1:
            del self._open[call_id]
        else:
            self._open[call_id] = count - 1
        return ()

    def open(self) -> Iterator[str | None]:
        """The ids of the calls that are open, an id as often as it was called."""
        return Counter(self._open).elements()
