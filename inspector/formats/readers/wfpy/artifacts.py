"""What stands in a run folder: which files there are, and the small ones read.

wfpy writes the journal as it goes, and the rest when the run ends; which of them are there says how it ended.
A single file that has wfpy's own name stands for its folder.
"""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeVar

from inspector.errors import UnreadableError
from inspector.formats.document import Document
from inspector.formats.files import File
from inspector.formats.jsontext import Damaged
from inspector.formats.readers.wfpy.checkpoint import Checkpoint
from inspector.formats.readers.wfpy.names import CHECKPOINT, JOURNAL, LIVE, NAMES, RECORD, TRACE, VIEWER
from inspector.formats.readers.wfpy.trace import Trace
from inspector.model.run import Problem
from inspector.model.text import one_line
from inspector.model.values import Value

Part = TypeVar("Part")


class Facts:
    """A JSON object of wfpy's that is read for a few fields. Every getter is of a type, None for any other."""

    def __init__(self, values: Document | dict[str, Value]) -> None:
        self._values = values
        self.problems = [] if isinstance(values, dict) else values.problems

    def text(self, name: str) -> str | None:
        value = self._values.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str) -> int | None:
        return whole(self._values.get(name))

    def object(self, name: str) -> dict[str, Value]:
        value = self._values.get(name)
        return value if isinstance(value, dict) else {}

    def objects(self, name: str) -> list[dict[str, Value]]:
        value = self._values.get(name)
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def value(self, name: str) -> Value:
        return self._values.get(name)

    @property
    def torn(self) -> bool:
        """Whether the text breaks off."""
        return isinstance(self._values, Document) and self._values.torn

    def failure(self) -> dict[str, Value] | None:
        """The error that the run ended with, {} when it ended well. None where the text breaks off before it would
        say: an error stands near its end."""
        if "error" not in self:
            return None if self.torn else {}
        found = self.value("error")
        if found is None and not self.torn:
            return {}
        return self.object("error") or {"message": found if isinstance(found, str) else None}

    def __contains__(self, name: str) -> bool:
        return name in self._values


def _facts(file: File) -> Facts:
    """The object in a file. Raises Damaged when it is none."""
    return Facts(Document(file))


def whole(value: Value) -> int | None:
    """The value, if it is an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Artifacts:
    """The files of one run: `paths` by wfpy's name for each, read when they are asked for. `problems` are
    those of the files read so far."""

    def __init__(self, paths: dict[str, str], folder: str | None, opened: dict[str, File] | None = None) -> None:
        self.paths, self.folder = paths, folder
        self._opened = opened or {}
        self.problems: list[Problem] = []
        self.stamp = self.stamps()

    @cached_property
    def journal(self) -> File | None:
        return self._file(JOURNAL)

    @cached_property
    def checkpoint(self) -> Checkpoint | None:
        return self._read(CHECKPOINT, Checkpoint)

    @cached_property
    def trace(self) -> Trace | None:
        return self._read(TRACE, Trace)

    @cached_property
    def record(self) -> Facts | None:
        return self._read(RECORD, _facts)

    @cached_property
    def viewer(self) -> Facts | None:
        return self._read(VIEWER, _facts)

    @cached_property
    def live(self) -> Facts | None:
        """The live overlay in the base folder, when it is this run's."""
        return self._live()

    def _file(self, name: str) -> File | None:
        if name not in self.paths:
            return None
        try:
            return self._opened.get(name) or File(self.paths[name])
        except UnreadableError as error:
            self._note(name, error.reason)
            return None

    def _read(self, name: str, read: Callable[[File], Part]) -> Part | None:
        file = self._file(name)
        if file is None:
            return None
        try:
            part = read(file)
        except Damaged as damage:
            self._note(file.label, f"cannot be read: {damage}")
            return None
        except UnreadableError as error:
            self._note(file.label, error.reason)
            return None
        finally:
            file.close()
        self.problems += getattr(part, "problems", ())
        return part

    def _note(self, where: str, message: str) -> None:
        self.problems.append(Problem(severity="error", where=one_line(where), message=one_line(message)))

    def _live(self) -> Facts | None:
        """The live overlay in the base folder, when it is this run's."""
        if self.folder is None or self.record is not None:
            return None
        path = self.live_path
        try:
            file = File(path or "")
        except UnreadableError:
            return None
        try:
            found = _facts(file)
        except (Damaged, UnreadableError):
            return None
        finally:
            file.close()
        return found if found.text("runId") == self.folder_name else None

    @property
    def live_path(self) -> str | None:
        """Where the base folder's live overlay is, if there is one."""
        return os.path.join(self.folder, os.pardir, LIVE) if self.folder is not None else None

    def changed(self) -> bool:
        """Whether files other than the journal came, went or changed."""
        return self.stamps() != self.stamp

    def gone(self) -> str | None:
        """What was there and is not any more, the folder or a file, when nothing else came or changed since the last
        look; that look is then the last one."""
        before, self.stamp = self.stamp, self.stamps()
        journal = self.paths.get(JOURNAL)
        lost = [path for path in self.paths.values() if not os.path.isfile(path)]
        came = any(now not in (None, then) for now, then in zip(self.stamp, before, strict=True))
        if came or not lost or (before == self.stamp and journal not in lost):
            return None
        whole = self.folder is not None and not os.path.isdir(self.folder)
        return self.folder_name if whole else one_line(os.path.basename(lost[0]))

    def again(self) -> "Artifacts":
        """The same run's files, as they are now."""
        return in_folder(self.folder) if self.folder is not None else Artifacts(self.paths, None)

    @property
    def folder_name(self) -> str | None:
        """The folder's name, which is how wfpy names a run."""
        return one_line(os.path.basename(os.path.abspath(self.folder))) if self.folder else None

    def stamps(self) -> Sequence[object]:
        """Changes when a file other than the journal comes, goes or changes."""
        if self.folder is not None:
            return [stamp(os.path.join(self.folder, name)) for name in NAMES if name != JOURNAL]
        return [stamp(path) for name, path in self.paths.items() if name != JOURNAL]

    def close(self) -> None:
        journal = self.__dict__.get("journal")
        if journal is not None:
            journal.close()


def stamp(path: str) -> object:
    """Changes when the file comes, goes or changes."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def in_folder(folder: str) -> Artifacts:
    """The artifacts of a run folder."""
    paths = {name: os.path.join(folder, name) for name in NAMES}
    return Artifacts({name: path for name, path in paths.items() if os.path.isfile(path)}, folder)


def beside(folder: str | None, run_id: Value) -> str | None:
    """The folder of another run of the same base folder; None where the id is no plain name."""
    plain = isinstance(run_id, str) and run_id not in ("", ".", "..") and os.path.basename(run_id) == run_id
    return os.path.join(folder, os.pardir, run_id) if folder is not None and plain else None


def origin_of(folder: str | None, run_id: Value) -> Checkpoint | None:
    """The checkpoint of the run that another one continues, when its folder stands beside."""
    other = beside(folder, run_id)
    if other is None:
        return None
    try:
        file = File(os.path.join(other, CHECKPOINT))
    except UnreadableError:
        return None
    try:
        return Checkpoint(file)
    except (Damaged, UnreadableError):
        return None
    finally:
        file.close()
