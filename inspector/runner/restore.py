"""From a file back to a run: our own traces, our own JSON, and what rig saved.

A trace is the last whole checkpoint and the events behind it, told to the machine again; a torn last line
never happened. The text is taken as it stands, since it goes back to models and tools.
"""

import json
import os
import re
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, UnsetType

from inspector.errors import UnreadableError
from inspector.model import records
from inspector.model.run import Definition, RunLink
from inspector.model.values import Number, Value, decimal, integer
from inspector.runner import view
from inspector.runner.data import Awaiting
from inspector.runner.effects import Answer, AnyEvent, Start
from inspector.runner.errors import ResumeRefused, RunnerError
from inspector.runner.machine import AgentRun
from inspector.runner.messages import Message, Result, sound

IDENTITY = 24
"""Digits of a digest that a run without a journal is told by from others."""
_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer, parse_constant=Number)


def whereabouts(path: str | None) -> str | UnsetType:
    """Where a run is that another one goes on from, for whoever looks for it."""
    return UNSET if path is None else sound(os.path.abspath(path))


def decode(text: str) -> Value:
    """JSON text as values, each number as it is written. Raises ValueError."""
    return _decoder.decode(text)


class Restored(msgspec.Struct, kw_only=True):
    """A run that was saved. `id` tells it from others on this host: a copy of a file has the same one;
    `status` is how its file says that it ended, None where it does not; `step` its last whole step."""

    run: AgentRun
    id: str
    format: str
    step: int
    name: str | None = None
    definition: Definition | None = None
    status: str | None = None
    path: str | None = None
    last: int = 0
    """The last step in the file."""
    anew: bool = False
    """Whether the file holds nothing but what the run was given, so that it begins again."""
    doubts: dict[str, str] = msgspec.field(default_factory=dict)
    """Why calls that were begun may have happened, by the run's own ids, where the file tells."""

    @property
    def link(self) -> RunLink:
        """What the run that goes on is resumed from."""
        return RunLink(run=self.id, step=self.step, path=whereabouts(self.path))

    @property
    def model_in_flight(self) -> bool:
        """Whether a model was asked and no answer is recorded."""
        return isinstance(self.run.data.phase, Awaiting)


def load(path: str, step: int | None = None) -> Restored:
    """The run in a file, as it was after `step` (None: as far as it came). Raises UnreadableError, and
    ResumeRefused for a step that cannot be gone back to."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    try:
        if data.lstrip()[:10] == b'{"record":':
            return read_trace(path, data, step)
        return _document(path, data, step)
    except (ResumeRefused, UnreadableError):
        raise
    except (RunnerError, ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError) as error:
        raise UnreadableError(path, f"is damaged: {error}") from error


def _document(path: str, data: bytes, step: int | None) -> Restored:
    try:
        value = _decoder.decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, f"is no JSON: {error}") from error
    ours = isinstance(value, dict) and "phase" in value
    run = AgentRun.from_value(value) if ours else AgentRun.from_rig(data.decode("utf-8-sig"))
    if step is not None and step != (at := _steps(run)):
        raise ResumeRefused(path, "step_not_resumable", f"the file holds the run after step {at} only")
    identity = view.digest(value)[:IDENTITY]  # also of a copy that is laid out otherwise
    if not run.data.id:
        run.data.id = identity
    return Restored(
        run=run,
        id=identity,
        format="runinspect" if ours else "rig",
        step=_steps(run),
        last=_steps(run),
        name=run.data.agent,
        definition=run.data.definition,
        path=path,
    )


def _steps(run: AgentRun) -> int:
    """How many steps a run without a journal has, as the inspector counts them: model turns, batches with the open
    one, and what the user said after the prompt."""
    held = getattr(run.data.phase, "turn", None)
    said = (
        [*run.data.messages, Message("assistant", held.parts)] if held is not None and held.parts else run.data.messages
    )
    steps = 0
    for number, message in enumerate(said):
        if message.role == "assistant":
            steps += 2 if message.calls else 1
        elif number and not (message.content and all(isinstance(part, Result) for part in message.content)):
            steps += 1
    return steps


def read_trace(path: str, data: bytes, step: int | None) -> Restored:
    """The run in the records of a trace. Raises UnreadableError, and ResumeRefused."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    header = _header(path, lines[0])
    base = 0
    for number, line in enumerate(lines):
        if line.startswith(b'{"record":"checkpoint"') and line.endswith(b"}"):
            seq = _seq(line)
            if seq is not None and (step is None or seq <= step) and _whole(line):
                base = number
    if not base:
        return _anew(path, header, lines, step)
    checkpoint = _value(lines[base])
    run = AgentRun.from_value(checkpoint["machine"])
    seq, status = int(checkpoint["seq"]), None
    definition, program = header.definition, header.program
    for line in lines[: base + 1]:
        if line.startswith(b'{"record":"attempt"'):
            record = _value(line)
            definition, program = _defined(record, definition), _program(record)
    doubts = _doubts(checkpoint, program)
    for kind, record in _records(lines[base + 1 :]):
        if seq == step and not _belongs(kind, record):
            break
        if kind == "step":
            seq = int(record["step"]["seq"])
        elif kind == "end":
            status = record["status"]
        elif kind == "attempt":
            status, definition, program = None, _defined(record, definition), _program(record)
        else:
            _tell(path, run, kind, record)
            if kind == "operation" and record["kind"] == "tool" and record["status"] in ("started", "ambiguous"):
                doubts[str(record.get("internal_call_id"))] = _doubt(record, program)
    if step is not None and seq != step:
        raise ResumeRefused(path, "step_not_resumable", f"the state after step {step} is not in the file")
    last = sum(line.startswith(b'{"record":"step"') for line in lines)
    return Restored(
        run=run,
        id=header.id,
        format="runinspect",
        step=seq,
        last=max(last, seq),
        name=header.name,
        definition=definition,
        status=status,
        path=path,
        doubts=doubts,
    )


