"""Hooks: code that hears what a run is about to do, and may change it.

A hook is an object of a subclass of `Hook` with a method for each event that it hears; a method is sync or
async, and returns an action made by its event (`event.proceed()`, `event.skip("...")`) or None, which means
to proceed. EVENTS says which actions an event takes; `hookchain` says how those of several hooks combine. A
hook that raises stops the run, by name; on `ambiguous` it fails it, so that the run can still go on with somebody's
word. What an event holds is the hook's own, but for the scratchpad: to change it in place changes nothing.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import msgspec

from inspector.model import run as neutral
from inspector.model.values import Value
from inspector.runner.data import ToolChoice
from inspector.runner.messages import AnyPart, Call, Message, ModelTurn, Result, Usage

EVENTS: dict[str, tuple[str, ...]] = {
    "run_start": ("proceed", "rewrite", "stop"),
    "ambiguous": ("proceed", "retry", "result", "failure", "abort", "leave"),
    "firing": ("proceed", "stop"),
    "completion_call": ("proceed", "patch", "stop"),
    "model_select": ("proceed", "select", "stop"),
    "completion_response": ("proceed", "stop"),
    "stream_response_finish": ("proceed", "stop"),
    "model_turn_finished": ("proceed", "retry", "stop"),
    "invalid_tool_call": ("proceed", "fail", "retry", "repair", "skip", "stop"),
    "tool_call": ("proceed", "rewrite", "skip", "stop"),
    "tool_result": ("proceed", "rewrite", "stop"),
    "text_delta": ("proceed", "stop"),
    "reasoning_delta": ("proceed", "stop"),
    "tool_call_delta": ("proceed", "stop"),
    "firing_result": ("proceed", "stop"),
    "run_settled": ("proceed",),
}
"""Event → the actions that it takes, in the order in which a run meets them."""


class Action(msgspec.Struct, frozen=True):
    """What a hook wants done; made by the event that it heard."""

    event: str
    kind: str
    value: Any = None


class Patch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Changes to the request of one turn. None keeps what is there."""

    instructions: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    choice: ToolChoice = None
    active_tools: tuple[str, ...] | None = None
    params: Mapping[str, Value] | None = None
    documents: tuple[str, ...] = ()
    history: tuple[Message, ...] | None = None


class HookEvent(msgspec.Struct, kw_only=True):
    """The base of what a hook hears. `scratch` is the run's own scratchpad: it holds values, and is saved
    with the run."""

    kind: ClassVar[str]
    run_id: str
    agent: str
    turn: int
    is_streaming: bool
    scratch: dict[str, Any]

    def proceed(self) -> Action:
        """Go on."""
        return self._action("proceed")

    def _action(self, kind: str, value: Any = None) -> Action:
        return Action(self.kind, kind, value)


class _Stoppable(HookEvent, kw_only=True):
    def stop(self, reason: str) -> Action:
        """End the run."""
        return self._action("stop", reason)


class RunStart(_Stoppable, kw_only=True):
    """A run begins; not one that goes on."""

    kind = "run_start"
    prompt: Message

    def rewrite(self, prompt: str | Message) -> Action:
        """Begin with another prompt."""
        return self._action("rewrite", Message.user(prompt))


class Ambiguous(HookEvent, kw_only=True):
    """A run goes on, and a model or tool call of an earlier process, or a firing, may have happened; nobody decided
    about it. `operation` is `model`, `tool` or `firing`; `idempotency_key` is the one that it was made with; `call_id`
    and `arguments` are those of a tool call, or a firing's id and its tokens by port; `attempt` counts calls only."""

    kind = "ambiguous"
    operation: str
    name: str
    call_id: str | None = None
    internal_id: str | None = None
    arguments: Value = None
    attempt: int = 1
    idempotency: str | None = None
    idempotency_key: str | None = None

    def retry(self) -> Action:
        """Make it again."""
        return self._action("retry")

    def result(self, value: Value) -> Action:
        """It happened, and this came of it."""
        return self._action("result", value)

    def failure(self, reason: str) -> Action:
        """It failed."""
        return self._action("failure", reason)

    def abort(self) -> Action:
        """Give the run up."""
        return self._action("abort")

    def leave(self) -> Action:
        """Leave it open: the run is suspended again."""
        return self._action("leave")


class CompletionCall(_Stoppable, kw_only=True):
    """A request is about to be made."""

    kind = "completion_call"
    messages: tuple[Message, ...]

    def patch(
        self,
        *,
        instructions: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        tool_choice: Any = None,
        active_tools: Iterable[str] | None = None,
        params: Mapping[str, Value] | None = None,
        extra_context: Iterable[str] = (),
        history: Iterable[Message] | None = None,
    ) -> Action:
        """Make this one request otherwise."""
        return self._action(
            "patch",
            Patch(
                instructions,
                temperature,
                max_tokens,
                tuple(tool_choice) if isinstance(tool_choice, list | set) else tool_choice,
                None if active_tools is None else _each(active_tools),
                params,
                _each(extra_context),
                None if history is None else tuple(history),
            ),
        )


def _each(given: Iterable[str]) -> tuple[str, ...]:
    """The items; a text is one item."""
    return (given,) if isinstance(given, str) else tuple(given)


class ModelSelect(_Stoppable, kw_only=True):
    """A model is chosen for the request. `previous` is the name of the one before."""

    kind = "model_select"
    model: Any
    previous: str | None

    def select(self, model: object) -> Action:
        """Ask this model: an object, or a name such as `openai:...`."""
        return self._action("select", model)


