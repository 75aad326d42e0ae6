"""The commands of `runinspect`: arguments in, exit code out.

Imports of what a command needs happen inside it: `--help` and `show` load neither Textual nor Rich.
"""

import os
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

os.environ.setdefault("TYPER_USE_RICH", "false")

import typer

from inspector import __version__
from inspector import options as opt
from inspector.errors import UnreadableError, UsageError
from inspector.model.text import one_line
from inspector.policy import allow, read_only, set_read_only
from inspector.streams import complain, say

if TYPE_CHECKING:
    from inspector.diff import Side
    from inspector.model.source import RunSource

app = typer.Typer(
    name="runinspect",
    help="Look at a run of an agent or a dataflow network, step by step, and resume it.",
    epilog="runinspect PATH opens the screen: a file, a run folder, a folder of runs, a SQLite store, - for stdin.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _main(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    read_only: opt.ReadOnly = False,
) -> None:
    if read_only:
        set_read_only()
    if version:
        typer.echo(f"runinspect {__version__}")
        raise typer.Exit


@app.command()
def show(
    path: opt.Path,
    run: opt.RunId = None,
    step: opt.StepNo = None,
    steps: opt.Steps = None,
    format: opt.Format = None,
    json: opt.Json = False,
) -> None:
    """The run and its state at a step."""
    from inspector.formats import open_path
    from inspector.report.text import list_report, report
    from inspector.report.told import told
    from inspector.report.view import run_list, view
    from inspector.resume.drivers import names

    runs = open_path(path, format)
    if run is None and len(runs.rows()) != 1:
        document = run_list(runs)
        _complain(runs.problems())
        if not document.runs and any(problem.severity == "error" for problem in runs.problems()):
            raise UnreadableError(path, "holds no run that can be read")
        say(told(document, list_report, json, masked=read_only()))
        return
    source = runs.open(run)
    _drain(source)
    chosen = opt.step_of(len(source), step, f"--step {step}")
    start, stop = opt.range_of(steps, len(source))
    shown = view(source, chosen, start, stop, names())
    _complain([*runs.problems(), *shown.problems])
    say(told(shown, report, json, masked=read_only()))


@app.command()
def runs(
    store: Annotated[
        str | None, typer.Argument(metavar="[STORE]", help="Default: the store and the traces of this user.")
    ] = None,
    url: opt.StoreUrl = None,
    status: Annotated[str | None, typer.Option("--status", metavar="STATUS", help="Only runs that are so.")] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Only runs of that name.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the newest N.")] = None,
    format: opt.Format = None,
    json: opt.Json = False,
) -> None:
    """The runs of a store or folder, newest last."""
    from inspector.listing import runs_command

    runs_command(url if store is None else store, format=format, status=status, name=name, limit=limit, json=json)


@app.command(name="import")
def take_in(
    path: Annotated[str, typer.Argument(metavar="TRACE", help="A trace of ours, as `export --raw` writes it.")],
    store: opt.StoreUrl = None,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="What it is called there.")] = None,
) -> None:
    """Take a trace into a store of durable runs."""
    from inspector.listing import import_command

    import_command(path, store, key)


@app.command()
def diff(
    left: Annotated[str, typer.Argument(metavar="LEFT", help="A run, at a step as PATH@N (default: the last).")],
    right: Annotated[str | None, typer.Argument(metavar="[RIGHT]", help="The other run or step.")] = None,
    target: Annotated[
        str | None, typer.Option("--app", metavar="TARGET", help="Today's code in place of RIGHT; it is imported.")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="Which run of LEFT.")] = None,
    right_run: Annotated[
        str | None,
        typer.Option("--right-run", metavar="ID", help="Which run of RIGHT (default: that of LEFT, in the same file)."),
    ] = None,
    format: opt.Format = None,
    json: opt.Json = False,
) -> None:
    """What is different between two runs, two steps, or a run and today's code; exit code 1 when they differ."""
    from inspector.diff import Side, compare
    from inspector.report.difftext import diff_report
    from inspector.report.told import told

    if (right is None) == (target is None):
        raise UsageError(left, "is compared with one thing: RIGHT, or today's code by --app")
    one = _side(left, run, format)
    if right_run is None and right is not None and opt.file_and_step(left)[0] == opt.file_and_step(right)[0]:
        right_run = run
    if target is not None:
        from inspector.resume.apps import load_alone
        from inspector.resume.jobs import today

        other = Side(definition=today(load_alone(target)))
    else:
        assert right is not None
        other = _side(right, right_run, format)
    found = compare(one, other, states=target is None)
    say(told(found, diff_report, json, masked=read_only()))
    raise typer.Exit(0 if found.same else 1)


