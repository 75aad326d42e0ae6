"""The steps of a run: those of its conversation, and those behind it that left no message."""

from collections.abc import Callable, Sequence

import msgspec

from inspector.formats.conversation import Conversation
from inspector.model.lazy import Lazy
from inspector.model.run import Step


class Timeline(Lazy[Step]):
    """The steps of `conversation`, each as `dress` makes it, and `more` behind them, which get their numbers
    here."""

    def __init__(
        self,
        conversation: Conversation,
        more: Sequence[Step] = (),
        dress: Callable[[Step], Step] = lambda step: step,
    ) -> None:
        self._conversation, self._dress = conversation, dress
        last = len(conversation)
        self._more = [msgspec.structs.replace(step, seq=last + number) for number, step in enumerate(more, 1)]

    def __len__(self) -> int:
        return len(self._conversation) + len(self._more)

    def item(self, at: int) -> Step:
        short = len(self._conversation)
        return self._more[at - short] if at >= short else self._dress(self._conversation.step(at + 1))
