"""Actors as users write them, functions and classes, and what the network knows of them.

A function is an actor with an input port per parameter and one output port, `out`. A class is one with a
method `fire` (or several methods marked `@action`); its fields without a default are *parameters*, part of the
definition, and those with a default are *state*, saved with every firing. A firing takes one token from each
input port of the action, runs the body once, and puts what it returned: a value on the only output port,
`emit(port=value)` on several, an iterator of `emit` for several tokens; `None` puts nothing where there are
several ports. All of it at the end, or nothing.

A body must not change a parameter. Of collections of plain data that is noticed, and undone, of large ones perhaps
only some firings later, or when the run has come to rest; objects of other classes are handed on as they are.
"""

import copy
import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeVar, overload

from inspector.dataflow import types
from inspector.dataflow.lent import Lent
from inspector.dataflow.names import qualified
from inspector.errors import UsageError

Idempotency = Literal["supported", "unsupported", "unknown"]
ActorKind = Literal["task", "source", "tool", "agent", "loop", "when"]
Function = TypeVar("Function", bound=Callable[..., Any])
CONTEXT = "context"
"""The name of the parameter that is no port but the firing's context."""


class Emit:
    """Tokens for output ports, made by `emit`."""

    __slots__ = ("tokens",)

    def __init__(self, tokens: Mapping[str, Any]) -> None:
        self.tokens = tokens


def emit(**tokens: Any) -> Emit:
    """A token for each named output port: `return emit(good=text)`, or `yield emit(out=1)` for several."""
    return Emit(tokens)


@dataclasses.dataclass(frozen=True)
class Action:
    """One way in which an actor can fire: a token from each of `inputs`, when `guard` (if any) accepts them."""

    name: str
    inputs: tuple[str, ...]
    guard: Callable[..., bool] | None = None
    wants_context: bool = False


@dataclasses.dataclass(frozen=True)
class Actor:
    """What a node of a network does. `kind`, `class_name` (`module:Qualname`), ports, actions in the order in
    which they are tried; `parameters` and `state` are the values of the instance's fields, the latter copied
    for each run; `hints` and `gives` the annotated types of input and output ports; `bodies` the functions whose
    source counts as the body, of a class all of its methods and guards; `factory` is the class of the object whose
    methods run (None: a plain function)."""

    kind: ActorKind
    class_name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    actions: tuple[Action, ...]
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    state: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    hints: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    gives: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    bodies: tuple[Callable[..., Any], ...] = ()
    idempotency: Idempotency = "unknown"
    timeout: float | None = None
    default_name: str = "actor"
    factory: type | None = None
    function: Callable[..., Any] | None = None
    target: Any = None
    """The tool, agent or other object that a node of that kind stands for."""
    optional: frozenset[str] = frozenset()
    """Input ports that may stay unconnected: they are then none."""

    def connected(self, ports: Container[str]) -> "Actor":
        """The actor without those optional ports that are not among `ports`."""
        if not any(port in self.optional and port not in ports for port in self.inputs):
            return self
        left = tuple(port for port in self.inputs if port in ports or port not in self.optional)
        actions = tuple(
            dataclasses.replace(act, inputs=tuple(port for port in act.inputs if port in left)) for act in self.actions
        )
        return dataclasses.replace(self, inputs=left, actions=actions)

    def bind(self, action: Action, state: Mapping[str, Any]) -> tuple[Callable[..., Any], Any]:
        """The callable of an action, and the object it belongs to, holding `state` (None for a function)."""
        if self.factory is None:
            assert self.function is not None
            return self.function, None
        instance: Any = object.__new__(self.factory)
        for name, value in (*self.parameters.items(), *self.lent.values.items(), *state.items()):
            object.__setattr__(instance, name, value)
        return getattr(instance, action.name), instance

    @functools.cached_property
    def lent(self) -> Lent:
        """The parameters that a body could change in place; of a node of a plan, its own in that run."""
        return Lent(self.parameters)

    def state_of(self, instance: Any) -> dict[str, Any]:
        """The state fields of an instance after a firing. Raises TypeError for another attribute of the class that the
        firing set on it, or changed in place: that would be lost, and read as before by the next one."""
        if changed := self.lent.changed():
            unseen = self.lent.unseen
            raise TypeError(
                _no_parameter(changed[0], f"this firing or one of the {unseen} before it" if unseen else "")
            )
        for name in vars(instance) if hasattr(instance, "__dict__") else ():
            if name not in self.state and self._lost(name, vars(instance)[name]):
                raise TypeError(
                    f"sets self.{name}, which is no state: a field with a type and a default "
                    f"(`{name}: ... = ...` in the class) is saved with every firing"
                )
        return {name: getattr(instance, name) for name in self.state}

    def overlooked(self) -> str | None:
        """When nothing fires any more: what the last firings have done that a body must not, where that was not looked
        at behind each of them."""
        lent: Lent | None = vars(self).get("lent")
        if lent is None or not lent.unseen or not (changed := lent.differing()):
            return None
        return _no_parameter(
            changed[0], "this firing" if lent.unseen == 1 else f"one of the last {lent.unseen} firings"
        )

    def _lost(self, name: str, value: Any) -> bool:
        if name in self.parameters:
            return value is not self.lent.values.get(name, self.parameters[name])
        known = getattr(self.factory, name, None)
        return known is not None and not hasattr(known, "__get__") and known is not value

    def fresh_state(self) -> dict[str, Any]:
        """The state before the first firing, not shared with any other run."""
        return copy.deepcopy(dict(self.state))

    def tokens(self, result: Any) -> Iterable[tuple[str, Any]]:
        """(port, token) for what a body returned, in order. Raises TypeError for what fits no port, also later."""
        if isinstance(result, Emit):
            return self._emitted(result)
        if inspect.isgenerator(result):
            return (pair for item in result for pair in self.tokens(item))
        if len(self.outputs) == 1:
            return ((self.outputs[0], result),)
        if result is None:
            return ()
        raise TypeError(f"returned a {type(result).__name__} for the ports {', '.join(self.outputs)}: use emit(...)")

    def _emitted(self, emitted: Emit) -> Iterator[tuple[str, Any]]:
        for port, token in emitted.tokens.items():
            if port not in self.outputs:
                raise TypeError(f"emitted to {port!r}, which is no output port ({', '.join(self.outputs) or 'none'})")
            yield port, token