@app.command()
def formats(json: opt.Json = False) -> None:
    """What can be read, and what of it can be resumed."""
    from inspector.formats.reader import readers
    from inspector.model.values import to_json
    from inspector.resume.drivers import names

    known = names()
    table = [
        {"name": reader.name, "what": reader.what, "drivers": [name for name in reader.drivers if name in known]}
        for reader in readers()
    ]
    if json:
        say([to_json({"schema": "runinspect.formats/1", "formats": table})])
        return
    for row in table:
        drivers = f"  [resumed by {', '.join(row['drivers'])}]" if row["drivers"] else ""
        say([f"{row['name']:<22} {row['what']}{drivers}"])


@app.command()
def check(
    path: opt.Path,
    target: opt.App,
    run: opt.RunId = None,
    step: opt.StepNo = None,
    rerun: opt.Rerun = None,
    edit: opt.Edits = None,
    format: opt.Format = None,
    json: opt.Json = False,
) -> None:
    """The plan of a resume: what would be replayed, run and run again. Runs nothing of the run."""
    from inspector.resume.console import check_command

    raise typer.Exit(
        check_command(path, target, run=run, step=step, rerun=rerun, format=format, edits=edit or (), json=json)
    )


@app.command()
def resume(
    path: opt.Path,
    target: opt.App,
    run: opt.RunId = None,
    step: opt.StepNo = None,
    rerun: opt.Rerun = None,
    approve: opt.Approve = None,
    deny: opt.Deny = None,
    answer: opt.Answer = None,
    reconcile: opt.Reconcile = None,
    resolve: opt.Resolve = None,
    arguments: opt.Arguments = None,
    edit: opt.Edits = None,
    accept: opt.Accept = None,
    why: opt.Why = None,
    over: opt.TakeOver = None,
    stops: opt.Stops = None,
    trace: opt.Trace = None,
    plan: opt.PlanToken = None,
    max_turns: opt.MaxTurns = None,
    tokens: opt.TokenBudget = None,
    format: opt.Format = None,
    json: opt.Json = False,
) -> None:
    """Continue a run with today's code."""
    from inspector.resume.console import resume_command

    options = {
        "approve": approve or (),
        "deny": deny or (),
        "answer": answer or (),
        "reconcile": reconcile or (),
        "resolve": resolve or (),
        "arguments": arguments or (),
        "edit": edit or (),
        "accept": accept or (),
        "why": why or (),
        "take_over": () if over is None else (over,),
    }
    code = resume_command(
        path,
        target,
        options,
        run=run,
        step=step,
        rerun=rerun,
        format=format,
        trace=trace,
        expected=plan,
        max_turns=max_turns,
        stops=stops or (),
        token_budget=tokens,
        json=json,
    )
    raise typer.Exit(code)


@app.command(name="run")
def start(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="module:attribute or file.py:attribute.")],
    input: Annotated[str | None, typer.Option("--input", metavar="JSON", help="What the run is given.")] = None,
    trace: opt.Trace = None,
    store: opt.StoreUrl = None,
    key: Annotated[str | None, typer.Option("--key", metavar="KEY", help="What it is called there.")] = None,
    stops: opt.Stops = None,
    json: opt.Json = False,
) -> None:
    """Start a run of an agent or a network."""
    from inspector.resume.console import run_command

    code = run_command(target, input, trace=trace, store=store, key=key, json=json, stops=stops or ())
    raise typer.Exit(code)


