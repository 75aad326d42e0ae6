"""A file of lines that may be very large, may be damaged, and may grow or be replaced while it is open."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from inspector.formats.files import File
from inspector.formats.jsontext import DEEPER, Damaged, Place, parse
from inspector.formats.lines import Scan
from inspector.model.run import Problem, Severity, SourceInfo
from inspector.model.text import clean
from inspector.model.values import Value, clean_value

CHECKED = 16 << 20
"""Bytes up to which every line of a file is checked while it is indexed."""
LONG = 32 << 20
"""Bytes of a line beyond which most formats do not decode it."""
REFRESHED = 16 << 20
"""Bytes of a grown file that one `refresh` takes in; `index` takes in the rest."""
LISTED = 1000
"""Damaged lines that are listed one by one."""
EDGE = 256
BROKEN = (Damaged, msgspec.ValidationError, ValueError, TypeError, KeyError)
"""What decoding a line raises when the line is not what it should be."""


class LineFile:
    """A file of lines that is taken in line by line, as far as it goes, and again when it grew. A format
    supplies `take` and `rewind`."""

    long = LONG
    """Bytes of a line beyond which it is not held in memory to be indexed."""

    def __init__(self, file: File, source: SourceInfo, head: bytes = b"") -> None:
        self.file, self.source = file, source
        self.reset(head)

    def reset(self, head: bytes = b"") -> None:
        """Nothing of the file is known."""
        self._scan = Scan(self.file, head, cut=self.long)
        self._known = self.file.start
        self._rested = False
        """Whether what stood at the end of the file was taken in as its end: it may have gone on since."""
        self._first, self._edge = b"", b""
        self._damage: list[tuple[int, Problem]] = []
        self._unlisted = 0
        self._met: dict[tuple[str, str], Problem] = {}
        self._told: set[tuple[int, int]] = set()
        """Of which texts the problems were met: (where they begin, their hash)."""
        self._fused: set[int] = set()

    def take(self, lines: list[bytes], begin: int) -> None:
        """Take in new lines, with their ends, which stand in the file from `begin` on."""
        raise NotImplementedError

    def take_rest(self, rest: bytes) -> None:
        """Take in what stands behind the last finished line, where the file ends; what follows it may rewind it."""
        if rest:
            self.take([rest], self._scan.scanned)

    def rewind(self, offset: int) -> None:
        """Forget the lines that begin at `offset` or behind it."""
        self._damage = [entry for entry in self._damage if entry[0] < offset]

    @property
    def checked(self) -> bool:
        """Whether lines are checked while they are indexed."""
        return self.file.size <= CHECKED

    @property
    def crowded(self) -> bool:
        """Whether damaged lines are only counted from here on."""
        return len(self._damage) >= LISTED

    @property
    def indexed(self) -> bool:
        """Whether everything that stands in the file was taken in."""
        return self._known >= self.file.size

    def index(self) -> Iterator[tuple[int, int]]:
        while not self.indexed:
            if self._rested:
                self.rewind(self._scan.scanned)
                self._rested = False
            batch = next(self._scan.batches(), None)
            if batch:
                lines, begin = batch
                self.take(lines, begin)
                self._first = self._first or lines[0][:EDGE]
                self._known, self._edge = self._scan.scanned, lines[-1][-EDGE:]
                if self.indexed:
                    self._rested = True
                    self.take_rest(b"")
            else:
                self._rested = True
                self.take_rest(self._scan.rest())
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
        elif not self._first:
            # No line was finished: what was made of that, as of a header, holds no more.
            told = [entry for entry in self._damage if entry[0] < 0]
            self.reset()
            self._damage += told
        self._known = self._scan.scanned
        target = self._known + REFRESHED
        for known, _ in self.index():
            if known > target:
                break
        return True

    def _problem(self, message: str) -> Problem:
        return Problem(severity="warning", where=self.file.label, message=message)

    def value(self, line: bytes, offset: int, begin: Callable[[], int] | None = None, *, deep: bool = True) -> Value:
        """The value of a line, its problems noted by their place. `begin` tells where the text stands where it is
        but a part of what begins at `offset`. Without `deep`, what is cut for its depth is not said: its parts, which
        are shown, are less deep. Raises Damaged."""
        problems: list[Problem] = []
        value = self._parse(line, offset, Place(self.file.label, 0, offset), problems)
        # Rare: only now is it worth knowing the line's number, and once, as many spans may have the same resource.
        if problems and len(self._told) < LISTED and (told := (offset, hash(line))) not in self._told:
            self._told.add(told)
            problems.clear()
            self._parse(line, offset, self._scan.place(begin() if begin else offset), problems)
            for problem in problems:
                if deep or not problem.message.startswith(DEEPER):
                    self.met(problem)
        return value

    def _parse(self, line: bytes, offset: int, place: Place, problems: list[Problem]) -> Value:
        if offset in self._fused:
            from inspector.formats.jsonreading import Reading

            return clean_value(Reading(line, place, problems).value())
        return parse(line, place, problems)

    def met(self, problem: Problem) -> None:
        """Note a problem that was met while decoding, once."""
        if len(self._met) < LISTED:
            self._met.setdefault((problem.where, problem.message), problem)

    def damaged(self, line: bytes, offset: int, error: Exception) -> None:
        """Note that a line cannot be used."""
        length = self._scan.long.get(offset, 0)
        if length > len(line):
            self.damage(offset, f"a line of {length:,} bytes: more than {self.long:,} are not decoded")
            return
        if self.crowded:  # not worth knowing where
            self.damage(offset, "")
            return
        reason = error.reason if isinstance(error, Damaged) else clean(str(error))
        text = line.rstrip()  # what breaks off does so on its own line
        where = None
        if isinstance(error, Damaged):
            where = self._scan.place(offset).at(text, min(error.offset, len(text)))
        self.damage(offset, f"a damaged line: {reason}", where)

    def damage(self, offset: int, message: str, where: str | None = None, severity: Severity = "error") -> None:
        """Note what is wrong with the line at `offset`, once."""
        if self.crowded:
            self._unlisted += 1
            return
        problem = Problem(severity=severity, where=where or str(self._scan.place(offset)), message=message)
        if (offset, problem) not in self._damage:
            self._damage.append((offset, problem))

    def problems(self) -> Sequence[Problem]:
        found = [problem for _, problem in sorted(self._damage, key=lambda entry: entry[0])] + [*self._met.values()]
        if self._unlisted:
            found.append(self._problem(f"{self._unlisted} more damaged lines are not listed"))
        return found

    def close(self) -> None:
        self.file.close()


def visible(line: bytes) -> str:
    """The text of a line, with all in it that could act on a terminal as an escape."""
    return clean(line.decode(errors="backslashreplace"))
