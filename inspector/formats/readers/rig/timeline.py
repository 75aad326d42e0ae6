"""The messages of a rig run, found and outlined one after another but not kept."""

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from inspector.formats.document import Elements
from inspector.formats.readers.rig.parts import Outline, messages_of, outlines, quick_outlines
from inspector.model.lazy import Lazy
from inspector.model.run import Message

KEPT = 32
"""Elements whose messages are kept ready."""


class Messages(Lazy[Message]):
    """The messages of lists of the document, one list behind the other, and of a `tail` that stands in none;
    each is read when it is asked for."""

    def __init__(self, lists: Sequence[Elements]) -> None:
        self._lists = lists
        self._firsts = array("Q")
        """The number of the first message of each element."""
        self._begins: list[int] = []
        """The number of the first element of each list."""
        self._count = 0
        self._tail: tuple[Message, ...] = ()
        self._kept: OrderedDict[int, list[Message]] = OrderedDict()

    def scan(self, tell: Callable[[str, str], None]) -> Iterator[tuple[int, list[Outline], tuple[int, int]]]:
        """Find all messages: yields (number of the list, outlines of the messages that follow, (bytes read,
        bytes in all)). What is odd is told with its place."""
        size, before = sum(elements.size for elements in self._lists), 0
        for number, elements in enumerate(self._lists):
            self._begins.append(len(self._firsts))
            done = 0
            for scanned, _ in chain(elements.scan(), [(elements.size, 0)]):
                found: list[Outline] = []
                while done < len(elements):
                    found += self._outlines(elements, done, tell)
                    done += 1
                yield number, found, (before + scanned, size)
            before += elements.size

    def _outlines(self, elements: Elements, at: int, tell: Callable[[str, str], None]) -> list[Outline]:
        found = quick_outlines(elements.raw(at))
        if found is None:
            found = outlines(elements[at], lambda message: tell(elements.where(at), message))
        self._firsts.append(self._count)
        self._count += len(found)
        return found

    def append(self, message: Message) -> None:
        """A message that stands in no list follows the last."""
        self._tail += (message,)

    def __len__(self) -> int:
        return self._count + len(self._tail)

    def item(self, at: int) -> Message:
        if at >= self._count:
            return self._tail[at - self._count]
        element = self._element(at)
        return self._read(element)[at - self._firsts[element]]

    def _read(self, element: int) -> list[Message]:
        if element in self._kept:
            self._kept.move_to_end(element)
            return self._kept[element]
        elements, at = self._place(element)
        found = self._kept[element] = messages_of(elements[at])
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return found

    @property
    def stored(self) -> int:
        """How many messages stand in the lists."""
        return self._count

    def where(self, index: int) -> str:
        """The place of a message that stands in a list."""
        elements, at = self._place(self._element(index))
        return elements.where(at)

    def raws(self, begin: int, end: int) -> Iterator[bytes]:
        """The texts in the file that the messages begin..end-1 stand in."""
        if begin < min(end, self._count):
            for element in range(self._element(begin), self._element(min(end, self._count) - 1) + 1):
                elements, at = self._place(element)
                yield elements.raw(at)

    def _element(self, index: int) -> int:
        return bisect_right(self._firsts, index) - 1

    def _place(self, element: int) -> tuple[Elements, int]:
        number = bisect_right(self._begins, element) - 1
        return self._lists[number], element - self._begins[number]
