"""Resuming a turn: every check in its order, every outcome, and that nothing is ever left stuck."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from inspector import Agent, Call, ScriptedModel, StoreError, ToolContext, open_store, tool
from inspector.resume.turns import CODES, ResumedTurn, TurnError, active_turn, resume_turn, turn_status
from inspector.runner.errors import ResumeRefused
from tests.store.backends import THERE, wanted


class Host:
    """A store with a thread of two turns, and the agent of both. `entered` and `go` hold the tool open."""

    def __init__(self, folder: Path) -> None:
        self.store = open_store(folder / "runs.db")
        self.store.new_thread("th", {"lang": "de", "desk": 1})
        self.entered, self.go = asyncio.Event(), asyncio.Event()
        self.go.set()
        self.seen: list[tuple[str, Any]] = []
        self.told: dict[str, Any] = {}

    @property
    def agent(self) -> Agent:
        @tool(needs_approval=True)
        async def pay(amount: int, context: ToolContext) -> str:
            self.told = dict(context.metadata)
            self.entered.set()
            await self.go.wait()
            return f"paid {amount}"

        return Agent("till", ScriptedModel([Call("pay", {"amount": 5})], "done"), tools=[pay])

    async def begin(self, key: str = "k", turn: str = "t1", **about: Any) -> None:
        await self.agent.prompt("go").durable(self.store, key=key, thread="th", turn=turn, **about).run()

    async def resume(self, **given: Any) -> ResumedTurn:
        asked: dict[str, Any] = {"thread": "th", "turn": "t1", "checkpoint_key": "k", "notify": self.notify, **given}
        store = asked.pop("store", self.store)
        agents = asked.pop("agents", {"till": self.agent})
        asked.setdefault("decide", lambda run: run.approve("c1"))
        return await resume_turn(store, agents, **asked)

    def notify(self, event: str, about: Any) -> None:
        self.seen.append((event, dict(about)))

    def status(self, turn: int = 0) -> str:
        return turn_status(self.store, self.store.turns("th")[turn])


@pytest.fixture
async def host(tmp_path: Path) -> Any:
    made = Host(tmp_path)
    await made.begin()
    yield made
    made.store.close()


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("thread_id_empty", {"thread": " ", "turn": ""}),
    ("turn_id_empty", {"turn": "", "checkpoint_key": ""}),
    ("key_empty", {"checkpoint_key": "", "thread": "none"}),
    ("key_too_long", {"checkpoint_key": "k" * 513, "store": None}),
    ("store_missing", {"store": None, "thread": "none"}),
    ("thread_absent", {"thread": "none", "turn": "none"}),
    ("thread_archived", {"thread": "old", "turn": "none"}),
    ("turn_absent", {"turn": "none", "checkpoint_key": "none"}),
    ("run_absent", {"checkpoint_key": "none", "agents": {}}),
    ("run_of_another_turn", {"checkpoint_key": "k2", "agents": {}}),
    ("agent_missing", {"agents": {}}),
]


@pytest.mark.parametrize(("code", "given"), WRONG, ids=[code for code, _ in WRONG])
async def test_the_first_thing_that_is_wrong_is_said(host: Host, code: str, given: dict[str, Any]) -> None:
    await host.begin("k2", "t2")
    host.store.new_thread("old")
    host.store.archive("old")
    before = host.store.read("k"), host.store.journal("k")
    with pytest.raises(TurnError) as caught:
        await host.resume(**given)
    assert (caught.value.code, caught.value.rpc) == (code, CODES[code])
    assert (host.store.read("k"), host.store.journal("k"), host.seen) == (*before, [])


def test_every_code_is_looked_at_in_its_order() -> None:
    assert [*(code for code, _ in WRONG), "turn_active"] == list(CODES)
    assert {code: CODES[code] for code in ("thread_absent", "thread_archived")} == {
        "thread_absent": -32020,
        "thread_archived": -32021,
    }


async def test_a_turn_is_started_and_told_of(host: Host) -> None:
    assert (host.status(), active_turn(host.store, "th")) == ("interrupted", None)
    host.go.clear()
    turn = await host.resume()
    assert (turn.outcome, turn.status, turn.summary) == ("started", "running", None)
    await host.entered.wait()
    assert host.status() == "running"
    active = active_turn(host.store, "th")
    assert active is not None
    assert active.id == "t1"
    host.go.set()
    done = await turn.finished()
    assert (done.status, done.text, host.status(), active_turn(host.store, "th")) == (
        "completed",
        "done",
        "completed",
        None,
    )
    assert done.summary is not None
    assert (done.summary.key, done.summary.attempt, done.summary.status) == ("k", 2, "completed")
    about = {"thread": "th", "turn": "t1"}
    assert host.seen == [
        ("thread_running", about),
        ("turn_started", {**about, "run": turn.run}),
        ("thread_idle", {"thread": "th"}),
        ("turn_completed", {**about, "status": "completed"}),
    ]


async def test_a_second_local_owner_is_impossible(host: Host) -> None:
    host.go.clear()
    first = await host.resume()
    await host.entered.wait()
    again = await asyncio.gather(*(host.resume() for _ in range(5)))
    for turn in again:
        assert (turn.outcome, turn.status, turn.owner and turn.owner.pid) == ("existing_owner", "running", os.getpid())
        assert turn.summary is not None
        assert turn.summary.attempt == 2
    host.go.set()
    await first.finished()
    assert [event for event, _ in host.seen].count("turn_started") == 1


async def test_a_thread_works_on_one_turn_at_a_time(host: Host) -> None:
    await host.begin("k2", "t2")
    await host.begin("k3", "t3")
    await (await host.resume(turn="t3", checkpoint_key="k3")).finished()
    host.entered.clear()
    host.go.clear()
    first = await host.resume()
    await host.entered.wait()
    before = host.store.read("k2"), host.store.journal("k2")
    with pytest.raises(TurnError, match="the turn t1 of the thread th is being worked on") as caught:
        await host.resume(turn="t2", checkpoint_key="k2")
    assert (caught.value.code, caught.value.rpc) == ("turn_active", -32602)
    assert (host.store.read("k2"), host.store.journal("k2")) == before
    assert (await host.resume(turn="t3", checkpoint_key="k3")).outcome == "terminal_replay"
    host.go.set()
    await first.finished()
    second = await host.resume(turn="t2", checkpoint_key="k2")
    assert (second.outcome, (await second.finished()).status) == ("started", "completed")


async def test_two_at_once_are_admitted_one_after_another(host: Host) -> None:
    turns = await asyncio.gather(host.resume(), host.resume(), host.resume())
    outcomes = sorted(turn.outcome for turn in turns)
    assert outcomes[-1] == "terminal_replay" or outcomes.count("started") == 1
    assert outcomes.count("started") == 1
    for turn in turns:
        assert (await turn.finished()).status in ("completed", "running")


async def test_an_owner_elsewhere_is_named(host: Host) -> None:
    row, now = host.store.read("k"), host.store.clock()
    about = {"step": row.steps + 1, "revision": row.revision, "mode": "recovery", "now": now, "expires": now + 90_000}
    host.store.backend.claim("k", wanted(program=THERE, **about))
    turn = await host.resume()
    assert (turn.outcome, turn.owner and turn.owner.host, host.seen, host.status()) == (
        "existing_owner",
        "there",
        [],
        "running",
    )


async def test_a_finished_turn_is_replayed_and_nothing_is_told(host: Host) -> None:
    await (await host.resume()).finished()
    row, journal = host.store.read("k"), host.store.journal("k")
    host.seen.clear()
    turn = await host.resume()
    assert (turn.outcome, turn.status, turn.text, host.seen) == ("terminal_replay", "completed", "done", [])
    assert (host.store.read("k"), host.store.journal("k")) == (row, journal)


async def test_tools_are_told_what_the_thread_and_the_run_say(host: Host) -> None:
    await host.begin("k2", "t2", metadata={"desk": 2})
    await (await host.resume(turn="t2", checkpoint_key="k2")).finished()
    assert host.told == {"lang": "de", "desk": 2, "thread": "th", "turn": "t2"}


async def test_a_mismatch_is_refused_before_anything_is_told(host: Host) -> None:
    before = host.store.read("k")
    other = Agent("till", ScriptedModel("x"), tools=[])
    with pytest.raises(ResumeRefused):
        await host.resume(agents={"till": other})
    assert (host.store.read("k"), host.seen, host.status()) == (before, [], "interrupted")


async def test_whoever_is_told_may_fail_and_the_turn_ends_all_the_same(host: Host) -> None:
    def broken(event: str, about: Any) -> None:
        raise OSError("gone")

    turn = await (await host.resume(notify=broken)).finished()
    assert (turn.status, host.status(), len(turn.warnings)) == ("completed", "completed", 4)
    assert turn.warnings[-1] == "turn_completed was not taken: OSError: gone"


async def test_a_turn_whose_end_cannot_be_written_is_interrupted_and_goes_on_later(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any, **named: Any) -> None:
        raise StoreError("k", "disk_full", "no space is left")

    with monkeypatch.context() as patched:
        for name in ("finalize", "suspend"):
            patched.setattr(host.store.backend, name, full)
        turn = await host.resume()
        with pytest.raises(StoreError, match="disk_full"):
            await turn.finished()
    assert host.store.read("k").final is False
    again = await (await host.resume(decide=None)).finished()
    assert (again.status, host.status()) == ("completed", "completed")


async def test_an_archived_thread_takes_no_more_turns(host: Host) -> None:
    host.store.archive("th")
    with pytest.raises(StoreError, match="thread_archived"):
        await host.begin("k9", "t9")
    host.store.archive("th", False)
    await host.begin("k9", "t9")
    with pytest.raises(StoreError, match="turn_exists"):
        await host.begin("k10", "t9")
