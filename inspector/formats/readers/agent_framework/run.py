"""A chain of checkpoints as a run: each checkpoint is a step, and its contents are the state after it."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from inspector.errors import UnreadableError
from inspector.formats.files import File
from inspector.formats.jsontext import NOTES, Damaged
from inspector.formats.memory import SEARCH_BATCH
from inspector.formats.problems import zoneless
from inspector.formats.readers.agent_framework import FORMAT
from inspector.formats.readers.agent_framework.chains import Chain
from inspector.formats.readers.agent_framework.chat import chats, open_calls, pending_of
from inspector.formats.readers.agent_framework.checkpoint import INTERNAL, Checkpoint, read_checkpoint
from inspector.formats.symbols import class_of
from inspector.model.run import (
    Actor,
    Definition,
    Edge,
    Graph,
    Message,
    Node,
    Pending,
    Problem,
    Queue,
    RawRecord,
    Resume,
    Run,
    RunStatus,
    SourceInfo,
    State,
    Step,
    Tool,
)
from inspector.model.text import clean, shorten
from inspector.model.values import Value, preview

KEPT = 4
"""Checkpoints whose contents are kept ready."""
RAW = 16 << 20
"""Bytes of a checkpoint file that are shown raw."""
SUMMARY = 160
VERSION = "1.0"
"""The version of checkpoints that is known, the only one so far."""
_ANEW = {"checkpoint_id", "previous_checkpoint_id", "timestamp"}
UNKNOWN = "?"
"""Who ran, where no executor left anything."""


class CheckpointRun:
    """A run over its checkpoint files, which are read when a step is asked for."""

    def __init__(self, chain: Chain, path: str, problems: Sequence[Problem] = ()) -> None:
        self._headers, self._origin = chain.headers, chain.origin
        self.source = SourceInfo(path=path, format=FORMAT, version=self._headers[-1].version)
        self._told = list(problems)
        naive = [problem for header in self._headers for problem in zoneless(header.label, [header.timestamp])]
        self._told += naive[:1]
        if (odd := self._headers[-1]).version not in (None, VERSION):
            message = f"a checkpoint of version {odd.version}, where {VERSION} is known: read as well as can be"
            self._told.append(Problem(severity="warning", where=odd.label, message=message))
        self._kept: OrderedDict[int, Checkpoint] = OrderedDict()
        self._faults: set[int] = set()
        self._odd: dict[str, None] = {}
        self._tools: dict[str, None] = {}
        self._nodes: dict[str, None] = {}
        self._edges: dict[tuple[str, str], None] = {}
        self._code = False
        self._last = self._checkpoint(len(self._headers))
        self._walk = self._index()

    def __len__(self) -> int:
        return len(self._headers)

    def index(self) -> Iterator[tuple[int, int]]:
        for progress in self._walk:  # noqa: UP028 - leaving this must not end the walk
            yield progress

    def _index(self) -> Iterator[tuple[int, int]]:
        """Looks at every checkpoint once: for names of executors and tools, and for what is wrong."""
        for seq in range(1, len(self) + 1):
            checkpoint = self._checkpoint(seq)
            for problem in checkpoint.problems:
                self._tell(problem)
            self._code = self._code or bool(checkpoint.code)
            self._nodes.update(dict.fromkeys(checkpoint.executors))
            self._edges.update(dict.fromkeys(checkpoint.edges()))
            odd: list[str] = []
            for request in checkpoint.requests():
                pending_of(request, odd.append)
            for message in _messages(checkpoint, odd.append) or ():
                self._tools.update(dict.fromkeys(call.name for call in message.calls or ()))
            # Each checkpoint holds the whole conversation again.
            new = [words for words in odd if words not in self._odd]
            self._odd.update(dict.fromkeys(new))
            for words in new:
                self._tell(Problem(severity="warning", where=self._headers[seq - 1].label, message=clean(words)))
            yield seq, len(self)

    def _tell(self, problem: Problem) -> None:
        if len(self._told) < NOTES and problem not in self._told:
            self._told.append(problem)

    def _checkpoint(self, seq: int) -> Checkpoint:
        if seq in self._kept:
            self._kept.move_to_end(seq)
            return self._kept[seq]
        header = self._headers[seq - 1]
        try:
            found = read_checkpoint(header)
        except (UnreadableError, Damaged) as error:
            self._tell(Problem(severity="error", where=header.label, message=f"cannot be read: {error.reason}"))
            found = Checkpoint({}, header.label)
        self._kept[seq] = found
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return found

    def checkpoint_id(self, seq: int) -> str:
        """The id of the checkpoint that is step `seq`, by which the framework goes on from it."""
        return self._headers[seq - 1].id

    def refresh(self) -> bool:
        return False

    def run(self) -> Run:
        first, last = self._headers[0], self._headers[-1]
        status, reason = _status(self._last)
        return Run(
            id=first.id,
            name=first.workflow,
            kind="workflow",
            status=status,
            reason=reason,
            steps=len(self),
            started=first.timestamp,
            ended=last.timestamp if status == "completed" else None,
            resumed_from=self._origin,
        )

    def definition(self) -> Definition:
        nodes = tuple(Node(id=name) for name in self._nodes)
        edges = tuple(Edge(id=f"{source}->{target}", from_=source, to=target) for source, target in self._edges)
        digest = self._headers[-1].graph
        return Definition(
            tools=tuple(Tool(name=name) for name in self._tools) or None,
            tools_known="called" if self._tools else "none",
            graph=Graph(digest=digest, nodes=nodes or None, edges=edges or None, complete=False),
        )

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        return [self._step(seq) for seq in range(max(start, 1), min(stop, len(self) + 1))]

    def _step(self, seq: int) -> Step:
        header, checkpoint = self._headers[seq - 1], self._checkpoint(seq)
        names = _ran(checkpoint, self._checkpoint(seq - 1) if seq > 1 else None)
        given = seq == 1 or any(token.source.startswith(INTERNAL) for token in checkpoint.tokens())
        name = ", ".join(names) or (UNKNOWN if not given else "start" if seq == 1 else "answer")
        asked = [f"asks {_brief(pending.arguments)}" for pending in map(pending_of, checkpoint.requests())]
        sent = [f"{token.source}: {_brief(token.data)}" for token in checkpoint.tokens()]
        summary = "; ".join((*asked, *sent)) or f"checkpoint {header.id}"
        return Step(
            seq=seq,
            kind="input" if given and not names else "node",
            name=shorten(name, SUMMARY),
            status="done",
            ended=header.timestamp,
            summary=shorten(summary, SUMMARY),
        )

    def state(self, step: int) -> State | None:
        if not 0 < step <= len(self):
            return None
        checkpoint = self._checkpoint(step)
        return State(
            step=step,
            queues=tuple(_queues(checkpoint)),
            pending=tuple(_pending(checkpoint)),
            actors=tuple(Actor(id=name, state=state) for name, state in checkpoint.executors.items()),
            messages=_messages(checkpoint),
            values=checkpoint.own_values(),
        )

    def raw(self, step: int) -> RawRecord | None:
        if not 0 < step <= len(self):
            return None
        header = self._headers[step - 1]
        try:
            file = File(header.path, header.label)
        except UnreadableError:
            return None
        text = file.read(file.start, RAW)
        file.close()
        return RawRecord(
            where=f"{header.label}:1 byte {file.start}", text=clean(text.decode(errors="backslashreplace"))
        )

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        last = len(self)
        order = range(min(start, last), 0, -1) if backward else range(max(start, 1), last + 1)
        for count, seq in enumerate(order, 1):
            raw, step = self.raw(seq), self._step(seq)
            if any(text in part for part in (step.name, step.summary or "", raw.text if raw else "")):
                yield seq
            if count % SEARCH_BATCH == 0:
                yield count, len(order)

    def resume(self) -> Resume:
        if self._code or not self._last.whole:
            return Resume(driver=FORMAT, reasons=("value_unreadable",))
        if _status(self._last)[0] == "completed":
            return Resume(driver=FORMAT, reasons=("terminal",))
        return Resume(possible=True, driver=FORMAT, from_=tuple(range(1, len(self) + 1)))

    def problems(self) -> Sequence[Problem]:
        return self._told

    def close(self) -> None:
        self._kept.clear()


def _brief(value: Value) -> str:
    """A value in a few words: of an object its class and its fields."""
    name = class_of(value).rpartition(":")[2]
    return f"{name} {preview(value['state'], 60)}" if name else preview(value, 60)


def _status(checkpoint: Checkpoint) -> tuple[RunStatus, str | None]:
    pending = list(map(pending_of, checkpoint.requests()))
    if pending:
        return "suspended", "approval" if any(one.kind == "tool" for one in pending) else "input"
    if not checkpoint.whole:
        return "unknown", None
    return ("interrupted", None) if any(True for _ in checkpoint.tokens()) else ("completed", None)


def _ran(checkpoint: Checkpoint, before: Checkpoint | None) -> list[str]:
    """The executors that ran to make a checkpoint, by what it shows of them."""
    known: dict[str, None] = {}
    asked = {request.id for request in before.requests()} if before is not None else set()
    if before is not None:
        known.update(dict.fromkeys(token.target for token in before.tokens() if token.target))
    known.update(dict.fromkeys(token.source for token in checkpoint.tokens()))
    known.update(dict.fromkeys(one.executor for one in checkpoint.requests() if one.executor and one.id not in asked))
    if before is not None and before.whole:
        executors = checkpoint.executors.items()
        known.update(dict.fromkeys(name for name, state in executors if _differs(before.executors.get(name), state)))
    return [name for name in known if not name.startswith(INTERNAL)]


def _differs(one: Value, other: Value) -> bool:
    try:
        return one != other and bool(_settled(one) != _settled(other))
    except RecursionError:  # too deep to be compared: it counts as changed
        return True


def _settled(value: Value) -> Value:
    """A state without what each checkpoint of a workflow within an executor has anew, whether that ran or not."""
    if isinstance(value, list):
        return [_settled(item) for item in value]
    if not isinstance(value, dict):
        return value
    anew = _ANEW if value.keys() >= _ANEW else ()
    return {key: _settled(inner) for key, inner in value.items() if key not in anew}


def _queues(checkpoint: Checkpoint) -> Iterator[Queue]:
    grouped: dict[tuple[str, str | None], list[Value]] = {}
    for token in checkpoint.tokens():
        grouped.setdefault((token.source, token.target), []).append(token.data)
    for (source, target), tokens in grouped.items():
        yield _queue(f"{source}->{target or '?'}", source, target, tokens, cut=checkpoint.cut == "messages")
    for source, target, tokens in checkpoint.buffers():
        name = f"{source}->{target or '?'} (joining)"
        yield _queue(name, source, target, tokens, cut=checkpoint.cut == "state")


def _queue(name: str, source: str, target: str | None, tokens: list[Value], *, cut: bool) -> Queue:
    """A queue; in a field that its file breaks off in, nobody knows what it holds."""
    if cut:
        return Queue(id=name, from_=source, to=target, contents="unknown")
    return Queue(id=name, from_=source, to=target, size=len(tokens), contents="complete", tokens=tuple(tokens))


def _pending(checkpoint: Checkpoint) -> list[Pending]:
    asked = list(map(pending_of, checkpoint.requests()))
    ids = {pending.call_id for pending in asked if pending.call_id}
    return asked + [pending for chat in chats(checkpoint) for pending in open_calls(chat, ids)]


def _messages(checkpoint: Checkpoint, tell: Callable[[str], None] = lambda message: None) -> tuple[Message, ...] | None:
    told = [message for chat in chats(checkpoint, tell) for message in chat.messages]
    return tuple(told) or None