class CompletionResponse(_Stoppable, kw_only=True):
    """A model's whole answer was accepted."""

    kind = "completion_response"
    answer: ModelTurn


class StreamResponseFinish(_Stoppable, kw_only=True):
    """A stream that had text has ended, and its answer was accepted."""

    kind = "stream_response_finish"
    answer: ModelTurn


class ModelTurnFinished(_Stoppable, kw_only=True):
    """A turn was accepted, streamed or not."""

    kind = "model_turn_finished"
    parts: tuple[AnyPart, ...]
    usage: Usage | None

    def retry(self, feedback: str | None = None) -> Action:
        """Have it made again; with a feedback the model sees it and why. An error on a turn with calls."""
        return self._action("retry", feedback)


class InvalidToolCall(_Stoppable, kw_only=True):
    """The model called a tool that was not on offer."""

    kind = "invalid_tool_call"
    call: Call
    available: tuple[str, ...]
    allowed: tuple[str, ...]
    choice: ToolChoice
    history: tuple[Message, ...]

    def fail(self, reason: str | None = None) -> Action:
        """End the run with an error; so it is without a hook."""
        return self._action("fail", reason)

    def retry(self, feedback: str | None = None) -> Action:
        """Tell the model and ask again, while its budget of retries lasts."""
        return self._action("retry", feedback)

    def repair(self, name: str) -> Action:
        """Take it for a call of this tool."""
        return self._action("repair", name)

    def skip(self, reason: str | None = None) -> Action:
        """Answer it with this reason; nothing of the turn runs."""
        return self._action("skip", reason)


class ToolCall(_Stoppable, kw_only=True):
    """A call is about to be run: nothing comes between but its gate, where its arguments are rewritten. `approved`:
    somebody let it through with these."""

    kind = "tool_call"
    name: str
    call_id: str
    internal_id: str
    arguments: Value
    approved: bool

    def rewrite(self, arguments: Value) -> Action:
        """Run it with other arguments. One that somebody had let through then waits again, for a word on those. One
        that is run again, since it may have happened, keeps those that it was begun with."""
        return self._action("rewrite", arguments)

    def skip(self, reason: str) -> Action:
        """Do not run it; the reason is its result."""
        return self._action("skip", reason)


class ToolResult(_Stoppable, kw_only=True):
    """A call has ended. `raw` is what came of it; `value` what the model will be told."""

    kind = "tool_result"
    name: str
    call_id: str
    internal_id: str
    arguments: Value
    raw: Value
    value: Value
    outcome: str
    error_kind: str | None

    def rewrite(self, value: Value) -> Action:
        """Tell the model this."""
        return self._action("rewrite", value)


class TextDelta(_Stoppable, kw_only=True):
    """A piece of text arrived."""

    kind = "text_delta"
    text: str


class ReasoningDelta(_Stoppable, kw_only=True):
    """A piece of a thought arrived."""

    kind = "reasoning_delta"
    text: str


class ToolCallDelta(_Stoppable, kw_only=True):
    """A piece of a call arrived: its name, or more of its arguments."""

    kind = "tool_call_delta"
    internal_id: str
    name: str | None
    arguments: str | None


class FiringBegins(_Stoppable, kw_only=True):
    """A firing of a network is about to begin; `agent` is the name of the network. Stopped, it has not happened."""

    kind = "firing"
    node: str
    firing_id: str
    tokens: dict[str, Any]
    idempotency_key: str


class FiringResult(_Stoppable, kw_only=True):
    """A firing has ended: `put` are the tokens that it put, in saved form, with their ports; `error` says why it put
    none. What has happened stands, also when the run is stopped here."""

    kind = "firing_result"
    node: str
    firing_id: str
    tokens: dict[str, Any]
    put: tuple[tuple[str, Value], ...]
    error: str | None


class RunSettled(HookEvent, kw_only=True):
    """The run is over, well or not; not when it is suspended."""

    kind = "run_settled"
    status: str
    output: Value
    error: str | None
    result: Result | None = None


class Hook:
    """The base of hooks: subclass it and write `on_<event>` for the events to hear. `name` is the stable
    name that traces record; the class's own without one."""

    name: str = ""


def hook_name(hook: object) -> str:
    """A hook's stable name."""
    return str(getattr(hook, "name", "") or type(hook).__name__)


def heard(hook: object, event: str) -> Callable[[Any], Any] | None:
    """The hook's method for an event, None when it does not hear it."""
    return getattr(hook, f"on_{event}", None)


def listed(hooks: Iterable[object]) -> tuple[neutral.Hook, ...]:
    """All hooks as a trace records them: by event, in the order in which they run."""
    known = list(hooks)
    return tuple(
        neutral.Hook(event=event, name=hook_name(hook)) for event in EVENTS for hook in known if heard(hook, event)
    )


def checked(hooks: Iterable[object]) -> list[object]:
    """The hooks, each with at least one event. Raises TypeError for a method of no event, which would
    never be called."""
    found = list(hooks)
    for hook in found:
        methods = [name for name, _ in inspect.getmembers(hook, callable) if name.startswith("on_")]
        if unknown := [name for name in methods if name.removeprefix("on_") not in EVENTS]:
            raise TypeError(
                f"{hook_name(hook)}: no event is called {', '.join(unknown)}; there are {', '.join(EVENTS)}"
            )
        if not methods:
            raise TypeError(f"{hook_name(hook)} hears no event: write on_tool_call or another")
    return found
