"""The steps of a run: those of its conversation, and those behind it that left no message."""

from collections.abc import Callable, Sequence
from typing import overload

import msgspec

from inspector.formats.conversation import Conversation
from inspector.model.run import Step


class Timeline(Sequence[Step]):
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

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Step]: ...
    def __getitem__(self, index: int | slice) -> Step | Sequence[Step]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at, short = range(len(self))[index], len(self._conversation)
        return self._more[at - short] if at >= short else self._dress(self._conversation.step(at + 1))
