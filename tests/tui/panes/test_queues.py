from collections.abc import Sequence
from typing import Any

from inspector.model.run import Consumed, Produced, Queue, State, Step
from inspector.model.values import Number
from inspector.tui.panes import queues
from inspector.tui.panes.queues import ENDS, MANY, bar_of
from tests.tui.panes.snapshots import fold_at, opened, shown, snapshot


def full(id: str, *tokens: Any, scope: tuple[str, ...] = ()) -> Queue:
    return Queue(id=id, scope=scope, size=len(tokens), contents="complete", tokens=tokens)


def firing(name: str, took: dict[str, int], put: dict[str, int]) -> Step:
    return Step(
        seq=5,
        kind="firing",
        name=name,
        status="done",
        consumed=tuple(Consumed(queue=queue, count=count) for queue, count in took.items()),
        produced=tuple(Produced(queue=queue, count=count) for queue, count in put.items()),
    )


def test_what_the_step_took_and_put_is_marked() -> None:
    before = State(step=4, queues=(full("a.Out-->b.In", 1, 2, 3), full("b.Out-->c.In", "x")))
    after = (full("a.Out-->b.In", 3), full("b.Out-->c.In", "x", "y"))
    assert shown(queues.lines(snapshot(before=before, queues=after), 80)) == [
        "2 queues, 3 tokens; this step took 2 and put 1",
        "▾ a.Out → b.In       1 ██████▌       -2",
        "-         1",
        "-         2",
        "       0  3",
        "▾ b.Out → c.In       2 █████████████ +1",
        '       0  "x"',
        '+      1  "y"',
    ]


def test_equal_tokens_are_told_apart_by_what_the_step_says() -> None:
    before, after = State(step=4, queues=(full("q", 7, 7, 7),)), (full("q", 7, 7, 7),)
    quiet = shown(queues.lines(snapshot(before=before, queues=after), 80))
    assert not any(line.startswith(("-", "+")) for line in quiet)
    step = firing("b", {"q": 2}, {"q": 2})
    moved = shown(queues.lines(snapshot(before=before, queues=after, step_record=step), 80))
    assert [line[0] for line in moved[2:]] == ["-", "-", " ", "+", "+"]


def test_contents_that_are_not_known_are_said_to_be() -> None:
    after = (
        Queue(id="l", size=9, contents="last", tokens=("z",)),
        Queue(id="s", size=4, contents="size"),
        Queue(id="u", contents="unknown"),
    )
    step = firing("x", {"s": 3}, {"l": 1})
    lines = shown(queues.lines(snapshot(queues=after, step_record=step), 80))
    assert lines[0] == "3 queues, 13 tokens, 1 queue of unknown size; this step took 3 and put 1"
    assert lines[2:4] == ["        only the last token is recorded", '+      8  "z"']
    assert "-       3 tokens taken, not recorded" in lines
    assert "        the size is recorded, the tokens are not" in lines
    assert lines[-2].split() == ["u", "?"]
    assert lines[-1] == "        the file does not tell what is in it"


def test_a_queue_of_a_nested_network_is_found_by_the_steps_own_words() -> None:
    after = (
        Queue(id="a-->b", size=1, contents="size"),
        Queue(id="a-->b", scope=("line",), size=1, contents="size"),
        Queue(id="a-->b", scope=("line", "deep"), size=1, contents="size"),
    )
    for name, record, at in (("line/b", "a-->b", 1), ("b", "a-->b", 0), ("x", "line/deep/a-->b", 2)):
        step = firing(name, {record: 1}, {})
        rows = queues.queue_rows(State(step=5, queues=after), None, step)
        assert [bool(row.moved.unseen) for row in rows] == [number == at for number in range(3)]


def test_a_queue_that_the_step_emptied_and_removed_is_still_shown() -> None:
    before = State(step=4, queues=(full("send", "a", "b"),))
    lines = shown(queues.lines(snapshot(before=before, queues=()), 80))
    assert lines[1].split() == ["▾", "send", "0", "-2", "gone"]
    assert lines[2:] == ['-         "a"', '-         "b"']


def test_two_queues_of_one_id_fold_alone() -> None:
    after = (full("q", 1), full("q", 2))
    first = queues.lines(snapshot(queues=after), 80)
    folded = queues.lines(snapshot(queues=after), 80, fold_at(first, "▾ q"))
    assert [line.split()[0] for line in shown(folded)[1:]] == ["▸", "▾", "0"]


class Tokens(Sequence[int]):
    """A hundred thousand tokens that count how many were looked at."""

    seen = 0

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: Any) -> Any:
        self.seen += 1
        return index


def test_a_long_queue_is_built_where_it_is_looked_at() -> None:
    tokens = Tokens()
    queue = Queue(id="q", size=len(tokens), contents="complete", tokens=tokens)
    before = State(step=4, queues=(queue,))
    lines = queues.lines(snapshot(before=before, queues=(queue,)), 80)
    assert len(lines) == 2 + 2 * ENDS + 1
    assert "… 99,980 more tokens" in shown(lines)[2 + ENDS]
    assert shown(lines)[-1] == "  99,999  99999"
    whole = queues.lines(snapshot(before=before, queues=(queue,)), 80, fold_at(lines, "more tokens"))
    assert len(whole) == 2 + len(tokens)
    assert shown(whole, [50_002]) == ["  50,000  50000"]
    assert tokens.seen < 100
    assert opened(whole, "▾ q") is tokens


def test_up_to_many_tokens_all_are_shown() -> None:
    assert len(queues.lines(snapshot(queues=(full("q", *range(MANY)),)), 80)) == 2 + MANY


def test_a_token_opens_whole() -> None:
    token = {"text": "x" * 5000}
    assert opened(queues.lines(snapshot(queues=(full("q", token),)), 80), "text") == token


def test_texts_are_not_numbers() -> None:
    lines = shown(queues.lines(snapshot(queues=(full("q", "1", 1, "", Number("1e999")),)), 80))
    assert [line[10:] for line in lines[2:]] == ['"1"', "1", '""', "1e999"]


def test_what_is_not_recorded_is_not_nothing() -> None:
    assert shown(queues.lines(snapshot(known=True), 80)) == ["this file does not record queues"]
    assert shown(queues.lines(snapshot(queues=()), 80)) == ["there are no queues"]


def test_a_bar_shows_any_token_and_never_more_than_its_room() -> None:
    assert bar_of(0, 100, 8).strip() == ""
    assert bar_of(1, 10_000, 8).strip() == "▏"
    assert bar_of(10_000, 10_000, 8) == "█" * 8
    assert bar_of(0, 0, 8).strip() == ""


def test_contents_that_have_nothing_to_do_with_those_before_cost_little() -> None:
    before = State(step=4, queues=(full("q", *range(20_000)),))
    rows = queues.queue_rows(State(step=5, queues=(full("q", *range(50_000, 90_000)),)), before, None)
    assert len(rows[0].moved.taken) == 20_000
    assert rows[0].moved.put == 40_000
