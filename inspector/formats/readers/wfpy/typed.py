"""wfpy's tags for values that JSON lacks, as tags of ours; nothing is decoded.

wfpy has two encoders: the one of checkpoint and journal (`{"$wfType": "tuple", "items": [...]}`) and a
readable one for trace, record and overlay, in which a set has `values`. Both come out alike. An object or a
pickle names a class: it stays a name.
"""

from typing import Any

from inspector.model.values import Value, tag

TAG = "$wfType"
OURS = "$type"
_RENAMED = {
    "object": {"type": "class"},
    "dataclass": {"type": "class", "fields": "state"},
    "enum": {"type": "class"},
    "pickle": {"type": "class"},
    "set": {"values": "items"},
    "frozenset": {"values": "items"},
}


def typed(value: Value) -> Value:
    """A copy of a value as wfpy wrote it, with our tags. Text must be clean already. Does not recurse."""
    root = [value]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    while stack:
        holder, place = stack.pop()
        old = holder[place]
        if isinstance(old, list):
            new: Any = list(old)
            stack += [(new, index) for index, item in enumerate(new) if isinstance(item, list | dict)]
        elif isinstance(old, dict):
            new = _retagged(old)
            stack += [(new, key) for key, item in new.items() if isinstance(item, list | dict)]
        else:
            continue
        holder[place] = new
    return root[0]


def _retagged(old: dict[str, Value]) -> dict[str, Value]:
    kind = old.get(TAG)
    if not isinstance(kind, str):
        # A dict of the user's own that looks like one of our tags must not pass for one.
        return {OURS: "dict", "items": [[key, item] for key, item in old.items()]} if OURS in old else dict(old)
    names = _RENAMED.get(kind, {})
    rest = {names.get(key, key): item for key, item in old.items() if key not in (TAG, OURS)}
    shown = "object" if kind == "dataclass" else kind
    return {OURS: shown, **rest}


def unknown(reason: str | None = None) -> Value:
    """What stands for a token that the file does not hold."""
    return tag("unknown") if reason is None else tag("unknown", reason=reason)
