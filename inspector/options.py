"""The options of the commands, each with what it is for."""

import os
import re
from typing import Annotated

import typer

from inspector.errors import UsageError

Path = Annotated[str, typer.Argument(metavar="PATH", help="A file, a run folder, a folder of runs, a store, or -.")]
RunId = Annotated[str | None, typer.Option("--run", metavar="ID", help="Which run, where the path holds several.")]
StepNo = Annotated[int | None, typer.Option("--step", metavar="N", help="The step to look at (default: the last).")]
Rerun = Annotated[
    str | None, typer.Option("--rerun", metavar="NODE", help="From the step before the last one of this node.")
]
Steps = Annotated[str | None, typer.Option("--steps", metavar="A:B", help="Only the steps A to B, both included.")]
Format = Annotated[str | None, typer.Option("--format", metavar="NAME", help="Read as this format (see formats).")]
Json = Annotated[bool, typer.Option("--json", help="JSON for scripts.")]
App = Annotated[
    str, typer.Option("--app", metavar="TARGET", help="Today's code: module:attribute or file.py:attribute.")
]
Trace = Annotated[str | None, typer.Option("--trace", metavar="FILE", help="Where the new run's trace goes.")]
StoreUrl = Annotated[
    str | None, typer.Option("--store", metavar="URL", help="A store of durable runs: a file, or sqlite:///FILE.")
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Only look: resume, import and reveal nothing.")]
Calls = list[str] | None
Stops = Annotated[
    Calls,
    typer.Option(
        "--break",
        metavar="WHERE",
        help="Stop before tool:NAME, node:NAME, model:NAME (* is any), or behind a step with step:status=failed, "
        "step:seq>=N by the new run's own numbers; exit code 4.",
    ),
]
Approve = Annotated[Calls, typer.Option("--approve", metavar="CALL", help="Let a waiting call run.")]
Deny = Annotated[Calls, typer.Option("--deny", metavar="CALL[=REASON]", help="Refuse a waiting call.")]
Answer = Annotated[Calls, typer.Option("--answer", metavar="CALL=JSON", help="Answer a question.")]
Reconcile = Annotated[
    Calls,
    typer.Option(
        "--reconcile",
        metavar="CALL=WHAT",
        help="What becomes of a call that may have happened: retry, result:JSON, failure:TEXT, abort or leave.",
    ),
]
Resolve = Annotated[
    Calls,
    typer.Option(
        "--resolve",
        metavar="CALL=WHAT",
        help="What becomes of a call that was not on offer: repair:NAME, retry[:TEXT], skip[:TEXT], fail[:TEXT] or "
        "stop[:TEXT].",
    ),
]
Arguments = Annotated[Calls, typer.Option("--arguments", metavar="CALL=JSON", help="Run a call with these arguments.")]
Accept = Annotated[Calls, typer.Option("--accept", metavar="WARNING", help="Go on in spite of a warning.")]
Why = Annotated[
    Calls, typer.Option("--why", metavar="CALL=REASON", help="Why a call was decided about, or edited, so.")
]
TakeOver = Annotated[
    str | None, typer.Option("--take-over", metavar="REASON", help="Take the run from whoever drives it.")
]
PlanToken = Annotated[str | None, typer.Option("--plan", metavar="TOKEN", help="Only if the plan is still this.")]
MaxTurns = Annotated[int | None, typer.Option("--max-turns", metavar="N", help="Another limit of turns.")]
Edits = Annotated[
    Calls,
    typer.Option(
        "--edit",
        metavar="PATH=JSON",
        help="Go on as a run of its own with another value there: queues.QUEUE[N], actors.ACTOR.state.FIELD, "
        "values.NAME, messages[N].text, messages[N].calls[N].arguments, pending.CALL.result (N from 0).",
    ),
]
TokenBudget = Annotated[int | None, typer.Option("--token-budget", metavar="N", help="And of tokens.")]

STEP = re.compile(r"[0-9]{1,18}")
RANGE = re.compile(r"[0-9]{1,18}|[0-9]{0,18}:[0-9]{0,18}")


def step_of(last: int, step: int | None, place: str) -> int:
    """The step that is meant of a run of `last` steps; `place` is how it was said. Raises UsageError."""
    if step is not None and not 0 <= step <= last:
        raise UsageError(place, f"the steps of this run are 0 to {last}")
    return last if step is None else step


def range_of(steps: str | None, last: int) -> tuple[int, int]:
    """The steps begin <= seq < end that A:B means of a run of `last` steps. Raises UsageError."""
    if steps is None:
        return 1, last + 1
    begin, colon, end = steps.partition(":")
    if not RANGE.fullmatch(steps):
        raise UsageError("--steps", f"{steps!r} is no range like 3:7")
    first = int(begin) if begin else 1
    final = (int(end) if end else max(first, last)) if colon else first
    if final < first:
        raise UsageError("--steps", f"{steps!r} ends before it begins")
    if first > max(last, 1) or not final:
        raise UsageError("--steps", f"the steps of this run are 1 to {last}")
    return max(first, 1), min(final, last) + 1


def file_and_step(place: str) -> tuple[str, int | None]:
    """The path and the step of PATH or PATH@N."""
    path, at, number = place.rpartition("@")
    stepped = at and STEP.fullmatch(number) and not os.path.lexists(place)
    return (path, int(number)) if stepped else (place, None)
