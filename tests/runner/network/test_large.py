"""Large tokens: kept once beside the trace, read back by the reader and by resumes; a file that is gone is named."""

import asyncio
import errno
import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inspector import Network, ResumeRefused, Started, StoreError, TerminalReplay, actor, open_store
from inspector.commands import invoke
from inspector.errors import JournalError, UsageError
from inspector.formats import largevalues, open_path
from inspector.journal import TraceFile
from inspector.model.large import LIMIT, folder, references
from inspector.model.values import to_json
from inspector.report.output import send
from inspector.resume.apps import App
from inspector.resume.jobs import check, open_job, resume

FAILS: set[str] = set()
BIG = "x" * LIMIT


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FAILS.clear()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@actor
def grow(word: str) -> dict[str, str]:
    return {"word": word, "text": BIG}


@actor
def hand_on(page: dict[str, str]) -> dict[str, str]:
    return page


@actor
class Shelf:
    """Keeps the last page."""

    last: dict[str, str] | None = None

    def fire(self, page: dict[str, str]) -> dict[str, str]:
        if page["word"] in FAILS:
            raise ValueError("full")
        self.last = page
        return page


def line() -> Network:
    net = Network("line")
    first, second, third = net.add(grow), net.add(hand_on), net.add(Shelf())
    net.connect(net.input("word"), first.word)
    net.connect(first.out, second.page)
    net.connect(second.out, third.page)
    net.connect(third.out, net.output("page"))
    return net


def pages(*words: str) -> dict[str, Any]:
    return {"page": [{"word": word, "text": BIG} for word in words]}


def last_state(path: str) -> tuple[Any, Any]:
    run = open_path(path).open()
    list(run.index())
    return run.state(len(run)), run


async def test_a_large_token_is_written_once_and_read_back(tmp_path: Path) -> None:
    path = str(tmp_path / "t.jsonl")
    result = await line().run({"word": ["a", "b"]}, trace=path)
    assert result.outputs == result.saved_outputs == pages("a", "b")
    assert os.path.getsize(path) < LIMIT / 2
    names = os.listdir(folder(path))
    assert len(names) == 2
    assert all(len(name) == 64 + len(".json") for name in names)
    state, run = last_state(path)
    assert state.queues[-1].tokens == tuple(pages("a", "b")["page"])
    assert state.actors[-1].state == {"last": pages("b")["page"][0]}
    assert run.problems() == []
    step = next(iter(run.steps(1, 2)))
    assert step.produced[0].tokens[0]["$type"] == "large"
    assert step.produced[0].tokens[0]["preview"].startswith('{"word": "a"')
    job = open_job(path, App(target="a:b", value=line(), digest="d"))
    ended = await asyncio.to_thread(resume, job, lambda event: None)
    assert ended.output == pages("a", "b")


async def test_a_value_is_on_the_disk_before_a_record_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced, named, fsync, append = set[tuple[int, int]](), list[str](), os.fsync, TraceFile.append

    def kept(fd: int) -> None:
        fsync(fd)
        synced.add((os.fstat(fd).st_dev, os.fstat(fd).st_ino))
        if os.path.samestat(os.fstat(fd), os.stat(tmp_path)):
            names.update(os.listdir(tmp_path))
        elif os.path.isdir(folder(path)) and os.path.samestat(os.fstat(fd), os.stat(folder(path))):
            names.update(os.listdir(folder(path)))

    def checked(self: TraceFile, *records: Any, durable: bool = False) -> None:
        for digest in references(json.loads(to_json(records))):
            file = os.stat(os.path.join(folder(path), f"{digest}.json"))
            assert (file.st_dev, file.st_ino) in synced
            assert {f"{digest}.json", os.path.basename(folder(path))} <= names
            named.append(digest)
        append(self, *records, durable=durable)

    path, names = str(tmp_path / "t.jsonl"), set[str]()
    monkeypatch.setattr(os, "fsync", kept)
    monkeypatch.setattr(TraceFile, "append", checked)
    assert (await line().run({"word": ["a", "b"]}, trace=path)).outputs == pages("a", "b")
    assert len(set(named)) == 2


