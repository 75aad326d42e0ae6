"""From a trace back to a run of a network: the last checkpoint before the step, and the changes of the steps behind
it. What was completed is restored, never run again."""

import json
import re

import msgspec

from inspector.dataflow.codec import Values
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Plan
from inspector.errors import UnreadableError
from inspector.model.large import references
from inspector.model.records import FORMAT, Header, StepRecord
from inspector.model.run import State, within
from inspector.model.values import Number, Value, decimal, integer
from inspector.runner.errors import ResumeRefused
from inspector.runner.network import agents

_decode = json.JSONDecoder(parse_float=decimal, parse_int=integer, parse_constant=Number).decode


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """A firing that the trace tells of and that is not part of the restored state: `seq` its step (None: it was
    begun, and no end of it is recorded)."""

    id: str
    name: str
    seq: int | None = None


class SavedNetwork(msgspec.Struct, kw_only=True):
    """A run of a network in a trace, at a step of it. `later` are the firings completed behind the step, `open`
    those that were begun and may have happened (told only of the last step); `origin` is the id of the run that it
    began as."""

    header: Header
    path: str
    step: int
    last: int
    state: State
    machine: Value
    changes: list[StepRecord]
    later: list[Happened]
    open: list[Happened]
    begun: list[Happened] = []
    """Firings that were under way at the end of the run, when the step is an earlier one: they begin anew."""
    nested: dict[str, list[Value]] = {}
    """The records of agents' runs that were cut short, by firing."""
    scratch: dict[str, Value] = {}
    """What hooks put into their scratchpad."""
    status: str | None = None
    output: Value = None

    @property
    def origin(self) -> str:
        return str(self.machine["origin"])

    def restore(self, plan: Plan, values: Values | None = None) -> NetworkRun:
        """The run as it was after the step, its own steps numbered from 1 again. Raises ResumeRefused when it does
        not fit the plan."""
        try:
            state = msgspec.structs.replace(self.state, step=0)
            run = NetworkRun.restore(plan, state, self.machine, values)
            for record in self.changes:
                run.replay(record.change)
            run = NetworkRun.restore(plan, msgspec.structs.replace(run.state(), step=0), run.machine(), values)
            self._keep(run)
            return run
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ResumeRefused(self.path, "graph_changed", str(error)) from error

    def _keep(self, run: NetworkRun) -> None:
        """Agents go on where their own records end."""
        names = {node.name: number for number, node in enumerate(run.plan.nodes)}
        counts = [actor.fire_count or 0 for actor in run.state().actors or ()]
        for firing, records in self.nested.items():
            name, _, count = firing.rpartition("#")
            number = names[name]
            inner = agents.restored(records) if counts[number] + 1 == int(count) else None
            if inner is not None:
                run.keep(number, inner)


def referred(run: NetworkRun, inputs: Value) -> set[str]:
    """The digests of the large values that a run goes on with."""
    state = run.state()
    tokens = [list(queue.tokens or ()) for queue in state.queues or ()]
    return references([inputs, tokens, [actor.state for actor in state.actors or ()]])


def load(path: str, step: int | None = None, rerun: str | None = None) -> SavedNetwork:
    """The run in a trace, after `step` (None: as far as it came), or before the last step of the node `rerun` or of one
    in it. Raises UnreadableError, and ResumeRefused for a step
    that is not there. Costs reading the file, decoding what stands behind the last checkpoint before the step, and
    a look at the name of each step."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UnreadableError(path, error.strerror or "cannot be read") from error
    return read(path, data, step, rerun)


def read(path: str, data: bytes, step: int | None = None, rerun: str | None = None) -> SavedNetwork:
    """The same, of the bytes of a journal."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    header = _header(path, lines[0] if lines else b"")
    seqs = [number for number, line in enumerate(lines) if line.startswith(b'{"record":"step"')]
    while seqs and _whole(lines[seqs[-1]]) is None:
        seqs.pop()  # torn: it never happened
    last = len(seqs)
    if rerun is not None:
        step = _before(path, [lines[number] for number in seqs], rerun)
    if step is not None and not 0 <= step <= last:
        raise ResumeRefused(path, "step_not_resumable", f"its steps are 0 to {last}")
    at = last if step is None else step
    end = seqs[at] if at < last else len(lines)
    base, checkpoint = _checkpoint(path, lines, end, at)
    changes = [msgspec.convert(_decode(lines[number].decode()), StepRecord) for number in seqs if base < number < end]
    ended = _whole(lines[-1]) if lines[-1].startswith(b'{"record":"end"') else None
    later = [_named(lines[number]) for number in seqs[at:]]
    return SavedNetwork(
        header=header,
        path=path,
        step=at,
        last=last,
        state=msgspec.convert(checkpoint["state"], State),
        machine=checkpoint["machine"],
        changes=changes,
        later=later,
        open=_open(lines) if at == last else [],
        begun=_open(lines) if at < last else [],
        scratch=_scratch(lines[base:end]) or checkpoint["machine"].get("scratch") or {},
        nested=_nested(lines) if at == last else {},
        status=(ended or {}).get("status"),
        output=(ended or {}).get("output"),
    )


