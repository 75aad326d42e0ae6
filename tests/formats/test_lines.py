from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.formats.files import File
from inspector.formats.lines import Lines, Scan, line_at, line_end
from tests.fuzz import TIMES

TEXTS = st.lists(st.binary(max_size=30).map(lambda text: text.replace(b"\n", b"")), max_size=12).map(b"\n".join)


def file(folder: Path, data: bytes) -> File:
    path = folder / "lines.jsonl"
    path.write_bytes(data)
    return File(str(path))


def read(folder: Path, data: bytes, batch: int) -> list[bytes]:
    lines = Lines(file(folder, data))
    list(lines.scan(batch))
    return [lines.read(index) for index in range(len(lines))]


def expected(data: bytes) -> list[bytes]:
    found = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.rstrip(b"\r\n") for line in (found if found[-1] else found[:-1])]


@given(TEXTS, st.integers(1, 40))
@settings(max_examples=60 * TIMES, deadline=None)
def test_lines_are_those_of_a_split(tmp_path_factory: pytest.TempPathFactory, data: bytes, batch: int) -> None:
    folder = tmp_path_factory.mktemp("lines")
    assert read(folder, data, batch) == expected(data)


@given(TEXTS, st.integers(1, 40), st.lists(st.integers(0, 400), max_size=5), st.binary(max_size=60))
@settings(max_examples=60 * TIMES, deadline=None)
def test_a_file_that_grows(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, batch: int, cuts: list[int], head: bytes
) -> None:
    """Whatever pieces it grows by, the lines are the same in the end, and each was seen when it was whole."""
    seen: dict[int, bytes] = {}

    def see(found: list[bytes], first: int) -> None:
        seen.update(enumerate(found, first))

    source = file(tmp_path_factory.mktemp("lines"), b"")
    lines = Lines(source, see)
    for cut in [*sorted(cuts), len(data)]:
        with open(source.path, "r+b") as out:
            out.write(data[:cut])
        source.refresh()
        list(lines.scan(batch))
    assert [lines.read(index) for index in range(len(lines))] == expected(data) or data.startswith(b"\xef\xbb\xbf")
    assert len(seen) == len(lines)
    assert all(seen[index].rstrip(b"\r") == lines.read(index) for index in range(len(lines)))
    assert [lines.finished(index) for index in range(len(lines))] == [
        index < data.count(b"\n") for index in range(len(lines))
    ]


def test_no_line_but_newlines_ends_a_line(tmp_path: Path) -> None:
    data = "one\u2028still\u0085one\x0b\x0c\x1d\rone\ntwo".encode()
    assert read(tmp_path, data, 1 << 20) == data.split(b"\n")


def test_a_mark_at_the_beginning_is_no_part_of_a_line(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbf{}\n[]", 1 << 20) == [b"{}", b"[]"]


@given(TEXTS, st.integers(1, 20))
@settings(max_examples=40 * TIMES, deadline=None)
def test_the_number_of_a_line(tmp_path_factory: pytest.TempPathFactory, data: bytes, batch: int) -> None:
    source = file(tmp_path_factory.mktemp("lines"), data)
    scan = Scan(source)
    for _ in scan.batches(batch):
        pass
    for offset in range(source.start, scan.scanned):
        assert scan.number(offset) == data.count(b"\n", source.start, offset)
        assert line_end(source, offset) == data.index(b"\n", offset) + 1


def test_a_long_line_is_not_read_over_and_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = file(tmp_path, b"x" * (8 << 20) + b"\nshort\n")
    total = []
    plain = source.read
    monkeypatch.setattr(
        source, "read", lambda offset, length: (found := plain(offset, length), total.append(len(found)))[0]
    )
    lines = Lines(source)
    list(lines.scan())
    assert len(lines) == 2
    assert sum(total) <= 3 * source.size


def test_a_long_line_may_be_cut(tmp_path: Path) -> None:
    long = b"{" + b"x" * 50_000 + b"}"
    source = file(tmp_path, b"short\n" + long + b"\nother\n" + long)
    scan = Scan(source, cut=8192)
    found = [(line, begin) for lines, begin in scan.batches(100) for line in lines]
    assert [(line[:2], line[-2:]) for line, _ in found] == [(b"sh", b"t\n"), (b"{x", b"}\n"), (b"ot", b"r\n")]
    assert [begin for _, begin in found] == [0, 6, 6 + len(long) + 1]
    assert all(len(line) <= 8192 for line, _ in found)
    assert (scan.rest()[:2], scan.rest()[-2:], len(scan.rest()) < 8192) == (b"{x", b"x}", True)
    assert scan.number(source.size - 1) == 3


@pytest.mark.parametrize("length", [1, 5, 6, 100, 1 << 20])
def test_line_at(tmp_path: Path, length: int) -> None:
    source = file(tmp_path, b"first\nsecond\r\n" + b"z" * 9000 + b"\nlast")
    assert line_at(source, 0, length) == b"first"
    assert line_at(source, 6, length) == b"second"
    assert line_at(source, 14, length) == b"z" * 9000
    assert line_at(source, source.size - 4, length) == b"last"
    assert line_at(source, source.size, length) == b""


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_place_in_a_very_long_line_is_told_without_reading_it(
    tmp_path: Path, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = file(tmp_path, b"a\nb\n" + b"x" * 4_000_000 + end)
    scan = Scan(source)
    assert sum(len(lines) for lines, _ in scan.batches()) == (3 if end else 2)
    scan.rest()
    read, got = File.read, list[int]()
    monkeypatch.setattr(File, "read", lambda one, at, length: got.append(length) or read(one, at, length))
    assert [scan.number(at) for at in (0, 1, 2, 4, 5, 3_999_999)] == [0, 0, 1, 2, 2, 2]
    assert sum(got) < 100
