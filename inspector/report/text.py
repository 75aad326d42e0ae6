"""A run as plain text for a terminal or a pipe: one fact a line, nothing that could pass for another.

Every text from the file is put on one line and behind a lead of ours, so that no name and no argument
can write a line of its own into the report.
"""

from collections.abc import Iterator, Sequence

from inspector.model.run import Definition, Message, Pending, Queue, Run, RunRow, State, Step
from inspector.model.text import one_line, shorten
from inspector.model.values import Value, preview
from inspector.report.view import RunList, View

WIDTH = 200
TOKENS = 10
"""Tokens of a queue, and messages of a conversation, that the report shows; `--json` shows all."""


def report(view: View) -> Iterator[str]:
    """The lines of a run's report."""
    yield from _head(view.run)
    yield one_line(f"source   {view.source.path}  {view.source.format} {view.source.version or ''}").rstrip()
    yield from _definition(view.definition)
    resume = view.resume
    verdict = f"can be continued ({resume.driver})" if resume.possible else "cannot be continued here"
    yield f"resume   {verdict}" + (f": {', '.join(resume.reasons)}" if resume.reasons else "")
    if view.problems:
        yield f"problems {len(view.problems)}"
        for problem in view.problems:
            yield f"  {problem.severity}  {one_line(problem.where)}: {one_line(problem.message)}"
    yield ""
    for step in view.steps:
        yield _step(step)
    yield ""
    if view.state is None:
        yield "state    this file cannot tell the state at that step"
    else:
        yield from _state(view.state)


def list_report(runs: RunList) -> Iterator[str]:
    """The lines of a list of runs, newest last."""
    for row in runs.runs:
        yield _row(row)


def _row(row: RunRow) -> str:
    status = row.status + (f" ({row.reason})" if row.reason else "")
    link = f"  resumed from {row.resumed_from.run}" if row.resumed_from else ""
    link += f"  part of {row.parent.run}" if row.parent else ""
    link += f"  turn {row.turn} of {row.thread}" if row.turn and row.thread else ""
    held = f"  held by {row.holder}" if row.holder else ""
    return one_line(
        f"{row.id}  {row.kind}  {status}  {_steps(row.steps)}  {row.started or ''}  {row.name or ''}{link}{held}"
    ).rstrip()


def _steps(count: int | None) -> str:
    return f"{'?' if count is None else count} step{'' if count == 1 else 's'}"


def _head(run: Run) -> Iterator[str]:
    status = run.status + (f" · {run.reason}" if run.reason else "")
    yield one_line(f"run      {run.id or '-'}  {run.name or ''}  {run.kind}  {status}  {_steps(run.steps)}")
    if run.started or run.ended:
        yield one_line(f"time     {run.started or '?'} to {run.ended or '?'}")
    if run.resumed_from:
        step = f" at step {run.resumed_from.step}" if run.resumed_from.step is not None else ""
        yield one_line(f"resumed  from {run.resumed_from.run}{step}")
    if run.parent:
        step = f" behind step {run.parent.step}" if run.parent.step is not None else ""
        yield one_line(f"part     of {run.parent.run}{step}")
    if run.error:
        where = "/".join(run.error.where or ())
        kind = f"{run.error.type}: " if run.error.type else ""
        yield one_line(
            f"error    {where + ': ' if where else ''}{kind}{run.error.message or 'the reason is not recorded'}"
        )
    elif run.status == "failed":
        yield "error    the file does not record the reason"
    if run.usage:
        yield f"usage    {_number(run.usage.input_tokens)} tokens in, {_number(run.usage.output_tokens)} out"


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _definition(definition: Definition) -> Iterator[str]:
    if definition.tools is not None:
        names = ", ".join(tool.name for tool in definition.tools)
        yield one_line(f"tools    {names or 'none'} ({definition.tools_known})")
    if definition.hooks is not None:
        names = ", ".join(f"{hook.event or '?'}: {hook.name}" for hook in definition.hooks)
        yield one_line(f"hooks    {names or 'none'}")
    if definition.graph is not None and definition.graph.nodes is not None:
        yield one_line(f"graph    {', '.join(node.id for node in definition.graph.nodes)}")


_SIGNS = {"done": "ok", "failed": "FAILED", "replayed": "replayed", "pending": "pending", "running": "running"}


def _step(step: Step) -> str:
    sign = _SIGNS.get(step.status, step.status)
    return shorten(f"{step.seq:>5}  {step.kind:<7} {step.name}  {sign}  {step.summary or ''}".rstrip(), WIDTH)


def _state(state: State) -> Iterator[str]:
    yield f"state after step {state.step}"
    for pending in state.pending or ():
        yield from _pending(pending)
    for queue in state.queues or ():
        yield from _queue(queue)
    for actor in state.actors or ():
        name = "/".join((*actor.scope, actor.id))
        count = "" if actor.fire_count is None else f"  fired {actor.fire_count}"
        cut = "  unfinished" if actor.unfinished is not None else ""
        yield one_line(
            f"  actor    {name}{count}{cut}  {_value(actor.state) if actor.state is not None else ''}"
        ).rstrip()
    if state.messages is not None:
        yield from _messages(state.messages)
    for name, value in (state.values or {}).items():
        yield f"  value    {one_line(name)} = {_value(value)}"
    for hook in state.hooks or ():
        yield one_line(f"  hook     {hook.event or '?'}: {hook.name}")


def _pending(pending: Pending) -> Iterator[str]:
    call = f"  {pending.call_id}" if pending.call_id else ""
    arguments = "" if pending.arguments is None and pending.kind != "tool" else f"  {_value(pending.arguments)}"
    yield f"  {pending.kind:<8} {shorten(pending.name, WIDTH)}{one_line(call)}{arguments}  {pending.status}"
    if pending.result is not None:
        yield f"           result: {_value(pending.result)}"
    if pending.note:
        yield f"           {one_line(pending.note)}"


def _queue(queue: Queue) -> Iterator[str]:
    size = "?" if queue.size is None else queue.size
    scope = "/".join(queue.scope)
    known = "" if queue.contents == "complete" else f"  (contents: {queue.contents})"
    yield one_line(f"  queue    {scope + ': ' if scope else ''}{queue.id}  {size}{known}")
    for token in (queue.tokens or ())[:TOKENS]:
        yield f"           {_value(token)}"
    if queue.tokens is not None and len(queue.tokens) > TOKENS:
        yield f"           … {len(queue.tokens) - TOKENS} more"


def _messages(messages: Sequence[Message]) -> Iterator[str]:
    skipped = max(len(messages) - TOKENS, 0)
    if skipped:
        yield f"  message  … {skipped} earlier"
    for message in messages[skipped:]:
        call = f" {message.call_id}" if message.call_id else ""
        yield shorten(f"  {message.role}{call}: {message.text or ''}", WIDTH)
        for asked in message.calls or ():
            yield shorten(
                f"           calls {asked.name} {preview(asked.arguments, WIDTH)} {asked.call_id or ''}", WIDTH
            )


def _value(value: Value) -> str:
    return preview(value, WIDTH)