async def test_a_resumed_run_has_its_own_copy(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("t.jsonl", "u.jsonl", "v.jsonl")]
    FAILS.add("b")
    assert (await line().run({"word": ["a", "b"]}, trace=paths[0])).status == "failed"

    def kept() -> dict[str, tuple[int, int]]:
        return {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in Path(folder(paths[0])).iterdir()}

    before = kept()
    assert (await line().resume(paths[0]).run(trace=paths[1])).status == "failed"
    assert kept() == before
    for name in before:
        os.unlink(os.path.join(folder(paths[0]), name))
    FAILS.clear()
    done = await line().resume(paths[1]).run(trace=paths[2])
    assert done.outputs == pages("a", "b")
    assert last_state(paths[2])[0].queues[-1].tokens == tuple(pages("a", "b")["page"])
    assert (await line().resume(paths[2], step=0).run()).outputs == pages("a", "b")


@pytest.mark.parametrize("harm", ["missing", "torn"])
async def test_a_file_that_is_not_whole_is_named_before_anything_runs(harm: str, tmp_path: Path) -> None:
    path = str(tmp_path / "t.jsonl")
    FAILS.add("a")
    await line().run({"word": ["a"]}, trace=path)
    FAILS.clear()
    (name,) = os.listdir(folder(path))
    file = Path(folder(path), name)
    if harm == "torn":
        file.write_bytes(file.read_bytes()[:-1])
    else:
        file.unlink()
    with pytest.raises(ResumeRefused, match=name.removesuffix(".json")) as caught:
        await line().resume(path).run(trace=str(tmp_path / "u.jsonl"))
    assert caught.value.code == "value_unreadable"
    assert not (tmp_path / "u.jsonl").exists()
    job = open_job(path, App(target="a:b", value=line(), digest="d"))
    assert [refusal.code for refusal in (await asyncio.to_thread(check, job)).refusals] == ["value_unreadable"]
    state, run = last_state(path)
    assert state.queues[2].tokens[0]["$type"] == "large"
    assert [problem.where for problem in run.problems()] == [f"t.jsonl.values/{name}"]


async def test_what_is_very_large_stays_a_reference_on_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t.jsonl")
    await line().run({"word": ["a", "b", "c"]}, trace=path)
    monkeypatch.setattr(largevalues, "ALL", 2 * LIMIT + 1000)
    state, run = last_state(path)
    assert [type(token.get("text")) for token in state.queues[-1].tokens] == [str, str, type(None)]
    assert run.problems() == []


def exported(source: Path, to: Path, *options: str) -> list[str]:
    """The names beside the exported file."""
    assert invoke(["export", str(source), "-o", str(to), *options]) == 0
    return sorted(os.listdir(folder(str(to)))) if os.path.isdir(folder(str(to))) else []


def held(path: Path) -> dict[str, bytes]:
    beside = Path(folder(str(path)))
    return {"": path.read_bytes()} | {file.name: file.read_bytes() for file in beside.iterdir()}


