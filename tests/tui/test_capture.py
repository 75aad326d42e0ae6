"""What code prints while it runs in this process: lines for a pane, whoever prints them."""

import os
import subprocess
import sys
import threading

from inspector.tui.capture import KEPT, LONGEST, Output, capturing


def test_prints_of_this_process_and_its_children_are_taken_and_then_no_more() -> None:
    output = Output()
    before = [os.fstat(number).st_ino for number in (1, 2)]
    with capturing(output):
        print("one")
        print("two", file=sys.stderr)
        os.write(1, b"three\n")
        subprocess.run(["sh", "-c", "echo four; echo five >&2"], check=True)
        print("no end", end="")
    assert list(output.lines) == ["one", "two", "three", "four", "five", "no end"]
    assert [os.fstat(number).st_ino for number in (1, 2)] == before
    print("not taken")
    assert output.count == 6


def test_two_at_once_share_it_and_the_last_ends_it() -> None:
    first, second, begun, go = Output(), Output(), threading.Event(), threading.Event()
    before = os.fstat(1).st_ino

    def other() -> None:
        with capturing(second):
            begun.set()
            go.wait(30)
            print("late")

    thread = threading.Thread(target=other)
    with capturing(first):
        thread.start()
        assert begun.wait(30)
        print("early")
    assert os.fstat(1).st_ino != before, "the other is still in it"
    go.set()
    thread.join(30)
    assert os.fstat(1).st_ino == before
    assert list(first.lines) == ["early", "late"]
    assert not second.lines


def test_what_is_kept_is_bounded_and_cannot_act_on_a_terminal() -> None:
    output = Output()
    output.add(b"\x1b]0;owned\x07" + b"x" * (3 * LONGEST))
    output.add(b"\n" + b"line\n" * (KEPT + 10))
    assert len(output.lines) == KEPT
    assert output.count >= KEPT + 10
    again = Output()
    again.add("\x1b[2Jé\n".encode() + b"\xff\n")
    assert list(again.lines) == ["\\u001b[2Jé", "\ufffd"]


def test_a_line_that_is_written_over_is_seen_as_it_stands_and_without_colours() -> None:
    output = Output()
    output.add(b"\x1b[32mok\x1b[0m\r\nload  0%")
    output.add(b"\r\x1b[Kload 50%\r")
    assert output.shown() == ["ok", "load 50%"]
    output.add(b"load 100%\nnext")
    assert output.shown() == ["ok", "load 100%", "next"]
    assert list(output.lines) == ["ok", "load 100%"]
    for number in range(2 * LONGEST):
        output.add(b"\r%d" % number)
    assert output.shown() == ["ok", "load 100%", str(2 * LONGEST - 1)]
