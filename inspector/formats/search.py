"""Searching a file for a text at the speed of scanning it, one window at a time, in both directions."""

from collections.abc import Iterator

from inspector.formats.files import CHUNK, File
from inspector.formats.lines import line_end

NOWHERE = -1


def needles(text: str) -> list[bytes]:
    """The byte strings that `text` may stand as in JSON text: as it is, with the escapes that JSON needs,
    and with all but ASCII escaped. None of them holds a newline."""
    import json

    forms = [text] + [json.dumps(text, ensure_ascii=ascii)[1:-1] for ascii in (False, True)]
    encoded = [form.encode(errors="surrogatepass") for form in forms]
    return [form for form in dict.fromkeys(encoded) if form and b"\n" not in form]


class Search:
    """The places between `begin` and `stop` where one of `needles` stands. Holds a window of the file of
    about 1 MiB; what it knows of a window is not looked for again."""

    def __init__(self, file: File, needles: list[bytes], begin: int, stop: int) -> None:
        self._file, self._needles, self._begin, self._stop = file, needles, begin, stop
        self._overlap = max(map(len, needles)) - 1
        self._base, self._data = begin, b""
        self._next: list[int] = []
        self._last: list[int] = []
        """Where in the window each needle stands last."""

    def after(self, at: int) -> tuple[int, int]:
        """The first match that begins at or behind `at` in the window there, or NOWHERE; and from where to
        search on when there was none."""
        if not self._base <= at < self._base + len(self._data) - self._overlap:
            self._load(at, at + CHUNK)
            if not self._data:  # the file was cut
                return NOWHERE, self._stop
            # CPython looks backward for a text two to three times as fast as forward.
            self._last = [self._data.rfind(needle) for needle in self._needles]
            self._next = [self._first(index, at) for index in range(len(self._needles))]
        for index, known in enumerate(self._next):
            if NOWHERE < known < at:
                self._next[index] = self._first(index, at)
        end = self._base + len(self._data)
        found = min((place for place in self._next if place != NOWHERE), default=NOWHERE)
        if end >= self._stop:
            return found, end
        on = max(end - self._overlap, at + 1)
        # Before what stands so near to the end, a longer needle may begin that the window does not hold whole.
        return (NOWHERE if found >= on else found), on

    def lines(self, at: int) -> Iterator[tuple[int, int]]:
        """The first match of each line that has one, from `at` on, with where the next line begins; between,
        (NOWHERE, how far it was searched)."""
        while at < self._stop:
            hit, on = self.after(at)
            while hit != NOWHERE:
                at = self.line_end(hit)
                yield hit, at
                if at >= self._base + len(self._data) - self._overlap:
                    break
                if len(self._needles) > 1:
                    hit, on = self.after(at)
                else:
                    hit = self._next[0] = self._first(0, at)
            else:
                at = on
                yield NOWHERE, at

    def before(self, at: int) -> tuple[int, int]:
        """The last match that begins before `at` in the window there, or NOWHERE; and before where to search
        on when there was none."""
        if not self._base < at <= self._base + len(self._data) - self._overlap:
            self._load(max(at - CHUNK, self._begin), at)
            self._next = [self._nearest(index, at) for index in range(len(self._needles))]
        for index, known in enumerate(self._next):
            if known >= at:
                self._next[index] = self._nearest(index, at)
        return max(self._next), self._base

    def _load(self, begin: int, end: int) -> None:
        self._base = begin
        self._data = self._file.read(begin, min(end + self._overlap, self._stop) - begin)

    def _first(self, index: int, at: int) -> int:
        place, needle, last = at - self._base, self._needles[index], self._last[index]
        return NOWHERE if last < place else self._base + self._data.find(needle, place, last + len(needle))

    def _nearest(self, index: int, at: int) -> int:
        needle = self._needles[index]
        found = self._data.rfind(needle, 0, at - self._base + len(needle) - 1)
        return NOWHERE if found < 0 else self._base + found

    def line_start(self, at: int, floor: int) -> int:
        """Where the line that holds `at` begins, or `floor` when no line begins behind that."""
        end = at
        if self._base <= at <= self._base + len(self._data):
            found = self._data.rfind(b"\n", max(floor - self._base, 0), at - self._base)
            if found >= 0:
                return self._base + found + 1
            end = self._base
        while end > floor:
            begin = max(end - CHUNK, floor)
            found = self._file.read(begin, end - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end = begin
        return floor

    def line_end(self, at: int) -> int:
        """Where the line behind the one that holds `at` begins."""
        if self._base <= at < self._base + len(self._data):
            found = self._data.find(b"\n", at - self._base)
            if found >= 0:
                return self._base + found + 1
            at = self._base + len(self._data)
        return min(line_end(self._file, at), self._stop)
