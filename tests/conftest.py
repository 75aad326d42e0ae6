"""What holds for every test: a terminal that is always the same, and snapshots under `snapshots/`."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from pytest_textual_snapshot import SVGImageExtension

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"


def _dirname(cls, *, test_location) -> str:  # type: ignore[no-untyped-def]
    return str(SNAPSHOTS / test_location.basename)


SVGImageExtension.dirname = classmethod(_dirname)


# What a test leaves behind (claims, traces, the audit log) is nobody's.
OWN = {name: tempfile.mkdtemp(prefix="runinspect-test-") for name in ("XDG_STATE_HOME", "XDG_DATA_HOME")}
os.environ.update(OWN)


def pytest_unconfigure() -> None:
    for folder in OWN.values():
        shutil.rmtree(folder, ignore_errors=True)


# Tests start hundreds of processes, each of which would compile everything again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Nor do settings of whoever runs them decide what may be done.
for setting in ("AUDIT", "READ_ONLY", "SECRETS"):
    os.environ.pop(f"RUNINSPECT_{setting}", None)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """More than there are processors: a test of the screen waits a third of its time."""
    return (os.cpu_count() or 1) * 2


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests decides what is drawn."""
    for name in ("NO_COLOR", "COLORTERM", "TEXTUAL", "TEXTUAL_THEME", "TEXTUAL_COLOR_SYSTEM", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


# How long an example takes says nothing on a machine that others use too.
EXAMPLES = 50 * max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1)
settings.register_profile("here", deadline=None, max_examples=EXAMPLES)
settings.load_profile("here")
# In CI the same examples each time: a new find belongs to the person who made the change, not to a later one.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=EXAMPLES)
if os.environ.get("CI"):
    settings.load_profile("ci")
