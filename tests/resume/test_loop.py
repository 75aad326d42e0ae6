"""The loop of its own that a run from the command line is driven in."""

import asyncio
import gc

import pytest

from inspector.resume.loop import in_loop
from inspector.runner.drive import Control


def test_what_goes_wrong_where_nobody_waits_for_it_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    async def fails() -> None:
        raise ValueError("no\x1b[2J")

    async def going() -> str:
        task = asyncio.get_running_loop().create_task(fails())
        await asyncio.sleep(0)
        del task
        gc.collect()
        return "done"

    assert in_loop(going(), Control()) == "done"
    said = capsys.readouterr().err
    assert said == "runinspect: Task exception was never retrieved: ValueError: no\\u001b[2J\n"
