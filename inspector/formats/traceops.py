"""What the operations of one of our journals say of the work that is not done.

An operation that was started and has no end may have happened: it is `in_flight` while the journal's
process lives, else `ambiguous`. One that has an end while its step has none is `answered`.
"""

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from inspector.formats.files import File
from inspector.formats.lines import Scan, line_at
from inspector.model.records import Operation, OperationKind, Program, doubt
from inspector.model.run import Pending, PendingKind, PendingStatus, State

LEAD = b'{"record":"o'

_HEAD = re.compile(
    rb'\{"record":"operation","id":"((?:[^"\\]|\\.)*)","seq":(\d{1,18}),"kind":"\w+","name":"(?:[^"\\]|\\.)*",'
    rb'"status":"(\w+)"'
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
    file: File, begin: int, last: int, decode: Callable[[bytes, int], Operation | None]
) -> Sequence[Operation]:
    """The last record of each operation, in the order in which they began, of those recorded in the lines
    from `begin` on that have no end, or whose step comes after step `last`."""
    found: dict[bytes, int] = {}
    for line, offset in _lines(file, begin):
        head = _HEAD.match(line)
        if head:
            name, seq, status = head[1], int(head[2]), head[3].decode()
        elif (operation := decode(line, offset)) is not None:
            name, seq, status = operation.id.encode(errors="replace"), operation.seq, operation.status
        else:
            continue
        if status in _ENDED and seq <= last:
            found.pop(name, None)
        else:
            found[name] = offset
    latest = [decode(line_at(file, offset), offset) for offset in found.values()]
    return [operation for operation in latest if operation is not None]


def _lines(file: File, begin: int) -> Iterator[tuple[bytes, int]]:
    scan = Scan(file, begin=begin)
    for lines, offset in scan.batches():
        for line in lines:
            if line.startswith(LEAD):
                yield line, offset
            offset += len(line)
    rest = scan.rest()
    if rest.startswith(LEAD):
        yield rest, scan.scanned


def overlaid(state: State, found: Sequence[Operation], writer: Program | None, alive: bool) -> State:
    """`state` with its pending work as the operations tell it. `alive`: the `writer` still runs."""
    if state.pending is None and not found:
        return state
    rows = [_settled(row, writer, alive) for row in state.pending or ()]
    free = [True] * len(rows)
    for operation in found:
        place = next((at for at, row in enumerate(rows) if free[at] and _same(row, operation)), None)
        if place is None:
            rows.append(_applied(_row(operation), operation, writer, alive))
            free.append(False)
        else:
            rows[place] = _applied(rows[place], operation, writer, alive)
            free[place] = False
    return msgspec.structs.replace(state, pending=tuple(rows))


def _settled(row: Pending, writer: Program | None, alive: bool) -> Pending:
    """What was under way when its writer died may have happened. A copy that no process wrote as it went
    on says what was known then."""
    if row.status != "in_flight" or alive or writer is None:
        return row
    return msgspec.structs.replace(
        row, status="ambiguous", note=row.note or f"started{_by(writer)}, no result recorded: it may have happened"
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
        status, note = "ambiguous", note if row.status == "ambiguous" and note else doubt(operation, _by(writer))
    return msgspec.structs.replace(row, status=status, result=result, note=note, since=operation.at or row.since)


def _by(writer: Program | None) -> str:
    return f" by process {writer.pid} on {writer.host}" if writer and writer.pid and writer.host else ""