@app.command()
def export(
    path: opt.Path,
    run: opt.RunId = None,
    steps: opt.Steps = None,
    to: Annotated[str, typer.Option("-o", "--output", metavar="FILE", help="Where to.")] = "-",
    rig: Annotated[bool, typer.Option("--rig", help="As rig saves a run; nothing is masked.")] = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw", help="Lose nothing: mask no credentials, escape no text. Only a file made so can be resumed."
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over a FILE that exists.")] = False,
    format: opt.Format = None,
) -> None:
    """A run as a trace file of our own, with credentials masked."""
    from inspector.audit import record
    from inspector.formats import open_path
    from inspector.model.source import Journaled
    from inspector.model.text import verbatim
    from inspector.report.export import lines
    from inspector.report.output import send
    from inspector.resume.handback import as_rig

    if raw:
        allow(path, "exported with its credentials")
    with verbatim() if raw else nullcontext():
        runs = open_path(path, format)
        source = runs.open(run)
        _drain(source)
        last = len(source)
        start, stop = opt.range_of(steps, last)
        if rig:
            send(to, lambda keep: as_rig(source, path, to), overwrite=overwrite)
        else:
            record("export", source.run().id, path=path, to=to, raw=raw)
            send(to, lambda keep: lines(source, start, stop, raw=raw, keep=keep), overwrite=overwrite)
        if to == "-" and isinstance(source, Journaled) and any(source.large().digests()):
            complain(f"{one_line(str(path))}: its large values stand apart, and are not in this stream: give -o FILE")
    _complain([*runs.problems(), *source.problems()])


@app.command(name="open", hidden=True)
def open_screen(
    path: opt.Path,
    run: opt.RunId = None,
    step: opt.StepNo = None,
    format: opt.Format = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the run as it grows.")] = False,
    ascii: Annotated[bool, typer.Option("--ascii", help="Only ASCII characters on the screen.")] = False,
    mouse: Annotated[bool, typer.Option("--mouse", help="Take mouse clicks.")] = False,
    target: Annotated[
        str | None,
        typer.Option("--app", metavar="TARGET", help="Today's code, to compare with and to resume; imported."),
    ] = None,
    stops: Annotated[
        opt.Calls,
        typer.Option("--break", metavar="WHERE", help="Hold a resumed run there: tool:NAME, node:NAME, ..."),
    ] = None,
    read_only: opt.ReadOnly = False,
) -> None:
    """The terminal UI."""
    from inspector.tui.means import Means
    from inspector.tui.start import run_app

    options = {"run": run, "step": step, "format": format, "follow": follow, "ascii": ascii, "mouse": mouse}
    means = Means(app=target, read_only=read_only, breaks=tuple(stops or ()))
    raise typer.Exit(run_app(path, means=means, **options))  # type: ignore[arg-type]


def _side(place: str, run: str | None, format: str | None) -> "Side":
    from inspector.diff import Side
    from inspector.formats import open_path
    from inspector.model.source import definition_at

    path, step = opt.file_and_step(place)
    source = open_path(path, format).open(run)
    _drain(source)
    chosen = opt.step_of(len(source), step, place)
    _complain(source.problems())
    return Side(definition=definition_at(source, chosen), state=source.state(chosen))


def _drain(source: "RunSource") -> None:
    for _ in source.index():
        pass


def _complain(problems: Iterable[object]) -> None:
    from inspector.model.run import Problem

    for problem in dict.fromkeys(problems):  # those of a source are those of its runs too
        assert isinstance(problem, Problem)
        complain(f"{one_line(problem.where)}: {one_line(problem.message)}")


def _no_slip(word: str, commands: Iterable[str]) -> None:
    """Raises UsageError for a word that is no path but nearly a command."""
    from difflib import get_close_matches

    meant = get_close_matches(word, commands, n=1) if word.isalpha() else None
    if meant and not os.path.lexists(word):
        raise UsageError(word, f"neither a command nor a file; did you mean {meant[0]!r}?")


def invoke(arguments: list[str]) -> int:
    """Run a command; its exit code. Raises what the command raises, and typer's errors of usage."""
    command: Any = typer.main.get_command(app)
    own = {"-h", "--help"} | {option for parameter in command.params for option in parameter.opts}
    arguments = arguments or ["--help"]
    begin = 1 if arguments[:1] == ["--read-only"] else 0
    if arguments[begin:] and arguments[begin] not in own | command.commands.keys():
        _no_slip(arguments[begin], command.commands)
        arguments = [*arguments[:begin], "open", *arguments[begin:]]
    result = app(arguments, prog_name="runinspect", standalone_mode=False)
    return result if isinstance(result, int) else 0