def _doubts(checkpoint: dict[str, Value], program: records.Program | None) -> dict[str, str]:
    """What a checkpoint, which the program wrote, says of the calls that were under way."""
    state = checkpoint.get("state")
    rows = state.get("pending") if isinstance(state, dict) else None
    told = f"started{records.begun_by(program)}, no result recorded: it may have happened"
    begun = [row for row in rows or () if isinstance(row, dict) and row.get("status") == "in_flight"]
    return {str(row.get("internal_call_id")): str(row.get("note") or told) for row in begun}


def _doubt(record: dict[str, Value], program: records.Program | None) -> str:
    return records.doubt(msgspec.convert(record, records.Operation), records.begun_by(program))


def _program(attempt: dict[str, Value]) -> records.Program | None:
    return msgspec.convert(attempt, records.Attempt).program


def _anew(path: str, header: records.Header, lines: list[bytes], step: int | None) -> Restored:
    """A run that was cut short before its first checkpoint: nothing of it had happened."""
    if step:
        raise ResumeRefused(path, "step_not_resumable", f"the state after step {step} is not in the file")
    check_anew(path, header, lines)
    if not isinstance(header.input, str) or not header.input:
        raise ResumeRefused(path, "not_resumable", "the trace ends before the run began, and its prompt is not in it")
    run = AgentRun.start(header.input, id=header.id, agent=header.name)
    return Restored(
        run=run,
        id=header.id,
        format="runinspect",
        step=0,
        name=header.name,
        definition=header.definition,
        path=path,
        anew=True,
    )


def check_anew(path: str, header: records.Header, lines: list[bytes]) -> None:
    """Raises ResumeRefused when a run without a checkpoint is not to begin again from its input."""
    why = None
    happened = any(line.endswith(b"}") and not _LOADING.match(line) for line in lines[1:])
    if header.resumed_from is not None and not happened:
        why = f"the trace ends before the run went on: resume {header.resumed_from.run}, which it was made from"
    elif header.source is not None and header.resumed_from is None:
        why = f"it was exported from {header.source}, and what a resume needs is there"
    elif happened:
        why = (
            "it has no whole checkpoint, and things had happened: where it stood is not known "
            "(an export can be gone on with where it is of all steps, and made with --raw)"
        )
    if why is not None:
        raise ResumeRefused(path, "not_resumable", why)


_LOADING = re.compile(rb'\{"record":"operation","id":"memory-load",')
"""What an agent may do before its first checkpoint."""


def _defined(attempt: dict[str, Value], before: Definition) -> Definition:
    """What the code was after an attempt."""
    told = attempt.get("definition")
    return before if told is None else msgspec.convert(told, Definition)


def _belongs(kind: str, record: dict[str, Value]) -> bool:
    """Whether a record behind a step is still about it: the hooks on the turn have run."""
    return kind == "move" and isinstance(record.get("event"), dict) and record["event"].get("event") == "heard"


def _header(path: str, line: bytes) -> records.Header:
    value = _value(line)
    if value.get("record") != "header":
        raise UnreadableError(path, "does not begin with a header: no trace of ours")
    if value.get("format") != records.FORMAT:
        reason = f"the trace has the format {value.get('format')!r}; this program knows {records.FORMAT}"
        raise ResumeRefused(path, "version_unsupported", reason)
    if value.get("kind") != "agent":
        raise ResumeRefused(path, "other_run", f"the trace is of a run of the kind {value.get('kind')!r}, no agent's")
    try:
        return msgspec.convert(value, records.Header)
    except msgspec.ValidationError as error:
        raise UnreadableError(path, f"has a damaged header: {error}") from error


def _seq(line: bytes) -> int | None:
    head = line[:60].partition(b'"seq":')[2]
    digits = head[: len(head) - len(head.lstrip(b"0123456789"))]
    return int(digits) if digits else None


def _whole(line: bytes) -> bool:
    try:
        return isinstance(_value(line).get("machine"), dict)
    except (ValueError, RecursionError):
        return False


def _value(line: bytes) -> dict[str, Value]:
    value = _decoder.decode(line.decode())
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def _records(lines: list[bytes]) -> Iterator[tuple[str, dict[str, Value]]]:
    for line in lines:
        try:
            value = _value(line)
        except (ValueError, RecursionError):
            continue  # torn: it never happened
        yield value.get("record", ""), value


def _tell(path: str, run: AgentRun, kind: str, record: dict[str, Value]) -> None:
    event = _event(kind, record)
    if event is None:
        return
    try:
        run.replay(event)
    except RunnerError as error:
        raise ResumeRefused(path, "value_unreadable", f"the journal does not fit the run: {error}") from error


def _event(kind: str, record: dict[str, Value]) -> AnyEvent | None:
    """What a record says the machine was told."""
    if kind in ("move", "operation") and record.get("event") is not None:
        found: AnyEvent = msgspec.convert(record["event"], AnyEvent, str_keys=True)
        return found
    if kind == "operation" and record["kind"] == "tool":
        call = record["internal_call_id"]
        if record["status"] == "started":
            return Start(call)
        if record["status"] == "succeeded":
            return Answer(call, record.get("result"))
    return None
