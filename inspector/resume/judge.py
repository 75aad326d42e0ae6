"""What today's code is, and what it means for a run, told by a process of its own.

`python -m inspector.resume.judge` imports the code that is named in `Asked` and prints a `Verdict`, both as
JSON. A process that is new each time sees every edit, and what the code does at import it does there.
"""

import contextlib
import os
import signal
import subprocess
import sys

import msgspec

from inspector.diff import Diff, Side, Weighed, compare, weigh
from inspector.diff.weight import Weight
from inspector.errors import InspectorError, UsageError
from inspector.model.run import Definition, Record
from inspector.model.source import RunSource, definition_at
from inspector.model.values import to_json
from inspector.resume.apps import App, load
from inspector.resume.console import own_stdout
from inspector.resume.jobs import Plan, check, open_job, today

LONGEST = 120
"""Seconds that importing and comparing may take before it is given up."""


class Asked(Record, frozen=True, kw_only=True):
    """Which code, and which run at which step. `path` None: only what the code is."""

    target: str
    path: str | None = None
    run: str | None = None
    step: int | None = None
    format: str | None = None


class Verdict(Record, frozen=True, kw_only=True):
    """What came of it. `code` is None where it cannot be told, `plan` where there is no run to go on with;
    `error` is why, and `files` are the sources that were imported. `died`: how the code ended its process, in
    words; None where it did not."""

    code: Definition | None = None
    plan: Plan | None = None
    files: tuple[str, ...] = ()
    error: str | None = None
    died: str | None = None


def judge(asked: Asked) -> Verdict:
    """Import the code here and now. Nothing of the run is run."""
    try:
        app = load(asked.target)
    except InspectorError as error:
        return Verdict(error=str(error))
    code, untold = _today(app)
    if asked.path is None:
        return Verdict(code=code, files=app.files, error=untold)
    try:
        plan = check(open_job(asked.path, app, run=asked.run, step=asked.step, format=asked.format))
    except InspectorError as problem:
        return Verdict(code=code, files=app.files, error=str(problem))
    return Verdict(code=code, plan=msgspec.structs.replace(plan, diff=None), files=app.files, error=untold)


def _today(app: App) -> tuple[Definition | None, str | None]:
    try:
        return today(app), None
    except UsageError as error:
        return None, str(error)


def judged(asked: Asked) -> Verdict:
    """The same, by a new process. Does not raise: what went wrong is the verdict's `error`."""
    command = [sys.executable, "-m", "inspector.resume.judge", to_json(asked)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LONGEST, check=False, cwd=os.getcwd()
        )
    except subprocess.TimeoutExpired:
        return Verdict(error=f"{asked.target}: importing it took more than {LONGEST} s")
    except OSError as error:
        return Verdict(error=f"{asked.target}: no process to import it could be started: {error.strerror}")
    try:
        return msgspec.json.decode(done.stdout, type=Verdict)
    except msgspec.DecodeError:
        died = f"importing it ends the process without a word ({_how(done.returncode)})"
        return Verdict(error=f"{asked.target}: {died}", died=died)


def _how(code: int) -> str:
    """How a process ended, in words."""
    try:
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def against(source: RunSource, step: int, code: Definition, plan: Plan | None) -> tuple[Diff, tuple[Weighed, ...]]:
    """A run at a step beside today's code: the differences, and what each means. `plan` is that of a resume
    after this very step."""
    left = Side(definition=definition_at(source, step), state=source.state(step))
    found = compare(left, Side(definition=code))
    return found, weigh(left, found, None if plan is None else weights(plan))


def weights(plan: Plan) -> dict[str, Weight]:
    """What a plan refuses or wants accepted, by its subject."""
    named: dict[str, Weight] = {}
    for warning in plan.warnings:
        named[warning.subject] = "accept" if warning.accept else "harmless"
    for refusal in plan.refusals:
        named[refusal.subject] = "breaking"
    return named


def main() -> None:
    """The process: JSON in by the one argument, JSON out on stdout."""
    asked = msgspec.json.decode(sys.argv[1], type=Asked)
    with contextlib.suppress(BrokenPipeError), own_stdout() as out:
        out.write(to_json(judge(asked)))


if __name__ == "__main__":
    main()
