"""From a trace file to a run in a store: the row that its records are the story of."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import msgspec

from inspector.errors import StoreError
from inspector.model.large import references, whole
from inspector.model.records import FORMAT, Attempt, End, Header, JournalRecord, Operation, StepRecord
from inspector.model.stored import OperationRow, StoredRun
from inspector.store import fold
from inspector.store.journal import new_run

LARGE = b'"large"'
"""What stands in a line that names a large value."""
_decoder = msgspec.json.Decoder(JournalRecord)


def read(lines: Sequence[bytes], key: str | None, now: int) -> tuple[StoredRun, list[bytes], list[OperationRow]]:
    """The row of a run, its lines and its operations. A torn last line never happened. Raises StoreError
    `record_invalid`, with the number of the line."""
    kept: list[bytes] = []
    story: _Story | None = None
    for number, line in enumerate(lines, 1):
        try:
            record = _decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            if number == len(lines) and not line.endswith(b"\n"):
                break
            raise StoreError(f"line {number}", "record_invalid", f"is no record of a trace: {error}") from None
        if story is None:
            if not isinstance(record, Header) or record.format != FORMAT:
                raise StoreError("line 1", "record_invalid", f"is no header of a trace of format {FORMAT}")
            story = _Story(record, key, now)
        else:
            story.take(record, number)
        kept.append(line if line.endswith(b"\n") else line + b"\n")
    if story is None:
        raise StoreError("line 1", "record_invalid", "the trace is empty")
    return story.row(sum(map(len, kept))), kept, story.rows()


def apart(lines: Sequence[bytes], large: Callable[[str], bytes | None]) -> Iterator[tuple[str, bytes]]:
    """The large values that the lines name, by digest, as `large` gives them. Raises StoreError `record_invalid` for
    one that it does not give."""
    known = set[str]()
    for number, line in enumerate(lines, 1):
        if LARGE not in line:
            continue
        for digest in sorted(references(msgspec.json.decode(line)) - known):
            known.add(digest)
            data = large(digest)
            if data is None or not whole(data, digest):
                detail = f"the large value {digest} that it names is not beside the trace, or is damaged"
                raise StoreError(f"line {number}", "record_invalid", detail)
            yield digest, data


class _Story:
    """What the records told so far."""

    def __init__(self, header: Header, key: str | None, now: int) -> None:
        self.header = msgspec.structs.replace(header, key=header.key or header.id if key is None else key)
        self.now = _ms(header.started, now)
        self.created = self.now
        self.digest = header.definition.digest
        self.attempt, self.steps = 1, 0
        self.end: End | None = None
        self.operations: dict[str, OperationRow] = {}

    def take(self, record: JournalRecord, number: int) -> None:
        """One more record."""
        if isinstance(record, Header):
            raise StoreError(f"line {number}", "record_invalid", "another run begins here")
        if isinstance(record, StepRecord):
            self.steps += 1
            if record.step.seq != self.steps:
                detail = f"step {record.step.seq} does not follow step {self.steps - 1}"
                raise StoreError(f"line {number}", "record_invalid", detail)
        elif isinstance(record, Operation):
            self._operation(record)
        elif isinstance(record, Attempt):
            self._attempt(record)
        elif isinstance(record, End):
            self.end = record
        at = record.step.ended if isinstance(record, StepRecord) else record.at
        self.now = max(self.now, _ms(at, self.now))

    def _operation(self, record: Operation) -> None:
        known = self.operations.get(record.id)
        now = _ms(record.at, self.now)
        started = now if record.status == "started" else known.started if known else None
        operation = fold.merged(known.operation if known else None, record)
        self.operations[record.id] = OperationRow(operation=operation, started=started, updated=now)

    def _attempt(self, record: Attempt) -> None:
        self.end, self.attempt = None, record.number
        if record.definition is not None:
            self.digest = record.definition.digest
        if record.mode == "recovery":
            for name, known in self.operations.items():
                operation = fold.recovered(known.operation)
                self.operations[name] = msgspec.structs.replace(known, operation=operation)

    def row(self, size: int) -> StoredRun:
        """The row, unclaimed."""
        new, end = new_run(self.header), self.end
        return StoredRun(
            **{name: getattr(new, name) for name in new.__struct_fields__} | {"digest": self.digest},
            status=end.status if end is not None else "interrupted",
            reason=end.reason if end is not None else None,
            attempt=self.attempt,
            created=self.created,
            updated=self.now,
            ended=self.now if end is not None and _final(end) else None,
            steps=self.steps,
            size=size,
            final=end is not None and _final(end),
            handed=False,
        )

    def rows(self) -> list[OperationRow]:
        """The operations, in the order of their first records."""
        return list(self.operations.values())


def _final(end: End) -> bool:
    return end.final or end.status in ("completed", "cancelled")


def _ms(time: str | None, otherwise: int) -> int:
    try:
        return int(datetime.fromisoformat(time).timestamp() * 1000) if time else otherwise
    except (ValueError, OverflowError, OSError):
        return otherwise
