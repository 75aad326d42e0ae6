"""What `AgentRun.to_json` wrote, as a run: its messages are the timeline, its phase says where it stands."""

import msgspec

from inspector.errors import UnreadableError
from inspector.formats.contents import as_shown, name_of, usage_of
from inspector.formats.conversation import Conversation
from inspector.formats.document import Document, Elements
from inspector.formats.jsontext import NOTES
from inspector.formats.memory import MemoryRun
from inspector.formats.readers.agent_run.phase import messages_of, standing
from inspector.model.run import Definition, Message, Problem, RawRecord, Resume, Run, SourceInfo, State, Tool, Usage
from inspector.model.text import clean, one_line
from inspector.model.values import Value, preview

FORMAT = 1
"""The number of the form that is known."""
NAMES = 1000
"""Called tools that are listed."""


class SavedRun:
    """What a document says, for `opened`. Raises UnreadableError for another form of it: what its fields mean
    would be a guess."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.told: list[Problem] = []
        if document.raw("format") != str(FORMAT).encode():
            found = f"an agent run of format {preview(document.get('format'), 60)}, which is not known here"
            raise UnreadableError(document.file.path, f"{document.where('format')}: {found}: known is {FORMAT}")
        self.messages: list[Message] = []
        self.places: list[tuple[Elements, int]] = []
        """Where the messages stand, but for the last that are in the phase."""
        self._read("history")
        before = len(self.messages)
        self._read("messages")
        prompted = len(self.messages) > before and self.messages[before].role != "assistant"
        self.stands = standing(document.get("phase"), lambda message: self.tell("phase", message))
        self.messages += self.stands.tail
        calls = [call.get("usage") if isinstance(call, dict) else None for call in document.items("calls")]
        self._spent = [_tokens(usage) for usage in calls]
        self.conversation = Conversation(self.messages, before + prompted, batch=self.stands.batch, usage=self._usage)
        self._pair()
        self.definition = self._definition()

    def tell(self, key: str, message: str, where: str | None = None) -> None:
        """Something odd in a field."""
        if len(self.told) < NOTES:
            where = where or self.document.where(key)
            self.told.append(Problem(severity="warning", where=where, message=clean(message)))

    def _read(self, key: str) -> None:
        elements = self.document.elements(key)
        if elements is None:
            return
        for _ in elements.scan():
            pass
        for at in range(len(elements)):
            found = messages_of(elements[at])
            if not found:
                self.tell(key, "is no message", elements.where(at))
            self.messages += found
            self.places += [(elements, at)] * len(found)

    def _usage(self, number: int) -> Usage | None:
        """The tokens of a model call; unknown where calls and answers do not stand side by side."""
        return self._spent[number] if len(self._spent) == self.conversation.models() else None

    def _pair(self) -> None:
        for unpaired in self.conversation.unpaired():
            at = unpaired.message
            self.tell("phase", str(unpaired), self.where(at) if at < len(self.places) else None)

    def where(self, message: int) -> str:
        """The place of a message."""
        elements, at = self.places[message]
        return elements.where(at)

    def _definition(self) -> Definition:
        """What the code was when the run last went on; else what the model was offered, or has called."""
        offer = self.document.get("advertised")
        tools = offer.get("tools") if isinstance(offer, dict) else None
        model = name_of(self.document.get("previous_model"))
        offered = None if tools is None else {"tools": tools, "tools_known": "advertised", "model": model}
        for key, value in (("definition", self.document.get("definition")), ("advertised", offered)):
            try:
                if value is not None:
                    return msgspec.convert(value, Definition)
            except (msgspec.ValidationError, RecursionError) as error:
                self.tell(key, f"is damaged: {error}")
        names = dict.fromkeys(call.name for message in self.messages for call in message.calls or ())
        called = tuple(Tool(name=name) for name in list(names)[:NAMES])
        return Definition(tools=called or None, tools_known="called" if called else "none", model=model)

    def state(self, step: int) -> State:
        """The state after a step: hooks and values are those of the end."""
        found = self.conversation.state(step)
        if step < len(self.conversation):
            return found
        scratch = self.document.get("scratch")
        values = scratch if isinstance(scratch, dict) and scratch else None
        return msgspec.structs.replace(found, values=values, hooks=self.definition.hooks)

    def raw(self, step: int) -> RawRecord | None:
        """The messages of a step as they stand; of those that are not in the history yet, the phase."""
        begin, end = self.conversation.span(step)
        places = list(dict.fromkeys(self.places[begin:end]))
        if places:
            texts = [as_shown(elements.raw(at)) for elements, at in places]
            return RawRecord(where=self.where(begin), text="\n".join(texts))
        text = self.document.raw("phase")
        return RawRecord(where=self.document.where("phase"), text=as_shown(text)) if step and text else None

    def resume(self) -> Resume:
        """Whether it can go on."""
        reasons = self.stands.reasons or (("value_unreadable",) if self.document.torn else ())
        return Resume(possible=not reasons, driver="agent", reasons=reasons)


def _tokens(usage: Value) -> Usage | None:
    """Tokens, of which those that are none are not written."""
    return usage_of({"input_tokens": 0, "output_tokens": 0} | usage) if isinstance(usage, dict) else None


def opened(document: Document) -> MemoryRun:
    """The run of a document. Raises UnreadableError."""
    saved = SavedRun(document)
    stands, steps = saved.stands, saved.conversation.steps()
    return MemoryRun(
        source=SourceInfo(path=one_line(document.file.path), format="runinspect", version=f"run {FORMAT}"),
        run=Run(
            id=name_of(document.get("id")),
            name=name_of(document.get("agent")),
            kind="agent",
            status=stands.status,
            reason=stands.reason,
            steps=len(steps),
            error=stands.error,
            usage=_tokens(document.get("usage")),
        ),
        definition=saved.definition,
        steps=steps,
        state=saved.state,
        resume=saved.resume(),
        problems=[*document.problems, *saved.told],
        raw=saved.raw,
    )
