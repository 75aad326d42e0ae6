"""Searching a file for a text at the speed of scanning it, one window at a time, in both directions."""

from collections.abc import Iterator

from inspector.formats.files import CHUNK, File
from inspector.formats.lines import line_end

NOWHERE = -1
SAMPLE = 64 << 10
RARE = 128
"""How often a byte may stand in a sample of SAMPLE bytes to be looked for in place of the whole needle."""
LOOKS = 3000
"""Places in one window where the rare byte may stand without the needle: then it is not rare any more."""


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
        length = min(SAMPLE, stop - begin) // 2
        sample = file.read(begin, length) + file.read((begin + stop) // 2, length)
        self._rare = [_rare(needle, sample) for needle in needles]

    def after(self, at: int) -> tuple[int, int]:
        """The first match that begins at or behind `at` in the window there, or NOWHERE; and from where to
        search on when there was none."""
        if not self._base <= at < self._base + len(self._data) - self._overlap:
            self._load(at, at + CHUNK)
            if not self._data:  # the file was cut
                return NOWHERE, self._stop
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
            self._next = [self._last(index, at) for index in range(len(self._needles))]
        for index, known in enumerate(self._next):
            if known >= at:
                self._next[index] = self._last(index, at)
        return max(self._next), self._base

    def _load(self, begin: int, end: int) -> None:
        self._base = begin
        self._data = self._file.read(begin, min(end + self._overlap, self._stop) - begin)

    def _first(self, index: int, at: int) -> int:
        data, needle, place = self._data, self._needles[index], at - self._base
        if rare := self._rare[index]:
            byte, lead = rare
            for _ in range(LOOKS):
                place = data.find(byte, place + lead) - lead
                if place < 0:
                    return NOWHERE
                if data.startswith(needle, place):
                    return self._base + place
                place += 1
            self._rare[index] = None
        found = data.find(needle, place)
        return found if found == NOWHERE else self._base + found

    def _last(self, index: int, at: int) -> int:
        data, needle, place = self._data, self._needles[index], at - self._base
        if rare := self._rare[index]:
            byte, lead = rare
            for _ in range(LOOKS):
                place = data.rfind(byte, 0, place + lead) - lead
                if place < 0:
                    return NOWHERE
                if data.startswith(needle, place):
                    return self._base + place
            self._rare[index] = None
        found = data.rfind(needle, 0, place + len(needle) - 1)
        return found if found == NOWHERE else self._base + found

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


def _rare(needle: bytes, sample: bytes) -> tuple[bytes, int] | None:
    """The byte of the needle that is rarest in the sample, and where it stands in the needle; None when
    none is rare, so that looking for the needle itself is quicker."""
    count, byte = min((sample.count(byte), byte) for byte in {needle[at : at + 1] for at in range(len(needle))})
    return (byte, needle.find(byte)) if count * SAMPLE <= RARE * len(sample) else None