def _before(path: str, steps: list[bytes], node: str) -> int:
    for at in range(len(steps) - 1, -1, -1):
        if within(_named(steps[at]).name, node):
            return at
    raise ResumeRefused(path, "step_not_resumable", f"no step of it is of the node {node!r}")


def _header(path: str, line: bytes) -> Header:
    value = _whole(line)
    if value is None or value.get("record") != "header":
        raise UnreadableError(path, "does not begin with a header: no trace of ours")
    if value.get("format") != FORMAT:
        reason = f"the trace has the format {value.get('format')!r}; this program knows {FORMAT}"
        raise ResumeRefused(path, "version_unsupported", reason)
    if value.get("kind") != "dataflow":
        raise ResumeRefused(path, "other_run", f"the trace is of a run of the kind {value.get('kind')!r}, no network's")
    try:
        return msgspec.convert(value, Header)
    except msgspec.ValidationError as error:
        raise UnreadableError(path, f"has a damaged header: {error}") from error


def _checkpoint(path: str, lines: list[bytes], end: int, step: int) -> tuple[int, dict[str, Value]]:
    for number in range(end - 1, 0, -1):
        if lines[number].startswith(b'{"record":"checkpoint"'):
            value = _whole(lines[number])
            if value is not None and value.get("seq", step + 1) <= step and isinstance(value.get("machine"), dict):
                return number, value
    raise ResumeRefused(path, "step_not_resumable", f"there is no checkpoint at or before step {step}")


def _named(line: bytes) -> Happened:
    step = msgspec.json.decode(line, type=_StepLine).step
    return Happened(id="", name=step.name, seq=step.seq)


_OPERATION = re.compile(
    rb'\{"record":"operation","id":("(?:[^"\\]|\\.)*"),"seq":\d+,"kind":"firing","name":"(?:[^"\\]|\\.)*","status":"(\w+)"'
)


class _Name(msgspec.Struct):
    seq: int
    name: str


class _StepLine(msgspec.Struct):
    step: _Name


def _open(lines: list[bytes]) -> list[Happened]:
    """The firings that are begun and not ended."""
    found: dict[bytes, bytes] = {}
    for line in lines:
        head = _OPERATION.match(line)
        if head is None or not line.endswith(b"}"):
            continue
        if head[2] == b"started" or head[2] == b"ambiguous":
            found[head[1]] = line
        else:
            found.pop(head[1], None)
    whole = [value for line in found.values() if (value := _whole(line)) is not None]
    return [Happened(id=value["id"], name=value["name"]) for value in whole]


def _scratch(lines: list[bytes]) -> dict[str, Value] | None:
    """The last scratchpad of hooks that was written."""
    for line in reversed(lines):
        if line.startswith(b'{"record":"move"') and b'"event":"scratch"' in line[:80] and (value := _whole(line)):
            found = value["event"]["scratch"]
            return found if isinstance(found, dict) else None
    return None


def _nested(lines: list[bytes]) -> dict[str, list[Value]]:
    """The records of agents' runs, by firing, each from its last beginning on."""
    found: dict[str, list[Value]] = {}
    for line in lines:
        if not (line.startswith(b'{"record":"move"') and b'"event":"nested"' in line[:80]):
            continue
        value = _whole(line)
        if value is None:
            continue
        event = value["event"]
        if event["record"].get("record") == "header":
            found[event["firing"]] = []
        found.setdefault(event["firing"], []).append(event["record"])
    return found


def _whole(line: bytes) -> dict[str, Value] | None:
    try:
        value = _decode(line.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
