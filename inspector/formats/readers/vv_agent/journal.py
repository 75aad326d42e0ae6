"""The open cycle of a checkpoint: what its journals say of each model request and each tool call.

The batch is not stored as such: it is the calls of the answered model request, joined to the tool journal by
their ids. Tools are journalled one at a time, so a call without an entry was not begun.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from inspector.formats.readers.vv_agent.claim import Claim
from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.messages import arguments, call, calls_of, content
from inspector.formats.readers.vv_agent.shapes import mapping, sequence, text, whole
from inspector.model.run import Pending, PendingStatus
from inspector.model.values import Value

Entry = dict[str, Any]
UNPROVEN = ("tool_timeout", "tool_cancelled", "tool_connection_lost", "tool_execution_failed")
"""Errors that say how the wait for a tool ended, not what the tool did."""


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The journals of the open cycle. `receipt` is the answer of the cycle's own model request, once there
    is one."""

    models: tuple[Entry, ...] = ()
    tools: tuple[Entry, ...] = ()
    receipt: Entry | None = None

    @property
    def ambiguous(self) -> list[Entry]:
        """Entries of operations that a recovery found begun and not ended."""
        return [entry for entry in (*self.models, *self.tools) if entry.get("state") == "ambiguous"]


def journal(models: Value, tools: Value, committed: int | None) -> Journal:
    """The journals as they concern the cycle behind the last committed one."""
    model_entries = tuple(_open(models, committed))
    receipts = [
        entry["response"]
        for entry in model_entries
        if entry.get("state") == "succeeded"
        and entry.get("model_operation") in ("agent_cycle", None)
        and isinstance(entry.get("response"), dict)
    ]
    return Journal(
        models=model_entries, tools=tuple(_open(tools, committed)), receipt=receipts[-1] if receipts else None
    )


def _open(entries: Value, committed: int | None) -> Iterator[Entry]:
    for entry in sequence(entries):
        cycle = whole(mapping(entry).get("cycle_index"))
        if isinstance(entry, dict) and (cycle is None or committed is None or cycle > committed):
            yield entry


class Batch:
    """The pending work of an open cycle. `policy` is the run's own for what may have happened, `since` the
    times of model requests by call id."""

    def __init__(
        self, found: Journal, row: Row, claim: Claim, policy: dict[str, Any], since: dict[str, str | None]
    ) -> None:
        self._journal, self._row, self._claim, self._policy, self._since = found, row, claim, policy, since

    def pending(self) -> list[Pending]:
        """One entry per model request that has no answer and per call of the batch, in their order."""
        return [*self._models(), *self._tools()]

    def _models(self) -> Iterator[Pending]:
        for entry in self._journal.models:
            status = self._status(entry)
            if status in ("ready", "in_flight", "ambiguous"):
                operation = text(entry.get("model_operation")) or "model request"
                call_id = text(entry.get("call_id"))
                yield Pending(
                    kind="model",
                    name=text(entry.get("model")) or "model",
                    status=status,
                    call_id=call_id,
                    internal_call_id=text(entry.get("operation_id")),
                    since=self._since.get(call_id or ""),
                    note=f"{operation}, {self._note(entry, status, 'model')}",
                )

    def _tools(self) -> Iterator[Pending]:
        left = list(self._journal.tools)
        where = f"{self._row.where('model_call_journal')}.response.tool_calls"
        for number, item in enumerate(calls_of(self._journal.receipt or {})):
            asked = call(item, self._row, f"{where}[{number}]")
            entry = next((one for one in left if text(one.get("tool_call_id")) == asked.call_id), None)
            if entry is None:
                torn = "tool_journal" in self._row.damaged
                yield Pending(
                    kind="tool",
                    name=asked.name,
                    status="ambiguous" if torn else "ready",
                    call_id=asked.call_id,
                    arguments=asked.arguments,
                    note="the journal is damaged or gone: whether it was begun is not known"
                    if torn
                    else "not planned yet",
                )
                continue
            left.remove(entry)
            yield self._tool(entry, asked.name, asked.arguments)
        for entry in left:
            yield self._tool(entry, text(entry.get("tool_name")) or "?", None)

    def _tool(self, entry: Entry, name: str, asked: Value) -> Pending:
        status = self._status(entry)
        given = entry.get("arguments")
        where = f"{self._row.where('tool_journal')}.arguments"
        return Pending(
            kind="tool",
            name=name,
            status=status,
            call_id=(call_id := text(entry.get("tool_call_id"))),
            internal_call_id=text(entry.get("operation_id")),
            since=self._since.get(call_id or ""),
            arguments=asked if given is None else arguments(given, self._row, where),
            result=_result(entry) if status == "answered" else None,
            note=self._note(entry, status, "tool"),
        )

    def _status(self, entry: Entry) -> PendingStatus:
        observed = mapping(entry.get("resume_observation")).get("state")
        if observed == "ambiguous" and mapping(entry.get("error")).get("code") in UNPROVEN:
            return "ambiguous"
        state = entry.get("state")
        known: dict[Value, PendingStatus] = {
            "planned": "ready",
            "started": "in_flight" if self._claim.live else "ambiguous",
            "ambiguous": "ambiguous",
            "deferred": "waiting",
            "succeeded": "answered",
            "failed": "answered",
        }
        return known.get(state, "ambiguous") if isinstance(state, str) else "ambiguous"

    def _note(self, entry: Entry, status: PendingStatus, kind: str) -> str:
        attempt = whole(entry.get("attempt"))
        words = [f"{text(entry.get('state')) or 'state unknown'}, attempt {'?' if attempt is None else attempt}"]
        error = mapping(entry.get("error"))
        if error:
            words.append(f"{text(error.get('code')) or 'error'}: {text(error.get('message')) or 'no reason recorded'}")
        if status == "in_flight":
            words.append(f"its owner's lease runs until {self._claim.until_text}")
        if status == "ambiguous":
            if entry.get("state") == "started" and self._claim.token is not None:
                words.append(f"its owner's lease ended {self._claim.until_text}")
            if kind == "tool":
                words.append(f"idempotency {text(entry.get('idempotency_support')) or 'unknown'}")
            policy = text(self._policy.get(f"ambiguous_{kind}_policy"))
            words.append(f"may have happened; the run's policy is {policy or 'not recorded'}")
        if status == "waiting":
            words.append("deferred: its result comes from outside")
        return "; ".join(words)


def _result(entry: Entry) -> Value:
    """What came out of an operation that has ended: the tool's content, or its definite error."""
    result = entry.get("result")
    if isinstance(result, dict):
        found = result.get("content")
        return found if isinstance(found, str) else content(found)
    return entry.get("error") if result is None else result
