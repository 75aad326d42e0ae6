"""Memory in files: any name of a conversation, each run once, whole lines only."""

import asyncio
import builtins
import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector import Call, FileMemory, Message
from inspector.errors import UnreadableError
from inspector.model.values import Number, to_json

HELLO = Message.user("hello")
NAMES = (
    "talk", "Talk", "TALK", "a/b", "a%2fb", "../../etc/passwd", "", ".", "..", "con", "nul\0l", "n" * 255, "n" * 256,
    "N" * 5000, "é" * 200, "/f", "\u02ff", "\ud800", "a\nb", " ", "e\u0301", "\u00e9",
)  # fmt: skip


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


async def test_any_name_has_a_file_of_its_own(tmp_path: Path) -> None:
    memory = FileMemory(str(tmp_path / "memory"))
    for number, name in enumerate(NAMES):
        assert await memory.load(name) == []
        await memory.append(name, [Message.user(str(number))], key="run")
    for number, name in enumerate(NAMES):
        assert texts(await memory.load(name)) == [str(number)], name
    files = os.listdir(tmp_path / "memory")
    assert len(files) == len({file.casefold() for file in files}) == len(NAMES)
    assert os.listdir(tmp_path) == ["memory"]
    assert all(file.isascii() and len(file) < 120 for file in files)


@given(st.text(), st.text())
def test_two_names_are_two_files_also_where_case_does_not_count(one: str, other: str) -> None:
    paths = {FileMemory("nowhere")._path(name).casefold() for name in (one, other, one.swapcase())}
    assert len(paths) == len({one, other, one.swapcase()})


async def test_a_file_of_before_is_used_on(tmp_path: Path) -> None:
    memory, old = FileMemory(str(tmp_path)), tmp_path / "Talk%20of%2fus.jsonl"
    old.write_text(f'{{"key":"before","messages":[{to_json(HELLO)}]}}\n')
    assert texts(await memory.load("Talk of/us")) == ["hello"]
    await memory.append("Talk of/us", [Message.user("again")], key="before")
    await memory.append("Talk of/us", [Message.user("again")], key="now")
    assert texts(await memory.load("Talk of/us")) == ["hello", "again"]
    assert os.listdir(tmp_path) == [old.name]


async def test_a_file_of_before_answers_to_its_own_name_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system where case does not count."""
    (tmp_path / "Talk.jsonl").write_text(f'{{"key":"before","messages":[{to_json(HELLO)}]}}\n')
    found = os.listdir(tmp_path)[0].casefold()
    monkeypatch.setattr(os.path, "exists", lambda path: os.path.basename(path).casefold() == found)
    memory = FileMemory(str(tmp_path))
    assert memory._path("talk") != str(tmp_path / "talk.jsonl")
    assert texts(await memory.load("Talk")) == ["hello"]


async def test_an_append_is_once_and_what_was_cut_short_is_gone(tmp_path: Path) -> None:
    memory = FileMemory(str(tmp_path))
    await memory.append("talk", [HELLO], key="one")
    (file,) = tmp_path.iterdir()
    with builtins.open(file, "ab") as torn:
        torn.write(b'{"key":"two","messages":[{"ro')
    assert texts(await memory.load("talk")) == ["hello"]
    await asyncio.gather(*(memory.append("talk", [Message.user("more")], key="two") for _ in range(20)))
    assert texts(await memory.load("talk")) == ["hello", "more"]
    assert [json.loads(line)["key"] for line in file.read_text().splitlines()] == ["one", "two"]


async def test_who_waited_for_another_process_sees_what_that_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = FileMemory(str(tmp_path))
    await memory.append("talk", [HELLO], key="one")
    (file,) = tmp_path.iterdir()

    def waited(*_: Any) -> None:
        with builtins.open(file, "a") as other:
            other.write(f'{{"key":"two","messages":[{to_json(Message.user("theirs"))}]}}\n')

    monkeypatch.setattr(fcntl, "flock", waited)
    await memory.append("talk", [Message.user("mine")], key="two")
    assert texts(await memory.load("talk")) == ["hello", "theirs"]


async def test_a_damaged_line_is_named_and_nothing_is_written_behind_it(tmp_path: Path) -> None:
    memory = FileMemory(str(tmp_path))
    await memory.append("talk", [HELLO], key="one")
    (file,) = tmp_path.iterdir()
    with builtins.open(file, "ab") as damaged:
        damaged.write(b'{"key":"two","messages":17}\n')
    before = file.read_bytes()
    for attempt in (memory.load("talk"), memory.append("talk", [HELLO], key="three")):
        with pytest.raises(UnreadableError, match=rf"{file.name}:2: is damaged: Expected `array`"):
            await attempt
    assert file.read_bytes() == before


async def test_numbers_come_back_as_they_were(tmp_path: Path) -> None:
    memory = FileMemory(str(tmp_path))
    arguments: dict[str, Any] = {"sum": Number("0.10000000000000000000001"), "big": 10**40}
    said = Message("assistant", (Call("pay", arguments, "c1", "1.1"),))
    await memory.append("talk", [said], key="one")
    assert list(await memory.load("talk")) == [said]
