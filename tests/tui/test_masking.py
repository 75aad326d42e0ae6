"""Credentials on the screen: nowhere until a key reveals them, and that is written down."""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from inspector import audit
from inspector.formats.memory import OneRun
from inspector.model.run import Message, Pending, Problem, Queue, RawRecord, RunError, RunRow, State
from inspector.tui import masking
from inspector.tui.means import Means
from inspector.tui.viewer import Viewer
from tests.tui import fakes
from tests.tui.screens import NARROW, WIDE, app_for, press, run_screen, settle, shown, texts

KEY = "sk-live-abcdefghijklmnop1234567890"
PASSWORD = "correct-horse-battery"


@pytest.fixture(autouse=True)
def masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RUNINSPECT_AUDIT", str(tmp_path / "audit.jsonl"))
    masking.reveal(False)
    yield
    masking.reveal(False)


def secretive() -> OneRun:
    """A run with credentials wherever a file can hold text."""
    steps = (fakes.a_step(1, "tools", "login", "failed", summary=f"called with {KEY}", error=f"bad key {KEY}"),)

    def state(step: int) -> State:
        return State(
            step=step,
            messages=[Message(role="user", text=f"my key is {KEY}, use it")],
            pending=(
                Pending(
                    kind="tool",
                    name="login",
                    status="waiting",
                    call_id="c1",
                    arguments={"password": PASSWORD, "key": KEY},
                    note=f"uses {KEY}",
                ),
            ),
            queues=(Queue(id="q", size=1, contents="complete", tokens=({"api_key": PASSWORD},)),),
            values={"headers": {"Authorization": f"Bearer {PASSWORD}"}, "password": PASSWORD, "plain": "seen"},
        )

    made = fakes.MemoryRun(
        source=fakes.SOURCE,
        run=fakes.Run(
            id="r1",
            name="shop",
            kind="agent",
            status="failed",
            steps=1,
            error=RunError(step=1, message=f"refused: {KEY}"),
        ),
        definition=fakes.Definition(),
        steps=steps,
        state=state,
        resume=fakes.Resume(),
    )
    return OneRun(made, "x")


TABS = ("1", "2", "4", "5", "7")


