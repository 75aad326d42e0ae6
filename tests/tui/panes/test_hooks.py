import msgspec

from inspector.model.run import Definition, Hook, SourceInfo, State
from inspector.runner.hooks import EVENTS
from inspector.tui.panes import hooks
from tests.tui.panes.snapshots import shown, snapshot

GATE, LOG, END = (
    Hook(event="before_tool", name="gate"),
    Hook(event="before_tool", name="log"),
    Hook(event="end", name="bye"),
)


def test_our_events_are_those_of_the_runner() -> None:
    assert {event: may for event, (_, may) in hooks.EVENTS.items()} == EVENTS


def test_what_the_hooks_of_an_event_may_do_is_told_of_our_own_alone() -> None:
    gate = Hook(event="tool_call", name="gate")
    ours = snapshot(hooks=(gate,))
    assert "tool_call  before each execution of a tool; may proceed, rewrite, skip, stop" in shown(
        hooks.lines(ours, 80)
    )
    theirs = msgspec.structs.replace(ours, source=SourceInfo(path="x", format="strands"))
    assert "tool_call" in shown(hooks.lines(theirs, 80))


def test_by_event_in_the_order_they_run() -> None:
    after = (GATE, END, LOG, Hook(name="odd"))
    assert shown(hooks.lines(snapshot(hooks=after), 80)) == [
        "4 hooks, 3 events",
        "before_tool",
        "    1. gate",
        "    2. log",
        "end",
        "    1. bye",
        "(event not recorded)",
        "    1. odd",
    ]


def test_what_the_step_registered_and_removed_is_marked() -> None:
    lines = shown(hooks.lines(snapshot(before=State(step=4, hooks=(GATE, END)), hooks=(GATE, LOG)), 80))
    assert "+   2. log" in lines
    assert "- end: bye" in lines
    assert "    1. gate" in lines


def test_a_definition_stands_in_for_a_state_that_tells_none() -> None:
    told = snapshot(definition=Definition(hooks=(GATE,)))
    assert hooks.title(told) == 1
    assert "    1. gate" in shown(hooks.lines(told, 80))


def test_what_is_not_recorded_is_not_nothing() -> None:
    assert shown(hooks.lines(snapshot(), 80)) == ["this file does not record hooks"]
    assert hooks.title(snapshot()) is None
    assert shown(hooks.lines(snapshot(hooks=()), 80)) == ["no hooks are registered"]
