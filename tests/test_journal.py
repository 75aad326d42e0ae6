import os
from pathlib import Path

import pytest

from inspector.errors import UsageError
from inspector.journal import TraceFile
from tests.formats.traces import header, records, text


def test_records_are_whole_lines_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    found = records(5)
    journal = TraceFile(str(path))
    for count, record in enumerate(found, 1):
        journal.append(record, durable=count % 2 == 0)
        assert path.read_bytes() == text(found[:count])
    journal.close()
    journal.close()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    TraceFile(str(tmp_path / "run.jsonl")).append(header())
    assert os.stat(tmp_path / "run.jsonl").st_mode & 0o777 == 0o600


def test_there_is_no_file_before_there_is_something_in_it(tmp_path: Path) -> None:
    journal = TraceFile(str(tmp_path / "run.jsonl"))
    assert not (tmp_path / "run.jsonl").exists()
    (tmp_path / "run.jsonl").write_bytes(b"another's")
    with pytest.raises(UsageError, match="exists already"):
        journal.append(header())
    assert (tmp_path / "run.jsonl").read_bytes() == b"another's"


def test_a_trace_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"mine")
    with pytest.raises(UsageError, match="exists already"):
        TraceFile(str(path)).append(header())
    assert path.read_bytes() == b"mine"
