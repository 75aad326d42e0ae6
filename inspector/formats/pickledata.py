"""Pickles as data: what they would build, without building it.

A pickle is a program that imports names and calls them. Here its instructions move symbols on a stack:
nothing is imported, looked up or called. A value type becomes a tagged value, everything else an object
with its class and state; what names code is listed, for a reader to warn of.
"""

import base64
import binascii
import pickletools
import warnings
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

from inspector.formats.pickledvalues import Dict, Global, Items, Opaque, Thing, value_of
from inspector.formats.symbols import names_code
from inspector.model.run import Problem
from inspector.model.text import clean
from inspector.model.values import Value, tag

BYTES = 32 << 20
"""Bytes of a pickle that are looked at."""
OPCODES = 1_000_000
"""Instructions that are followed."""
STACK = 500_000
"""Entries of the stack, and of the memo."""
PARTS_AT_LEAST, PARTS_PER_BYTE = 2000, 4
"""Parts that a value may have, by the size of its pickle."""
NAMED = 50
"""Names of code that are listed."""


class Pickled(NamedTuple):
    """What a pickle holds. `code` are the names that loading it would call or that act on the system, as
    `module.name`; `fault` says why the reading ended early (the value is then the bytes themselves);
    `parts` is how large the value is."""

    value: Value
    code: tuple[str, ...] = ()
    fault: str | None = None
    parts: int = 0

    def problems(self, where: str) -> list[Problem]:
        """What a reader has to say about it."""
        found = [
            Problem(
                severity="warning",
                where=where,
                message=f"a pickle that would call {name} when loaded; it is only shown",
            )
            for name in self.code
        ]
        if self.fault is not None:
            found.append(Problem(severity="error", where=where, message=f"a pickle that cannot be read: {self.fault}"))
        return found


def read_pickle(data: bytes, most: int = BYTES) -> Pickled:
    """What a pickle holds. Raises nothing. One part can be named again and again, so the value has at most
    `most` parts, and no more than is in proportion to the pickle."""
    machine = _Machine()
    try:
        # Python warns of escapes that are none, in names and old texts.
        with warnings.catch_warnings(action="ignore") if b"\\" in data else nullcontext():
            made = machine.run(data)
        value, parts = value_of(made, min(PARTS_AT_LEAST + PARTS_PER_BYTE * len(data), most))
        return Pickled(value, machine.code(), parts=parts)
    except (_Fault, ValueError, IndexError, KeyError, AttributeError, TypeError, UnicodeError, OverflowError) as error:
        reason = str(error) if isinstance(error, _Fault) else f"not a sound pickle ({clean(str(error))[:120]})"
        return Pickled(tag("bytes", base64=base64.b64encode(data[:BYTES]).decode()), machine.code(), reason)


