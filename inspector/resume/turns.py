"""Resuming a turn of a conversation: the run of a store that the turn is.

How a turn and its thread stand is always what the run says, so nothing is left to disagree when a process ends in
between. Whoever asks is told one of three: it started here, somebody else drives it, or it is over and this came of
it.
"""

import asyncio
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from inspector.errors import InspectorError
from inspector.model.run import RunStatus
from inspector.model.stored import StoredRun, StoredThread, StoredTurn
from inspector.model.values import Value
from inspector.runner.agent import Agent
from inspector.runner.durable import DurableResuming
from inspector.runner.outcomes import ExistingOwner, Started, TerminalReplay
from inspector.runner.result import RunResult
from inspector.store.interface import KEY_BYTES, Filter
from inspector.store.store import Store

TurnStatus = Literal["running", "completed", "failed", "interrupted"]
Notify = Callable[[str, Mapping[str, Value]], None]
"""Takes what happens to a thread and its turn: `thread_running`, `turn_started`, `thread_idle`, `turn_completed`."""

INVALID, ABSENT, ARCHIVED = -32602, -32020, -32021
CODES: dict[str, int] = {
    "thread_id_empty": INVALID,
    "turn_id_empty": INVALID,
    "key_empty": INVALID,
    "key_too_long": INVALID,
    "store_missing": INVALID,
    "thread_absent": ABSENT,
    "thread_archived": ARCHIVED,
    "turn_absent": INVALID,
    "run_absent": INVALID,
    "run_of_another_turn": INVALID,
    "agent_missing": INVALID,
    "turn_active": INVALID,
}
"""Why a turn is not resumed, in the order in which it is looked at, with the number of JSON-RPC."""