async def test_a_trace_is_the_same_behind_a_store_and_goes_on_there_and_behind_it(tmp_path: Path) -> None:
    path, away, back = tmp_path / "t.jsonl", tmp_path / "away.jsonl", tmp_path / "back.jsonl"
    FAILS.add("b")
    assert (await line().run({"word": ["a", "b"]}, trace=str(path))).status == "failed"
    FAILS.clear()
    assert len(await asyncio.to_thread(exported, path, away, "--raw")) == 2
    assert held(away) == held(path)
    for file in (path, *Path(folder(str(path))).iterdir()):
        file.unlink()
    assert invoke(["import", str(away), "--store", str(tmp_path / "runs.db"), "--key", "k"]) == 0
    await asyncio.to_thread(exported, tmp_path / "runs.db", back, "--raw", "--run", "k")
    assert held(back) == held(away)
    kept = open_path(str(tmp_path / "runs.db")).open("k")
    list(kept.index())
    state = kept.state(len(kept))
    assert state is not None
    assert state.queues is not None
    assert [token["word"] for token in (state.queues[-1].tokens or ())] == ["a"]
    assert kept.problems() == []

    assert (await line().resume(str(back)).run(trace=str(tmp_path / "on.jsonl"))).outputs == pages("a", "b")
    store = open_store(tmp_path / "runs.db")
    apart = await line().resume(store, "k", step=1).accept("already_resumed").run(trace=str(tmp_path / "apart.jsonl"))
    assert isinstance(apart, Started)
    assert apart.result.outputs == pages("a", "b")
    with pytest.raises(ResumeRefused, match=f"already_resumed: was resumed before, as .*{apart.result.run_id} at "):
        await line().resume(store, "k").run()
    outcome = await line().resume(store, "k").accept("already_resumed").run()
    assert isinstance(outcome, Started)
    assert outcome.result.outputs == pages("a", "b")
    again = await line().resume(store, "k").run()
    assert isinstance(again, TerminalReplay)
    assert again.result.outputs == again.result.saved_outputs == pages("a", "b")
    store.close()
    job = open_job(str(tmp_path / "runs.db"), App(target="a:b", value=line(), digest="d"), run="k")
    assert (await asyncio.to_thread(resume, job, lambda event: None)).output == pages("a", "b")


def test_a_store_does_not_take_a_trace_in_that_misses_a_value(tmp_path: Path) -> None:
    path, store = tmp_path / "t.jsonl", tmp_path / "runs.db"
    line().run_sync({"word": ["a"]}, trace=str(path))
    (file,) = Path(folder(str(path))).iterdir()
    file.write_text("another")
    with pytest.raises(StoreError, match=f"large value {file.stem}.* is not beside the trace, or is damaged"):
        invoke(["import", str(path), "--store", str(store)])
    with closing(open_store(store)) as found:
        assert found.runs() == []


def test_what_is_masked_in_a_large_value_has_a_name_of_its_own(tmp_path: Path) -> None:
    @actor
    def leak(word: str) -> dict[str, str]:
        return {"password": f"{word}fish-1", "text": BIG}

    net = Network("leak")
    node = net.add(leak)
    net.connect(net.input("word"), node.word)
    net.connect(node.out, net.output("page"))
    path, out = tmp_path / "t.jsonl", tmp_path / "out.jsonl"
    net.run_sync({"word": ["sword"]}, trace=str(path))
    for options in ([], ["--overwrite"], ["--overwrite", "--steps", "1:1"]):
        (name,) = exported(path, out, *options)
        assert name not in os.listdir(folder(str(path)))
        assert not any(b"swordfish" in data for data in held(out).values())
        state, run = last_state(str(out))
        assert state.queues[-1].tokens == ({"password": "[redacted:password]", "text": BIG},)
        assert run.problems() == []
        for step in (0, 1) if len(options) < 3 else ():
            with pytest.raises(ResumeRefused, match=r"no whole checkpoint.* made with --raw"):
                net.resume(str(out), step=step).run_sync()
        assert name.removesuffix(".json") == next(iter(run.steps(1, 2))).produced[0].tokens[0]["sha256"]
    (name,) = exported(path, out, "--overwrite", "--raw")
    assert name in os.listdir(folder(str(path)))


def test_values_beside_a_file_are_written_over_as_it_is(tmp_path: Path) -> None:
    path, out = tmp_path / "t.jsonl", tmp_path / "out.jsonl"
    line().run_sync({"word": ["a"]}, trace=str(path))
    beside = Path(folder(str(out)))
    beside.mkdir()
    (beside / "mine").touch()
    with pytest.raises(UsageError, match=r"out.jsonl.values: exists already"):
        exported(path, out)
    assert not out.exists()
    (old := beside / f"{'0' * 64}.json").touch()
    assert len(exported(path, out, "--overwrite")) == 2
    assert not old.exists()
    assert (beside / "mine").exists()

    def broken(keep: Any) -> Any:
        keep("1" * 64, b"x")
        yield b"one\n"
        raise KeyboardInterrupt

    before = held(out)
    with pytest.raises(KeyboardInterrupt):
        send(str(out), broken, overwrite=True)
    assert held(out) == before
    with pytest.raises(KeyboardInterrupt):
        send(str(tmp_path / "new.jsonl"), broken)
    assert [name for name in os.listdir(tmp_path) if name.startswith("new")] == []


