"""One checkpoint file: its header, and its contents with the pickles in it made visible."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from inspector.formats.document import Document
from inspector.formats.files import File
from inspector.formats.pickledata import read_base64
from inspector.model.run import Problem
from inspector.model.text import clean, one_line
from inspector.model.values import Value

MARK, TYPE = "__pickled__", "__type__"
INTERNAL = "internal:"
"""What the name of a sender begins with that is no executor: an input or an answer from outside."""


PLACE_LEVELS = 4
"""Levels of keys that the place of a problem names."""
SPARE, SPARE_PER_BYTE = 200_000, 4
"""Parts that the pickles of a file may have more than is in proportion to their size."""


class Header(NamedTuple):
    """What tells a checkpoint's place among others. `label` is the name of its file, `path` where it is; `asks`
    are the ids of the questions that wait in it, `answers` of those that an answer on its way is for."""

    path: str
    label: str
    id: str
    previous: str | None
    workflow: str | None
    graph: str | None
    timestamp: str | None
    version: str | None
    asks: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()


class Token(NamedTuple):
    """A message between executors; `target` is None where the edges of the graph decide."""

    source: str
    target: str | None
    data: Value


class Request(NamedTuple):
    """A question that a run waits for; `data` is what was asked."""

    id: str
    executor: str | None
    data: Value


def read_header(path: str, label: str) -> tuple[Header, list[Problem]] | None:
    """The header of a checkpoint file and what is wrong with the file; None when the id is not in it.
    Raises UnreadableError and Damaged."""
    document = Document(File(path, label))
    try:
        found = {name: document.get(name) for name in _HEADER}
        texts = {name: one_line(value) if isinstance(value, str) else None for name, value in found.items()}
        checkpoint_id = texts["checkpoint_id"]
        if not checkpoint_id:
            return None
        header = Header(
            path=path,
            label=document.file.label,
            id=checkpoint_id,
            previous=texts["previous_checkpoint_id"],
            workflow=texts["workflow_name"],
            graph=texts["graph_signature_hash"],
            timestamp=texts["timestamp"],
            version=texts["version"],
            asks=_names(document, "pending_request_info_events"),
            answers=_answers(document) if texts["previous_checkpoint_id"] is None else frozenset(),
        )
        return header, list(document.problems)
    finally:
        document.close()


_HEADER = ("checkpoint_id", "previous_checkpoint_id", "workflow_name", "graph_signature_hash", "timestamp", "version")


def _names(document: Document, key: str) -> frozenset[str]:
    fields = document.inside(key)
    return frozenset(fields.names if fields is not None else ())


def _answers(document: Document) -> frozenset[str]:
    """The questions that messages from outside answer: 1.0 begins a new chain with the answer, and names no
    predecessor."""
    if not any(name.startswith(INTERNAL) for name in _names(document, "messages")):
        return frozenset()
    sent = Checkpoint({"messages": document.get("messages")}, document.file.label)
    events = (fields_of(fields.get("original_request_info_event")) for fields in sent.fields())
    return frozenset(event["_request_id"] for event in events if isinstance(event.get("_request_id"), str))


class Checkpoint:
    """The contents of a checkpoint. `whole`: nothing of it is missing; `cut` is the field that its text breaks off in;
    `code` are the names of code in its
    pickles, `problems` what is wrong with them."""

    def __init__(self, values: dict[str, Value], label: str, *, torn: bool = False) -> None:
        self.cut = list(values)[-1] if torn and values else None
        self.whole = not torn and {"messages", "pending_request_info_events"} <= values.keys()
        self.problems: list[Problem] = []
        self.code: dict[str, None] = {}
        self._spare = SPARE
        self.values = _dict(self._unpickled(values, label))
        self.state = _dict(self.values.get("state"))
        self.executors = _dict(self.state.get("_executor_state"))

    def _unpickled(self, root: Value, label: str) -> Value:
        """The values with each pickle replaced by what it holds."""
        made: list[Value] = [root]
        stack: list[tuple[Any, Any, str]] = [(made, 0, label)]
        while stack:
            holder, key, where = stack.pop()
            item = holder[key]
            if isinstance(item, dict) and isinstance(item.get(MARK), str):
                found = read_base64(item[MARK], max(self._spare, 0))
                self._spare += SPARE_PER_BYTE * len(item[MARK]) - found.parts
                self.problems += found.problems(where)
                self.code.update(dict.fromkeys(found.code))
                holder[key] = found.value
            elif isinstance(item, dict | list):
                copy: Any = dict(item) if isinstance(item, dict) else list(item)
                holder[key] = copy
                entries = copy.items() if isinstance(copy, dict) else enumerate(copy)
                # A place names the top levels alone: it is to be found by eye.
                deeper = where.count(" ") < PLACE_LEVELS
                stack += [(copy, at, f"{where} {at}" if deeper else where) for at, _ in entries]
        return made[0]

    def _sent(self) -> Iterator[tuple[str, Value]]:
        for source, messages in _dict(self.values.get("messages")).items():
            for message in messages if isinstance(messages, list) else ():
                yield source, message

    def fields(self) -> Iterator[dict[str, Value]]:
        """The fields of each message that is on its way."""
        for _, message in self._sent():
            yield fields_of(message)

    def tokens(self) -> Iterator[Token]:
        """The messages that are on their way, in the order of the file."""
        for source, message in self._sent():
            yield _token(message, source)

    def buffers(self) -> Iterator[tuple[str, str | None, list[Value]]]:
        """What waits at edges that join: (source, target, data)."""
        for edge, content in _dict(self.state.get("_edge_state")).items():
            targets = dict(edges_of(edge))
            for source, messages in _dict(_dict(content).get("buffer")).items():
                if isinstance(messages, list) and messages:
                    yield source, targets.get(source), [_token(message, source).data for message in messages]

    def edges(self) -> Iterator[tuple[str, str]]:
        """The edges that the state of joining edges names."""
        for edge in _dict(self.state.get("_edge_state")):
            yield from edges_of(edge)

    def requests(self) -> Iterator[Request]:
        """The questions that wait for an answer."""
        for request_id, event in _dict(self.values.get("pending_request_info_events")).items():
            fields = fields_of(event)
            executor = fields.get("_source_executor_id", fields.get("source_executor_id"))
            yield Request(request_id, executor if isinstance(executor, str) else None, fields.get("data"))

    def own_values(self) -> dict[str, Value]:
        """The state that the workflow's own code keeps."""
        return {name: value for name, value in self.state.items() if name not in _FRAMEWORK and value != {}}


