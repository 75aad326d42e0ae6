"""`run.wf-checkpoint.json`: the exact state in which a run stopped.

Its plan is walked without recursion into flat lists: a queue, an actor, each with the plan it is in. Texts of
tokens are kept as wfpy wrote them, for comparing with the journal.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inspector.formats.document import Document
from inspector.formats.files import File
from inspector.formats.jsontext import Place, parse
from inspector.formats.readers.wfpy.journal import Text
from inspector.formats.readers.wfpy.network import Network, Path
from inspector.formats.readers.wfpy.tokens import Store, elements
from inspector.formats.readers.wfpy.typed import PICKLE, typed
from inspector.model.run import Problem
from inspector.model.text import clean
from inspector.model.values import Value


class SavedQueue(msgspec.Struct, frozen=True):
    """A queue of a checkpoint; `ordinal` tells apart those of one id. Not `whole`: the text breaks off in it."""

    scope: Path
    id: str
    ordinal: int
    tokens: Sequence[Any]
    whole: bool = True

    def text(self, index: int) -> Text:
        """A token as wfpy would write it in the journal."""
        return _text(self.tokens[index])


class SavedActor(msgspec.Struct, frozen=True):
    """An actor of a checkpoint; `entry` as it stands there."""

    scope: Path
    name: str
    entry: dict[str, Any]

    @property
    def fire_count(self) -> int | None:
        count = self.entry.get("fireCount")
        return count if isinstance(count, int) and not isinstance(count, bool) else None

    @property
    def pending(self) -> Any:
        return self.entry.get("pending")

    @property
    def control(self) -> dict[str, Any] | None:
        control = self.entry.get("control")
        return control if isinstance(control, dict) else None


class Checkpoint:
    """The file. Raises Damaged when it is no JSON object at all; other damage becomes `problems`."""

    def __init__(self, file: File) -> None:
        self.label = file.label
        self._document = Document(file)
        self.problems: list[Problem] = []
        self.version = self._document.get("version")
        self.exact = True
        """Whether `plan` holds texts as wfpy wrote them; otherwise they are clean."""
        plan = _exact(self._document)
        if plan is None:
            plan, self.exact = self._document.get("plan"), False
        self.queues: list[SavedQueue] = []
        self.actors: list[SavedActor] = []
        self._walk(plan)
        self.problems = [*self._document.problems, *self.pickles()]
        if self.version != 1:
            told = "a checkpoint of another version than 1: read as well as can be"
            self.problems.append(Problem(severity="warning", where=self._document.where("version"), message=told))
        self.unsaved = {str(reason).split(": ", 1)[0]: reason for reason in self.reasons}

    def field(self, name: str) -> Value:
        """A field of the file, clean."""
        return self._document.get(name)

    def text(self, name: str) -> str | None:
        """A field that is a text, else None."""
        value = self._document.get(name)
        return value if isinstance(value, str) else None

    @property
    def torn(self) -> bool:
        """Whether the text breaks off."""
        return self._document.torn

    @property
    def reasons(self) -> list[str]:
        """Why it cannot be resumed, as wfpy says it."""
        found = self._document.get("notResumable")
        return [str(reason) for reason in found] if isinstance(found, list) else []

    @property
    def failed_path(self) -> Path:
        """The instance path of the firing that failed; () where none did."""
        failed = self._document.get("failed")
        path = failed.get("entityInstancePath") if isinstance(failed, dict) else None
        return tuple(part for part in path if isinstance(part, str)) if isinstance(path, list) else ()

    @property
    def resumable(self) -> bool:
        return self._document.get("resumable") is True

    def _walk(self, plan: Any) -> None:
        stack: list[tuple[Path, Any]] = [((), plan)]
        while stack:
            scope, plan = stack.pop()
            if not isinstance(plan, dict):
                continue
            self.queues += _queues(scope, plan.get("queues"))
            if self.torn and self.queues and "actors" not in plan:
                self.queues[-1] = msgspec.structs.replace(self.queues[-1], whole=False)
            inner = []
            actors = plan.get("actors")
            for name, entry in actors.items() if isinstance(actors, dict) else ():
                if isinstance(entry, dict):
                    self.actors.append(SavedActor(scope, clean(name), entry))
                    if isinstance(entry.get("subPlan"), dict):
                        inner.append(((*scope, clean(name)), entry["subPlan"]))
            stack += reversed(inner)

    def learn(self, network: Network) -> None:
        """Put its plans, actors and queues into a network, in their order. Raises TooLarge."""
        for saved in self.actors:
            actor = network.plan(saved.scope).actor(saved.name)
            if saved.control is not None and not (actor.kind or "").startswith("control-"):
                actor.kind = _control_kind(saved)
            if isinstance(saved.entry.get("subPlan"), dict):
                network.plan((*saved.scope, saved.name))
        for queue in self.queues:
            network.plan(queue.scope).queues_of(queue.id, queue.ordinal + 1)

    def token(self, store: Store, queue: SavedQueue, index: int) -> int:
        """The reference of a token in a queue of the checkpoint."""
        token = queue.tokens[index]
        if token is None and self.unsaved:
            at = f"{'/'.join((*queue.scope, queue.id))}[{index}]"
            reason = next((why for place, why in self.unsaved.items() if place.startswith(at)), None)
            if reason is not None:
                return store.unknown(reason)
        return store.of_text(_text(token)) if self.exact else store.of_value(token)

    def items(self, store: Store, control: dict[str, Any]) -> list[int] | None:
        """The tokens of a loop's iterable, None where they cannot be told."""
        if "loopSource" not in control or not self.exact:
            return None
        found = elements(_text(control["loopSource"]))
        return None if found is None else [store.of_text(item) for item in found]

    def pickles(self) -> list[Problem]:
        """What its pickles would call."""
        found: list[Problem] = []
        if PICKLE not in self._document.raw("plan"):
            return found
        for queue in self.queues:
            for index, token in enumerate(queue.tokens):
                typed(self.clean(token), found, f"{self.label} {'/'.join((*queue.scope, queue.id))}[{index}]")
        for actor in self.actors:
            for part in ("state", "control", "pending", "chatHistory"):
                where = f"{self.label} {'/'.join((*actor.scope, actor.name))}"
                typed(self.clean(actor.entry.get(part)), found, where)
        return found

    def clean(self, value: Any) -> Value:
        """A value inside of `actors`, clean, with wfpy's tags."""
        text = _text(value) if self.exact else None
        if text is None:
            return value if not self.exact else None
        return parse(text, Place(self.label), [])


def _control_kind(saved: SavedActor) -> str:
    control = saved.control or {}
    if control.get("iterUsed") or "loopSource" in control:
        return "control-loop"
    if control.get("conditionUsed") or (isinstance(saved.pending, dict) and "emit" in saved.pending):
        return "control-if"
    return "control"


def _exact(document: Document) -> Any:
    """The plan as it stands in the file, None where the standard parser cannot read it."""
    try:
        plan = json.loads(document.raw("plan"))
    except (ValueError, RecursionError):
        return None
    return plan if isinstance(plan, dict) else None


def _text(value: Any) -> Text:
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError, TypeError):
        return None


def _queues(scope: Path, queues: Any) -> Iterator[SavedQueue]:
    seen: dict[str, int] = {}
    for entry in queues if isinstance(queues, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            queue_id = clean(entry["id"])
            tokens = entry.get("tokens")
            yield SavedQueue(scope, queue_id, seen.get(queue_id, 0), tokens if isinstance(tokens, list) else [])
            seen[queue_id] = seen.get(queue_id, 0) + 1