def _no_parameter(name: str, since: str) -> str:
    return (
        f"changes self.{name}{f' ({since})' if since else ''}, which is a parameter: what changes is state, "
        f"a field with a default (`{name}: ... = ...` in the class)"
    )


def action(
    guard: Callable[..., bool] | None = None,
) -> Callable[[Function], Function]:
    """Marks a method as an action of its actor; `guard(self, token, ...)` decides on the tokens in front,
    without taking them, and must not have effects."""

    def mark(method: Function) -> Function:
        method.__action__ = guard  # type: ignore[attr-defined]
        return method

    if callable(guard) and not isinstance(guard, type) and _is_method(guard):
        raise UsageError("@action", "takes parentheses: @action() or @action(guard=...)")
    return mark


def _is_method(function: Callable[..., Any]) -> bool:
    return (
        getattr(function, "__name__", "<lambda>") != "<lambda>" and "." in function.__qualname__.split("<locals>.")[-1]
    )


@overload
def actor(body: Function) -> Function: ...
@overload
def actor(
    *,
    outputs: Iterable[str] | None = None,
    idempotency: Idempotency = "unknown",
    timeout: float | None = None,
) -> Callable[[Function], Function]: ...
def actor(
    body: Any = None,
    *,
    outputs: Iterable[str] | None = None,
    idempotency: Idempotency = "unknown",
    timeout: float | None = None,
) -> Any:
    """Makes a function or a class an actor. `outputs` names its output ports (default: `out` alone);
    `idempotency` says whether running the body twice with the same tokens and key is harmless; `timeout` is in
    seconds. Raises UsageError for a body whose ports cannot be told from its signature."""

    def make(body: Any) -> Any:
        ports = ("out",) if outputs is None else tuple(outputs)
        if isinstance(body, type):
            body.__actor__ = _class_actor(_with_init(body), ports, idempotency, timeout)  # type: ignore[attr-defined]
            return body
        body.__actor__ = _function_actor(body, ports, idempotency, timeout)
        return body

    return make if body is None else make(body)


def actor_of(thing: Any) -> Actor | None:
    """The actor that a decorated function, or an instance of a decorated class, is; None for anything else."""
    spec: Actor | None = getattr(thing, "__actor__", None)
    if spec is None or isinstance(thing, type):
        return None
    if spec.factory is None:
        return spec
    fields = vars(thing) if hasattr(thing, "__dict__") else {}
    parameters = {name: fields[name] for name in spec.parameters if name in fields}
    state = {name: fields.get(name, default) for name, default in spec.state.items()}
    return dataclasses.replace(spec, parameters=parameters, state=copy.deepcopy(state))


