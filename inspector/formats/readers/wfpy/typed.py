"""wfpy's tags for values that JSON lacks, as tags of ours; nothing is imported, unpickled or run.

wfpy has two encoders: the one of checkpoint and journal (`{"$wfType": "tuple", "items": [...]}`) and a
readable one for trace, record and overlay, in which a set has `values`. Both come out alike. An object names
its class, which stays a name; of a pickle it is shown what it would build, and told what it would call.
"""

from typing import Any

from inspector.formats.pickledata import read_base64
from inspector.model.run import Problem
from inspector.model.values import Value, foreign, tag

TAG = "$wfType"
OURS = "$type"
PICKLE = b'"$wfType": "pickle"'
"""What stands in a text that holds a pickle."""
_RENAMED = {
    "object": {"type": "class"},
    "dataclass": {"type": "class", "fields": "state"},
    "enum": {"type": "class"},
    "pickle": {"type": "class"},
    "set": {"values": "items"},
    "frozenset": {"values": "items"},
}


def typed(value: Value, problems: list[Problem] | None = None, where: str = "") -> Value:
    """A copy of a value as wfpy wrote it, with our tags. Text must be clean already. Pickles that name code
    are added to the problems. Does not recurse."""
    root = [value]
    stack: list[tuple[Any, Any]] = [(root, 0)]
    while stack:
        holder, place = stack.pop()
        old = holder[place]
        if isinstance(old, list):
            new: Any = list(old)
            stack += [(new, index) for index, item in enumerate(new) if isinstance(item, list | dict)]
        elif isinstance(old, dict):
            kind = old.get(TAG)
            if kind == "pickle":
                holder[place] = _pickled(old, problems, where)
                continue
            new = _retagged(old, kind)
            stack += [(new, key) for key, item in new.items() if isinstance(item, list | dict)]
        else:
            continue
        holder[place] = new
    return root[0]


def _retagged(old: dict[str, Value], kind: Value) -> dict[str, Value]:
    if not isinstance(kind, str):
        return dict(foreign(old))
    names = _RENAMED.get(kind, {})
    rest = {names.get(key, key): item for key, item in old.items() if key not in (TAG, OURS)}
    return {OURS: "object" if kind == "dataclass" else kind, **rest}


def _pickled(old: dict[str, Value], problems: list[Problem] | None, where: str) -> Value:
    text = old.get("base64")
    shown = tag("pickle", **{"class": old.get("type")})
    if not isinstance(text, str):
        return shown
    found = read_base64(text)
    if problems is not None:
        problems += found.problems(where)
    if found.fault is not None:
        return {**shown, "base64": text}
    return {**shown, "value": found.value, **({"calls": list(found.code)} if found.code else {})}


def unknown(reason: str | None = None) -> Value:
    """What stands for a token that no file holds."""
    return tag("unknown") if reason is None else tag("unknown", reason=reason)
