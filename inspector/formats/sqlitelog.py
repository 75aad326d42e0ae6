"""What of the `-wal` beside a database SQLite did not take: it reads a log up to the first damage, without a word."""

import contextlib
import os
import struct

HEADER, FRAME = 32, 24
MAGICS = (0x377F0682, 0x377F0683)
TAKEN = struct.Struct("=I")
"""How many frames SQLite took, as it stands in the index beside the log."""
TAKEN_AT = 16


def untaken(path: str, settled: bool) -> str | None:
    """What is wrong with the log of the open database at `path`, in words. `settled`: nobody is writing to it, so that
    what breaks off is not just being written."""
    with contextlib.suppress(OSError, struct.error), open(path + "-wal", "rb") as log:
        size, header = os.fstat(log.fileno()).st_size, log.read(HEADER)
        if not size:
            return None
        if not _sound(header):
            return "its log -wal has no valid header: what was written last is not shown"
        with open(path + "-shm", "rb") as index:
            index.seek(TAKEN_AT)
            (taken,) = TAKEN.unpack(index.read(TAKEN.size))
        length = FRAME + struct.unpack(">I", header[8:12])[0]
        begin = HEADER + taken * length
        lost = 0
        for at in range(begin, size - length + 1, length):
            head = os.pread(log.fileno(), FRAME, at)
            lost += head[4:8] != b"\0\0\0\0" and head[8:16] == header[16:24]  # ends a commit of this log
        if lost:
            return f"its log -wal is damaged behind byte {begin}: {lost} commits there are not shown"
        if settled and (size - HEADER) % length:
            return f"its log -wal breaks off behind byte {begin}: what was written there is not shown"
    return None


def _sound(header: bytes) -> bool:
    """Whether the header of a log is one, by its own checksum."""
    if len(header) < HEADER:
        return False
    magic = struct.unpack(">I", header[:4])[0]
    words = struct.unpack("<6I" if magic == MAGICS[0] else ">6I", header[:24])
    first = second = 0
    for at in range(0, 6, 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return magic in MAGICS and struct.unpack(">2I", header[24:32]) == (first, second)
