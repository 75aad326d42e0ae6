"""Hooks: what is registered, by event, in the order in which it runs."""

from collections.abc import Hashable, Sequence, Set

from inspector.model.run import Hook
from inspector.tui.line import Line, Span, plain
from inspector.tui.panes.cells import counted
from inspector.tui.panes.parts import Fixed, Stack, note
from inspector.tui.session import StateSnapshot

OURS = "runinspect"
"""The format whose events these are."""
GENERAL = "(event not recorded)"

EVENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "run_start": ("before the first step of a run", ("proceed", "rewrite", "stop")),
    "ambiguous": (
        "when a resume finds a call that may have happened",
        ("proceed", "retry", "result", "failure", "abort", "leave"),
    ),
    "firing": ("before each firing of a network", ("proceed", "stop")),
    "completion_call": ("before each request to the model", ("proceed", "patch", "stop")),
    "model_select": ("then, to choose the model", ("proceed", "select", "stop")),
    "completion_response": ("when the model has answered", ("proceed", "stop")),
    "stream_response_finish": ("when the model's stream has ended", ("proceed", "stop")),
    "model_turn_finished": ("when an answer is accepted", ("proceed", "retry", "stop")),
    "invalid_tool_call": (
        "when a tool is asked for that is not on offer",
        ("proceed", "fail", "retry", "repair", "skip", "stop"),
    ),
    "tool_call": ("before each execution of a tool", ("proceed", "rewrite", "skip", "stop")),
    "tool_result": ("when a tool has answered or was skipped", ("proceed", "rewrite", "stop")),
    "text_delta": ("at each piece of streamed text", ("proceed", "stop")),
    "reasoning_delta": ("at each piece of streamed reasoning", ("proceed", "stop")),
    "tool_call_delta": ("at each piece of a streamed tool call", ("proceed", "stop")),
    "firing_result": ("when a firing has ended, well or not", ("proceed", "stop")),
    "run_settled": ("when a run has ended, well or not", ("proceed",)),
}
"""Our own events: when the hooks of each run, and what they may do there. Of the events of others a file
tells the name alone."""


def title(snapshot: StateSnapshot) -> int | None:
    """The count in the tab; None where the file does not tell."""
    hooks = _hooks(snapshot)
    return None if hooks is None else len(hooks)


def lines(snapshot: StateSnapshot, width: int, toggled: Set[Hashable] = frozenset()) -> Stack:
    """The pane's lines."""
    hooks = _hooks(snapshot)
    if hooks is None:
        return note("this file does not record hooks")
    if not hooks:
        return note("no hooks are registered")
    before = snapshot.before.hooks if snapshot.before else None
    events: dict[str | None, list[Hook]] = {}
    for hook in hooks:
        events.setdefault(hook.event, []).append(hook)
    found = [plain(f"{counted(len(hooks), 'hook')}, {counted(len(events), 'event')}", "heading")]
    for event, group in events.items():
        found.append(_event(event, snapshot.source.format == OURS))
        found += [_hook(number, hook, before) for number, hook in enumerate(group, 1)]
    found += [
        Line((Span("- ", "removed"), Span(f"{hook.event or GENERAL}: {hook.name}", "removed")))
        for hook in _gone(hooks, before)
    ]
    return Stack([Fixed(found)])


def _event(event: str | None, ours: bool) -> Line:
    """An event's heading, with what is known of it."""
    name = Span(event or GENERAL, "accent")
    if not (ours and event in EVENTS):
        return Line((name,))
    when, may = EVENTS[event]
    return Line((name, Span(f"  {when}; may {', '.join(may)}", "dim")))


def _hooks(snapshot: StateSnapshot) -> Sequence[Hook] | None:
    """The hooks of the state; where it has none of its own, those of the definition."""
    if snapshot.state is not None and snapshot.state.hooks is not None:
        return snapshot.state.hooks
    return snapshot.definition.hooks


def _hook(number: int, hook: Hook, before: Sequence[Hook] | None) -> Line:
    new = before is not None and hook not in before
    style = "added" if new else ""
    return Line((Span("+ " if new else "  ", style), Span(f"{number:>3}. ", "dim"), Span(hook.name, style)))


def _gone(hooks: Sequence[Hook], before: Sequence[Hook] | None) -> list[Hook]:
    return [hook for hook in before or () if hook not in hooks]
