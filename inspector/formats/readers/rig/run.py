"""A saved rig run as a RunSource. A small file is read when it is opened; of a large one, `index` finds the
messages batch by batch."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from inspector.formats.contents import as_shown, name_of, usage_of
from inspector.formats.conversation import Conversation, letter
from inspector.formats.document import WHOLE_LIMIT, Document, Elements
from inspector.formats.jsontext import NOTES
from inspector.formats.pairing import Pairing
from inspector.formats.readers.rig.shapes import of_fields
from inspector.formats.readers.rig.standing import standing
from inspector.formats.readers.rig.timeline import Messages
from inspector.model.run import (
    Definition,
    Pending,
    Problem,
    RawRecord,
    Resume,
    Run,
    SourceInfo,
    State,
    Step,
    Tool,
    ToolsKnown,
    Usage,
)
from inspector.model.text import clean, one_line
from inspector.model.values import Value

NAMES = 1000
"""Called tools that are listed."""
RAWS = 100
"""Records of one step that are shown raw."""
VALUE_LIMIT = 1 << 20
"""Bytes of a field up to which it is shown among the values of the state."""
ELSEWHERE = ("chat_history", "new_messages", "completion_calls", "usage", "state", "turn_tools")
"""Fields that are shown as something else than a value."""
RESUMABLE = (None, "1", "2")
"""Versions that a resume understands whole."""
PARTLY = "format 4 is known in part: its head and policy are shown as they stand, and it is not resumed"
UNRELEASED = "$schemaVersion is of a proposal that no release took up: what it adds stands as it is; not resumed"
SUMMED = 1000
"""Model calls of which the tokens are summed up."""
SEARCH_BATCH = 256


class RigRun:
    """One saved run. Raises nothing: what is damaged or odd is among the problems."""

    def __init__(self, document: Document, version: str | None) -> None:
        self._document = document
        self._told: list[Problem] = []
        self.source = SourceInfo(path=one_line(document.file.path), format="rig", version=version)
        if version == "4":
            self._tell(document.where("format"), PARTLY)
        if "$schemaVersion" in document:
            self._tell(document.where("$schemaVersion"), UNRELEASED)
        for where, fault in of_fields(document):
            self._tell(where, fault)
        self._standing = standing(document, self._tell_of_state)
        history, new = document.elements("chat_history"), document.elements("new_messages")
        self._history = history is not None
        if new is None or new.empty:
            settled = _settled(document)
            new = new if settled is None else settled
        lists = [elements for elements in (history, new) if elements is not None]
        self._messages = Messages(lists)
        self._calls = document.items("completion_calls")
        self._pairing = Pairing()
        self._names: dict[str, None] = {}
        self._conversation = Conversation(self._messages, 0, growing=True)
        self._walk = self._index()
        self.indexed = False
        if document.file.size <= WHOLE_LIMIT:
            for _ in self._walk:
                pass

    def __len__(self) -> int:
        return len(self._conversation)

    def index(self) -> Iterator[tuple[int, int]]:
        for progress in self._walk:  # noqa: UP028 - leaving this must not end the walk
            yield progress

    def _index(self) -> Iterator[tuple[int, int]]:
        counted, begun = 0, False
        for number, found, progress in self._messages.scan(self._tell):
            if not begun and found and not (self._history and number == 0):
                # The history, and the prompt that the run begins with, are before the first step.
                self._begin(counted + (found[0][0] == "i"), counted)
                begun = True
            for mark, ids, names in found:
                for unpaired in self._pairing.add(counted, mark, ids):
                    self._tell(self._messages.where(unpaired.message), str(unpaired))
                if names:
                    self._called(names)
                counted += 1
            if begun:
                self._conversation.extend("".join(mark for mark, _, _ in found))
            yield progress
        if not begun:
            self._begin(counted, counted)
        self._finish(counted)

    def _begin(self, prelude: int, counted: int) -> None:
        self._conversation = Conversation(
            self._messages,
            prelude,
            batch=self._standing.batch,
            usage=self._usage,
            open_status=self._standing.open_status,
            growing=True,
        )
        self._conversation.extend("i" * counted)

    def _finish(self, counted: int) -> None:
        standing = self._standing
        if standing.tail is not None:
            for unpaired in self._pairing.add(counted, "a", ()):
                self._tell(self._messages.where(unpaired.message), str(unpaired))
            self._messages.append(standing.tail)
            self._conversation.extend(letter(standing.tail))
        for pending in standing.batch or ():
            self._called((pending.name,) if pending.kind == "tool" else ())
        self._conversation.finish()
        self.indexed = True
        left = [call_id or "?" for call_id in islice(self._pairing.open(), 10)]
        owed = any(pending.kind == "tool" for pending in standing.batch or ())
        if left and not owed and not self._document.torn:
            self._tell(self._messages.where(counted - 1), f"{', '.join(left)} was called and never answered")

    def _called(self, names: Sequence[str]) -> None:
        if len(self._names) < NAMES:
            self._names.update(dict.fromkeys(names))

    def _tell_of_state(self, message: str) -> None:
        # That a text which breaks off lacks its state is told already.
        if "state" in self._document or not self._document.torn:
            self._tell(self._document.where("state"), message)

    def _tell(self, where: str, message: str) -> None:
        if len(self._told) < NOTES:
            self._told.append(Problem(severity="warning", where=where, message=clean(message)))

    def refresh(self) -> bool:
        return False

    def run(self) -> Run:
        standing = self._standing
        return Run(kind="agent", status=standing.status, reason=standing.reason, steps=len(self), usage=self._total())

    def _total(self) -> Usage | None:
        """The tokens of the run. A total that is not there is made of the calls', when each tells its own."""
        total = usage_of(self._document.get("usage"))
        if total is not None or not 0 < len(self._calls) <= SUMMED:
            return total
        spent = [usage_of(call.get("usage")) if isinstance(call, dict) else None for call in self._calls]
        pairs = [(one.input_tokens, one.output_tokens) for one in spent if one is not None]
        if len(pairs) < len(spent) or any(number is None for pair in pairs for number in pair):
            return None
        return Usage(
            input_tokens=sum(pair[0] or 0 for pair in pairs), output_tokens=sum(pair[1] or 0 for pair in pairs)
        )

    def _usage(self, number: int) -> Usage | None:
        """The tokens of a model call; unknown where calls and answers do not stand side by side."""
        if len(self._calls) != self._conversation.models():
            return None
        call = self._calls[number]
        return usage_of(call.get("usage")) if isinstance(call, dict) else None

    def definition(self) -> Definition:
        previous = self._document.get("previous_model")
        model = previous if isinstance(previous, str) else None
        known: ToolsKnown = "advertised"
        tools = _advertised(self._document.get("turn_tools"))
        if tools is None and self._standing.names is not None:
            tools = tuple(Tool(name=name) for name in self._standing.names)
        if tools is None:
            known = "called" if self._names else "none"
            tools = tuple(Tool(name=name) for name in self._names) or None
        return Definition(tools=tools, tools_known=known, model=model)

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        return [self._conversation.step(seq) for seq in range(max(start, 1), min(stop, len(self) + 1))]

    def state(self, step: int) -> State | None:
        state = self._conversation.state(step)
        if step != len(self):
            return state
        return msgspec.structs.replace(state, values=self._values(), pending=_as_asked(state))

    def _values(self) -> dict[str, Any]:
        """The fields of the run that stand for themselves: counters, limits, what a later rig adds."""
        document = self._document
        names = [name for name in document.names if name not in ELSEWHERE and document.size(name) <= VALUE_LIMIT]
        shown = {name: document.get(name) for name in names}
        return {name: value for name, value in shown.items() if value is not None} | self._standing.values

    def raw(self, step: int) -> RawRecord | None:
        begin, end = self._conversation.span(step)
        text = self._raw_text(step)
        if text is None:
            return None
        inside = begin < min(end, self._messages.stored)
        return RawRecord(where=self._messages.where(begin) if inside else self._document.where("state"), text=text)

    def _raw_text(self, step: int) -> str | None:
        texts = [as_shown(text) for text in islice(self._messages.raws(*self._conversation.span(step)), RAWS)]
        if texts:
            return "\n".join(texts)
        return as_shown(self._document.raw("state")) if step and "state" in self._document else None

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        last = len(self)
        order = range(min(start, last), 0, -1) if backward else range(max(start, 1), last + 1)
        for count, seq in enumerate(order, 1):
            if text in (self._raw_text(seq) or "") or self._mentions(seq, text):
                yield seq
            if count % SEARCH_BATCH == 0:
                yield count, len(order)

    def _mentions(self, seq: int, text: str) -> bool:
        step = self._conversation.step(seq)
        return text in step.name or text in (step.summary or "")

    def resume(self) -> Resume:
        reasons = self._standing.reasons
        if self.source.version not in RESUMABLE:
            reasons = reasons or ("version_unsupported",)
        if self._document.torn and not reasons:
            reasons = ("value_unreadable",)
        return Resume(possible=not reasons, driver="agent", reasons=reasons)

    def problems(self) -> Sequence[Problem]:
        return [*self._document.problems, *self._told]

    def close(self) -> None:
        self._document.close()