def test_a_stream_says_that_large_values_are_not_in_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    line().run_sync({"word": ["a"]}, trace=str(path))
    assert invoke(["export", "--raw", str(path)]) == 0
    shown = capfd.readouterr()
    assert shown.out == path.read_text()
    assert "large values stand apart, and are not in this stream: give -o FILE" in shown.err


def test_a_reference_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    line().run_sync({"word": ["a"]}, trace=str(path))
    (name,) = os.listdir(folder(str(path)))
    path.write_text(path.read_text().replace(name.removesuffix(".json"), "../" * 20 + "etc/passwd"))
    state, _ = last_state(str(path))
    assert state.queues[-1].tokens[0]["sha256"].endswith("etc/passwd")


async def test_a_trace_that_is_there_keeps_its_files(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        await line().run({"word": [BIG]}, trace=str(path))
    assert os.listdir(tmp_path) == ["t.jsonl"]


async def test_a_loop_over_a_large_token_has_small_steps(tmp_path: Path) -> None:
    @actor
    def many(count: int) -> list[str]:
        return [BIG[:1000]] * count

    net = Network("n")
    node, loop = net.add(many), net.loop(line_of_one())
    net.connect(net.input("count"), node.count)
    net.connect(node.out, loop["items"])
    net.connect(loop.y, net.output("y"))
    path, count = tmp_path / "t.jsonl", LIMIT // 500
    result = await net.run({"count": [count]}, trace=str(path))
    assert result.outputs["y"] == [1000] * count
    steps = [line for line in path.read_text().splitlines() if line.startswith('{"record":"step"')]
    assert max(map(len, steps)) < 5000
    assert json.loads(steps[0])["step"]["produced"][0]["tokens"][0]["$type"] == "large"


async def test_a_value_that_finds_no_room_leaves_nothing_and_the_run_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t.jsonl")

    really = os.replace

    def full(source: str, target: str) -> None:
        if os.path.dirname(target) == folder(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        really(source, target)

    monkeypatch.setattr(os, "replace", full)
    failed = await line().run({"word": ["a"]}, trace=path)
    monkeypatch.undo()
    assert failed.error is not None
    assert "No space left on device" in str(failed.error.message)
    assert os.listdir(folder(path)) == []
    done = await line().resume(path).run(trace=str(tmp_path / "u.jsonl"))
    assert done.outputs == pages("a")
    with pytest.raises(JournalError, match="No such file"):
        await line().run({"word": [BIG]}, trace=str(tmp_path / "nowhere" / "t.jsonl"))
    assert not (tmp_path / "nowhere").exists()


async def test_a_large_item_of_a_loop_is_kept_apart_too(tmp_path: Path) -> None:
    @actor
    def many(count: int) -> list[str]:
        return [BIG] * count

    net = Network("n")
    node, loop = net.add(many), net.loop(line_of_one())
    net.connect(net.input("count"), node.count)
    net.connect(node.out, loop["items"])
    net.connect(loop.y, net.output("y"))
    path = tmp_path / "t.jsonl"
    result = await net.run({"count": [3]}, trace=str(path))
    assert result.outputs["y"] == [LIMIT] * 3
    assert path.stat().st_size < LIMIT
    assert len(os.listdir(folder(str(path)))) == 2
    for step in range(result.steps):
        assert (await net.resume(str(path), step=step).accept("already_resumed").run()).outputs == result.outputs


def line_of_one() -> Network:
    @actor
    def length(text: str) -> int:
        return len(text)

    net = Network("one")
    node = net.add(length)
    net.connect(net.input("x"), node.text)
    net.connect(node.out, net.output("y"))
    return net
