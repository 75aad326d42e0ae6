"""From a path to its runs: which reader it is for, and what to say when there is none."""

import os
from collections.abc import Sequence

from inspector.errors import InspectorError, UnreadableError, UsageError
from inspector.formats.files import SQLITE, File
from inspector.formats.folder import open_folder
from inspector.formats.reader import Probe, Reader, readers
from inspector.model.source import RunSet


def open_path(path: str, format: str | None = None) -> RunSet:
    """The runs behind a path: a file, a run folder, a folder of runs, a database, `-` for stdin,
    a store by its URL. `format` names a reader instead of detecting one. Raises UnreadableError when no reader
    knows it, and UsageError for an unknown format."""
    if "://" in path:
        path = _store(path)
    if path != "-":
        _look(path)
    probe = Probe(path, told=format is not None)
    try:
        reader = _named(format) if format else claimant(probe)
        if format and reader is not None and not probe.is_folder and probe.is_database and not reader.claims(probe):
            tables = ", ".join(sorted(probe.tables)[:8]) or "none"
            raise UnreadableError(path, f"is no database of {format} (its tables: {tables})")
        if reader is not None:
            return reader.open(probe)
        if probe.is_folder:
            return open_folder(path, claimant)
        raise UnreadableError(path, unknown(probe))
    except InspectorError:
        probe.close()
        raise
    except OSError as error:
        probe.close()
        raise UnreadableError(path, error.strerror or str(error)) from error


def _store(url: str) -> str:
    from inspector.model.stored import store_path

    try:
        return store_path(url)
    except ValueError as error:
        raise UsageError(url, str(error)) from error


def _look(path: str) -> None:
    """Raises UnreadableError for a path that leads nowhere, or to where one may not look."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise UnreadableError(path, "there is no such file or folder") from None
    except OSError as error:
        raise UnreadableError(path, error.strerror or str(error)) from error


def claimant(probe: Probe) -> Reader | None:
    """The reader that knows what stands behind the probe. Our own is asked first: its records tell themselves, and
    the others need not be imported then."""
    from inspector.formats.readers.trace import READER as OURS

    if OURS.claims(probe):
        return OURS
    return next((reader for reader in readers() if reader.claims(probe)), None)


def stamp(path: str) -> Sequence[object]:
    """A value that changes when the file, or the folder's listing, does: for following what is not
    read by appending."""
    found: list[object] = []
    for name in (path, path + "-wal"):
        try:
            status = os.stat(name)
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except OSError:
            found.append(None)
    return found


def _named(format: str) -> Reader:
    for reader in readers():
        if format in (reader.name, "records" if reader.name == "unknown" else None):
            return reader
    known = ", ".join("records" if reader.name == "unknown" else reader.name for reader in readers())
    raise UsageError("--format", f"no reader {format!r}; there are {known}")


LOGGED = b"\2\2"
"""How a SQLite database says that what was written last stands in a log beside it."""
_ADVICE = "`runinspect formats` lists what can be read"
_LINES = "; `--format records` shows any JSON lines as records"
_MAGICS = (
    (b"\x1f\x8b", "looks like gzip: decompress it first"),
    (b"PK\x03\x04", "looks like a zip archive: unpack it first"),
    (b"(\xb5/\xfd", "looks like zstd: decompress it first"),
    (b"BZh", "looks like bzip2: decompress it first"),
    (b"\xfd7zXZ\x00", "looks like xz: decompress it first"),
    (b"\x89PNG", "looks like a PNG picture"),
    (b"\x7fELF", "looks like a program"),
    (b"%PDF", "looks like a PDF"),
    *(
        (bytes((0x80, protocol)), "looks like a pickle, which can run code: it is not loaded")
        for protocol in range(2, 6)
    ),
    (b"\xff\xfe\0\0", "looks like UTF-32: convert it first, as with `iconv -f UTF-32 -t UTF-8`"),
    (b"\xff\xfe", "looks like UTF-16: convert it first, as with `iconv -f UTF-16 -t UTF-8`"),
    (b"\xfe\xff", "looks like UTF-16: convert it first, as with `iconv -f UTF-16 -t UTF-8`"),
)


def unknown(probe: Probe) -> str:
    """What a file that no reader knows looks like, and what can be done."""
    head = probe.head
    if not head.strip():
        if probe.file.size > probe.file.start + len(head):
            return f"begins with {len(head):,} blanks: what is behind them is not looked at; {_ADVICE}"
        return "is empty: there is nothing to read"
    if not head.strip(b"\0"):
        return (
            "begins with nothing but zero bytes, as a file does that was set aside and never written, or whose "
            f"contents a crash lost: look for an earlier copy; {_ADVICE}"
        )
    for magic, words in _MAGICS:
        if head.startswith(magic):
            return f"{words}; {_ADVICE}"
    if head[257:262] == b"ustar":
        return f"looks like a tar archive: unpack it first; {_ADVICE}"
    if head.startswith(SQLITE):
        tables = ", ".join(sorted(probe.tables)[:8])
        spoilt = "".join(f"; {problem.message}" for problem in probe.database.problems[:2])
        found = f"tables: {tables}" if tables else "it has no table"
        if not tables and head[18:20] == LOGGED and not os.path.exists(f"{os.path.realpath(probe.path)}-wal"):
            found += ", and its log is not beside it: copy the file that ends in -wal too"
        return f"a SQLite database of no known kind ({found}{spoilt}); {_ADVICE}"
    if head[:200].count(b"\x00") > 40 and b"\x00" in head[:2]:
        kind = "UTF-16BE" if head[:1] == b"\x00" else "UTF-16LE"
        return f"looks like UTF-16: convert it first, as with `iconv -f {kind} -t UTF-8`; {_ADVICE}"
    if b"\x00" in head or sum(byte < 9 for byte in head[:512]) > 8:
        return f"looks like binary data; {_ADVICE}"
    if probe.keys or probe.item_keys:
        keys = ", ".join(list(probe.keys or probe.item_keys)[:8])
        lines = _LINES if len(probe.lines) > 1 and all(probe.line_keys[:2]) else ""
        what = "an object" if probe.keys else "a list of objects"
        return f"JSON of no known kind ({what} with the keys {keys}); {_ADVICE}{lines}"
    first = head.lstrip()[:1]
    if first == b"<":
        return f"looks like HTML or XML; {_ADVICE}"
    if first in (b"{", b"[", b'"') or first.isdigit() or head.strip() in (b"null", b"true", b"false"):
        return f"JSON of no known kind; {_ADVICE}{_LINES if first == b'{' else ''}"
    return f"looks like text that is no JSON; {_ADVICE}"


__all__ = ["File", "Probe", "claimant", "open_path", "stamp", "unknown"]
