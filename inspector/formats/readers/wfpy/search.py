"""Searching the lines of a run: block by block, so that what is not there costs a scan."""

from collections.abc import Iterator

from inspector.formats.readers.wfpy.journal import PIECES
from inspector.formats.readers.wfpy.rebuild import Rebuilt
from inspector.formats.readers.wfpy.trace import Trace
from inspector.formats.search import needles

BLOCK = 512
"""Steps that are searched at once."""
BYTES = 4 << 20
"""Bytes of lines up to which a block is read as a whole."""


def in_journal(rebuilt: Rebuilt, text: str, start: int, backward: bool) -> Iterator[int | tuple[int, int]]:
    """The steps whose lines hold a text; see `RunSource.find`."""
    wanted = needles(text)
    lines = rebuilt.replay.lines
    for block, done, total in _blocks(len(lines), start, backward):
        if wanted and _maybe(rebuilt, block, wanted):
            for seq in block:
                line = rebuilt.text(seq)
                if any(needle in line for needle in wanted):
                    yield seq
        yield done, total


def in_trace(trace: Trace, text: str, start: int, backward: bool) -> Iterator[int | tuple[int, int]]:
    """The same for steps of a trace."""
    wanted = needles(text)
    for block, done, total in _blocks(len(trace), start, backward):
        for seq in block:
            line = trace.raw(seq - 1)
            if any(needle in line for needle in wanted):
                yield seq
        yield done, total


def _blocks(last: int, start: int, backward: bool) -> Iterator[tuple[range, int, int]]:
    """(steps, steps searched with them, steps in all), from `start` on to one end."""
    order = range(min(start, last), 0, -1) if backward else range(max(start, 1), last + 1)
    for begin in range(0, len(order), BLOCK):
        yield order[begin : begin + BLOCK], min(begin + BLOCK, len(order)), len(order)


def _maybe(rebuilt: Rebuilt, block: range, wanted: list[bytes]) -> bool:
    """Whether a text stands in the part of the file that holds a block's lines, as far as that is quick to
    tell."""
    numbers = [rebuilt.replay.lines[seq - 1] for seq in block]
    if max(numbers) >= PIECES:
        return True
    starts = rebuilt.journal.lines.starts
    begin, last = starts[min(numbers)], max(numbers)
    end = starts[last + 1] if last + 1 < len(starts) else rebuilt.journal.lines.scanned
    if end - begin > BYTES:
        return True
    piece = rebuilt.journal.file.read(begin, end - begin)
    return any(needle in piece for needle in wanted)