async def test_nothing_is_shown_until_it_is_revealed_and_that_is_written_down(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with shown(monkeypatch, secretive(), WIDE) as (app, pilot, _):
        seen = []
        for tab in TABS:
            await press(pilot, tab)
            seen += texts(app)
        text = "\n".join(seen)
        assert KEY not in text
        assert KEY[:12] not in text
        assert PASSWORD not in text
        assert "[redacted:api-key]" in text
        assert "seen" in text
        await press(pilot, "1", "tab", "down", "enter")
        assert isinstance(app.screen, Viewer)
        assert PASSWORD not in "\n".join(texts(app))
        assert PASSWORD not in app.screen.text()
        await press(pilot, "q")
        assert not Path(audit.path()).exists()
        await press(pilot, "V")
        assert "REVEALED" in texts(app)[0]
        seen = []
        for tab in TABS:
            await press(pilot, tab)
            seen += texts(app)
        text = "\n".join(seen)
        assert KEY in text
        assert PASSWORD in text
        (entry,) = [json.loads(line) for line in Path(audit.path()).read_text().splitlines()]
        assert (entry["what"], entry["subject"]) == ("reveal", "r1")
        monkeypatch.chdir(tmp_path)
        await press(pilot, "x", "ctrl+u", *"shown.jsonl", "enter")
        await settle(pilot)
        assert "wrote shown.jsonl; credentials stay masked in it" in texts(app)[-1]
        assert KEY not in (tmp_path / "shown.jsonl").read_text()
        await press(pilot, "V")
        assert KEY not in "\n".join(texts(app))


async def test_without_a_log_nothing_is_revealed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RUNINSPECT_AUDIT", str(tmp_path))
    async with shown(monkeypatch, secretive(), WIDE) as (app, pilot, _):
        await press(pilot, "V")
        assert not masking.revealed()
        assert "audit log cannot be written" in "".join(texts(app)[-4:])


async def test_a_saved_value_is_masked_and_where_only_looking_is_allowed_always(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    async with shown(monkeypatch, secretive(), WIDE) as (_, pilot, _):
        await press(pilot, "V", "1", "tab", "down", "enter", "s", "ctrl+u", *"shown.json", "enter")
        assert PASSWORD in (tmp_path / "shown.json").read_text()
        monkeypatch.setenv("RUNINSPECT_READ_ONLY", "1")
        await press(pilot, "s", "ctrl+u", *"masked.json", "enter")
        assert PASSWORD not in (tmp_path / "masked.json").read_text()
    found = [json.loads(line) for line in Path(audit.path()).read_text().splitlines()]
    assert [entry["what"] for entry in found] == ["reveal", "save", "save"]


async def test_declared_fields_are_masked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from inspector.model import redact

    monkeypatch.setenv("RUNINSPECT_SECRETS", "/values/plain")
    redact.declared.cache_clear()
    redact.secret.cache_clear()
    try:
        async with shown(monkeypatch, secretive(), WIDE) as (app, pilot, _):
            await press(pilot, "5")
            assert "[redacted:declared]" in "\n".join(texts(app))
    finally:
        monkeypatch.undo()
        redact.declared.cache_clear()
        redact.secret.cache_clear()


async def test_the_header_says_that_only_looking_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(monkeypatch, secretive(), means=Means(read_only=True)) as (app, _, _):
        assert "read-only" in texts(app)[0]
    async with shown(monkeypatch, fakes.several(), means=Means(read_only=True)) as (app, _, _):
        assert "read-only" in texts(app)[0]


def named_by_a_key() -> OneRun:
    """A run of which names, places and problems hold credentials."""
    run = fakes.MemoryRun(
        source=fakes.SOURCE,
        run=fakes.Run(id=f"run {KEY}", name=f"shop {KEY}", kind="agent", status="failed", steps=1),
        definition=fakes.Definition(),
        steps=(fakes.a_step(1, "tools", f"login {KEY}", "failed"),),
        state=lambda step: State(step=step, queues=(Queue(id=f"q {KEY}", size=0, contents="complete"),)),
        resume=fakes.Resume(),
        problems=(Problem(severity="error", where=f"{KEY}:1 byte 1", message=f"no record: {KEY}"),),
    )
    return OneRun(run, "x")


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_names_problems_and_what_is_told_are_masked_where_they_are_cut_too(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shown(monkeypatch, named_by_a_key(), size) as (app, pilot, _):
        run_screen(app).tell(f"cannot be written: {KEY}")
        await settle(pilot)
        seen = texts(app)
        assert "[redacted:api-key]" in seen[-1]
        await press(pilot, "2")
        seen += texts(app)
        await press(pilot, "p")
        seen += texts(app)
        assert "no record: [redacted" in "\n".join(seen)
        await press(pilot, "enter")
        seen += texts(app)
        await press(pilot, "q", "q", "x")
        seen += texts(app)
        assert not re.search("live.abc", "\n".join(seen))
        await press(pilot, "escape", "V")
        assert "live-abc" in texts(app)[0] + texts(app)[2]


async def test_names_in_the_list_of_runs_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    row = RunRow(id=f"run {KEY}", name=f"shop {KEY}", kind="agent", status="failed", reason=KEY)
    runs = fakes.ManyRuns(fakes.SOURCE, (row, *fakes.ROWS[:1]), lambda run_id: fakes.refund(), [])
    async with shown(monkeypatch, runs, NARROW) as (app, _, _):
        assert "[redacted" in "\n".join(texts(app))
        assert "live" not in "\n".join(texts(app))


@pytest.mark.parametrize("revealed", [False, True], ids=["masked", "revealed"])
def test_look(revealed: bool, snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    app = app_for(monkeypatch, secretive(), means=Means(read_only=True))

    async def before(pilot: Pilot[object]) -> None:
        await settle(pilot)
        await press(pilot, *(["V"] if revealed else []), "1")

    assert snap_compare(app, terminal_size=WIDE, run_before=before)


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        "AKIAABCDEFGHIJKLMNOP",
        "password=hunter22hunter22",
        "postgres://user:hunter22@host/db",
        "Authorization: Basic dXNlcjpodW50ZXIy",
        "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----",
        "--token hunter22hunter22",
        '{"client_secret": "hunter22"}',
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh",
    ],
)
def test_what_is_a_credential_is_looked_at(text: str) -> None:
    from inspector.model.redact import redacted_text

    assert redacted_text(text) != text
    assert masking.masked(text) == redacted_text(text)


def test_a_long_record_is_masked_about_as_fast_as_a_closer_look_takes() -> None:
    from inspector.model.redact import redacted_text

    text = "12345, " * 200_000

    def took(work: Callable[[], object]) -> float:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    closer = min(took(lambda: redacted_text(text)) for _ in range(3))
    assert min(took(lambda: masking.raw(RawRecord(where="x", text=text))) for _ in range(3)) < 3 * closer
