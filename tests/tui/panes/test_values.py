from inspector.model.run import Actor, State
from inspector.model.values import Number
from inspector.tui.panes import values
from tests.tui.panes.snapshots import fold_at, opened, shown, snapshot

BEFORE = State(step=4, values={"basket": {"jam": 1, "tea": [1, 2]}, "total": 3, "gone": True})
AFTER = {"basket": {"jam": 2, "tea": [1, 2, 5], "new": None}, "total": 3}


def test_changes_are_marked_where_they_are() -> None:
    assert shown(values.lines(snapshot(before=BEFORE, values=AFTER), 80)) == [
        "2 values",
        "~ ▾ basket: {3}",
        "~     jam: 2",
        "~   ▾ tea: [3]",
        "        0: 1",
        "        1: 2",
        "+       2: 5",
        "+     new: null",
        "    total: 3",
        "-   gone: true",
    ]


def test_one_and_true_are_different_values() -> None:
    lines = shown(values.lines(snapshot(before=State(step=4, values={"a": 1, "b": 1}), values={"a": True, "b": 1}), 80))
    assert lines[1:] == ["~   a: true", "    b: 1"]


def test_folds_stay_where_they_are_from_step_to_step() -> None:
    first = values.lines(snapshot(values=AFTER), 80)
    folded = fold_at(first, "basket")
    assert shown(values.lines(snapshot(values=AFTER), 80, folded)) == [
        "2 values",
        '▸ basket: {3} {"jam": 2, "tea": [1, 2, 5], "new": null}',
        "  total: 3",
    ]
    later = {"added": 0, **AFTER}
    assert "▸ basket" in "\n".join(shown(values.lines(snapshot(values=later), 80, folded)))


def test_actors_by_path_and_alike_ones_by_number() -> None:
    actors = (
        Actor(id="ink", scope=("line", "machine"), fire_count=2, state={"n": 1}),
        Actor(id="ink", scope=("line", "machine"), fire_count=0),
        Actor(id="if", unfinished={"scopes": [1]}),
    )
    lines = shown(values.lines(snapshot(actors=actors), 80))
    assert lines[0] == "3 actors"
    assert "▾ line/machine/ink: {2}" in lines
    assert "▾ line/machine/ink #2: {1}" in lines
    assert "    fired: 0" in lines
    assert "  ▾ unfinished: {1}" in lines


def test_what_becomes_known_of_an_actor_is_no_change() -> None:
    was = State(step=4, actors=(Actor(id="a", fire_count=0), Actor(id="b", fire_count=1, state={"n": 1})))
    now = (Actor(id="a", fire_count=0, state={"n": 0}), Actor(id="b", fire_count=2, unfinished={"run": 1}))
    assert shown(values.lines(snapshot(before=was, actors=now), 80)) == [
        "2 actors",
        "  ▾ a: {2}",
        "      fired: 0",
        "    ▾ state: {1}",
        "        n: 0",
        "~ ▾ b: {2}",
        "~     fired: 2",
        "+   ▾ unfinished: {1}",
        "+       run: 1",
    ]


def test_texts_are_not_numbers_and_numbers_stand_as_written() -> None:
    lines = shown(values.lines(snapshot(values={"a": "1", "b": Number("1E+2"), "c": "x\ny", "d": {}, "e": []}), 80))
    assert lines[1:] == ['  a: "1"', "  b: 1E+2", '  c: "x\\ny"', "  d: {0}", "  e: [0]"]


def test_enter_opens_the_whole_value() -> None:
    text = "x" * 100_000
    assert opened(values.lines(snapshot(values={"a": {"b": text}}), 80), "b:") == text


def test_what_is_not_recorded_is_not_nothing() -> None:
    assert shown(values.lines(snapshot(known=True), 80)) == ["this file does not record values or actors"]
    assert values.title(snapshot(known=True)) is None
    assert shown(values.lines(snapshot(values={}), 80)) == ["0 values"]