def read_base64(text: str, most: int = BYTES) -> Pickled:
    """The same for a pickle in base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return Pickled(text, fault="not base64")
    return read_pickle(data, most)


class _Fault(Exception):
    """The reading ends here, and why."""


class _Mark:
    """Where the stack was marked."""


_MARK = _Mark()
_PLAIN = {
    *(("copyreg", name) for name in ("_reconstructor", "__newobj__", "__newobj_ex__")),
    *(("builtins", name) for name in ("list", "dict", "set", "frozenset", "tuple", "bytes", "bytearray", "complex")),
    *(("builtins", name) for name in ("object", "range", "slice", "int", "float", "str", "bool")),
    *(("collections", name) for name in ("deque", "defaultdict")),
    *(("datetime", name) for name in ("datetime", "date", "time", "timedelta", "timezone")),
    *((f"numpy.{core}.multiarray", name) for core in ("core", "_core") for name in ("_reconstruct", "scalar")),
    *(("_codecs", "encode"), ("zoneinfo", "ZoneInfo._unpickle"), ("numpy", "ndarray"), ("numpy", "dtype")),
}
"""What honest pickles of plain values call."""


class _Machine:
    """The stack and the memo of one pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.protocol = 0
        self._code: dict[str, None] = {}

    def code(self) -> tuple[str, ...]:
        return tuple(self._code)

    def run(self, data: bytes) -> Any:
        if len(data) > BYTES:
            raise _Fault(f"of {len(data)} bytes only {BYTES} would be looked at")
        for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if number >= OPCODES or len(self.stack) > STACK or len(self.memo) > STACK:
                raise _Fault("it is too large to be followed")
            name = opcode.name
            if name == "STOP":
                return self.pop()
            if name in _PUSHES:
                self.stack.append(argument)
            elif name in _MAKES:
                self.stack.append(_MAKES[name]())
            elif name in _STEPS:
                _STEPS[name](self, argument)
            elif name == "PROTO":
                self.protocol = argument or 0
            elif name not in ("FRAME", "READONLY_BUFFER"):
                raise _Fault(f"the instruction {name} is not known")
        raise _Fault("it breaks off")

    def pop(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise _Fault("its stack runs empty")
        return self.stack.pop()

    def top(self) -> Any:
        if not self.stack or self.stack[-1] is _MARK:
            raise _Fault("its stack runs empty")
        return self.stack[-1]

    def popped(self, count: int) -> list[Any]:
        return [self.pop() for _ in range(count)][::-1]

    def since_mark(self) -> list[Any]:
        at = len(self.stack) - 1
        while at >= 0 and self.stack[at] is not _MARK:
            at -= 1
        if at < 0:
            raise _Fault("its stack is not marked")
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def named(self, module: str, name: str) -> Global:
        """A name of the pickle, noted when it acts on the system even if nobody calls it. Python takes names
        of Python 2, which the old protocols use, for their successors."""
        if self.protocol < 3:
            module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
        found = Global(module, name)
        if found.module.partition(".")[0] in ("os", "posix", "nt", "subprocess", "sys", "pty", "ctypes"):
            self._note(found)
        return found

    def call(self, function: Any, arguments: Any, keywords: Any = None) -> Thing | Global:
        attribute = _attribute(function, arguments)
        if attribute is not None:
            return attribute
        if isinstance(function, Global) and _acts(function):
            self._note(function)
        elif not isinstance(function, Global):
            self._note(Global("?", "a value that the pickle makes"))
        return Thing(function, arguments, keywords)

    def _note(self, found: Global) -> None:
        if len(self._code) < NAMED:
            self._code[clean(f"{found.module}.{found.name}")[:200]] = None


def _attribute(function: Any, arguments: Any) -> Global | None:
    """The attribute of a name that `getattr` would fetch: a name again."""
    if isinstance(function, Global) and (function.module, function.name) == ("builtins", "getattr"):
        items = arguments.items if isinstance(arguments, Items) else []
        if len(items) == 2 and isinstance(items[0], Global) and isinstance(items[1], str):
            return Global(items[0].module, f"{items[0].name}.{items[1]}")
    return None


def _acts(found: Global) -> bool:
    """Whether calling it is more than making a value."""
    if (found.module, found.name) in _PLAIN:
        return False
    last = found.name.rpartition(".")[2]
    if last[:1].isupper() and (found.module == "builtins" or last.endswith(("Error", "Exception", "Warning"))):
        return False
    return names_code(found.module, found.name)


def _global(machine: _Machine, argument: str) -> None:
    module, _, name = argument.partition(" ")
    machine.stack.append(machine.named(module, name))


def _stack_global(machine: _Machine, _: object) -> None:
    module, name = machine.popped(2)
    if not (isinstance(module, str) and isinstance(name, str)):
        raise _Fault("a name that is no text")
    machine.stack.append(machine.named(module, name))


def _reduce(machine: _Machine, _: object) -> None:
    function, arguments = machine.popped(2)
    machine.stack.append(machine.call(function, arguments))


def _new_ex(machine: _Machine, _: object) -> None:
    cls, arguments, keywords = machine.popped(3)
    machine.stack.append(machine.call(cls, arguments, keywords))


def _inst(machine: _Machine, argument: str) -> None:
    arguments = Items("tuple", machine.since_mark())
    _global(machine, argument)
    machine.stack.append(machine.call(machine.pop(), arguments))


def _obj(machine: _Machine, _: object) -> None:
    cls, *arguments = machine.since_mark() or [None]
    machine.stack.append(machine.call(cls, Items("tuple", arguments)))


def _build(machine: _Machine, _: object) -> None:
    state = machine.pop()
    thing = machine.top()
    if isinstance(thing, Thing):
        thing.state = state
        thing.built = True


def _drop(machine: _Machine, _: object) -> None:
    machine.stack.pop()


def _drop_marked(machine: _Machine, _: object) -> None:
    machine.since_mark()


def _put(machine: _Machine, argument: int) -> None:
    machine.memo[argument] = machine.top()


def _memoize(machine: _Machine, _: object) -> None:
    machine.memo[len(machine.memo)] = machine.top()


def _get(machine: _Machine, argument: int) -> None:
    if argument not in machine.memo:
        raise _Fault(f"it asks for the value number {argument}, which there is not")
    machine.stack.append(machine.memo[argument])


def _add(machine: _Machine, values: list[Any]) -> None:
    holder = machine.top()
    if isinstance(holder, Items | Thing):
        holder.items += values
    else:
        raise _Fault("it adds to what holds nothing")


def _set(machine: _Machine, values: list[Any]) -> None:
    holder = machine.top()
    if not isinstance(holder, Dict | Thing) or len(values) % 2:
        raise _Fault("it sets keys of what has none")
    holder.pairs += zip(values[::2], values[1::2], strict=True)


def _dict(machine: _Machine, _: object) -> None:
    values = machine.since_mark()
    machine.stack.append(Dict())
    _set(machine, values)


def _tuple(count: int) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine.stack.append(Items("tuple", machine.popped(count)))


def _marked(kind: str) -> Callable[[_Machine, Any], None]:
    return lambda machine, _: machine.stack.append(Items(kind, machine.since_mark()))


def _persistent(machine: _Machine, argument: Any) -> None:
    machine.stack.append(Opaque("persistent", machine.pop() if argument is None else argument))


_PUSHES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
}
_MAKES: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "MARK": lambda: _MARK,
    "EMPTY_LIST": lambda: Items("list", []),
    "EMPTY_TUPLE": lambda: Items("tuple", []),
    "EMPTY_SET": lambda: Items("set", []),
    "EMPTY_DICT": Dict,
    "NEXT_BUFFER": lambda: Opaque("buffer", None),
}
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "POP": _drop,
    "POP_MARK": _drop_marked,
    "DUP": lambda machine, _: machine.stack.append(machine.top()),
    "APPEND": lambda machine, _: _add(machine, [machine.pop()]),
    "APPENDS": lambda machine, _: _add(machine, machine.since_mark()),
    "ADDITEMS": lambda machine, _: _add(machine, machine.since_mark()),
    "LIST": _marked("list"),
    "TUPLE": _marked("tuple"),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "FROZENSET": _marked("frozenset"),
    "DICT": _dict,
    "SETITEM": lambda machine, _: _set(machine, machine.popped(2)),
    "SETITEMS": lambda machine, _: _set(machine, machine.since_mark()),
    "GLOBAL": _global,
    "STACK_GLOBAL": _stack_global,
    "REDUCE": _reduce,
    "BUILD": _build,
    "INST": _inst,
    "OBJ": _obj,
    "NEWOBJ": _reduce,
    "NEWOBJ_EX": _new_ex,
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _put),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _get),
    "MEMOIZE": _memoize,
    "PERSID": _persistent,
    "BINPERSID": _persistent,
    **dict.fromkeys(("EXT1", "EXT2", "EXT4"), lambda machine, code: machine.stack.append(Opaque("extension", code))),
}
