import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inspector.formats import search
from inspector.formats.files import File
from inspector.formats.search import NOWHERE, Search, needles
from tests.fuzz import TIMES

BYTES = st.text("ab\nz", max_size=60).map(str.encode)
NEEDLES = st.lists(st.text("abz", min_size=1, max_size=3).map(str.encode), min_size=1, max_size=3)


@given(BYTES, NEEDLES, st.integers(1, 20), st.integers(0, 10))
@example(b"\nbab", [b"a", b"bab"], 1, 0)
@settings(max_examples=150 * TIMES, deadline=None)
def test_every_match_is_found_in_both_directions(
    tmp_path_factory: pytest.TempPathFactory,
    data: bytes,
    wanted: list[bytes],
    window: int,
    begin: int,
) -> None:
    path = tmp_path_factory.mktemp("search") / "file"
    path.write_bytes(data)
    begin = min(begin, len(data))
    expected = [at for at in range(begin, len(data)) if any(data.startswith(needle, at) for needle in wanted)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "CHUNK", window)
        forward, at = [], begin
        looking = Search(File(str(path)), wanted, begin, len(data))
        while at < len(data):
            found, on = looking.after(at)
            assert on > at
            forward += [found] if found != NOWHERE else []
            at = on if found == NOWHERE else found + 1
        assert forward == expected
        backward, at = [], len(data)
        looking = Search(File(str(path)), wanted, begin, len(data))
        while at > begin:
            found, on = looking.before(at)
            assert on < at
            backward += [found] if found != NOWHERE else []
            at = on if found == NOWHERE else found
        assert backward == expected[::-1]


@given(BYTES, st.integers(1, 20))
@settings(max_examples=60 * TIMES, deadline=None)
def test_lines_around_a_place(tmp_path_factory: pytest.TempPathFactory, data: bytes, window: int) -> None:
    path = tmp_path_factory.mktemp("search") / "file"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "CHUNK", window)
        looking = Search(File(str(path)), [b"a"], 0, len(data))
        for at in range(len(data)):
            looking.after(at)
            assert looking.line_start(at, 0) == data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            assert looking.line_end(at) == (len(data) if end < 0 else end + 1)


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("plain", [b"plain"]),
        ('a "b"', [b'a "b"', b'a \\"b\\"']),
        ("é", ["é".encode(), b"\\u00e9"]),
        ("two\nlines", [b"two\\nlines"]),
        ("\n", [b"\\n"]),
        ("", []),
        ("\ud800", [b"\xed\xa0\x80", b"\\ud800"]),
    ],
)
def test_needles(text: str, forms: list[bytes]) -> None:
    assert needles(text) == forms
