import pytest

from inspector.model.run import Pending, PendingStatus
from inspector.tui.line import text_of
from inspector.tui.panes import pending
from inspector.tui.panes.pending import MEANINGS
from tests.tui.panes.snapshots import opened, shown, snapshot

BATCH = (
    Pending(kind="tool", name="lookup", status="answered", call_id="c1", arguments={"id": "A-17"}, result={"n": 2}),
    Pending(
        kind="tool", name="refund", status="waiting", call_id="c2", arguments={"x": 1}, since="2026-03-01T09:30:00Z"
    ),
    Pending(kind="tool", name="refund", status="ambiguous", call_id="c3", arguments={"x": 2}, note="lease ended"),
    Pending(kind="tool", name="email", status="ready", call_id="c4"),
)


def test_a_batch_is_told_per_call() -> None:
    assert shown(pending.lines(snapshot(pending=BATCH), 80)) == [
        "tool batch, 4 calls: 1 may have happened, 1 waiting, 1 ready, 1 answered",
        ' ✓ answered   c1  lookup  {"id": "A-17"}',
        '   → {"n": 2}',
        ' ? waiting    c2  refund  {"x": 1}',
        "   since 2026-03-01T09:30:00Z",
        ' ! ambiguous  c3  refund  {"x": 2}',
        "   no result is recorded; it may have happened",
        "   lease ended",
        " ○ ready      c4  email   null",
    ]


def test_that_something_may_have_happened_is_said_once() -> None:
    why = "started by process 7 on vm, no result recorded: it may have happened"
    entry = Pending(kind="firing", name="ink", status="ambiguous", call_id="ink#1", note=why)
    found = shown(pending.lines(snapshot(pending=(entry,)), 100))
    assert sum("may have happened" in row for row in found[1:]) == 1


def test_enter_opens_the_call_or_its_result() -> None:
    lines = pending.lines(snapshot(pending=BATCH), 80)
    assert opened(lines, "→") == {"n": 2}
    whole = opened(lines, "c3")
    assert whole["arguments"] == {"x": 2}
    assert whole["note"] == "lease ended"
    assert "result" not in whole
    assert opened(lines, "c4")["arguments"] is None


@pytest.mark.parametrize("status", MEANINGS)
def test_no_two_statuses_look_alike_without_colours(status: PendingStatus) -> None:
    def look(status: PendingStatus) -> str:
        entry = Pending(kind="tool", name="t", status=status, call_id="c")
        return "\n".join(shown(pending.lines(snapshot(pending=(entry,)), 80)))

    assert all(look(other) != look(status) for other in MEANINGS if other != status)


def test_kinds_stand_apart_and_only_calls_show_missing_arguments() -> None:
    entries = (
        Pending(kind="tool", name="t", status="ready"),
        Pending(kind="firing", name="line/machine/ink", status="ready"),
        Pending(kind="model", name="gpt", status="in_flight"),
        Pending(kind="input", name="user", status="waiting"),
        Pending(kind="node", name="a", status="ready"),
        Pending(kind="node", name="b", status="ready"),
    )
    lines = shown(pending.lines(snapshot(pending=entries), 80))
    assert [line for line in lines if not line.startswith(" ")] == [
        "tool batch, 1 call",
        "1 firing",
        "1 model request",
        "1 input",
        "2 nodes",
    ]
    assert " ○ ready      line/machine/ink" in lines
    assert "   running now; its owner is alive" in lines


def test_what_is_not_recorded_is_not_nothing() -> None:
    assert shown(pending.lines(snapshot(known=True), 80)) == ["this file does not record pending work"]
    assert shown(pending.lines(snapshot(pending=()), 80)) == ["nothing is pending here"]
    assert pending.title(snapshot(known=True)) is None
    assert pending.title(snapshot(pending=())) == 0


def test_a_long_note_takes_more_rows() -> None:
    entries = (Pending(kind="tool", name="t", status="ready", note="one two three " * 8),)
    lines = shown(pending.lines(snapshot(pending=entries), 40))
    assert len(lines) > 4
    assert all(len(line) <= 40 for line in lines)
    assert " ".join(line.strip() for line in lines[2:]).strip() == ("one two three " * 8).strip()


def test_long_names_and_wide_ones_keep_the_columns() -> None:
    entries = (
        Pending(kind="tool", name="x" * 500, status="ready", call_id="i" * 500, arguments={}),
        Pending(kind="tool", name="受取人確認", status="ready", call_id="c1", arguments={}),
    )
    lines = pending.lines(snapshot(pending=entries), 60)
    from rich.cells import cell_len

    starts = [cell_len(text_of(lines[row]).split("{}")[0]) for row in (1, 2)]
    assert starts[0] == starts[1] < 60


def test_a_name_cannot_write_a_line_of_its_own() -> None:
    entries = (Pending(kind="tool", name="a\nfake line", status="ready", note="b\nc"),)
    assert all("\n" not in line for line in shown(pending.lines(snapshot(pending=entries), 60)))
