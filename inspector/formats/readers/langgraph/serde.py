"""The values of a LangGraph store: (type, bytes) → values, never importing or calling what they name.

A type is the serializer's name (`msgpack`, `json`, `pickle`, `null`, `bytes`), with `+cipher` behind it
where the bytes are encrypted.
"""

import base64
from collections.abc import Callable
from typing import Any

from inspector.formats import symbols
from inspector.formats.jsontext import Damaged, Place, parse
from inspector.formats.msgpackdata import unpack
from inspector.formats.msgpackfast import Extension
from inspector.formats.pickledata import read_pickle
from inspector.formats.problems import Problems
from inspector.model.run import Problem, Severity
from inspector.model.values import Value, foreign, preview, tag

SHOWN = 4096
"""Bytes of unreadable data that are shown."""
DELTA = 7
_OF_A_TIME = "fromisoformat"
"""The method that makes a datetime, and one of a class made after it, as pandas and pendulum have them."""
_METHODS = {("datetime", "datetime", _OF_A_TIME)}
_MODELS = ("model_validate_json", "model_validate", "model_construct", "construct", "parse_obj", "parse_raw")


class Reading:
    """Reads the values that stand at one place, and keeps what is wrong with them."""

    def __init__(self, where: str, problems: Problems) -> None:
        self._where, self._problems = where, problems

    def load(self, kind: Value, data: object) -> Value:
        """The value of a cell and its type."""
        content = data.encode() if isinstance(data, str) else data
        if kind == "null" and not content:
            return None
        if not isinstance(kind, str) or not isinstance(content, bytes):
            self._note("error", f"a value of the type {preview(kind, 40)} that is no bytes")
            return tag("unreadable", type=kind, value=preview(data, 200) if not isinstance(data, bytes) else None)
        name, plus, cipher = kind.partition("+")
        if plus:
            self._note("warning", f"the values are encrypted ({cipher}): only the timeline and names can be read")
            return tag("encrypted", cipher=cipher, bytes=len(content))
        loader = _LOADERS.get(name)
        if loader is None:
            self._note("error", f"a value of the unknown type {preview(kind, 40)}")
            return tag("unreadable", type=kind, **_head(content))
        try:
            return loader(self, content)
        except Damaged as damage:
            self._note("error", f"damaged at byte {damage.offset}: {damage.reason}; what is before it is shown")
            return damage.value

    def _msgpack(self, content: bytes) -> Value:
        return unpack(content, self._extension)

    def _extension(self, code: int) -> Extension | None:
        reader = _EXTENSIONS.get(code)
        return None if reader is None else lambda value: reader(self, value)

    def _json(self, content: bytes) -> Value:
        value = parse(content, Place(self._where), self._problems)
        return _postorder(value, self._constructor)

    def _pickle(self, content: bytes) -> Value:
        found = read_pickle(content)
        for problem in found.problems(self._where):
            self._add(problem)
        return found.value

    def _constructor(self, value: dict[str, Value]) -> Value:
        """What a JSON constructor of LangChain stands for; any other dict stays what it is."""
        names = value.get("id")
        if value.get("lc") not in (1, 2) or value.get("type") != "constructor":
            return foreign(value)
        if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
            return foreign(value)
        module, name = ".".join(names[:-1]), names[-1]
        arguments = value.get("kwargs") or value.get("args") or {}
        if value.get("lc") == 2:
            self._check(module, name, arguments)
        return symbols.called_with(module, name, arguments)

    def _single(self, parts: Value) -> Value:
        module, name, argument = _names(parts)
        self._check(module, name, argument)
        return symbols.called(module, name, argument)

    def _many(self, parts: Value) -> Value:
        module, name, arguments = _names(parts)
        self._check(module, name, arguments)
        return symbols.called_with(module, name, arguments)

    def _method(self, parts: Value) -> Value:
        module, name, argument = _names(parts)
        method = parts[3] if isinstance(parts, list) and len(parts) > 3 else None
        if isinstance(method, str) and (module, name, method) in _METHODS:
            return symbols.called(module, name, argument)
        if method == _OF_A_TIME and not symbols.names_code(module, name):
            return symbols.thing(module, name, argument)
        path = f"{name}.{method if isinstance(method, str) else preview(method, 40)}"
        self._check(module, path, argument)
        return symbols.thing(module, path, argument)

    def _model(self, parts: Value) -> Value:
        module, name, fields = _names(parts)
        method = parts[3] if isinstance(parts, list) and len(parts) > 3 else None
        known = method is None or (isinstance(method, str) and method in _MODELS)
        self._check(module, name if known else f"{name}.{preview(method, 40)}", fields)
        return symbols.thing(module, name, fields)

    def _array(self, parts: Value) -> Value:
        fields = zip(("dtype", "shape", "order", "content"), parts if isinstance(parts, list) else (), strict=False)
        return tag("ndarray", **dict(fields))

    def _check(self, module: str, name: str, arguments: Value) -> None:
        if symbols.names_code(module, name):
            self._note(
                "error",
                f"names the function {module}.{name}, which LangGraph may import and call with "
                f"{preview(arguments, 80)} when it loads this; here it is only data",
            )

    def _note(self, severity: Severity, message: str) -> None:
        self._add(Problem(severity=severity, where=self._where, message=message))

    def _add(self, problem: Problem) -> None:
        self._problems.append(problem)


def _names(parts: Value) -> tuple[str, str, Value]:
    if isinstance(parts, list) and len(parts) >= 3 and isinstance(parts[0], str) and isinstance(parts[1], str):
        return parts[0], parts[1], parts[2]
    return "?", "Unknown", parts


def _postorder(value: Value, change: Callable[[dict[str, Value]], Value]) -> Value:
    """`value` with `change` applied to each dict in it, the inner ones first; changes lists in place."""
    root: list[Value] = [value]
    level: list[Any] = [root]
    found: list[tuple[Any, Any]] = []
    while level:
        inner = []
        for holder in level:
            for key, part in holder.items() if isinstance(holder, dict) else enumerate(holder):
                if isinstance(part, list | dict):
                    inner.append(part)
                    found += [(holder, key)] if isinstance(part, dict) else []
        level = inner
    for holder, key in reversed(found):
        holder[key] = change(holder[key])
    return root[0]


def _head(content: bytes) -> dict[str, Value]:
    return {"bytes": len(content), "base64": base64.b64encode(content[:SHOWN]).decode()}


_LOADERS: dict[str, Callable[[Reading, bytes], Value]] = {
    "msgpack": Reading._msgpack,
    "json": Reading._json,
    "pickle": Reading._pickle,
    "null": lambda reading, content: None,
    "bytes": lambda reading, content: tag("bytes", base64=base64.b64encode(content).decode()),
    "bytearray": lambda reading, content: tag("bytearray", base64=base64.b64encode(content).decode()),
}
_EXTENSIONS: dict[int, Callable[[Reading, Value], Value]] = {
    0: Reading._single,
    1: Reading._many,
    2: Reading._many,
    3: Reading._method,
    4: Reading._model,
    5: Reading._model,
    6: Reading._array,
    DELTA: lambda reading, value: tag("snapshot", value=value),
}
