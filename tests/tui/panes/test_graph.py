import sys
import time
from collections.abc import Callable
from types import FrameType

import pytest

from inspector.model.run import Consumed, Definition, Edge, Graph, Node, Pending, Produced, Queue, State, Step
from inspector.model.values import to_json
from inspector.tui.panes import graph
from inspector.tui.panes.graph import FORM, LARGE
from inspector.tui.panes.nesting import nesting, short
from tests.tui.panes.snapshots import fold_at, opened, shown, snapshot


def build(nodes: str, *edges: str, complete: bool = True) -> Graph:
    """Nodes separated by blanks, edges `from-->to`, in a nested network with its path before them."""
    made = []
    for edge in edges:
        prefix = edge.partition("-->")[0].rpartition("/")[0]
        start, _, end = edge.partition("-->")
        made.append(Edge(id=edge, from_=start, to=f"{prefix}/{end}" if prefix else end))
    return Graph(
        nodes=tuple(Node(id=id, class_=id.title()) for id in nodes.split()), edges=tuple(made), complete=complete
    )


SHOP = build(
    "desk line line/splitter line/machine line/machine/ink line/machine/roll binder",
    "WF.Job-->desk.Job",
    "desk.Job-->line.Job",
    "line/WF.Job-->splitter.Job",
    "line/splitter.Sheet-->machine.Sheet",
    "line/machine/ink.Wet-->roll.Wet",
    "line.Page-->binder.Page",
)
WET = Queue(id="ink.Wet-->roll.Wet", scope=("line", "machine"), size=2, contents="complete", tokens=("a", "b"))
JOB = Queue(id="desk.Job-->line.Job", size=1, contents="complete", tokens=(2,))
INK = Step(
    seq=5,
    kind="firing",
    name="line/machine/ink",
    status="done",
    consumed=(Consumed(queue="splitter.Sheet-->machine.Sheet", count=1),),
    produced=(Produced(queue="ink.Wet-->roll.Wet", tokens=("b",)),),
)


def at(graph: Graph, **fields: object):  # type: ignore[no-untyped-def]
    return snapshot(definition=Definition(graph=graph), **fields)


def test_a_small_graph_is_drawn_with_its_sizes_and_the_steps_node() -> None:
    pair = build("a b", "a-->b")
    here = Step(seq=5, kind="node", name="b", status="done")
    queue = Queue(id="a-->b", size=3, contents="size")
    assert shown(graph.lines(at(pair, queues=(queue,), step_record=here), 60)) == [
        "2 nodes, 1 edge",
        "● this step",
        "┌─────┐",
        "│  a  │",
        "└──┬──┘",
        "   │3",
        "   ▼",
        "┌─────┐",
        "│● b  │",
        "└─────┘",
    ]


def test_nested_networks_open_in_place() -> None:
    closed = shown(
        graph.lines(at(SHOP, queues=(WET, JOB), step_record=INK), 60, fold_at(graph.lines(at(SHOP), 60), "▾ line"))
    )
    assert any("●▸line" in line.replace(" ", "") for line in closed)
    assert not any("ink" in line for line in closed)
    whole = shown(graph.lines(at(SHOP, queues=(WET, JOB), step_record=INK), 60))
    assert any("●" in line and "ink" in line for line in whole)
    assert any("│2+" in line for line in whole)


def test_a_graph_that_does_not_fit_is_a_list_and_can_be_drawn_all_the_same() -> None:
    wide = build(" ".join(f"n{number}" for number in range(12)), *(f"n0-->n{number}" for number in range(1, 12)))
    listed = shown(graph.lines(at(wide), 40))
    assert listed[2].split() == ["n0", "N0"]
    assert listed[3].split() == ["→", "n1", "n0-->n1"]
    drawn = shown(graph.lines(at(wide), 40, {FORM}))
    assert any("┌" in line for line in drawn)
    assert shown(graph.lines(at(wide), 400)) == drawn
    assert shown(graph.lines(at(wide), 400, {FORM}))[2] != drawn[2]


def test_the_list_of_a_nested_graph() -> None:
    lines = shown(graph.lines(at(SHOP, queues=(WET, JOB), step_record=INK), 60, {FORM}))
    assert lines[2:] == [
        "    WF.Job",
        "      → desk      WF.Job-->desk.Job",
        "    desk      Desk",
        "      → line          1 ████      desk.Job-->line.Job",
        "● ▾ line      Line",
        "      → binder    line.Page-->binder.Page",
        "      WF.Job",
        "        → splitter  line/WF.Job-->splitter.Job",
        "      splitter  Line/Splitter",
        "        → machine   line/splitter.Sheet-->machine.Sheet",
        "  ● ▾ machine   Line/Machine",
        "    ●   ink       Line/Machine/Ink",
        "          → roll         2+ ████████  line/machine/ink.Wet-->roll.Wet",
        "        roll      Line/Machine/Roll",
        "    binder    Binder",
    ]