def _as_asked(state: State) -> Sequence[Pending] | None:
    """The pending calls; an answer of format 4 stands in the place of its call, whose arguments the message of the
    model has."""
    asking = next((message.calls for message in reversed(state.messages or ()) if message.calls), ())
    arguments = {call.call_id: call.arguments for call in asking if call.call_id is not None}
    return state.pending and tuple(
        msgspec.structs.replace(one, arguments=arguments.get(one.call_id or ""))
        if one.status == "answered" and one.arguments is None
        else one
        for one in state.pending
    )


def _settled(document: Document) -> Elements | None:
    """The messages that a finished run keeps beside its answer, where it has no others."""
    state = document.inside("state")
    done = state.inside("Done") if state is not None else None
    found = done.elements("messages") if done is not None else None
    return None if found is None or found.empty else found


def _advertised(value: Value) -> tuple[Tool, ...] | None:
    """The tools of the turn, from the generations that keep their definitions."""
    definitions = value.get("definitions") if isinstance(value, dict) else None
    if not isinstance(definitions, list):
        return None
    return tuple(
        Tool(
            name=name_of(definition.get("name")) or "?",
            description=name_of(definition.get("description")),
            schema=definition.get("parameters"),
        )
        for definition in definitions
        if isinstance(definition, dict)
    )