def _with_init(body: type) -> type:
    if "__init__" in vars(body) or dataclasses.is_dataclass(body):
        return body
    try:
        return dataclasses.dataclass(body)
    except (TypeError, ValueError) as error:
        hint = " (`seen: list = dataclasses.field(default_factory=list)`)" if "default_factory" in str(error) else ""
        raise UsageError(body.__qualname__, f"{error}{hint}") from error


def _function_actor(
    body: Callable[..., Any], outputs: tuple[str, ...], idempotency: Idempotency, timeout: float | None
) -> Actor:
    act = _action(body, body.__name__, None, method=False)
    return Actor(
        kind="task" if act.inputs else "source",
        class_name=qualified(body),
        inputs=act.inputs,
        outputs=outputs,
        actions=(act,),
        hints=_hints(body, act.inputs),
        gives=_gives(outputs, [body]),
        bodies=(body,),
        idempotency=idempotency,
        timeout=timeout,
        default_name=body.__name__,
        function=body,
    )


def _class_actor(body: type, outputs: tuple[str, ...], idempotency: Idempotency, timeout: float | None) -> Actor:
    methods = {
        name: method for base in reversed(body.__mro__) for name, method in vars(base).items() if callable(method)
    }
    marked = [name for name, method in methods.items() if hasattr(method, "__action__")]
    names = marked or (["fire"] if "fire" in methods else [])
    if not names:
        raise UsageError(body.__qualname__, "has no method fire and none marked @action")
    actions = tuple(
        _action(methods[name], name, getattr(methods[name], "__action__", None), method=True) for name in names
    )
    inputs = tuple(dict.fromkeys(port for act in actions for port in act.inputs))
    hints: dict[str, Any] = {}
    for name, act in zip(names, actions, strict=True):
        for port, hint in _hints(methods[name], act.inputs).items():
            hints[port] = hint if hints.get(port, hint) == hint else Any
    fields = typing.get_type_hints(body) if "__annotations__" in vars(body) else {}
    own = [name for name in fields if name not in ("__actor__",)]
    guards = tuple(act.guard for act in actions if act.guard is not None)
    return Actor(
        kind="task" if inputs else "source",
        class_name=qualified(body),
        inputs=inputs,
        outputs=outputs,
        actions=actions,
        parameters={name: None for name in own if not _has_default(body, name)},
        state={name: _default(body, name) for name in own if _has_default(body, name)},
        hints=hints,
        gives=_gives(outputs, [methods[name] for name in names]),
        bodies=(*_written(methods.values()), *guards),
        idempotency=idempotency,
        timeout=timeout,
        default_name=_snake(body.__name__),
        factory=body,
    )


def _written(methods: Iterable[Any]) -> Iterator[Callable[..., Any]]:
    """Those methods that somebody wrote; a dataclass has others, and its `__repr__` is not told from one's own."""
    for method in methods:
        if inspect.isfunction(method) and method.__name__ != "__repr__" and method.__code__.co_filename != "<string>":
            yield method


def _has_default(body: type, name: str) -> bool:
    field = getattr(body, "__dataclass_fields__", {}).get(name)
    if field is not None:
        return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    return hasattr(body, name)


def _default(body: type, name: str) -> Any:
    field = getattr(body, "__dataclass_fields__", {}).get(name)
    if field is not None and field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return getattr(body, name)


def _action(body: Callable[..., Any], name: str, guard: Callable[..., bool] | None, *, method: bool) -> Action:
    inputs, wants_context = [], False
    for parameter in list(inspect.signature(body).parameters.values())[1 if method else 0 :]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(body.__qualname__, f"{parameter} cannot be a port: name each one")
        if parameter.name == CONTEXT:
            wants_context = True
        else:
            inputs.append(parameter.name)
    return Action(name=name, inputs=tuple(inputs), guard=guard, wants_context=wants_context)


def _hints(body: Callable[..., Any], ports: tuple[str, ...]) -> dict[str, Any]:
    try:
        known = typing.get_type_hints(body)
    except (NameError, TypeError):
        known = getattr(body, "__annotations__", {})
    return {name: known[name] for name in ports if name in known}


def _gives(outputs: tuple[str, ...], bodies: list[Callable[..., Any]]) -> dict[str, Any]:
    """The type of an only output port, where all bodies return the same and none emits."""
    found = [types.result_of(body) for body in bodies]
    alike = len(outputs) == 1 and all(hint == found[0] for hint in found)
    return {outputs[0]: found[0]} if alike and found[0] is not Emit else {}


def _snake(name: str) -> str:
    return "".join(
        f"_{letter.lower()}" if letter.isupper() and index else letter.lower() for index, letter in enumerate(name)
    )