_FRAMEWORK = ("_executor_state", "_edge_state")


def read_checkpoint(header: Header) -> Checkpoint:
    """The contents of a checkpoint file, as far as they can be read now. Raises UnreadableError, Damaged."""
    document = Document(File(header.path, header.label))
    try:
        values = {name: document.get(name) for name in document.names}
        return Checkpoint(values, header.label, torn=document.torn)
    finally:
        document.close()


def fields_of(value: Value) -> dict[str, Value]:
    """The fields of an object: one that was pickled, or one that stands as it is."""
    if isinstance(value, dict) and value.get("$type") == "object":
        return _dict(value.get("state"))
    return _dict(value)


def edges_of(name: str) -> Iterator[tuple[str, str]]:
    """The edges in the name of an edge group, `FanInEdgeGroup:[["a","c"],["b","c"]]`."""
    try:
        pairs = json.loads(name.partition(":")[2])
    except (ValueError, RecursionError):
        return
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(end, str) for end in pair):
            yield clean(pair[0]), clean(pair[1])


def _token(message: Value, sender: str) -> Token:
    fields = fields_of(message)
    if "data" not in fields:
        return Token(sender, None, message)
    source, target = fields.get("source_id"), fields.get("target_id")
    return Token(
        source if isinstance(source, str) else sender, target if isinstance(target, str) else None, fields["data"]
    )


def _dict(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}
