import os
import subprocess
import threading
from pathlib import Path

import pytest

from inspector.errors import UnreadableError
from inspector.formats import files, open_path
from inspector.formats.files import CHUNK, File
from inspector.formats.reader import Probe


def test_a_mark_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbf{}")
    file = File(str(path))
    assert (file.start, file.read(file.start, 9)) == (3, b"{}")


def test_a_file_comes_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a"
    data = os.urandom(2 * CHUNK + 17)
    path.write_bytes(data)
    file = File(str(path))
    pieces = list(file.chunks(5))
    assert pieces[0][0] == 5
    assert b"".join(piece for _, piece in pieces) == data[5:]
    assert b"".join(piece for _, piece in file.chunks(5, 100)) == data[5:100]


def test_a_file_that_shrinks_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * (2 * CHUNK))
    file = File(str(path))
    os.truncate(path, 10)
    assert b"".join(piece for _, piece in file.chunks(0)) == b"x" * 10
    assert file.refresh()
    assert file.size == 10


def test_a_file_that_is_replaced_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    file = File(str(path))
    assert not file.refresh()
    (tmp_path / "b").write_bytes(b"new")
    os.replace(tmp_path / "b", path)
    assert file.refresh()
    assert file.read(0, 3) == b"new"


def test_a_pipe_is_read_to_its_end() -> None:
    """As in `runinspect <(zcat trace.gz)`."""
    reader, writer = os.pipe()
    thread = threading.Thread(target=lambda: (os.write(writer, b"{}\n" * 1000), os.close(writer)))
    thread.start()
    file = File(f"/dev/fd/{reader}")
    thread.join()
    os.close(reader)
    assert file.size == 3000


def test_a_pipe_that_nobody_writes_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableError, match="nobody wrote to"):
        File(str(tmp_path / "pipe"))


def test_the_writer_of_a_pipe_may_come_late_and_think(tmp_path: Path) -> None:
    path, wait = tmp_path / "pipe", threading.Event()
    os.mkfifo(path)

    def write() -> None:
        wait.wait(0.2)  # the pipe is opened for reading meanwhile, most likely
        with path.open("wb") as file:
            wait.wait(0.2)
            file.write(b"{}")

    thread = threading.Thread(target=write)
    thread.start()
    file = File(str(path))
    thread.join()
    assert file.read(0, 9) == b"{}"


def test_a_writer_that_writes_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(b""))
    thread.start()
    assert File(str(tmp_path / "pipe")).size == 0
    thread.join()


def test_a_stream_must_leave_half_of_the_space(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        f_bavail, f_frsize = 4, 1024

    monkeypatch.setattr(os, "fstatvfs", lambda fd: Full)
    reader, writer = os.pipe()
    os.write(writer, b"x" * 3000)
    os.close(writer)
    with pytest.raises(UnreadableError, match="half of the free space"):
        File(f"/dev/fd/{reader}")
    os.close(reader)


@pytest.mark.parametrize("name", ["", "gone", "folder", "device", "a\0b"])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    path = "/dev/zero" if name == "device" else str(tmp_path / name)
    with pytest.raises(UnreadableError) as caught:
        File(path)
    assert str(caught.value).startswith(path.replace("\0", "\\u0000"))


def test_opening_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"{}")
    before = os.stat(path)
    File(str(path)).read(0, 2)
    assert (os.stat(path).st_mtime_ns, os.listdir(tmp_path)) == (before.st_mtime_ns, ["a"])


@pytest.mark.parametrize("command", ["cat /dev/zero", "yes", "cat /dev/urandom"])
def test_a_stream_without_an_end_that_is_no_run_is_refused_by_its_beginning(command: str) -> None:
    with subprocess.Popen(command.split(), stdout=subprocess.PIPE) as endless:
        assert endless.stdout is not None
        with pytest.raises(UnreadableError, match=r"nothing but zero bytes|no JSON|binary data"):
            open_path(f"/dev/fd/{endless.stdout.fileno()}")
        endless.kill()


@pytest.mark.parametrize(("odd", "told"), [(20_000, True), (0, False)])
def test_a_stream_that_may_be_a_run_or_is_told_to_be_one_is_read_whole(odd: int, told: bool, tmp_path: Path) -> None:
    text = b"no JSON\n" * odd + b'{"a": "' + b"x" * (2 * CHUNK) + b'"}\n{"b": 1}\n'
    (tmp_path / "text").write_bytes(text)
    with subprocess.Popen(["cat", tmp_path / "text"], stdout=subprocess.PIPE) as stream:
        assert stream.stdout is not None
        assert Probe(f"/dev/fd/{stream.stdout.fileno()}", told=told).file.size == len(text)
