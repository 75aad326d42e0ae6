"""Where a run is that another one goes on from, and what is told of a process that goes on with one."""

import subprocess
import sys
from pathlib import Path

import pytest

from inspector.model.run import RunLink
from inspector.tui.apart import Apart, whereabouts


def test_it_is_where_the_link_says_or_stands_beside(tmp_path: Path) -> None:
    run, beside = tmp_path / "first", str(tmp_path / "second")
    assert whereabouts(RunLink(run="first", step=3), beside) is None
    run.mkdir()
    for link in (RunLink(run="first", step=3), RunLink(run="other", step=3, path=str(run))):
        found = whereabouts(link, beside)
        assert found is not None
        assert (found.path, found.run, found.step) == (str(run), None, 3)


@pytest.mark.parametrize("run", ["", "/", "a/", "..", "a/..", "."])
def test_a_link_without_a_name_leads_to_no_folder(run: str, tmp_path: Path) -> None:
    assert whereabouts(RunLink(run=run, step=1), str(tmp_path / "second")) is None


@pytest.mark.parametrize(("code", "how"), [(0, ""), (4, ""), (3, " with 3")])
def test_a_process_is_told_to_go_on_until_it_has_ended(code: int, how: str) -> None:
    command = [sys.executable, "-c", f"input(); raise SystemExit({code})"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        apart = Apart(process, "/a.log", None)
        assert apart.told() == f"goes on as process {process.pid}; its output: /a.log"
        process.communicate(b"\n")
    assert apart.told() == f"went on as process {process.pid}, which has ended{how}; its output: /a.log"
