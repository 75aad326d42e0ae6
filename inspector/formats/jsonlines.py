"""A run whose steps are lines of a file that may be very large: the base of readers of JSON lines.

The index holds where the line of each step begins: four bytes a step, eight in files over 4 GiB. A line is
decoded when its step is shown. Files up to CHECKED bytes are checked while they are indexed, so that every
damaged line is known at once; in larger ones, damage that does not show at a line's ends is met when the line
is, and the line stops being a step then.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from inspector.formats.linefile import BROKEN, EDGE, LineFile
from inspector.formats.linefile import visible as visible
from inspector.formats.lines import NARROW, line_at, line_end
from inspector.formats.search import NOWHERE, Search, needles
from inspector.model.run import RawRecord, Step

AHEAD = 32 << 10
"""Bytes of steps that are asked for together that are read at once."""


class LineRun(LineFile):
    """The part of a RunSource that is about lines. A format supplies `take`, which adds to `starts` where the
    lines of steps begin, `read_step` and `searched`."""

    def reset(self, head: bytes = b"") -> None:
        super().reset(head)
        self.starts = array("I")
        self._ahead = 0, b""

    def index(self) -> Iterator[tuple[int, int]]:
        if self.file.size >= NARROW and self.starts.typecode == "I":
            self.starts = array("Q", self.starts)
        yield from super().index()

    def rewind(self, offset: int) -> None:
        super().rewind(offset)
        del self.starts[bisect_left(self.starts, offset) :]

    def read_step(self, seq: int, line: bytes, offset: int) -> Step:
        """The step of a line. Raises one of BROKEN."""
        raise NotImplementedError

    def searched(self, line: bytes) -> bool:
        """Whether a line that is no step, of which `line` is the beginning, belongs to the step behind it
        and is searched with it."""
        return False

    def __len__(self) -> int:
        return len(self.starts)

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        start = max(start, 1)
        if start >= stop or start > len(self.starts):
            return []
        begin, last = self.starts[start - 1], min(stop - 1, len(self.starts))
        end = self.starts[last - 1] + self.room(last)
        self._ahead = begin, self.file.read(begin, min(end - begin, AHEAD))
        try:
            return self._read(start, stop)
        finally:
            self._ahead = 0, b""

    def _read(self, seq: int, stop: int) -> list[Step]:
        found: list[Step] = []
        while seq < stop and seq <= len(self.starts):
            try:
                step = self.read_step(seq, self.shown(seq), self.starts[seq - 1])
            except BROKEN as error:
                self.drop(seq, error)
                continue
            found.append(step)
            seq += 1
        return found

    def line(self, seq: int) -> bytes:
        """The text of a step's line."""
        begin, (ahead, text) = self.starts[seq - 1], self._ahead
        end = text.find(b"\n", begin - ahead) if ahead <= begin else -1
        if end >= 0:
            return text[begin - ahead : end].rstrip(b"\r")
        return line_at(self.file, begin, self.room(seq))

    def room(self, seq: int) -> int:
        """Bytes up to the next step, or to the end: at least those of a step's line."""
        return (self.starts[seq] if seq < len(self.starts) else self._known) - self.starts[seq - 1]

    def shown(self, seq: int) -> bytes:
        """What `read_step` is given: a step's line."""
        return self.line(seq)

    def raw(self, step: int) -> RawRecord | None:
        if not 1 <= step <= len(self.starts):
            return None
        return RawRecord(where=str(self._scan.place(self.starts[step - 1])), text=visible(self.line(step)))

    def drop(self, seq: int, error: Exception) -> None:
        """A step's line turned out to be damaged: it is a problem, and no step any more."""
        line, offset = self.line(seq), self.starts[seq - 1]
        del self.starts[seq - 1]
        self.damaged(line, offset, error)

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        yield from self.index()
        wanted = needles(text)
        if wanted and self.starts:
            yield from self._backward(wanted, start) if backward else self._forward(wanted, max(start, 1))

    def _forward(self, wanted: list[bytes], start: int) -> Iterator[int | tuple[int, int]]:
        if start > len(self.starts):
            return
        begin = self.file.start if start == 1 else line_end(self.file, self.starts[start - 2])
        search, last = Search(self.file, wanted, begin, self._known), 0
        for hit, at in search.lines(begin):
            if hit == NOWHERE:
                yield at - begin, self._known - begin
                continue
            seq, _ = self._owner(search, hit, last)
            if seq > last:
                last = seq
                yield seq

    def _backward(self, wanted: list[bytes], start: int) -> Iterator[int | tuple[int, int]]:
        if start < 1:
            return
        begin = self.file.start
        end = at = self._known if start >= len(self.starts) else line_end(self.file, self.starts[start - 1])
        search, last = Search(self.file, wanted, begin, end), start + 1
        while at > begin:
            hit, on = search.before(at)
            if hit == NOWHERE:
                at = on
                yield end - at, end - begin
                continue
            seq, at = self._owner(search, hit)
            if 0 < seq < last:
                last = seq
                yield seq

    def _owner(self, search: Search, hit: int, near: int = 0) -> tuple[int, int]:
        """The step that the line of a match belongs to (0: none), and where the line begins. The step is
        `near` or later, and most likely soon."""
        starts = self.starts
        seq = near + 1 if near + 1 < len(starts) and starts[near] <= hit < starts[near + 1] else 0
        seq = seq or bisect_right(starts, hit)
        floor = starts[seq - 1] if seq else self.file.start
        line = search.line_start(hit, floor)
        if seq and line == floor:
            return seq, line
        return min(seq + 1, len(starts)) if self.searched(self.file.read(line, EDGE)) else 0, line
