"""From a trace back to a run of a network: the last checkpoint before the step, and the changes of the steps behind
it. What was completed is restored, never run again."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from inspector.dataflow.codec import Values
from inspector.dataflow.machine import NetworkRun
from inspector.dataflow.plan import Plan
from inspector.errors import UnreadableError
from inspector.model.large import references
from inspector.model.nodes import LOOKED_AT, perhaps, within
from inspector.model.records import FORMAT, Header, StepRecord
from inspector.model.run import RunError, RunStatus, State
from inspector.model.values import Number, Value, decimal, integer
from inspector.runner.errors import ResumeRefused
from inspector.runner.network import agents, tail
from inspector.runner.network.tail import Lines
from inspector.runner.restore import check_anew

_decode = json.JSONDecoder(parse_float=decimal, parse_int=integer, parse_constant=Number).decode


class Happened(msgspec.Struct, frozen=True, kw_only=True):
    """A firing that was begun, and no end of it is recorded."""

    id: str
    name: str


class SavedNetwork(msgspec.Struct, kw_only=True):
    """A run of a network in a trace, at a step of it. `later` reads the names of the firings completed behind the step,
    `open` are those that were begun and may have happened (told only of the last step); `origin` is the id of the run
    that it began as."""

    header: Header
    path: str
    step: int
    last: int
    state: State | None
    """None: the run was cut short before it began, and begins again from its inputs."""
    machine: Value
    changes: list[StepRecord]
    later: Callable[[], Iterable[str]]
    open: list[Happened]
    begun: list[Happened] = []
    """Firings that were under way at the end of the run, when the step is an earlier one: they begin anew."""
    nested: dict[str, list[Value]] = {}
    """The records of agents' runs that were cut short, by firing."""
    scratch: dict[str, Value] = {}
    """What hooks put into their scratchpad."""
    status: RunStatus | None = None
    reason: str | None = None
    error: RunError | None = None
    output: Value = None
    final: bool = False
    """It can never go on: it was completed, or given up."""

    @property
    def origin(self) -> str:
        return str(self.machine["origin"])

    def restore(self, plan: Plan, values: Values | None = None) -> NetworkRun:
        """The run as it was after the step, its own steps numbered from 1 again. Raises ResumeRefused when it does
        not fit the plan."""
        try:
            if self.state is None:
                return self._anew(plan, values)
            state = msgspec.structs.replace(self.state, step=0)
            run = NetworkRun.restore(plan, state, self.machine, values)
            for record in self.changes:
                run.replay(record.change)
            run = NetworkRun.restore(plan, msgspec.structs.replace(run.state(), step=0), run.machine(), values)
            self._keep(run)
            return run
        except (ValueError, KeyError, IndexError, TypeError) as error:
            # The graph is that of the run, so it is not the code that does not fit.
            raise ResumeRefused(self.path, "value_unreadable", f"is damaged: {error}") from error

    def _anew(self, plan: Plan, values: Values | None) -> NetworkRun:
        run = NetworkRun(plan, values)
        given = {port: [run.values.decode(token) for token in tokens] for port, tokens in self.header.input.items()}
        run.feed(given)
        return run

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
    in it. Raises UnreadableError, and ResumeRefused for a step that is not there. Costs reading what stands between
    the last checkpoint before the step and the step, and behind the last one of all."""
    return read(path, tail.of_file(path), step, rerun)


def read(path: str, lines: Lines, step: int | None = None, rerun: str | None = None) -> SavedNetwork:
    """The same, of the lines of a journal."""
    try:
        return _read(path, lines, step, rerun)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError, msgspec.MsgspecError) as error:
        raise UnreadableError(path, f"is damaged: {error}") from error


def _read(path: str, lines: Lines, step: int | None, rerun: str | None) -> SavedNetwork:
    header = _header(path, next((line for _, line in lines.forwards(0)), b""))
    ended = _trim(lines) or {}
    end = _Tail(lines, lines.size)
    last = end.last
    if rerun is not None:
        step = _before(path, lines, rerun)
    if step is not None and not 0 <= step <= last:
        raise ResumeRefused(path, "step_not_resumable", f"its steps are 0 to {last}")
    at = last if step is None else step
    behind = lines.step(at + 1) if at < last else lines.size
    here = _Tail(lines, behind) if at < last else end
    if end.checkpoint is None:
        return _anew(path, header, [line.rstrip() for line in end.lines])
    if here.checkpoint is None:
        raise ResumeRefused(path, "step_not_resumable", f"there is no checkpoint at or before step {at}")
    machine = here.checkpoint["machine"]
    changes = [msgspec.convert(_decode(line.decode()), StepRecord) for line in here.lines if line.startswith(tail.STEP)]
    for expected, record in enumerate(changes, here.checkpoint["seq"] + 1):
        if record.step.seq != expected:
            raise UnreadableError(path, f"is damaged: step {record.step.seq} stands where step {expected} should be")
    return SavedNetwork(
        header=header,
        path=path,
        step=at,
        last=last,
        state=msgspec.convert(here.checkpoint["state"], State),
        machine=machine,
        changes=changes,
        later=lambda: (found.name for _, found in lines.steps(behind)),
        open=end.open() if at == last else [],
        begun=end.open() if at < last else [],
        scratch=_scratch(here.lines) or machine.get("scratch") or {},
        nested=_nested(end.unfinished(header) + end.lines) if at == last else {},
        status=ended.get("status"),
        reason=ended.get("reason"),
        error=msgspec.convert(ended.get("error"), RunError | None),
        output=ended.get("output"),
        final=at == last and (ended.get("status") == "completed" or ended.get("final") is True),
    )


class _Tail:
    """What stands in front of an offset, from the last checkpoint on: that, and the lines behind it. Without one (None)
    the lines are all of them."""

    def __init__(self, lines: Lines, end: int) -> None:
        self._all, self._begin = lines, 0
        self.checkpoint: dict[str, Value] | None = None
        self.lines: list[bytes] = []
        for offset, line in lines.backwards(end):
            if line.startswith(b'{"record":"checkpoint"'):
                value = _whole(line)
                if value is not None and "seq" in value and isinstance(value.get("machine"), dict):
                    self.checkpoint, self._begin = value, offset
                    break
            self.lines.append(line)
        self.lines.reverse()

    @property
    def last(self) -> int:
        """The number of the last step."""
        for line in reversed(self.lines):
            if line.startswith(tail.STEP):
                return tail.named(line).seq
        return self.checkpoint["seq"] if self.checkpoint is not None else 0

    def open(self) -> list[Happened]:
        """The firings that are begun and not ended."""
        found = {happened.id: happened for happened in self._begun("in_flight", "ambiguous")}
        found |= {firing: Happened(id=firing, name=firing.rpartition("#")[0]) for firing in self._held()}
        for line in self.lines:
            head = _OPERATION.match(line)
            if head is None or (value := _whole(line)) is None:
                continue
            if head[1] == b"started" or head[1] == b"ambiguous":
                found[value["id"]] = Happened(id=value["id"], name=value["name"])
            else:
                found.pop(value["id"], None)
        return list(found.values())

    def unfinished(self, header: Header) -> list[bytes]:
        """The records of agents' runs that were under way at the checkpoint, from before it."""
        graph = header.definition.graph
        agents = {node.id for node in (graph.nodes if graph is not None else None) or () if node.kind == "agent"}
        sought = {happened.id for happened in self._begun("in_flight") if happened.name in agents}
        found = []
        for _, line in self._all.backwards(self._begin) if sought else ():
            if (value := _inside(line)) is not None:
                event = value["event"]
                if event["firing"] in sought:
                    found.append(line)
                    if event["record"].get("record") == "header":
                        sought.remove(event["firing"])
            elif _OPERATION.match(line) and b'"started"' in line and (value := _whole(line)) is not None:
                sought.discard(value["id"])
            if not sought:
                break
        return found[::-1]

    def _begun(self, *statuses: str) -> Iterator[Happened]:
        for item in self.checkpoint["state"].get("pending") or () if self.checkpoint is not None else ():
            if item["kind"] == "firing" and item["status"] in statuses:
                yield Happened(id=item["call_id"], name=item["name"])

    def _held(self) -> Iterator[str]:
        for actor in self.checkpoint["state"].get("actors") or () if self.checkpoint is not None else ():
            if actor.get("unfinished") is not None:
                yield f"{'/'.join((*actor.get('scope', ()), actor['id']))}#{(actor.get('fire_count') or 0) + 1}"


