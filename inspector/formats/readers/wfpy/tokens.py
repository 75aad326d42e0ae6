"""Tokens by reference: where each stands, its text for digests, its value for whoever looks.

A reference is a line of the journal and the token's place among all that the line's firing made, or a number
in the list of tokens that come from elsewhere (inputs, checkpoints, loops), unknown ones among them.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, overload

from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.readers.wfpy.journal import Journal, Text
from inspector.formats.readers.wfpy.typed import typed, unknown
from inspector.model.run import Problem
from inspector.model.values import Value

ELSEWHERE = 1 << 63
DECODED = 4096
"""Tokens whose values are kept."""
_NOT_YET: Any = object()


class Store:
    """All tokens of a run."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._others: list[tuple[Text, Value]] = []
        self._unknown: dict[str | None, int] = {}
        self._decoded: dict[int, Value] = {}

    def of_text(self, text: Text) -> int:
        """The reference of a token that does not stand in the journal."""
        return self._add(text, _NOT_YET)

    def of_value(self, value: Value) -> int:
        """The same for one whose exact text is not known: a clean value, as wfpy tags it."""
        return self._add(None, typed(value))

    def unknown(self, reason: str | None = None) -> int:
        """The reference of a token that no file holds."""
        if reason not in self._unknown:
            self._unknown[reason] = self._add(None, unknown(reason))
        return self._unknown[reason]

    def _add(self, text: Text, value: Value) -> int:
        self._others.append((text, value))
        return ELSEWHERE | (len(self._others) - 1)

    def is_unknown(self, ref: int) -> bool:
        return ref in self._unknown.values()

    def count_unknown(self, refs: Sequence[int]) -> int:
        """How many of the tokens no file holds."""
        unknown = set(self._unknown.values())
        return sum(ref in unknown for ref in refs) if unknown else 0

    def text(self, ref: int) -> Text:
        """The token's JSON as wfpy wrote it, None where that is not known."""
        if ref & ELSEWHERE:
            return self._others[ref ^ ELSEWHERE][0]
        return self._journal.token(ref >> 32, ref & 0xFFFFFFFF) if self._journal else None

    def value(self, ref: int, text: Text = None) -> Value:
        """The token's value; `text` is its text, for whoever has it at hand."""
        if ref not in self._decoded:
            if len(self._decoded) >= DECODED:
                self._decoded.clear()
            self._decoded[ref] = self._value(ref, text)
        return self._decoded[ref]

    def _value(self, ref: int, text: Text) -> Value:
        if ref & ELSEWHERE:
            text, known = self._others[ref ^ ELSEWHERE]
            return self._parsed(text, Place(""), []) if known is _NOT_YET else known
        if self._journal is None:
            return unknown()
        number, ordinal = ref >> 32, ref & 0xFFFFFFFF
        place, problems = self._journal.place(number), self._journal.problems
        text = self._journal.token(number, ordinal) if text is None else text
        if text is None:
            return typed(self._journal.token_value(number, ordinal), problems, str(place))
        return self._parsed(text, place, problems)

    def _parsed(self, text: Text, place: Place, problems: "list[Problem]") -> Value:
        if text is None:
            return unknown("too deep to be read")
        try:
            return typed(parse(text, place, problems), problems, str(place))
        except Damaged as damage:
            return unknown(str(damage))

    def list(self, refs: Sequence[int]) -> "Tokens":
        return Tokens(self, refs)


class Tokens(Sequence[Value]):
    """Tokens as values, each decoded when it is asked for."""

    def __init__(self, store: Store, refs: Sequence[int]) -> None:
        self._store, self._refs = store, refs

    def __len__(self) -> int:
        return len(self._refs)

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> "Tokens": ...
    def __getitem__(self, index: int | slice) -> Value:
        if isinstance(index, slice):
            return Tokens(self._store, self._refs[index])
        return self._store.value(self._refs[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(other) != len(self):
            return False
        if isinstance(other, Tokens) and other._store is self._store and _same(self._refs, other._refs):
            return True
        return all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


def _same(one: Sequence[int], other: Sequence[int]) -> bool:
    return one == other if type(one) is type(other) else list(one) == list(other)


def matches(texts: Sequence[Text], digest: str) -> bool | None:
    """Whether the tokens are those of a digest (SHA-256 of their JSON list with sorted keys); None where that
    cannot be computed."""
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        return None
    joined = b"[" + b", ".join(known) + b"]"
    if hashlib.sha256(joined).hexdigest() == digest:
        return True
    try:
        sorted_text = json.dumps(json.loads(joined), sort_keys=True).encode()
    except (ValueError, RecursionError, TypeError):
        return None
    return hashlib.sha256(sorted_text).hexdigest() == digest


def elements(text: Text, limit: int = 100_000) -> list[bytes] | None:
    """What a loop takes one by one from an iterable, None where that cannot be told from its text."""
    try:
        value = json.loads(text) if text is not None else None
        if isinstance(value, dict):
            kind, items = value.get("$wfType"), value.get("items")
            if kind == "dict" and isinstance(items, list):
                value = [item[0] for item in items]
            elif kind in ("tuple", "set", "frozenset"):
                value = items
            elif kind is not None:
                return None
        if not isinstance(value, list | dict | str) or len(value) > limit:
            return None
        return [json.dumps(item).encode() for item in value]
    except (ValueError, RecursionError, TypeError, LookupError):
        return None
