"""The command as a script sees it: exit codes, streams, and that nothing from a file can act."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from inspector.formats.reader import Reader, readers

ROOT = Path(__file__).parent.parent
COMMAND = str(Path(sys.executable).with_name("runinspect"))
EXAMPLES = ROOT / "examples"
TRACE = str(EXAMPLES / "trace.json")


def run(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [COMMAND, *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, **environment},
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_help_and_version() -> None:
    assert "runinspect PATH" in run("--help").stdout
    assert run("--version").stdout.startswith("runinspect ")


@pytest.mark.parametrize(
    "arguments",
    [
        *(["show"], ["show", TRACE, "--nope"], ["show", TRACE, "--step", "many"]),
        *(["show", TRACE, f"--steps={steps}"] for steps in ("a:b", "5:2", "-1:2", "", "1_0", "1:2:3", "9" * 5000)),
        *([command, TRACE, "--steps", steps] for command in ("show", "export") for steps in ("90:99", "0")),
        ["diff", f"{TRACE}@{'9' * 5000}", TRACE],
    ],
)
def test_a_command_line_that_is_not_understood(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("runinspect: ")
    assert "internal" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("steps", "found"), [("4", [4]), ("4:5", [4, 5]), ("14:", [14, 15]), (":2", [1, 2]), ("0:1", [1]), ("15:99", [15])]
)
def test_a_range_of_steps(steps: str, found: list[int]) -> None:
    shown = json.loads(run("show", TRACE, "--steps", steps, "--json").stdout)
    assert [step["seq"] for step in shown["steps"]] == found


def test_an_option_that_there_is_none_of_leads_to_the_help() -> None:
    assert run("--nope", TRACE).stderr.endswith("(see runinspect --help)\n")
    assert run("check", TRACE, "--nope").stderr.endswith("(see runinspect check --help)\n")


def test_a_slip_in_the_name_of_a_command_is_told(tmp_path: Path) -> None:
    assert "did you mean 'resume'?" in run("resum", TRACE, "--app", "x.py:y").stderr
    assert "did you mean" not in run("show.json").stderr
    path = tmp_path / "shwo"
    path.write_bytes(Path(TRACE).read_bytes())
    done = subprocess.run([COMMAND, "shwo"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "did you mean" not in done.stderr


@pytest.mark.parametrize("step", ["-1", "100000"])
def test_a_step_outside_of_the_run(step: str) -> None:
    done = run("show", TRACE, "--step", step)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the steps of this run are 0 to" in done.stderr


def test_the_screen_needs_a_terminal() -> None:
    done = run(TRACE)
    assert done.returncode == 2
    assert "runinspect show" in done.stderr


def test_show_reads_stdin() -> None:
    done = run("show", "-", "--json", stdin=Path(TRACE).read_bytes())
    assert done.returncode == 0
    assert json.loads(done.stdout)["source"]["format"] == "runinspect"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty", b"", "is empty"),
        ("blank", b" \n\t\n", "is empty"),
        ("gzip", b"\x1f\x8b\x08rest", "gzip"),
        ("prose", b"once upon a time\n", "no JSON"),
        ("noise", bytes(range(256)) * 8, "binary"),
        ("word", b'"word"', "JSON of no known kind"),
        ("keys", b'{"colour": "red", "size": 3}', "colour"),
        ("lines", b'{"a": 1}\n{"a": 2}\n', "--format records"),
        ("wide", '{"format": 1}'.encode("utf-16"), "UTF-16"),
        ("wide-be", '{"format": 1, "kind": "more than a few characters"}'.encode("utf-16-be"), "-f UTF-16BE"),
        ("wider", '{"format": 1}'.encode("utf-32"), "UTF-32"),
        ("lost", bytes(1000), "zero bytes"),
        ("list", b'[{"colour": "red"}, {"size": 3}]', "a list of objects with the keys colour"),
        ("page", b"<html></html>", "HTML"),
        ("db", b"SQLite format 3\x00" + b"\x00" * 84, "SQLite"),
    ],
)
def test_what_no_reader_knows_is_refused_by_name(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    done = run("show", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("runinspect: ")
    assert name in done.stderr
    assert words in done.stderr
    assert os.listdir(tmp_path) == [name]


def test_a_file_that_begins_with_blanks_is_not_called_empty(tmp_path: Path) -> None:
    path = tmp_path / "gap"
    path.write_bytes(b"\n" * 70_000 + b"{}")
    done = run("show", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "begins with 65,536 blanks" in done.stderr


def test_no_name_of_a_file_acts_on_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "x\x1b]0;owned\x07\n\u202ey"
    path.write_bytes(b"{}")
    done = run("show", str(path))
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\u202e" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (pickle.dumps({"a": 1}), "a pickle"),
        (pickle.dumps([1] * 99, 5), "a pickle"),
        (b"run.json".ljust(257, b"\0") + b"ustar\00000", "a tar archive"),
    ],
    ids=["pickle", "pickle 5", "tar"],
)
def test_what_a_file_of_no_known_kind_looks_like_is_told(tmp_path: Path, data: bytes, looks: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(data)
    done = run("show", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"runinspect: {path}: looks like {looks}")


@pytest.mark.skipif(shutil.which("setpriv") is None and os.geteuid() == 0, reason="root may look everywhere")
def test_what_may_not_be_looked_at_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "run.json").write_bytes(Path(TRACE).read_bytes())
    folder.chmod(0o400)
    lesser = "-dac_override,-dac_read_search"
    before = ["setpriv", f"--bounding-set={lesser}", f"--inh-caps={lesser}"] if os.geteuid() == 0 else []
    for path in (folder, folder / "run.json"):
        done = subprocess.run([*before, COMMAND, "show", str(path)], capture_output=True, text=True, check=False)
        assert (done.returncode, "Permission denied" in done.stderr) == (2, True)
    folder.chmod(0o700)


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(
        f"{COMMAND} show {TRACE} --json | head -c 10", shell=True, capture_output=True, check=False, timeout=60
    )
    assert done.stdout.startswith(b'{"schema":')
    assert done.stderr == b""


def unheard(command: str, stream: str = "stdout", full: bool = False) -> subprocess.CompletedProcess[bytes]:
    """The command with a stream whose reader was gone before it began, or that goes to a full disk."""
    out, into = os.pipe()
    os.close(out)
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with open("/dev/full", "wb") if full else open(into, "wb") as file:
        streams[stream] = file
        return subprocess.run([COMMAND, *command.split()], **streams, check=False, timeout=60, cwd=EXAMPLES)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        *((f"{command} review-failed.jsonl", 0) for command in ("show --json", "show", "export", "runs")),
        *((f"diff{option} trace.json@1 trace.json", 1) for option in ("", " --json")),
        ("diff trace.json trace.json", 0),
        ("formats", 0),
        ("check refund-failed.jsonl --app refund_agent.py:agent", 0),
    ],
)
def test_nor_is_one_that_was_gone_before(command: str, code: int) -> None:
    done = unheard(command)
    assert (done.returncode, done.stderr) == (code, b"")


def test_a_run_goes_on_when_nobody_reads_of_it(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    command = f"run refund_agent.py:agent --trace {trace} --input"
    heard = subprocess.run(
        [COMMAND, *command.split(), '"x"'], cwd=EXAMPLES, capture_output=True, check=False, timeout=60
    )
    assert heard.returncode == 4
    lines = trace.read_text().count("\n")
    trace.unlink()
    done = unheard(f'{command} "x"')
    assert (done.returncode, done.stderr) == (4, b"")
    assert trace.read_text().count("\n") == lines


@pytest.mark.parametrize("full", [False, *([True] if os.path.exists("/dev/full") else [])])
@pytest.mark.parametrize(("command", "code"), [("show nofile", 2), ("runs --nope", 2), ("show torn.jsonl", 0)])
def test_what_cannot_be_said_on_stderr_changes_nothing(tmp_path: Path, command: str, code: int, full: bool) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(Path(TRACE).read_bytes() + b"{")
    done = unheard(command.replace("torn.jsonl", str(torn)), "stderr", full)
    assert (done.returncode, bool(done.stdout)) == (code, code == 0)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"show {TRACE} >&-", "runinspect: output: Bad file descriptor\n"),
        (f"export {TRACE} >&- <&-", "runinspect: output: Bad file descriptor\n"),
        (f"show {TRACE} >&- 2>&-", ""),
        (f"{TRACE} >&-", f"runinspect: {TRACE}: the screen needs a terminal; `runinspect show` prints the run\n"),
        ("show - <&-", "runinspect: -: is empty: there is nothing to read\n"),
    ],
)
def test_streams_that_are_closed(command: str, said: str) -> None:
    done = subprocess.run(f"{COMMAND} {command}", shell=True, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", said)


def test_a_file_gets_no_number_of_a_closed_stream(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    done = subprocess.run(f"{COMMAND} export {TRACE} -o {target} <&- >&- 2>&-", shell=True, check=False, timeout=60)
    assert done.returncode == 0
    assert all(json.loads(line) for line in target.read_text().splitlines())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said() -> None:
    done = subprocess.run(
        f"{COMMAND} show {TRACE} > /dev/full", shell=True, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.decode().strip() == "runinspect: output: No space left on device"


def test_text_leaves_in_any_locale() -> None:
    done = run("show", TRACE, LC_ALL="C", LANG="C", PYTHONIOENCODING="")
    assert done.returncode == 0


def test_diff_tells_by_its_exit_code() -> None:
    assert run("diff", TRACE, TRACE, "--json").returncode == 0
    done = run("diff", f"{TRACE}@0", TRACE, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["state"]


def test_two_steps_of_a_run_in_a_store_are_compared() -> None:
    store = str(EXAMPLES / "vv-agent-store.db")
    done = run("diff", f"{store}@0", f"{store}@1", "--run", "orders/1042")
    assert (done.returncode, done.stderr) == (1, "")
    done = run("diff", store, str(EXAMPLES / "langgraph-interrupted.db"), "--run", "orders/1042")
    assert (done.returncode, "choose one" in done.stderr) == (2, True)


@pytest.mark.parametrize("reader", readers(), ids=lambda reader: reader.name)
def test_a_database_of_others_is_refused_whatever_the_format(reader: Reader) -> None:
    path = "vv-agent-store.db" if reader.name != "vv-agent" else "langgraph-interrupted.db"
    done = run("show", str(EXAMPLES / path), "--format", reader.name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"is no database of {reader.name}" in done.stderr
    assert "checkpoints" in done.stderr


def test_a_file_of_which_no_run_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    event = {"event_id": "e", "run_id": "r", "trace_id": "t", "created_at": 1, "type": "run_started", "version": "v5"}
    path.write_text(json.dumps(event) + "\r" + json.dumps(event))
    done = run("show", str(path), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "events.jsonl:1 byte" in done.stderr
    assert "holds no run that can be read" in done.stderr


def test_formats_lists_every_reader() -> None:
    listed = json.loads(run("formats", "--json").stdout)["formats"]
    assert [entry["name"] for entry in listed] == [reader.name for reader in readers()]
    assert len(run("formats").stdout.splitlines()) == len(listed)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_body_that_closes_all_files_is_said_to_have_and_nothing_hangs(workers: int, tmp_path: Path) -> None:
    (tmp_path / "closes.py").write_text(
        "import os, time\nfrom inspector import Network, actor\nfrom inspector.runner import threads\n\n"
        "threads.BEAT = 0.01\n\n@actor\ndef closes(x: int) -> int:\n"
        # As long as that, the loop waits for the thread, and is not woken by it.
        "    time.sleep(0.1)\n"
        f"    os.closerange(3, 64)\n    return x\n\n\nnet = Network('n', workers={workers})\nnode = net.add(closes)\n"
        "net.connect(net.input('x'), node.x)\nnet.connect(node.out, net.output('y'))\n"
    )
    done = subprocess.run(
        [COMMAND, "run", "closes.py:net", "--input", '{"x": [1, 2]}', "--trace", "t.jsonl"],
        cwd=tmp_path,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "runinspect: files: code of the run has closed the files" in done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("runinspect: ")] == []


def test_todays_code_has_no_state_to_compare_with() -> None:
    examples = ROOT / "examples"
    found = run("diff", str(examples / "refund-failed.jsonl"), "--app", f"{examples / 'refund_agent.py'}:agent")
    assert found.returncode == 0
    assert "graph" in found.stdout
    assert "state" not in found.stdout
