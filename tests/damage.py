"""Ways to damage a file: what a disk, a kill or a stranger can do to it, chosen by a random generator."""

import contextlib
import copy
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

ODD = (
    *(None, True, False, 0, -1, 3, 1.5, 2**63, 10**40, 1e308, "", "x", "a\nb", "\x1b[2J", "\ud800", "\u202e"),
    *([], {}, [None], [[]], [{}], {"": None}, {"$type": "object"}, [1, "a", {"b": []}], "9" * 5000, "/etc/passwd"),
    *("-5", "2026-01-01T00:00:00", "2026-13-45T99:99:99Z", "null", "{}", "[", '{"a":'),
)
TOKENS = (b"null", b"{}", b"[]", b'""', b"-1", b"1e999", b"NaN", b"true", b"9" * 400, b'"\\u001b"', b"[" * 2000)


def damage(data: bytes, rng: random.Random) -> bytes:
    """One damaged copy of a file's bytes, of a kind chosen by `rng`."""
    if data.startswith(b"SQLite format 3\x00") and rng.random() < 0.7:
        return _cells(data, rng)
    ways: list[Callable[[bytes, random.Random], bytes]] = [_cut, _flip, _drop, _double, _swap, _insert]
    if rng.random() < 0.6:
        ways = [_values]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(ways)(data, rng)
    return data


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + int(rng.expovariate(1 / 30)) + 1)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20)) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _drop(data: bytes, rng: random.Random) -> bytes:
    begin, end = _span(data, rng)
    return data[:begin] + data[end:]


def _double(data: bytes, rng: random.Random) -> bytes:
    begin, end = _span(data, rng)
    return data[:end] + data[begin:]


def _swap(data: bytes, rng: random.Random) -> bytes:
    (a, b), (c, d) = sorted((_span(data, rng), _span(data, rng)))
    return data if b > c else data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def _insert(data: bytes, rng: random.Random) -> bytes:
    begin, end = _span(data, rng)
    return data[:begin] + rng.choice(TOKENS) + data[rng.choice((begin, end)) :]


def _values(data: bytes, rng: random.Random) -> bytes:
    """The same JSON, whole or line by line, with some values replaced: sound text that means something
    else. Text that is no JSON is cut."""
    documents = []
    for line in [data] if _loads(data) is not None else data.split(b"\n"):
        value = _loads(line)
        documents.append(line if value is None else value)
    places = [index for index, value in enumerate(documents) if isinstance(value, dict | list)]
    if not places:
        return _cut(data, rng)
    for _ in range(rng.choice((1, 1, 2, 5))):
        _replace(documents[rng.choice(places)], rng)
    return b"\n".join(value if isinstance(value, bytes) else json.dumps(value).encode() for value in documents)


def _loads(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _replace(root: Any, rng: random.Random) -> None:
    spots = list(_spots(root))
    if not spots:
        return
    holder, key = rng.choice(spots)
    way = rng.randrange(6)
    if way == 0:
        del holder[key]
    elif way == 1:
        other, at = rng.choice(spots)
        holder[key] = json.loads(json.dumps(other[at]))
    elif way == 2 and isinstance(holder, list):
        holder.insert(key, json.loads(json.dumps(holder[key])))
    elif way == 3 and isinstance(holder[key], str):
        holder[key] = damage(holder[key].encode("utf-8", "surrogatepass"), rng).decode(errors="replace")
    else:
        # A copy: what is put in may be changed by a later replacement, or put into itself.
        holder[key] = copy.deepcopy(rng.choice(ODD))


def _spots(root: Any) -> Iterator[tuple[Any, Any]]:
    stack = [root]
    while stack:
        holder = stack.pop()
        entries = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in entries:
            yield holder, key
            if isinstance(value, dict | list):
                stack.append(value)


def _cells(data: bytes, rng: random.Random) -> bytes:
    """The database with some cells, rows or columns changed."""
    # The log's mark must not stand in the header, or the copy in memory looks for a log.
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        try:
            memory.deserialize(data[:18] + b"\x01\x01" + data[20:])
            for _ in range(rng.choice((1, 1, 2, 4))):
                _cell(memory, rng)
            memory.commit()
            return memory.serialize()
        except (sqlite3.Error, OverflowError, IndexError):  # a database of which all tables stand in its log
            return _flip(data, rng)


def _cell(memory: sqlite3.Connection, rng: random.Random) -> None:
    tables = [row[0] for row in memory.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice(tables)
    columns = [row[1] for row in memory.execute("SELECT * FROM pragma_table_info(?)", (table,))]
    ids = [row[0] for row in memory.execute(f'SELECT rowid FROM "{table}" LIMIT 500')]
    column = rng.choice(columns)
    if rng.random() < 0.05:
        memory.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
    elif ids and rng.random() < 0.1:
        memory.execute(f'DELETE FROM "{table}" WHERE rowid = ?', (rng.choice(ids),))
    elif ids:
        row = rng.choice(ids)
        old = memory.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)).fetchone()[0]
        new: object = rng.choice((None, 0, -1, 2**62, 1.5, "", "x", b"", b"\xff\xfe", "[]", "{}", "null"))
        if isinstance(old, str | bytes) and rng.random() < 0.8:
            changed = damage(old.encode() if isinstance(old, str) else old, rng)
            new = changed.decode(errors="replace") if isinstance(old, str) else changed
        memory.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (new, row))
