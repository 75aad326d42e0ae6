"""Hostile input for readers: damage a sample in many ways and check that opening stays inert.

`check(PATH or bytes)` walks everything a reader offers (rows, index, steps, every state, raw, find, the
documents of `show --json` and `show`) and fails when
  - anything but an InspectorError comes out,
  - it takes longer than `seconds` of the processor,
  - a module is imported, code is run, a process started, a socket opened, a file written or made
    outside of a private temporary folder, a temporary file left, or the input changed,
  - a document is not what the model says: wrong types, steps not numbered 1..n, hidden characters.

`fuzz(SAMPLE, FOLDER)` does that for damaged copies of a sample: bytes cut, flipped, dropped, doubled,
tokens swapped, JSON values replaced by others, cells of a database changed, files of a folder lost.

    def test_damage(tmp_path):
        fuzz(SAMPLE, tmp_path)

RUNINSPECT_FUZZ=N tries N times as many.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from inspector.errors import InspectorError
from inspector.formats import open_path
from inspector.model.run import RawRecord, State
from inspector.model.source import RunSet, RunSource
from inspector.model.text import HIDDEN
from inspector.model.values import to_json
from inspector.report.text import list_report, report
from inspector.report.view import RunList, View, run_list, view
from tests.damage import damage

TIMES = max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)
PATIENCE = 6
"""How often the time of the processor may pass by the clock: other programs run too."""
STATES = 60
"""States of a run that are looked at; of a longer run, the first and the last of them."""


class TooSlow(BaseException):
    """The time is over. No Exception, so that no reader swallows it."""


def check(
    target: Path | str | bytes,
    *,
    folder: Path | None = None,
    name: str = "sample.json",
    seconds: float = 10.0,
    format: str | None = None,
) -> bool:
    """Whether the input opens at all (False: refused, with an InspectorError). Bytes are written to
    `name` in `folder`. Raises AssertionError when an invariant does not hold."""
    if isinstance(target, bytes):
        assert folder is not None, "bytes need a folder to stand in"
        path = folder / name
        path.write_bytes(target)
    else:
        path = Path(target)
    before = _fingerprint(path)
    with _watch(seconds) as private:
        opened = _walk(str(path), format)
        left = os.listdir(private)
    assert not left, f"temporary files are left: {left}"
    assert _fingerprint(path) == before, "the input changed"
    return opened


def fuzz(
    sample: Path | bytes,
    folder: Path,
    *,
    count: int = 25,
    seed: int = 0,
    seconds: float = 10.0,
    format: str | None = None,
) -> tuple[int, int]:
    """Checks `count` damaged copies of a sample (a file, a folder of files, bytes), made in `folder`.
    Returns how many of them opened, and how many were refused."""
    results = [0, 0]
    for number in range(count * TIMES):
        rng = random.Random(f"{seed}:{number}")
        scratch = folder / f"damaged-{number}"
        scratch.mkdir()
        try:
            target = _damaged_copy(sample, scratch, rng)
            opened = check(target, seconds=seconds, format=format)
        except BaseException as error:
            error.add_note(f"damaged copy number {number} of seed {seed}, kept in {scratch}")
            raise
        shutil.rmtree(scratch)
        results[0 if opened else 1] += 1
    return results[0], results[1]


def _damaged_copy(sample: Path | bytes, scratch: Path, rng: random.Random) -> Path:
    if isinstance(sample, bytes):
        target = scratch / "sample.json"
        target.write_bytes(damage(sample, rng))
        return target
    target = scratch / sample.name
    if sample.is_file():
        target.write_bytes(damage(sample.read_bytes(), rng))
        for suffix in ("-wal", "-journal"):
            if Path(f"{sample}{suffix}").exists():
                shutil.copyfile(f"{sample}{suffix}", f"{target}{suffix}")
        return target
    shutil.copytree(sample, target)
    files = sorted(path for path in target.rglob("*") if path.is_file())
    for path in [target, *target.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    victim = rng.choice(files)
    if rng.random() < 0.1:
        victim.unlink()
    else:
        victim.write_bytes(damage(victim.read_bytes(), rng))
    return target


def _walk(path: str, format: str | None) -> bool:
    try:
        runs = open_path(path, format)
    except InspectorError as error:
        _visible(str(error))
        return False
    try:
        _walk_set(runs)
    finally:
        runs.close()
    return True


def _walk_set(runs: RunSet) -> None:
    listed = run_list(runs)
    _document(listed, RunList)
    _lines(list_report(listed))
    ids = [row.id for row in listed.runs]
    assert len(set(ids)) == len(ids), f"runs share an id: {ids}"
    for run_id in ids[:20]:
        try:
            run = runs.open(run_id)
        except InspectorError as error:
            _visible(str(error))
            continue
        _walk_run(run)
    runs.refresh()


def _walk_run(run: RunSource) -> None:
    for _ in run.index():
        pass
    last = len(run)
    shown = view(run, last, 1, last + 1)
    _document(shown, View)
    _lines(report(shown))
    assert shown.run.steps == last or (shown.run.steps, last) == (None, 0), (
        f"run.steps is {shown.run.steps}, there are {last}"
    )
    assert [step.seq for step in shown.steps] == list(range(1, last + 1))
    assert list(run.steps(2, 4)) == shown.steps[1:3]
    assert list(run.steps(last, last + 5)) == shown.steps[max(last - 1, 0) :]
    for seq in _some(last):
        state = run.state(seq)
        if state is not None:
            assert state.step == seq, f"the state after {seq} says {state.step}"
            _document(state, State)
        raw = run.raw(seq)
        if raw is not None:
            _document(raw, RawRecord)
            _visible(raw.where)
    for text in ("e", "call", "no such text in any file"):
        forward = [hit for hit in run.find(text, 1) if isinstance(hit, int)]
        assert forward == sorted(set(forward))
        assert all(1 <= hit <= last for hit in forward)
        backward = [hit for hit in run.find(text, last, backward=True) if isinstance(hit, int)]
        assert backward == forward[::-1], f"{text!r} is found at {forward}, backward at {backward}"
    run.refresh()
    run.close()


def _some(last: int) -> list[int]:
    if last < STATES:
        return list(range(last + 1))
    return [*range(STATES // 2), *range(last + 1 - STATES // 2, last + 1)]


def _document(value: msgspec.Struct, kind: type) -> None:
    """The document is sound JSON of the type that the model gives it, with nothing hidden."""
    text = to_json(value)
    _visible(text)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        document = json.loads(text)
    finally:
        sys.set_int_max_str_digits(limit)
    msgspec.convert(document, kind)
    stack = [document]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            _visible(part)
        elif isinstance(part, dict):
            stack += [*part, *part.values()]
        elif isinstance(part, list):
            stack += part


def _visible(text: str) -> None:
    found = HIDDEN.search(text)
    assert found is None, f"hidden character {found.group()!r} in {text[max(found.start() - 40, 0) :][:80]!r}"


def _lines(lines: Iterator[str]) -> None:
    for line in lines:
        _visible(line)
        assert "\n" not in line


# --- the watch ------------------------------------------------------------------------------------

_active: list[str] = []
"""The private folder of the check that runs now; audit hooks stay for ever, so this switches ours."""
_violations: list[str] = []
_FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.startfile", "pty.spawn")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_RELATIVE = ("os.remove", "os.rmdir", "os.mkdir")
"""Changes whose path may be relative to an open folder, as when a tree is removed."""
_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _active:
        return
    if event == "import" and not str(arguments[0]).startswith("encodings."):
        _violations.append(f"import of {arguments[0]}")
    elif event in ("exec", "compile", "pickle.find_class", "marshal.loads", "ctypes.dlopen"):
        _violations.append(f"{event} {arguments[:2]!r:.200}")
    elif event.startswith((*_FORBIDDEN, "socket.", "subprocess.")):
        _violations.append(f"{event} {arguments!r:.200}")
    elif event in _CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES):
        _inside(event, arguments[0], arguments[-1] if event in _RELATIVE else -1)


def _inside(event: str, path: object, folder: object) -> None:
    if isinstance(path, str | bytes | os.PathLike):
        base = os.readlink(f"/proc/self/fd/{folder}") if isinstance(folder, int) and folder >= 0 else ""
        shown = os.path.abspath(os.path.join(base, os.fsdecode(path)))
        if not shown.startswith(_active[0]) and shown != os.devnull:
            _violations.append(f"{event} {shown}")


@contextlib.contextmanager
def _watch(seconds: float) -> Iterator[str]:
    """Runs the block under the audit and a timer; yields the private temporary folder."""
    _prepare()
    private = tempfile.mkdtemp(prefix="fuzz-")
    before, tempfile.tempdir = tempfile.tempdir, private
    old = [(number, signal.signal(number, _alarm)) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds)
    begin = time.process_time()
    _violations.clear()
    _active.append(private)
    try:
        yield private
    finally:
        _active.clear()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in old:
            signal.signal(number, handler)
        tempfile.tempdir = before
        shutil.rmtree(private, ignore_errors=True)
    assert not _violations, f"opening is not inert: {_violations[:5]}"
    assert time.process_time() - begin < seconds, "too slow"


def _alarm(number: int, frame: FrameType | None) -> None:
    raise TooSlow("the time is over")


def _prepare() -> None:
    """Everything that a reader may import at all is imported before the watch begins."""
    if _prepared:
        return
    for package in map(importlib.import_module, ("inspector.formats", "inspector.model", "inspector.report")):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in ("_strptime", "unicodedata", "stringprep", "traceback", "zoneinfo", "decimal", "fractions"):
        importlib.import_module(name)
    sys.addaudithook(_audit)
    _prepared.append(True)


_prepared: list[bool] = []


def _fingerprint(path: Path) -> list[tuple[str, int, int]]:
    found = []
    beside = [part for part in path.parent.iterdir() if part.name.startswith(path.name)]
    for part in [*beside, *(path.rglob("*") if path.is_dir() else ())]:
        status = part.stat()
        found.append((str(part), status.st_size if part.is_file() else 0, status.st_mtime_ns))
    return sorted(found)
