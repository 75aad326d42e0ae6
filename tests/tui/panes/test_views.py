from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.model.values import Number
from inspector.tui.line import Line, text_of
from inspector.tui.panes.textview import TextView
from inspector.tui.panes.treeview import TreeView
from tests.tui.panes.snapshots import few


def marked(line: Line) -> list[str]:
    return [span.text for span in line.spans if span.style == "match"]


@few
@given(st.text(st.sampled_from("ab "), min_size=1, max_size=80), st.text(st.sampled_from("ab"), min_size=1, max_size=3))
def test_every_place_in_a_text_is_reached_in_turn(text: str, found: str) -> None:
    view = TextView(text)
    view.lay(view.flow(10))
    view.found = found
    places = [at for at in range(len(text)) if text.startswith(found, at)]
    row, seen = 0, []
    for _ in places:
        row = view.find(row, 1)  # type: ignore[assignment]
        seen.append(view.at)
        start, stop = view._flow.span(row)
        assert start <= view.at < max(stop, start + 1) or text[view.at : view.at + 1] == " "  # type: ignore[operator]
    assert sorted(seen) == places  # type: ignore[type-var]
    if not places:
        assert view.find(0, 1) is None


def test_forwards_and_backwards_around_the_ends() -> None:
    view = TextView("one x\ntwo\nx three x")
    view.lay(view.flow(20))
    view.found = "x"
    assert [view.find(0, 1), view.find(0, 1), view.find(2, 1), view.find(2, 1)] == [0, 2, 2, 0]
    assert view.place(0) == "1 of 3"
    assert view.find(0, -1) == 2
    assert view.place(2) == "3 of 3"


def test_places_are_marked_also_across_two_rows() -> None:
    view = TextView("aaaa needle bbbb")
    view.wrap = True
    view.found = "needle"
    view.lay(view.flow(8))
    assert "".join("".join(marked(line)) for line in view) == "needle"
    view.found = "aa"
    assert marked(view[0]) == ["aa", "aa"]


def test_wrapping_can_be_left() -> None:
    view = TextView("word " * 40)
    view.lay(view.flow(20))
    assert len(view) > 1
    assert "rows" in view.about()
    view.wrap = False
    view.lay(view.flow(20))
    assert len(view) == 1
    assert view.about() == "text, 200 characters, 1 line, not wrapped"


VALUE = {"a": [1, {"deep": "needle"}, 2], "needle": None, "b": {"x": {"y": {"z": ["no", "needle in hay"]}}}}


def search(view: TreeView, text: str) -> None:
    for _ in view.search(text):
        pass


def test_places_in_a_tree_are_unfolded() -> None:
    view = TreeView(VALUE, "title")
    search(view, "needle")
    assert len(view.hits) == 3
    row, seen = 0, []
    for _ in range(3):
        row = view.find(row, 1)  # type: ignore[assignment]
        seen.append((text_of(view[row]).strip(), view.place(row)))
        assert marked(view[row]) == ["needle"]
    assert seen == [
        ('deep: "needle"', "1 of 3"),
        ("needle: null", "2 of 3"),
        ('1: "needle in hay"', "3 of 3"),
    ]
    assert view.find(row, 1) == view.find(row, -1) - 0 or view.find(row, -1) is not None
    assert text_of(view[view.find(row, -1)]).strip() == "needle: null"  # type: ignore[index]
    assert text_of(view[view.find(row, 1)]).strip() == 'deep: "needle"'  # type: ignore[index]


def test_what_is_searched_are_names_and_plain_values_as_they_are_shown() -> None:
    value = {"n": Number("1e999"), "t": True, "u": None, "i": 12, "d": {}, "l": []}
    for text, places in (("1e999", 1), ("true", 1), ("null", 1), ("12", 1), ("{", 0)):
        view = TreeView(value, "")
        search(view, text)
        assert len(view.hits) == places


def test_folding_and_going_up() -> None:
    view = TreeView(VALUE, "title")
    assert text_of(view[0]).strip() == "▾ a: [3]"
    assert view.fold(0, False)
    assert not view.fold(0, False)
    assert view.fold(0, True)
    assert not view.fold(1)
    assert view.above(3) == 2
    assert view.above(2) == 0
    assert view.above(0) == 0


def test_unfolding_everything_unless_it_is_too_much() -> None:
    view = TreeView(VALUE, "title")
    assert view.unfold_all()
    assert "needle in hay" in "\n".join(text_of(line) for line in view)
    assert not any("▸" in text_of(line) for line in view)
    assert not TreeView({"n": [[1]] * 100_000}, "").unfold_all()


def test_depth_does_not_recurse() -> None:
    value: Any = "bottom"
    for _ in range(950):
        value = [value]
    view = TreeView(value, "")
    search(view, "bottom")
    row = view.find(0, 1)
    assert row == 949
    assert view.unfold_all()
    assert len(view) == 950


def test_an_empty_container_says_so() -> None:
    view = TreeView({}, "")
    assert [text_of(line) for line in view] == ["(empty)"]
    assert not view.fold(0)
    assert view.above(0) == 0