def _trim(lines: Lines) -> dict[str, Any] | None:
    """Leave off what is torn at the end: it never happened. The record of the end, if the run has one."""
    for offset, line in lines.backwards(lines.size):
        if (value := _whole(line)) is not None:
            return value if value.get("record") == "end" else None
        lines.size = offset
    return None


def _before(path: str, lines: Lines, node: str) -> int:
    names = dict[str, None]()
    for _, line in lines.backwards(lines.size):
        if line.startswith(tail.STEP):
            if within((step := tail.named(line)).name, node):
                return step.seq - 1
            if len(names) < LOOKED_AT:
                names[step.name] = None
    raise ResumeRefused(path, "step_not_resumable", f"no step of it is of the node {node!r}{perhaps(node, names)}")


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


def _anew(path: str, header: Header, lines: list[bytes]) -> SavedNetwork:
    """A run that was cut short before its first checkpoint: nothing of it had happened."""
    check_anew(path, header, lines)
    given = header.input
    if not (isinstance(given, dict) and all(isinstance(tokens, list) for tokens in given.values())):
        detail = "the trace ends before the run began, and its inputs are not in it"
        raise ResumeRefused(path, "not_resumable", detail)
    machine = {"origin": header.id}
    return SavedNetwork(
        header=header, path=path, step=0, last=0, state=None, machine=machine, changes=[], later=tuple, open=[]
    )


_OPERATION = re.compile(
    rb'\{"record":"operation","id":"(?:[^"\\]|\\.)*","seq":\d+,"kind":"firing","name":"(?:[^"\\]|\\.)*","status":"(\w+)"'
)


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
        value = _inside(line)
        if value is None:
            continue
        event = value["event"]
        if event["record"].get("record") == "header":
            found[event["firing"]] = []
        found.setdefault(event["firing"], []).append(event["record"])
    return found


def _inside(line: bytes) -> dict[str, Value] | None:
    """The move that a line is which holds a record of an agent's run."""
    return _whole(line) if line.startswith(b'{"record":"move"') and b'"event":"nested"' in line[:80] else None


def _whole(line: bytes) -> dict[str, Value] | None:
    try:
        value = _decode(line.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
