"""The loader's thread: what it does first, what it never begins, and that nothing ends it."""

import threading
from collections.abc import Iterator

import pytest

from inspector.tui.schedule import Schedule

WAIT = 5.0


class Watched:
    """A schedule that writes down what it did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failed: list[tuple[str, str]] = []
        self.ended = threading.Event()
        self.plan = Schedule(
            asked=("first", "second"),
            long=("work", "idle work"),
            resting=("idle work",),
            failed=lambda kind, error: self.failed.append((kind, str(error))),
            ended=self.ended.set,
        )

    def settle(self) -> None:
        """Wait until it has nothing to do."""
        pause = threading.Event()
        for _ in range(int(WAIT / 0.005)):
            if self.plan.idle:
                return
            pause.wait(0.005)
        pytest.fail("the schedule does not come to rest")


@pytest.fixture
def watched() -> Iterator[Watched]:
    found = Watched()
    yield found
    found.plan.close(WAIT)


def test_an_overtaken_request_is_never_begun_and_the_urgent_kind_goes_first(watched: Watched) -> None:
    watched.plan.ask("second", lambda: watched.done.append("second, overtaken"))
    watched.plan.ask("second", lambda: watched.done.append("second"))
    watched.plan.ask("first", lambda: watched.done.append("first"))
    watched.plan.start()
    watched.settle()
    assert watched.done == ["first", "second"]


def test_a_request_goes_between_two_slices_of_long_work(watched: Watched) -> None:
    asked = threading.Event()

    def work() -> Iterator[None]:
        yield
        asked.wait(WAIT)
        watched.done.append("before the request")
        yield
        watched.done.append("after it")

    watched.plan.ask("first", lambda: watched.plan.begin("work", work()))
    watched.plan.start()
    watched.plan.ask("second", lambda: watched.done.append("request"))
    asked.set()
    watched.settle()
    assert watched.done.index("request") < watched.done.index("after it")


def test_resting_work_waits_for_keys_unless_somebody_waits_for_it(watched: Watched) -> None:
    def work() -> Iterator[None]:
        watched.done.append("rested")
        yield

    watched.plan.clock = lambda: 100.0  # no time passes
    watched.plan.touch()
    watched.plan.ask("first", lambda: watched.plan.begin("idle work", work()))
    watched.plan.ask("second", lambda: watched.done.append("request"))
    watched.plan.start()
    while watched.done != ["request"]:
        pass
    assert watched.plan.at_work("idle work")
    watched.plan.hurry(True)
    watched.settle()
    assert watched.done == ["request", "rested"]


def test_a_defect_ends_its_own_work_and_nothing_else(watched: Watched) -> None:
    def work() -> Iterator[None]:
        yield
        raise ValueError("broken")

    watched.plan.ask("first", lambda: watched.plan.begin("work", work()))
    watched.plan.ask("second", lambda: 1 // 0)  # type: ignore[arg-type,return-value]
    watched.plan.start()
    watched.settle()
    assert sorted(watched.failed) == [("second", "integer division or modulo by zero"), ("work", "broken")]
    watched.plan.ask("first", lambda: watched.done.append("still there"))
    watched.settle()
    assert watched.done == ["still there"]


def test_forgotten_work_is_not_gone_on_with(watched: Watched) -> None:
    def work() -> Iterator[None]:
        while True:
            yield

    watched.plan.ask("first", lambda: watched.plan.begin("work", work()))
    watched.plan.start()
    watched.plan.ask("second", lambda: watched.plan.forget("work"))
    watched.settle()


def test_regular_work_is_done_at_once_and_again(watched: Watched) -> None:
    again = threading.Semaphore(0)
    watched.plan.ask("first", lambda: watched.plan.every(0.01, again.release))  # type: ignore[arg-type]
    watched.plan.start()
    assert all(again.acquire(timeout=WAIT) for _ in range(3))
    watched.plan.ask("first", lambda: watched.plan.every(None, again.release))  # type: ignore[arg-type]
    watched.settle()


def test_closing_ends_the_thread(watched: Watched) -> None:
    watched.plan.start()
    watched.plan.close(WAIT)
    assert watched.ended.is_set()
