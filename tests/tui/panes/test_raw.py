import time

from inspector.model.run import RawRecord
from inspector.tui.panes import raw
from tests.tui.panes.snapshots import opened, shown, snapshot


def test_the_record_and_its_place() -> None:
    record = RawRecord(where="run.jsonl:17 byte 4211", text='{"a": 1,\n\t"b": 2}')
    lines = raw.lines(snapshot(raw=record), 80)
    assert shown(lines) == ["run.jsonl:17 byte 4211  17 characters", '{"a": 1,', '    "b": 2}']
    assert opened(lines, "a") == record.text


def test_a_record_of_twelve_million_characters_on_one_line() -> None:
    record = RawRecord(where="run.jsonl:1 byte 0", text='{"data": "' + "QUJD" * 3_000_000 + '"}')
    begin = time.process_time()
    lines = raw.lines(snapshot(raw=record), 80)
    assert len(lines) == 1 + -(-len(record.text) // 80)
    assert len(shown(lines, range(0, len(lines), len(lines) // 40))) > 40
    assert shown(lines, [len(lines) - 1])[0].endswith('"}')
    assert time.process_time() - begin < 1


def test_no_record() -> None:
    assert shown(raw.lines(snapshot(), 80)) == ["this file has no record of its own for step 5"]
