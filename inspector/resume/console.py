"""`check`, `resume` and `run` on a terminal or a pipe: events out as lines, the exit code back.

Code of the user prints to stderr while it runs, so that stdout holds our lines and nothing else.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

import msgspec

from inspector.errors import JournalError, UsageError
from inspector.model.stored import Stored
from inspector.model.text import one_line
from inspector.model.values import clean_value, preview, to_json
from inspector.resume.apps import load_alone
from inspector.resume.fatal import exits_fail, last_words
from inspector.resume.jobs import Emit, Job, Plan, Refused, Start, check, open_job, resume, start
from inspector.resume.plan import Ended, Refusal, Warned, read_decisions
from inspector.resume.sentences import sentence
from inspector.resume.steering import Steering, read_break
from inspector.runner.drive import Control
from inspector.streams import complain, say

WIDTH = 160
TOLD = {"replayed": "after_step"}
"""Names of fields that are others in text: so many steps of the run before, and not of all that stand behind it."""
ENDED = "this process ended without a word, with that code in it"
"""What is said of a process that its code has ended."""
BROKE = "breakpoint"
"""The reason of a run that was stopped at a breakpoint."""
EXITS = {"completed": 0, "suspended": 4}
"""Exit codes by the status of a run; any other is a failure."""


def check_command(
    path: str,
    target: str,
    *,
    run: str | None,
    step: int | None,
    rerun: str | None,
    format: str | None,
    edits: Sequence[str] = (),
    json: bool,
) -> int:
    """Print the plan; 3 when the resume would be refused."""
    with own_stdout() as out:
        job = open_job(path, load_alone(target), run=run, step=step, rerun=rerun, format=format)
        plan = check(msgspec.structs.replace(job, decisions=read_decisions({"edit": edits}, ())))
        say([to_json(plan)] if json else report(plan), out)
    for refusal in plan.refusals:
        _complain(refusal.subject, refusal.code, refusal.detail + _remedy(refusal))
    return 3 if plan.refusals else 0


def resume_command(
    path: str,
    target: str,
    options: Mapping[str, Sequence[str]],
    *,
    run: str | None,
    step: int | None,
    rerun: str | None,
    format: str | None,
    trace: str | None,
    expected: str | None,
    max_turns: int | None,
    stops: Sequence[str] = (),
    token_budget: int | None,
    json: bool,
) -> int:
    """Do what the resume key of the screen does; every event is a line."""
    with own_stdout() as out, _outlived() as say:
        job = open_job(
            path,
            load_alone(target),
            run=run,
            step=step,
            rerun=rerun,
            format=format,
            trace=trace,
        )
        decisions = read_decisions(options, _known_calls(job))
        decisions = msgspec.structs.replace(decisions, max_turns=max_turns, token_budget=token_budget)
        job = msgspec.structs.replace(job, decisions=decisions)
        try:
            # Whoever was stopped at a breakpoint, and goes on, wants to pass it.
            leaves = job.source.run().reason == BROKE and job.at_last
            lost = _Lost(say, target, path, f" --run {run}" if run is not None else "")
            control, emit = _stopping(stops, heard := _Heard(printer(out, json), lost), leaves)
            ended = resume(msgspec.structs.replace(job, control=control), emit, expected=expected)
        except KeyboardInterrupt:
            finish(out, heard.cut("cancelled", path, run, replayed=job.step, resumed_from=job.source.run().id), json)
            raise
        except JournalError as error:
            if error.exit_code == 1:
                about = {"replayed": job.step, "resumed_from": job.source.run().id}
                finish(out, heard.cut(error.code, path, run, **about), json)
            raise
        except Refused as error:
            for refusal in error.refusals:
                _complain(refusal.subject, refusal.code, refusal.detail + _remedy(refusal))
            if json and isinstance(job.source, Stored):
                printer(out, json)(_refused(error))
            return int(error.exit_code)
        finish(out, ended, json)
    _tell_taken(control, ended)
    if ended.reason == BROKE:
        stored = f" --run {run}" if run is not None else ""
        _tell_how(f"{ended.trace or path}{stored if ended.trace in (None, path) else ''}", target, control)
    return EXITS.get(ended.status, 1)


def _remedy(found: Refusal | Warned) -> str:
    """What the command line can do about a refusal, or a warning that must be accepted."""
    if isinstance(found, Warned) or found.remedy == "accept":
        return f" (to go on all the same: --accept {found.code})"
    if found.remedy == "take_over":
        return " (to take it over: --take-over REASON)"
    return f" (resume --{found.remedy.replace('_', '-')} N)" if found.remedy is not None else ""


def _refused(error: Refused) -> dict[str, Any]:
    """What asking for a run of a store came to that did not go on."""
    outcome = "existing_owner" if error.refusals[0].code == "owned" else "refused"
    return {"event": "refused", "outcome": outcome, "refusals": error.refusals}


def _stopping(stops: Sequence[str], emit: Emit, leaves: bool) -> tuple[Control, Emit]:
    """(what stops a run at breakpoints, `emit` with an ear for them)."""
    if not stops:
        return Control(), emit
    steering = Steering(emit, [read_break(text) for text in stops], stops=True, leaves=leaves)
    return steering, steering.heard(emit)


def _tell_how(place: str, target: str, control: Control) -> None:
    held = control.held if isinstance(control, Steering) else None
    complain(
        f"{one_line(place)}: held before {one_line(held or '')}; "
        f"go on with: runinspect resume {one_line(place)} --app {one_line(target)}"
    )


def run_command(
    target: str,
    text: str | None,
    *,
    trace: str | None,
    json: bool,
    store: str | None = None,
    key: str | None = None,
    stops: Sequence[str] = (),
) -> int:
    """Start a run; every event is a line."""
    given = None
    if text is not None:
        try:
            given = msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise UsageError("--input", f"{text!r} is no JSON (a text needs its quotes: --input '\"...\"')") from None
    if key is not None and store is None:
        raise UsageError("--key", "is what a run is called in a store: give --store too")
    if store is not None and trace is not None:
        raise UsageError("--trace", "a run in a store has its journal there: give one of --store and --trace")
    with own_stdout() as out, _outlived() as say:
        app = load_alone(target)
        lost = _Lost(say, target, store, f" --run {key}" if key is not None else None)
        control, emit = _stopping(stops, heard := _Heard(printer(out, json), lost), False)
        asked = Start(app=app, input=given, trace=trace, store=store, key=key, control=control)
        try:
            ended = start(asked, emit)
        except KeyboardInterrupt:
            finish(out, heard.cut("cancelled", store, key), json)
            raise
        except JournalError as error:
            if error.exit_code == 1:
                finish(out, heard.cut(error.code, store, key), json)
            raise
        finish(out, ended, json)
    _tell_taken(control, ended)
    if ended.reason == BROKE:
        _tell_how(f"{store} --run {ended.run}" if store is not None else str(ended.trace), target, control)
    return EXITS.get(ended.status, 1)


class _Heard:
    """Hands events on, and keeps what they say of the run: one that is cut short returns no result of its own."""

    def __init__(self, emit: Emit, lost: "_Lost") -> None:
        self.emit, self.lost = emit, lost
        self.run: str | None = None
        self.trace: str | None = None
        self.done: set[int] = set()

    def __call__(self, event: dict[str, Any]) -> None:
        if "within" in event:  # of an agent in a network, which has steps of its own
            pass
        elif event["event"] == "run":
            self.run, self.trace = event["run"], event["trace"]
            self.lost.began(self.run, self.trace)
        elif event["event"] == "step" and event["status"] == "done":
            self.done.add(event["seq"])
        self.emit(event)

    def cut(self, reason: str, store: str | None, key: str | None, **about: Any) -> Ended:
        """How it ended; a run without a trace is in the `store`, under its `key`."""
        kept = self.trace is None
        return Ended(
            run=(key if kept else None) or self.run,
            status="interrupted",
            reason=reason,
            trace=store if kept else self.trace,
            ran=len(self.done),
            **about,
        )


class _Lost:
    """What is said if the code of the run ends this process: where the run is, and how it goes on. A run without a
    trace is in the `store`, as `chosen` there (None: under its own id)."""

    def __init__(self, say: Callable[[str], None], target: str, store: str | None, chosen: str | None) -> None:
        self._say, self._target, self._store, self._chosen = say, target, store, chosen
        say(f"runinspect: {one_line(target)}: {ENDED}; the run had not begun")

    def began(self, run: str | None, trace: str | None) -> None:
        """The run has begun, in this trace."""
        place = trace or f"{self._store}{f' --run {run}' if self._chosen is None else self._chosen}"
        told = f"look with: runinspect {place}; go on with: runinspect resume {place} --app {self._target}"
        self._say(
            f"runinspect: {one_line(f'{self._target}: {ENDED}, and the run stops where its journal ends; {told}')}"
        )


@contextlib.contextmanager
def _outlived() -> Iterator[Callable[[str], None]]:
    """Meanwhile the end of the process is said, and is no success."""
    with last_words() as say, exits_fail():
        yield say


def printer(out: IO[str], json: bool) -> Emit:
    """Prints events, as JSON or as text."""

    def emit(event: dict[str, Any]) -> None:
        say([_json(event) if json else _text(event)], out)

    return emit


def _json(event: dict[str, Any]) -> str:
    try:
        return to_json(event)
    except UnicodeEncodeError:  # a name that is no UTF-8
        return to_json(clean_value(event))


def finish(out: IO[str], ended: Ended, json: bool) -> None:
    """The last line of a run, and on stderr where its trace is."""
    event = {"event": "result", **msgspec.structs.asdict(ended)}
    printer(out, json)(event)


def report(plan: Plan) -> Iterator[str]:
    """The plan as lines of text."""
    yield f"resume after step {plan.step}: " + ("possible" if plan.resumable else "refused")
    for title, work in (("replays", plan.replays), ("runs", plan.runs), ("runs again", plan.runs_again)):
        for item in work:
            step = f"step {item.step}  " if item.step is not None else ""
            note = f"  ({item.note})" if item.note else ""
            yield one_line(f"  {title:<10} {step}{item.name}  {item.call_id or ''}{note}").rstrip()
    for need in plan.needs:
        yield one_line(f"  needs      {need.question} {need.call_id}  {need.name}  {need.detail or ''}").rstrip()
    for edit in plan.edits:
        change = f"{preview(edit.before, 60)} → {preview(edit.after, 60)}"
        yield one_line(f"  edited     {edit.path}  {change}")
    for warning in plan.warnings:
        accept = f"  (--accept {warning.code})" if warning.accept else ""
        yield one_line(f"  warning    {warning.code}  {warning.subject}: {warning.detail}{accept}")
        yield from _explained(warning.code)
    for refusal in plan.refusals:
        yield one_line(f"  refused    {refusal.code}  {refusal.subject}: {refusal.detail}{_remedy(refusal)}")
        yield from _explained(refusal.code)


def _explained(code: str) -> Iterator[str]:
    text = sentence(code)
    if text is not None:
        yield f"             {text}"


def _text(event: dict[str, Any]) -> str:
    rest = {key: value for key, value in event.items() if key != "event" and value not in (None, "", [], 0)}
    texts = {key: value if isinstance(value, str) else preview(value, WIDTH) for key, value in rest.items()}
    parts = [f"{TOLD.get(key, key)} {text}" for key, text in texts.items()]
    return one_line(f"{event['event']:<10} " + "  ".join(parts))


def _known_calls(job: Job) -> list[str]:
    state = job.source.state(job.step)
    pending = state.pending if state is not None and state.pending is not None else ()
    return [call for item in pending for call in (item.call_id, item.internal_call_id, item.name) if call]


def _tell_taken(control: Control, ended: Ended) -> None:
    if control.taken_over:
        _complain(ended.run or "run", "taken_over", "somebody else took the run over, and it goes on there")


def _complain(place: str, code: str, detail: str) -> None:
    complain(f"{one_line(place)}: {one_line(f'{code}: {detail}')}")


@contextlib.contextmanager
def own_stdout() -> Iterator[IO[str]]:
    """Our stdout; meanwhile whatever else prints there, subprocesses too, prints to stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    out = os.fdopen(kept, "w", encoding="utf-8", errors="backslashreplace")
    shown, sys.stdout = sys.stdout, sys.stderr
    try:
        yield out
        out.flush()
    finally:
        sys.stdout = shown
        os.dup2(kept, 1)
        with contextlib.suppress(BrokenPipeError):
            out.close()
