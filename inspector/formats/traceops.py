"""What the operations of one of our journals say of the work that is not done.

An operation that was started and has no end may have happened: it is `in_flight` while the journal's
process lives, else `ambiguous`. One that has an end while its step has none is `answered`. What was decided
about a call since, and what one that ran asks for, stand there as events of the machine.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from inspector.formats.files import File
from inspector.formats.linefile import LONG
from inspector.formats.lines import Scan, line_at
from inspector.model.records import Move, Operation, OperationKind, Program, begun_by, doubt
from inspector.model.run import Pending, PendingKind, PendingStatus, State
from inspector.model.values import Value, preview

LEADS = (b'{"record":"o', b'{"record":"m')
ASKED = 160
"""Characters of a question that are shown beside a call."""

Found = tuple[int, Operation | Move]
"""(where its line begins, a record that says something of pending work)."""

_HEAD = re.compile(
    rb'\{"record":"operation","id":"((?:[^"\\]|\\.)*)","seq":(\d{1,18}),"kind":"\w+","name":"(?:[^"\\]|\\.)*",'
    rb'"status":"(\w+)"'
)
_DECIDED = re.compile(
    rb'\{"record":"move","seq":(\d{1,18}),"event":\{"event":"(?:approve|deny|edit|hold|answer)","call":"'
)
_KINDS: dict[OperationKind, PendingKind] = {
    "model": "model",
    "tool": "tool",
    "firing": "firing",
    "memory": "node",
    "hook": "node",
}
_ENDED = ("succeeded", "failed")


def operations(
    file: File, begin: int, last: int, decode: Callable[[bytes, int], Operation | Move | None]
) -> Sequence[Found]:
    """The last record of each operation, in the order in which they began, of those recorded in the lines
    from `begin` on that have no end, or whose step comes after step `last`; then what was decided about calls
    after that step."""
    found: dict[bytes, list[int]] = {}
    decided: list[int] = []
    for line, offset in _lines(file, begin):
        if line.startswith(LEADS[1]):
            moved = _DECIDED.match(line)
            if moved and int(moved[1]) >= last:
                decided.append(offset)
            continue
        head = _HEAD.match(line)
        if head:
            name, seq, status = head[1], int(head[2]), head[3].decode()
        elif isinstance(operation := decode(line, offset), Operation):
            name, seq, status = operation.id.encode(errors="replace"), operation.seq, operation.status
        else:
            continue
        if status in _ENDED and seq <= last:
            found.pop(name, None)
        else:
            found.setdefault(name, []).append(offset)
    latest = [*map(reversed, found.values()), *([offset] for offset in decided)]
    return [told for offsets in latest if (told := _first(file, offsets, decode))]


def _first(
    file: File, offsets: Iterable[int], decode: Callable[[bytes, int], Operation | Move | None]
) -> tuple[int, Operation | Move] | None:
    """The first of these records that can be read. One whose write was not finished says nothing: what is done
    follows the write."""
    for offset in offsets:
        record = decode(line_at(file, offset), offset)
        if record is not None:
            return offset, record
    return None


def _lines(file: File, begin: int) -> Iterator[tuple[bytes, int]]:
    scan = Scan(file, begin=begin, cut=LONG)
    for lines, offset in scan.batches():
        for line in lines:
            if line.startswith(LEADS):
                yield line, offset
            offset += scan.long.get(offset, len(line))
    rest = scan.rest()
    if rest.startswith(LEADS):
        yield rest, scan.scanned


def overlaid(state: State, found: Sequence[Found], writer: Program | None, alive: bool) -> State:
    """`state` with its pending work as these records tell it. `alive`: the `writer` still runs."""
    if state.pending is None and not found:
        return state
    rows = [*(state.pending or ())]
    free = dict.fromkeys(range(len(rows)))
    places: dict[int, int] = {}
    for offset, record in found:
        if isinstance(record, Operation):
            place = next((at for at in free if _same(rows[at], record)), len(rows))
            if place == len(rows):
                rows.append(_row(record))
            free.pop(place, None)
            places[offset] = place
    calls: dict[str | None, list[int]] = {}
    for place, row in enumerate(rows):
        calls.setdefault(row.internal_call_id, []).append(place)
    for offset, record in sorted(found, key=lambda item: item[0]):
        if isinstance(record, Operation):
            place = places[offset]
            rows[place] = _applied(rows[place], record, writer, alive)
        event = record.event if isinstance(record.event, dict) else {}
        call = event.get("call")
        if isinstance(call, str) and (isinstance(record, Move) or event.get("event") == "hold"):
            for place in calls.get(call, ()):
                rows[place] = _heard(rows[place], event)
    return msgspec.structs.replace(state, pending=tuple(_settled(row, writer, alive) for row in rows))


def _heard(row: Pending, event: dict[str, Value]) -> Pending:
    """A call, after what its machine took in about it."""
    match event.get("event"):
        case "approve":
            return msgspec.structs.replace(row, status="approved", note=None)
        case "deny":
            return msgspec.structs.replace(row, status="denied", note=_words(event.get("reason")))
        case "edit":
            return msgspec.structs.replace(row, arguments=event.get("arguments"))
        case "answer" if "value" in event:
            return msgspec.structs.replace(row, status="answered", result=event["value"], note=None)
        case "hold":
            why, question = _words(event.get("why")) or "approval", event.get("question")
            note = why if question is None else f"{why}: {preview(question, ASKED)}"
            return msgspec.structs.replace(row, status="waiting", note=note, result=None)
    return row


def _words(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def _settled(row: Pending, writer: Program | None, alive: bool) -> Pending:
    """What was under way when its writer died may have happened. A copy that no process wrote as it went
    on says what was known then."""
    if row.status != "in_flight" or alive or writer is None:
        return row
    return msgspec.structs.replace(
        row, status="ambiguous", note=row.note or f"started{begun_by(writer)}, no result recorded: it may have happened"
    )


def _same(row: Pending, operation: Operation) -> bool:
    if row.kind != _KINDS[operation.kind]:
        return False
    if row.kind == "model":  # an agent calls one at a time, and a state names it as it likes
        return True
    for mine, other in (
        (row.internal_call_id, operation.internal_call_id),
        (row.call_id, operation.call_id or operation.id),
    ):
        if mine is not None and other is not None:
            return mine == other
    return row.name == operation.name


def _row(operation: Operation) -> Pending:
    return Pending(
        kind=_KINDS[operation.kind],
        name=operation.name,
        status="ready",
        call_id=operation.call_id,
        internal_call_id=operation.internal_call_id,
        arguments=operation.request,
    )


def _applied(row: Pending, operation: Operation, writer: Program | None, alive: bool) -> Pending:
    status: PendingStatus = row.status
    result, note = row.result, row.note
    if operation.status in _ENDED:
        status, result = "answered", operation.result
        if operation.status == "failed":
            reason = operation.error.message if operation.error else None
            note = f"failed: {reason or 'the reason is not recorded'}"
    elif operation.status == "started" and alive:
        status = "in_flight"
    elif operation.status in ("started", "ambiguous"):
        # What it waited for before it began says nothing any more.
        status, note = "ambiguous", doubt(operation, begun_by(writer))
    return msgspec.structs.replace(row, status=status, result=result, note=note, since=operation.at or row.since)