class TurnError(InspectorError):
    """A turn that is not resumed, and nothing has changed. `code` is a word of CODES, `rpc` its number."""

    def __init__(self, place: str, code: str, reason: str) -> None:
        self.code, self.rpc = code, CODES[code]
        super().__init__(place, f"{code}: {reason}")


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What may be told of a run: no arguments, no answers, no definition."""

    key: str
    attempt: int
    steps: int
    status: str
    reason: str | None
    acknowledged: bool


class ResumedTurn(msgspec.Struct, kw_only=True):
    """What asking for a turn came to. `status` is the turn's; `text` what it ended with, as far as it has ended;
    `owner` who else drives it. Of one that started here, `finished` waits for the end."""

    thread: str
    turn: str
    run: str
    outcome: Literal["started", "existing_owner", "terminal_replay"]
    status: TurnStatus
    summary: Summary | None = None
    text: str | None = None
    owner: ExistingOwner | None = None
    warnings: list[str] = msgspec.field(default_factory=list)
    task: asyncio.Task[Any] | None = None

    async def finished(self) -> "ResumedTurn":
        """This turn as it ended. Raises what kept its run from being written down: the turn is interrupted then, and
        can be resumed."""
        if self.task is not None:
            await self.task
        return self


_admitting: weakref.WeakValueDictionary[tuple[str, str], asyncio.Lock] = weakref.WeakValueDictionary()


async def resume_turn(
    store: Store | None,
    agents: Mapping[str, Agent] | Callable[[StoredRun], Agent | None],
    thread: str,
    turn: str,
    checkpoint_key: str,
    *,
    decide: Callable[[DurableResuming], object] | None = None,
    notify: Notify | None = None,
) -> ResumedTurn:
    """Have a turn go on. `agents` are those of this host, by name; `decide` says on the run what was decided about
    its calls. Takes no new input. Raises TurnError and ResumeRefused, and nothing has changed then; requests for one
    thread are admitted one after another."""
    held, found, row = checked(store, thread, turn, checkpoint_key)
    assert store is not None
    agent = agents(row) if callable(agents) else agents.get(row.name or "")
    if agent is None:
        raise TurnError(checkpoint_key, "agent_missing", f"no agent {row.name!r} is on this host")
    lock = _admitting.setdefault((store.url, thread), asyncio.Lock())
    async with lock:
        active = active_turn(store, thread)
        if not row.final and active is not None and active.id != turn:
            raise TurnError(turn, "turn_active", f"the turn {active.id} of the thread {thread} is being worked on")
        asked = agent.resume(store, checkpoint_key).metadata(metadata(held, row))
        if decide is not None:
            decide(asked)
        return await _admitted(store, asked, held, found, row, notify)


def checked(store: Store | None, thread: str, turn: str, key: str) -> tuple[StoredThread, StoredTurn, StoredRun]:
    """The thread, the turn and the run that are meant. Raises TurnError for the first thing that is wrong."""
    for value, code in ((thread, "thread_id_empty"), (turn, "turn_id_empty"), (key, "key_empty")):
        if not value.strip():
            raise TurnError("turn", code, "is needed to say which turn is meant")
    if len(key.encode(errors="surrogatepass")) > KEY_BYTES:
        raise TurnError("key", "key_too_long", f"is longer than {KEY_BYTES} bytes")
    if store is None:
        raise TurnError("store", "store_missing", "this host has no store of durable runs")
    held = store.thread(thread)
    if held is None:
        raise TurnError(thread, "thread_absent", "there is no such thread")
    if held.archived:
        raise TurnError(thread, "thread_archived", "the thread is archived")
    known = {item.id: item for item in store.turns(thread)}
    if turn not in known:
        raise TurnError(turn, "turn_absent", f"the thread {thread} has no such turn")
    row = store.backend.read(key)
    if row is None:
        raise TurnError(key, "run_absent", "there is no such run in the store")
    if known[turn].key != key:
        raise TurnError(key, "run_of_another_turn", f"is not the run of the turn {turn} of the thread {thread}")
    return held, known[turn], row


def metadata(thread: StoredThread, row: StoredRun) -> dict[str, Value]:
    """What the tools of a run are told: what the thread says, what the run was begun with, and which turn it is."""
    return {**thread.metadata, **row.metadata, "thread": thread.id, "turn": row.turn}


async def _admitted(
    store: Store,
    asked: DurableResuming,
    thread: StoredThread,
    turn: StoredTurn,
    row: StoredRun,
    notify: Notify | None,
) -> ResumedTurn:
    started: asyncio.Future[StoredRun] = asyncio.get_running_loop().create_future()
    asked.started = lambda claimed: started.set_result(claimed)
    told = ResumedTurn(thread=thread.id, turn=turn.id, run=row.id, outcome="started", status="running")
    task = asyncio.ensure_future(_drive(store, asked, told, notify))
    try:
        waited: set[asyncio.Future[Any]] = {task, started}
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if started.done():
        told.task = task
        return told
    return task.result()


async def _drive(store: Store, asked: DurableResuming, told: ResumedTurn, notify: Notify | None) -> ResumedTurn:
    began = asked.started

    def started(row: StoredRun) -> None:
        _tell(told, notify, "thread_running", {"thread": told.thread, "turn": told.turn})
        _tell(told, notify, "turn_started", {"thread": told.thread, "turn": told.turn, "run": told.run})
        if began is not None:
            began(row)

    asked.started = started
    outcome = await asked.run()
    row = store.read(asked.key)
    told.summary = summary(store, row)
    if isinstance(outcome, ExistingOwner):
        told.outcome, told.owner, told.status = "existing_owner", outcome, "running"
        return told
    told.status, told.text = projected(outcome.result.status), _text(outcome.result)
    if isinstance(outcome, TerminalReplay):
        told.outcome = "terminal_replay"
        return told
    assert isinstance(outcome, Started)
    _tell(told, notify, "thread_idle", {"thread": told.thread})
    _tell(told, notify, "turn_completed", {"thread": told.thread, "turn": told.turn, "status": told.status})
    return told


def _tell(told: ResumedTurn, notify: Notify | None, event: str, about: Mapping[str, Value]) -> None:
    """Whoever is told may fail: the run does not, and how the turn stands is in the store."""
    if notify is None:
        return
    try:
        notify(event, about)
    except Exception as error:
        told.warnings.append(f"{event} was not taken: {type(error).__name__}: {error}")


def projected(status: RunStatus) -> TurnStatus:
    """How a turn stands whose run stands so."""
    if status in ("running", "completed"):
        return status
    return "failed" if status in ("failed", "cancelled") else "interrupted"


def turn_status(store: Store, turn: StoredTurn) -> TurnStatus:
    """How a turn stands now. A run that failed and can go on leaves its turn interrupted."""
    row = store.read(turn.key)
    status, _ = store.standing(row)
    return "interrupted" if status == "failed" and not row.final else projected(status)


def active_turn(store: Store, thread: str) -> StoredTurn | None:
    """The turn of a thread that is being worked on; None when the thread is idle."""
    begun = store.runs(Filter(thread=thread, status="running"))
    keys = {row.key for row in begun if row.turn is not None and store.standing(row)[0] == "running"}
    return next((turn for turn in store.turns(thread) if turn.key in keys), None) if keys else None


def summary(store: Store, row: StoredRun) -> Summary:
    """What may be told of a run."""
    status, reason = store.standing(row)
    return Summary(
        key=row.key,
        attempt=row.attempt,
        steps=row.steps,
        status=status,
        reason=reason,
        acknowledged=row.acknowledged,
    )


def _text(result: RunResult) -> str | None:
    """The answer, else what the turn waits for, else its error."""
    if result.status == "completed":
        return result.output if isinstance(result.output, str) else result.messages[-1].text
    if result.pending:
        return f"waits for {result.reason}: {', '.join(call.name for call in result.pending)}"
    return result.error.message if result.error is not None else result.reason
