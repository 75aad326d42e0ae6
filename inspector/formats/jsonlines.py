"""A run whose steps are lines of a file that may be very large: the base of readers of JSON lines.

The index holds eight bytes a step: where its line begins. A line is decoded when its step is shown. Files
up to CHECKED bytes are checked while they are indexed, so that every damaged line is known at once; in
larger ones, damage that does not show at a line's ends is met when the line is, and the line stops being a
step then.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from inspector.formats.files import File
from inspector.formats.jsontext import Damaged, Place, Reading, parse
from inspector.formats.lines import Scan, line_at, line_end
from inspector.formats.search import NOWHERE, Search, needles
from inspector.model.run import Problem, RawRecord, SourceInfo, Step
from inspector.model.text import clean
from inspector.model.values import Value, clean_value

CHECKED = 16 << 20
"""Bytes up to which every line of a file is checked while it is indexed."""
REFRESHED = 16 << 20
"""Bytes of a grown file that one `refresh` takes in; `index` takes in the rest."""
LISTED = 1000
"""Damaged lines that are listed one by one."""
EDGE = 256
BROKEN = (Damaged, msgspec.ValidationError, ValueError, TypeError, KeyError)
"""What decoding a line raises when the line is not what it should be."""


class LineRun:
    """The part of a RunSource that is about lines. A format supplies `take`, `read_step` and `searched`."""

    def __init__(self, file: File, source: SourceInfo, head: bytes = b"") -> None:
        self.file, self.source = file, source
        self.reset(head)

    def reset(self, head: bytes = b"") -> None:
        """Nothing of the file is known."""
        self.starts = array("Q")
        self._scan = Scan(self.file, head)
        self._known = self.file.start
        self._first, self._edge = b"", b""
        self._damage: list[tuple[int, Problem]] = []
        self._unlisted = 0
        self._met: dict[tuple[str, str], Problem] = {}
        self._fused: set[int] = set()

    def take(self, lines: list[bytes], begin: int) -> None:
        """Add the steps among new lines, which stand in the file from `begin` on, to `starts`."""
        raise NotImplementedError

    def read_step(self, seq: int, line: bytes, offset: int) -> Step:
        """The step of a line. Raises one of BROKEN."""
        raise NotImplementedError

    def searched(self, line: bytes) -> bool:
        """Whether a line that is no step, of which `line` is the beginning, belongs to the step behind it
        and is searched with it."""
        return False

    def rewind(self, offset: int) -> None:
        """Forget the lines that begin at `offset` or behind it."""
        del self.starts[bisect_left(self.starts, offset) :]
        self._damage = [entry for entry in self._damage if entry[0] < offset]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def checked(self) -> bool:
        """Whether lines are checked while they are indexed."""
        return self.file.size <= CHECKED

    @property
    def indexed(self) -> bool:
        """Whether everything that stands in the file was taken in."""
        return self._known >= self.file.size

    def index(self) -> Iterator[tuple[int, int]]:
        while not self.indexed:
            self.rewind(self._scan.scanned)
            batch = next(self._scan.batches(), None)
            if batch:
                lines, begin = batch
                self.take(lines, begin)
                self._first = self._first or lines[0][:EDGE]
                self._known, self._edge = self._scan.scanned, lines[-1][-EDGE:]
            else:
                rest = self._scan.rest()
                if rest:
                    self.take([rest], self._scan.scanned)
                self._known = self.file.size
            yield self._known, self.file.size

    def refresh(self) -> bool:
        if not self.file.refresh():
            return False
        first = self.file.read(self.file.start, len(self._first))
        edge = self.file.read(self._scan.scanned - len(self._edge), len(self._edge))
        if (first, edge) != (self._first, self._edge):
            self.reset()
            self._damage.append((-1, self._problem("the file was replaced while it was open: this is the new one")))
        self._known = self._scan.scanned
        target = self._known + REFRESHED
        for known, _ in self.index():
            if known > target:
                break
        return True

    def _problem(self, message: str) -> Problem:
        return Problem(severity="warning", where=self.file.label, message=message)

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        found: list[Step] = []
        seq = max(start, 1)
        while seq < stop and seq <= len(self.starts):
            try:
                step = self.read_step(seq, self.line(seq), self.starts[seq - 1])
            except BROKEN as error:
                self.drop(seq, error)
                continue
            found.append(step)
            seq += 1
        return found

    def line(self, seq: int) -> bytes:
        """The text of a step's line."""
        begin = self.starts[seq - 1]
        end = self.starts[seq] if seq < len(self.starts) else self._known
        return line_at(self.file, begin, end - begin)

    def raw(self, step: int) -> RawRecord | None:
        if not 1 <= step <= len(self.starts):
            return None
        return RawRecord(where=str(self._scan.place(self.starts[step - 1])), text=visible(self.line(step)))

    def value(self, line: bytes, offset: int) -> Value:
        """The value of a line, its problems noted by their place. Raises Damaged."""
        problems: list[Problem] = []
        value = self._parse(line, offset, Place(self.file.label, 0, offset), problems)
        if problems:  # rare: only now is it worth knowing the line's number
            problems.clear()
            self._parse(line, offset, self._scan.place(offset), problems)
            for problem in problems:
                self.met(problem)
        return value

    def _parse(self, line: bytes, offset: int, place: Place, problems: list[Problem]) -> Value:
        if offset in self._fused:
            return clean_value(Reading(line, place, problems).value())
        return parse(line, place, problems)

    def met(self, problem: Problem) -> None:
        """Note a problem that was met while decoding, once."""
        if len(self._met) < LISTED:
            self._met.setdefault((problem.where, problem.message), problem)

    def damaged(self, line: bytes, offset: int, error: Exception) -> None:
        """Note that a line cannot be used."""
        reason = error.reason if isinstance(error, Damaged) else clean(str(error))
        where = self._scan.place(offset).at(line, error.offset) if isinstance(error, Damaged) else None
        self.damage(offset, f"a damaged line: {reason}", where)

    def damage(self, offset: int, message: str, where: str | None = None) -> None:
        """Note what is wrong with the line at `offset`, once."""
        if len(self._damage) >= LISTED:
            self._unlisted += 1
            return
        problem = Problem(severity="error", where=where or str(self._scan.place(offset)), message=message)
        if (offset, problem) not in self._damage:
            self._damage.append((offset, problem))

    def drop(self, seq: int, error: Exception) -> None:
        """A step's line turned out to be damaged: it is a problem, and no step any more."""
        line, offset = self.line(seq), self.starts[seq - 1]
        del self.starts[seq - 1]
        self.damaged(line, offset, error)

    def problems(self) -> Sequence[Problem]:
        found = [problem for _, problem in sorted(self._damage, key=lambda entry: entry[0])] + [*self._met.values()]
        if self._unlisted:
            found.append(self._problem(f"{self._unlisted} more damaged lines are not listed"))
        return found

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        yield from self.index()
        wanted = needles(text)
        if wanted and self.starts:
            yield from self._backward(wanted, start) if backward else self._forward(wanted, max(start, 1))

    def _forward(self, wanted: list[bytes], start: int) -> Iterator[int | tuple[int, int]]:
        if start > len(self.starts):
            return
        begin = at = self.file.start if start == 1 else line_end(self.file, self.starts[start - 2])
        search, last = Search(self.file, wanted, begin, self._known), 0
        while at < self._known:
            hit, on = search.after(at)
            if hit == NOWHERE:
                at = on
                yield at - begin, self._known - begin
                continue
            seq, _ = self._owner(search, hit)
            at = search.line_end(hit)
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

    def _owner(self, search: Search, hit: int) -> tuple[int, int]:
        """The step that the line of a match belongs to (0: none), and where the line begins."""
        seq = bisect_right(self.starts, hit)
        floor = self.starts[seq - 1] if seq else self.file.start
        line = search.line_start(hit, floor)
        if seq and line == floor:
            return seq, line
        return min(seq + 1, len(self.starts)) if self.searched(self.file.read(line, EDGE)) else 0, line

    def close(self) -> None:
        self.file.close()


def visible(line: bytes) -> str:
    """The text of a line, with all in it that could act on a terminal as an escape."""
    return clean(line.decode(errors="backslashreplace"))
