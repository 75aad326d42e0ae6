"""`runinspect export` as a script sees it."""

import os
from pathlib import Path

from tests.test_cli import TRACE, run


def test_a_run_goes_to_standard_output_and_comes_back() -> None:
    done = run("export", TRACE)
    assert (done.returncode, done.stderr) == (0, "")
    shown, before = run("show", "-", stdin=done.stdout.encode()).stdout, run("show", TRACE).stdout
    assert shown == before.replace(f"source   {TRACE}", "source   -")


def test_a_file_is_not_written_over_without_being_told(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    assert run("export", TRACE, "-o", str(target), "--steps", "4:6").returncode == 0
    first = target.read_bytes()
    assert first.count(b'{"record":"step"') == 3
    done = run("export", TRACE, "-o", str(target))
    assert (done.returncode, "exists already" in done.stderr) == (2, True)
    assert target.read_bytes() == first
    assert run("export", TRACE, "-o", str(target), "--overwrite", "--raw").returncode == 0
    assert target.read_bytes() == Path(TRACE).read_bytes()


def test_what_is_no_file_is_never_written_over(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    for target in (pipe, link, tmp_path):
        done = run("export", TRACE, "--overwrite", "-o", str(target))
        assert (done.returncode, "is no regular file" in done.stderr) == (2, True)
    assert (pipe.is_fifo(), os.readlink(link), sorted(os.listdir(tmp_path))) == (True, "/dev/null", ["link", "pipe"])


def test_steps_that_are_not_there() -> None:
    done = run("export", TRACE, "--steps", "90:99")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the steps of this run are 1 to 15" in done.stderr
