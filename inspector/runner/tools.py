"""Tools: plain functions with a schema from their type hints, and what a call of one may come to.

    @tool(idempotency="supported", timeout=30)
    def lookup_order(order: str) -> dict[str, int]: ...

A parameter annotated `ToolContext` is not the model's: it says which call this is. A function that blocks
runs in a thread. What a tool raises is told to the model; it never ends the run.
"""

import inspect
import json
import re
import typing
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic, Literal, NoReturn, ParamSpec, Protocol, TypeVar, overload

import msgspec

from inspector.errors import UsageError
from inspector.model import digest as digests
from inspector.model import run as neutral
from inspector.model.values import Number, Value, decimal, integer, to_json, transform
from inspector.runner.effects import ToRun
from inspector.runner.messages import ErrorKind, Json, Media, Outcome, Text, shown, sound
from inspector.runner.options import Seconds, one_of, option
from inspector.runner.threads import in_thread

P = ParamSpec("P")
R = TypeVar("R")
Idempotency = Literal["supported", "unsupported", "unknown"]
Failure = Literal["definite", "unknown"]
Approval = bool | Callable[[ToRun], bool | Awaitable[bool]]


_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer, parse_constant=Number)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ToolError(Exception):
    """Raised by a tool: the message is what the model is told; `kind` is one of the error kinds, `other` where it
    is none of them."""

    def __init__(self, message: str, kind: ErrorKind = "other") -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind if kind in typing.get_args(ErrorKind) else "other"


class ToolRefused(Exception):
    """Raised by a tool that will not do what it is asked; the message is what the model is told."""


class NeedsInput(Exception):
    """Raised by `ToolContext.ask`: the call waits for somebody's answer, which becomes its result."""

    def __init__(self, question: Value) -> None:
        super().__init__("waits for an answer")
        self.question = question


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool may know about its call. `idempotency_key` stays the same when the call runs again with the same
    arguments, in another process too; `run_id` when the run is resumed."""

    run_id: str
    agent: str
    turn: int
    call_id: str
    internal_id: str
    idempotency_key: str
    attempt: int
    conversation: str | None
    scratch: dict[str, Any]
    metadata: Mapping[str, Value] = {}
    """What the run and its thread were given to know."""

    def ask(self, question: Value) -> NoReturn:
        """Leave the call open until somebody answers; the answer is its result."""
        raise NeedsInput(question)


class Came(msgspec.Struct, frozen=True):
    """What came of a call: `value` is what the model is told, or `parts`; `kind` where it is an error."""

    value: Value
    outcome: Outcome = "success"
    kind: ErrorKind | None = None
    parts: tuple[Text | Json | Media, ...] = ()
    definite: bool = True
    """Whether it is sure that nothing else came of it."""


class AnyTool(Protocol):
    """What the loop needs of a tool, whoever made it."""

    spec: neutral.Tool
    needs_approval: Approval
    timeout: float | None

    def check(self, arguments: Value) -> str | None:
        """Why the arguments do not validate; None when they do."""

    async def run(self, arguments: Value, context: ToolContext) -> Came:
        """Run the call. Raises ToolError, ToolRefused, NeedsInput, or anything else."""


class FunctionTool(Generic[P, R]):
    """A function as a tool; calling it calls the function. Made by `tool`."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None,
        description: str | None,
        idempotency: Idempotency,
        needs_approval: Approval,
        timeout: float | None,
        thread: bool,
        failure: Failure,
    ) -> None:
        if not isinstance(needs_approval, bool) and not callable(needs_approval):
            raise UsageError("needs_approval", f"cannot be {needs_approval!r:.80}: expected a bool, or a function")
        one_of("idempotency", idempotency, Idempotency)
        self.function, self.needs_approval = function, needs_approval
        self.timeout = option("timeout", timeout, Seconds | None)
        self.thread, self.failure = option("thread", thread, bool), one_of("failure", failure, Failure)
        self.__name__ = name or function.__name__
        if not _NAME.fullmatch(self.__name__):
            raise TypeError(f"{self.__name__!r} cannot be a tool's name: give another with name=")
        self.__doc__ = function.__doc__
        self._parameters, self._context = _parameters(function)
        self._arguments = msgspec.defstruct(self.__name__, self._parameters, forbid_unknown_fields=True, kw_only=True)
        self.spec = described(
            self.__name__,
            description if description is not None else inspect.getdoc(function),
            _schema(self._arguments),
            idempotency,
            needs_approval is not False,
        )

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def check(self, arguments: Value) -> str | None:
        try:
            self._read(arguments)
        except msgspec.ValidationError as error:
            return str(error)
        return None

    def _read(self, arguments: Value) -> Any:
        # Through JSON, so that a number is read for the type that the parameter has.
        if isinstance(arguments, str) and not arguments.strip():
            arguments = None
        return msgspec.json.decode(to_json({} if arguments is None else arguments), type=self._arguments)

    async def run(self, arguments: Value, context: ToolContext) -> Came:
        try:
            read = self._read(arguments)
        except msgspec.ValidationError as error:
            raise ToolError(f"invalid arguments: {error}", "invalid_args") from error
        given = {name: getattr(read, name) for name in read.__struct_fields__}
        if self._context is not None:
            given[self._context] = context
        function: Callable[..., Any] = self.function
        if self.thread and not inspect.iscoroutinefunction(function):
            found = await in_thread(lambda: function(**given))
        else:
            found = function(**given)
        return as_came(await found if inspect.isawaitable(found) else found)


