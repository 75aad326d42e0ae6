import itertools

from hypothesis import given
from hypothesis import strategies as st

from inspector.tui.panes.channels import layout
from inspector.tui.panes.layers import Layered, nearest, ranks, turned
from tests.tui.panes.snapshots import few

graphs = st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.just(count), st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=25)
    )
)


@few
@given(graphs)
def test_turning_edges_leaves_no_cycle(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    back = turned(count, edges)
    forward = [(b, a) if turn else (a, b) for (a, b), turn in zip(edges, back, strict=True) if a != b]
    rank = ranks(count, forward)
    assert all(rank[start] < rank[end] for start, end in forward)


def test_edges_of_a_graph_without_cycles_stay() -> None:
    assert turned(4, [(0, 1), (1, 3), (0, 2), (2, 3), (0, 3)]) == [False] * 5
    assert turned(3, [(0, 1), (1, 2), (2, 0)]) == [False, False, True]


@few
@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 9)), min_size=1, max_size=12),
    st.integers(0, 3),
)
def test_nearest_keeps_order_and_gaps(boxes: list[tuple[int, int]], gap: int) -> None:
    wanted, widths = [column for column, _ in boxes], [width for _, width in boxes]
    found = nearest(wanted, widths, gap)
    for at in range(len(found) - 1):
        assert found[at] + widths[at] + gap <= found[at + 1]
    free = [column for column, width in zip(sorted(wanted), widths, strict=True)]
    if all(a + width + gap <= b for a, b, width in zip(free, free[1:], widths, strict=False)):
        assert nearest(free, widths, gap) == free


def test_nearest_stays_in_its_room() -> None:
    assert nearest([9, 9, 9], [1, 1, 1], 1, (0, 8)) == [4, 6, 8]
    assert nearest([-5, 20], [1, 1], 1, (0, 8)) == [0, 8]


@few
@given(graphs)
def test_boxes_do_not_overlap_and_edges_join_their_boxes(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    sizes = [(5 + number % 4, 3) for number in range(count)]
    plan = layout(sizes, edges, 5)
    boxes = [(x, y, width, height) for (x, y), width, (_, height) in zip(plan.places, plan.widths, sizes, strict=True)]
    cells = [(x + dx, y + dy) for x, y, width, height in boxes for dx in range(width) for dy in range(height)]
    assert len(cells) == len(set(cells))
    for (start, end), route in zip(edges, plan.routes, strict=True):
        assert (route is None) == (start == end)
        if route is None:
            continue
        upper, lower = (boxes[end], boxes[start]) if route.turned else (boxes[start], boxes[end])
        (x1, y1), (x2, y2) = route.points[0], route.points[-1]
        assert y1 == upper[1] + upper[3]
        assert y2 == lower[1] - 1
        assert upper[0] < x1 < upper[0] + upper[2] - 1
        assert lower[0] < x2 < lower[0] + lower[2] - 1
        for (xa, ya), (xb, yb) in zip(route.points, route.points[1:], strict=False):
            assert xa == xb or ya == yb
            assert ya <= yb
        for x, y in _cells(route.points):
            assert not any(bx <= x < bx + width and by <= y < by + height for bx, by, width, height in boxes)


@few
@given(graphs)
def test_no_two_edges_lie_on_each_other(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    plan = layout([(5, 3)] * count, edges, 5)
    stretches: dict[tuple[bool, int, int], int] = {}
    for number, route in enumerate(plan.routes):
        for (xa, ya), (xb, yb) in zip(route.points, route.points[1:], strict=False) if route else ():
            level = ya == yb and xa != xb
            for at in range(min(xa, xb) if level else ya, max(xa, xb) if level else yb):
                key = (level, ya if level else xa, at)
                assert stretches.setdefault(key, number) == number


def _cells(points: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    found = []
    for (xa, ya), (xb, yb) in itertools.pairwise(points):
        if ya == yb:
            found += [(x, ya) for x in range(min(xa, xb), max(xa, xb) + 1)]
        else:
            found += [(xa, y) for y in range(ya, yb + 1)]
    return found


def test_a_chain_goes_straight_down() -> None:
    plan = layout([(8, 3), (11, 3), (6, 3)], [(0, 1), (1, 2)], 5)
    assert all(route is not None and len({x for x, _ in route.points}) == 1 for route in plan.routes)


def test_an_edge_that_crosses_layers_bends_in_each() -> None:
    graph = Layered([(5, 3)] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)], 7)
    assert len(graph.chains[3]) == 4