def test_cycles_and_loops() -> None:
    ring = build("a b c", "a-->b", "b-->c", "c-->a", "b-->b")
    drawn = shown(graph.lines(at(ring, queues=(Queue(id="b-->b", size=4, contents="size"),)), 80))
    assert any("▲" in line for line in drawn)
    assert any("b @4" in line for line in drawn)
    listed = shown(graph.lines(at(ring), 80, {FORM}))
    assert [line.split()[0] for line in listed[2:]] == ["a", "→", "b", "→", "↑", "c", "↑"]


def test_pending_work_and_failure_are_marked_by_signs() -> None:
    failed = Step(seq=5, kind="firing", name="a", status="failed")
    entries = (Pending(kind="node", name="b", status="ready"), Pending(kind="node", name="c, d", status="ambiguous"))
    text = "\n".join(shown(graph.lines(at(build("a b c d", "a-->b"), pending=entries, step_record=failed), 90)))
    for sign in ("✗ a", "○ b", "! c", "! d"):
        assert sign in text


def test_only_signs_that_are_there_are_explained() -> None:
    entry = Pending(kind="node", name="b", status="ambiguous")
    assert shown(graph.lines(at(build("a b")), 80))[1] == ""
    assert shown(graph.lines(at(build("a b"), pending=(entry,)), 80))[1] == "! may have happened"
    assert shown(graph.lines(at(SHOP, step_record=INK), 80))[1] == "● this step  ▸ holds a network"


def test_a_queue_that_leads_to_a_node_on_no_edge_is_told_at_the_node() -> None:
    queue = Queue(id="worker", to="worker", size=3, contents="size")
    loose = Graph(nodes=(Node(id="split"), Node(id="worker")), complete=False)
    drawn = graph.lines(at(loose, queues=(queue,)), 90)
    assert any("worker [3]" in line for line in shown(drawn))
    listed = graph.lines(at(loose, queues=(queue,)), 90, {FORM})
    assert any("worker  queue 3" in line for line in shown(listed))
    assert opened(listed, "worker")["queue"]["size"] == 3


def test_enter_opens_all_that_is_known_of_a_node_or_edge() -> None:
    lines = graph.lines(at(SHOP, queues=(WET, JOB), step_record=INK), 60, {FORM})
    node = opened(lines, "ink ")
    assert node["class"] == "Line/Machine/Ink"
    assert [edge["size"] for edge in node["out"]] == [2]
    assert opened(lines, "→ roll")["tokens"] == ("a", "b")
    drawn = graph.lines(at(build("a b c", "a-->b", "a-->c")), 80)
    assert set(opened(drawn, "b")) == {"b", "c"}


@pytest.mark.parametrize("known", [True, False])
def test_ids_that_are_no_paths_end(known: bool) -> None:
    ids = ("", "/", "//", "/a", "a/", "a//b", "a", "a/b")
    edges = tuple(Edge(id=f"{one}-->{other}", from_=one, to=other) for one in ids for other in ids)
    made = Graph(nodes=tuple(Node(id=id) for id in ids) if known else None, edges=edges)
    for form in (set(), {FORM}):
        assert len(shown(graph.lines(at(made), 80, form))) > 2
    assert {"∕", "∕a", "a∕", "a∕∕b", "a", "a/b"} <= set(nesting(made).nodes)


def test_what_enter_opens_is_a_value_all_through() -> None:
    lines = graph.lines(at(build("a b", "a-->b")), 60)
    opens = [line.opens for line in (lines[row] for row in range(len(lines))) if line.opens is not None]
    assert opens
    assert not any("Unset" in to_json(one.value) for one in opens)


def test_queues_of_one_id_lie_on_the_edges_in_their_order() -> None:
    twice = build("a b", "a-->b", "a-->b")
    queues = (Queue(id="a-->b", size=3, contents="size"), Queue(id="a-->b", size=7, contents="size"))
    lines = shown(graph.lines(at(twice, queues=queues), 80, {FORM}))
    assert [line.split()[2] for line in lines[3:5]] == ["3", "7"]


def test_nodes_that_only_ids_name_and_ends_that_are_no_nodes() -> None:
    net = nesting(Graph(nodes=(Node(id="a/b/c"),), edges=(Edge(id="x", from_="a/b/c", to="END"), Edge(id="y"))))
    assert net.inside[""][0] == "a"
    assert net.inside["a"] == ["a/b"]
    assert {short(link.end) for link in net.links["a/b"]} == {"END"}
    assert {short(link.start) for link in net.links[""]} == {"?"}
    alone = nesting(Graph(edges=(Edge(id="x", from_="a", to="b"),)))
    assert set(alone.nodes) == {"a", "b"}


def test_an_edge_between_a_network_and_its_inside_is_a_boundary_there() -> None:
    nodes = (Node(id="line"), Node(id="line/press"))
    edges = (
        Edge(id="line/WF.Job-->press.Job", from_="line", to="line/press"),
        Edge(id="line/press.Page-->WF.Page", from_="line/press", to="line"),
    )
    net = nesting(Graph(nodes=nodes, edges=edges))
    assert [(short(link.start), short(link.end)) for link in net.links["line"]] == [
        ("WF.Job", "press"),
        ("press", "WF.Page"),
    ]
    assert "" not in net.links


