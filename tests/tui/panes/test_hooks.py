from inspector.model.run import Definition, Hook, State
from inspector.tui.panes import hooks
from tests.tui.panes.snapshots import shown, snapshot

GATE, LOG, END = (
    Hook(event="before_tool", name="gate"),
    Hook(event="before_tool", name="log"),
    Hook(event="end", name="bye"),
)


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