def as_came(value: object) -> Came:
    """What a tool returned: parts as they are, else a value. Raises ToolError."""
    items = value if isinstance(value, list | tuple) and value else (value,)
    if all(isinstance(item, Media | Json | Text) for item in items):
        parts: tuple[Any, ...] = tuple(items)
        return Came("\n".join(shown(part) for part in parts), parts=parts)
    return Came(plain(value))


def plain(value: object) -> Value:
    """A value that can be saved and told to a model. Raises ToolError."""
    if value is None or isinstance(value, str):
        return sound(value or "")
    try:
        text = json.dumps(msgspec.to_builtins(value, enc_hook=_builtin, str_keys=True))
        found: Value = _decoder.decode(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"returned what cannot be told to a model: {error}") from error
    if "\\ud" in text:
        found = transform(found, lambda leaf: sound(leaf) if isinstance(leaf, str) else leaf, sound)
    return found


def _builtin(value: object) -> object:
    if isinstance(value, Number):
        return float(value.text)
    raise TypeError(type(value).__name__)


def described(
    name: str, description: str | None, schema: Value, idempotency: Idempotency, needs_approval: bool
) -> neutral.Tool:
    """A tool's definition, with its digest."""
    identity = {
        "name": name,
        "description": description,
        "schema": schema,
        "idempotency": idempotency,
        "needs_approval": needs_approval,
    }
    return neutral.Tool(
        name=name,
        description=description,
        schema=schema,
        digest=digests.digest(identity),
        idempotency=idempotency,
        needs_approval=needs_approval,
    )


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    idempotency: Idempotency = "unknown",
    needs_approval: Approval = False,
    timeout: float | None = None,
    thread: bool = True,
    failure: Failure = "unknown",
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Make a function a tool. `idempotency` says whether running a call again is without harm;
    `needs_approval` (or a predicate of the call) lets somebody decide first; `timeout` is in seconds;
    `thread=False` runs a function that does not block in the event loop; `failure="definite"` says that an
    exception of the function means that nothing was done. Raises TypeError for parameters that no schema can
    describe, and UsageError for an option that cannot be so."""
    settings = {
        "name": None,
        "description": None,
        "idempotency": "unknown",
        "needs_approval": False,
        "timeout": None,
        "thread": True,
        "failure": "unknown",
    } | options
    if function is None:
        return lambda given: FunctionTool(given, **settings)
    return FunctionTool(function, **settings)


def as_tool(given: object) -> AnyTool:
    """A tool as it stands, or a plain function as one. Raises TypeError."""
    if hasattr(given, "spec") and hasattr(given, "run"):
        return given  # type: ignore[return-value]
    if callable(given) and hasattr(given, "__name__"):
        return tool(given)
    raise TypeError(f"{given!r} is no tool: give a function, a @tool, or an MCPServer")


def _parameters(function: Callable[..., Any]) -> tuple[list[Any], str | None]:
    """The fields that the model fills in, and the name of the parameter that takes the context."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = inspect.signature(function).parameters
    except ValueError as error:
        raise TypeError(str(error)) from error
    fields: list[Any] = []
    context = None
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: a model cannot fill in {parameter}")
        hint = hints.get(name, Any)
        if hint is ToolContext:
            context = name
        elif parameter.default is parameter.empty:
            fields.append((name, hint))
        else:
            # A default that could be changed is the function's own object, as it is in a plain call.
            default = parameter.default
            simple = default is None or isinstance(default, bool | int | float | str)
            given = (
                msgspec.field(default=default) if simple else msgspec.field(default_factory=partial(_itself, default))
            )
            fields.append((name, hint, given))
    return fields, context


def _itself(value: R) -> R:
    return value


def _schema(arguments: type) -> dict[str, Any]:
    try:
        (whole,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise TypeError(f"{arguments.__name__}: {error}") from None
    schema = dict(components.pop(whole["$ref"].rsplit("/", 1)[-1]))
    schema.pop("title", None)
    if components:
        schema["$defs"] = components
    return schema