def test_an_edge_into_a_network_is_seen_outside_and_inside() -> None:
    nodes = (Node(id="desk"), Node(id="line/deep/press"), Node(id="binder"))
    edges = (
        Edge(id="desk.Job-->line/deep/press.Job", from_="desk", to="line/deep/press"),
        Edge(id="line/deep/press.Page-->binder.Page", from_="line/deep/press.Page", to="binder.Page"),
    )
    net = nesting(Graph(nodes=nodes, edges=edges))
    assert {scope: [(short(link.start), short(link.end)) for link in links] for scope, links in net.links.items()} == {
        "": [("desk", "line"), ("line", "binder")],
        "line": [("desk.Job", "deep"), ("deep", "binder.Page")],
        "line/deep": [("desk.Job", "press"), ("press", "binder.Page")],
    }
    queue = Queue(id="desk.Job-->line/deep/press.Job", size=5, contents="size")
    lines = shown(graph.lines(at(Graph(nodes=nodes, edges=edges), queues=(queue,)), 80))
    assert sum("│5" in line for line in lines) == 3


def test_what_is_not_recorded_is_said() -> None:
    assert shown(graph.lines(snapshot(), 80)) == ["this file does not record a graph"]
    assert shown(graph.lines(at(Graph(nodes=(), edges=())), 80)) == ["the graph is empty"]
    part = Graph(nodes=(Node(id="a"),), complete=False)
    assert shown(graph.lines(at(part), 80))[0] == "1 node, edges not recorded, only parts of the graph are recorded"


def test_three_hundred_actions_are_fast() -> None:
    edges = [f"n{number}-->n{(number * 7 + 3) % 300}" for number in range(257)]
    big = build(" ".join(f"n{number}" for number in range(300)), *edges)
    queues = tuple(Queue(id=edge, size=number % 5, contents="size") for number, edge in enumerate(edges))
    state = State(step=4, queues=queues)
    assert len(edges) > LARGE
    begin = time.process_time()
    first = graph.lines(at(big, queues=queues), 80, {FORM})
    shown(first, range(20))
    assert time.process_time() - begin < 2
    begin = time.process_time()
    for name in ("n1", "n2", "n3", "n4"):
        step = Step(seq=5, kind="node", name=name, status="done")
        shown(graph.lines(at(big, before=state, queues=queues, step_record=step), 80, {FORM}), range(20))
    assert time.process_time() - begin < 1


def test_a_picture_too_large_to_draw_is_a_list() -> None:
    edges = [f"n{a}-->n{b}" for a in range(130) for b in range(a + 1, 130)]
    full = build(" ".join(f"n{number}" for number in range(130)), *edges)
    lines = graph.lines(at(full), 80, {FORM})
    assert shown(lines, [0]) == ["130 nodes, 8,385 edges, too large to draw"]


def test_a_graph_of_very_many_nodes_is_not_laid_out() -> None:
    nodes = tuple(Node(id=f"n{number}", kind="node") for number in range(100_000))
    edges = tuple(Edge(id=f"e{number}", from_=f"n{number}", to=f"n{number * 7 % 100_000}") for number in range(200_000))
    here = Step(seq=5, kind="node", name="n1", status="done")
    seen = at(Graph(nodes=nodes, edges=edges), step_record=here)
    found: list[str] = []
    calls = called(lambda: found.extend(shown(graph.lines(seen, 80, {FORM}), [0, 1, 2, 3, 100_002, 300_001])))
    assert calls < 2000
    assert found == [
        "100,000 nodes, 200,000 edges, too large to draw",
        "● this step",
        "  n0  node",
        "● n1  node",
        "  n0 → n0  e0",
        "  n199999 → n99993  e199999",
    ]
    assert opened(graph.lines(seen, 80), "n1") == {"id": "n1", "kind": "node"}


def test_a_key_on_a_long_list_costs_little() -> None:
    edges = [f"n{number}-->n{number * 7 % 5000}" for number in range(5000)]
    long = at(build(" ".join(f"n{number}" for number in range(5000)), *edges))
    shown(graph.lines(long, 80), range(20))
    assert called(lambda: shown(graph.lines(long, 80), range(20))) < 20_000


def called(work: Callable[[], object]) -> int:
    """How many functions some work calls."""
    calls = 0

    def count(frame: FrameType, event: str, of: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def test_boxes_hold_wide_names() -> None:
    from rich.cells import cell_len

    lines = shown(graph.lines(at(build("受取人 b", "受取人-->b")), 80))
    assert len({cell_len(line) for line in lines[2:5]}) == 1


def test_a_graph_whose_nodes_have_parameters() -> None:
    nodes = tuple(Node(id=name, kind="actor", parameters={"limit": [1, {"a": 2}]}) for name in "ab")
    made = Graph(nodes=nodes, edges=(Edge(id="a-->b", from_="a", to="b"),))
    assert nesting(made) is nesting(made)
    assert nesting(made).links[""][0].end == "b"
