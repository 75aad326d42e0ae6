"""The plan of a resume as lines, top to bottom: what is refused, what is owed, what must be accepted, what would
happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from inspector.tui.line import Line, Opens, Span, plain
from inspector.tui.masking import masked
from inspector.tui.owing import MODEL, called
from inspector.tui.panes.cells import brief, counted
from inspector.tui.panes.flow import Flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from inspector.resume.jobs import Need, Planned, Refusal, Warned
    from inspector.resume.plan import Decisions
    from inspector.runner.preflight import Limit
    from inspector.tui.deciding import Deciding
    from inspector.tui.driving import Planned as Made

SPENT: dict[Limit, str] = {"max_turns": "limit of model turns", "token_budget": "budget of tokens"}
NAMED = 200
"""Pieces of work of one kind that are listed."""
FIRST = 3
"""Names that the line of the run key tells."""
QUESTIONS = {
    "approve": "may it run?",
    "answer": "wants an answer",
    "reconcile": "what became of it?",
    "resolve": "what was meant?",
    "mend": "it cannot run so",
}
OPTIONS = {
    "approve": (
        ("approve", "a  approve: let it run"),
        ("deny", "x  deny: it does not run, and the model is told why"),
        ("edit", "e  edit its arguments here"),
        ("editor", "E  edit its arguments in an editor"),
    ),
    "answer": (("answer", "i  answer it"), ("deny", "x  deny it")),
    "reconcile": (
        ("retry", "run it once more: it may happen twice"),
        ("result", "it happened: take this result"),
        ("failure", "it failed: record that"),
        ("abort", "give up the whole run"),
        ("leave", "leave it open"),
    ),
    "mend": (
        ("deny", "x  deny: it does not run, and the model is told why"),
        ("answer", "i  answer: this is its result, and it does not run"),
        ("edit", "e  edit its arguments here"),
        ("editor", "E  edit its arguments in an editor"),
    ),
    "resolve": (
        ("retry", "ask the model once more, and tell it why"),
        ("skip", "it does not run, and the model is told"),
        ("fail", "the run fails"),
        ("stop", "the run is stopped"),
    ),
}
EDITED = (
    ("edit", "e  edit it again here"),
    ("editor", "E  edit it again in an editor"),
    ("deny", "x  take the edit back"),
    ("why", "w  write down why"),
    ("open", "open what is there now"),
)
OVER = {"failure": "has the run fail", "fail": "has the run fail", "stop": "has the run stop"}
"""What ends a run of an agent, of what is decided about its model call or one that was not on offer."""
DECISIONS = ("approve", "deny", "edit", "answer")
LOOK = "open its arguments"
"""Where the cursor is at first: an Enter too many decides nothing."""
COMMON = (("why", "w  write down why"), ("undo", "take the decision back"))
KEYS = {
    "approve": "a approves  x denies  e edits its arguments  Enter: all",
    "answer": "i answers  x denies  Enter: all",
    "reconcile": "Enter: retry, a result, a failure, abort, leave",
    "resolve": "Enter: what can be decided, before a hook does",
    "mend": "x denies  i answers  e edits its arguments  Enter: all",
}

EDIT_KEYS = "e edits it again  x takes it back  w says why  Enter: all"


class Row(NamedTuple):
    """A line, and what it stands for: a need, a code that can be accepted, the place of an edit, a limit, nothing."""

    line: Line
    need: Need | None = None
    code: str | None = None
    edit: str | None = None
    limit: Limit | None = None

    @property
    def subject(self) -> tuple[str, str] | None:
        """What the row is about; None where that is nothing to decide about."""
        call = self.need.call_id if self.need is not None else None
        named = (("need", call), ("limit", self.limit), ("code", self.code), ("edit", self.edit))
        return next(((kind, name) for kind, name in named if name is not None), None)


def options(need: Need, deciding: Deciding) -> tuple[tuple[str, str], ...]:
    """What can be decided about a call, each with its words."""
    if need.question != "resolve":
        return OPTIONS[need.question]
    ways = deciding.ways(need)
    names = [(way, f"it is meant for {way.partition(':')[2]}: run that") for way in ways if ":" in way]
    return (*names, *(option for option in OPTIONS["resolve"] if option[0] in ways))


def menu(need: Need, deciding: Deciding) -> tuple[tuple[str, str], ...]:
    """What can be done about a call, each with its words; first what decides nothing."""
    known = deciding.arguments(need.call_id) is not None
    return (("open", LOOK if known else "open what is known of it"), *options(need, deciding), *COMMON)


def about(need: Need, deciding: Deciding) -> Opens:
    """What is opened of a call: its arguments, else what is known of it."""
    arguments = deciding.arguments(need.call_id)
    return Opens(called(need), need.detail if arguments is None else arguments)


def rows(deciding: Deciding, width: int, sentence: Callable[[str], str | None]) -> list[Row]:
    """All rows of a plan, for a screen of `width` cells."""
    planned, plan = deciding.planned, deciding.plan
    if planned is None:
        return [Row(plain(" the plan is being made …", "dim"))]
    if plan is None:
        return [Row(line) for line in words(planned.error or "there is no plan", width, "failed")]
    found = [*_owner(planned, deciding.decisions.take_over)] if deciding.owned else []
    for refusal in plan.refusals:
        found += _refused(refusal, deciding, width, sentence)
    needs = deciding.needs()
    if needs:
        found.append(_heading(counted(len(needs), "decision"), f"{len(deciding.owed())} owed"))
        for need in needs:
            found += _need(need, deciding, width)
    found += _limits(deciding.decisions)
    found += _edits(deciding, width)
    found += _warnings(plan.warnings, deciding, width, sentence)
    found += _work("would run again", plan.runs_again, "changed")
    found += _work("would run", tuple(item for item in plan.runs if not item.ways), "accent")
    found += _work("is taken over, and does not run", plan.replays, "replayed")
    return found


def _driven(planned: Made) -> str:
    return f"driven by {planned.owner or 'somebody who cannot be told'}"


def taking(planned: Made) -> tuple[str, ...]:
    """What to know before the run is taken over."""
    stops = "Whoever drives it stops at its next boundary. What is under way there may happen twice."
    if planned.owner is None:
        stops = "Nobody can be stopped from here: if it does run, what it goes on to do happens twice."
    reason = "An empty reason takes nothing over. The reason is written into the new run's journal."
    return _driven(planned), stops, reason


def _owner(planned: Made, reason: str | None) -> Iterator[Row]:
    """Who drives the run, what of it is under way there, and what can be done about that."""
    yield Row(plain(f" {_driven(planned)}", "running"))
    for item in planned.pending:
        if item.status == "in_flight":
            since = f", since {item.since}" if item.since else ""
            yield Row(plain(f"     under way there: {item.name} {item.call_id or ''}{since}", "running"))
    if reason is not None:
        yield Row(plain(f"     is taken over: {reason}", "waiting"))
    else:
        keys = (Span("     F ", "key"), Span("follows it   "), Span("K ", "key"), Span("takes it over, with a reason"))
        yield Row(Line(keys))


def _heading(text: str, note: str = "") -> Row:
    return Row(Line((Span(text, "heading"), Span(f"  {note}", "dim"))))


def _refused(refusal: Refusal, deciding: Deciding, width: int, sentence: Callable[[str], str | None]) -> Iterator[Row]:
    code, limit = refusal.code, spent(refusal)
    head = (Span(" x refused  ", "failed"), Span(f"{code}  ", "failed"), Span(refusal.subject))
    yield Row(Line(head, Opens(code, f"{refusal.subject}: {refusal.detail}")), code=code, limit=limit)
    for line in words(refusal.detail, width):
        yield Row(line, code=code, limit=limit)
    for line in words(sentence(code) or "", width, "problem"):
        yield Row(line, code=code, limit=limit)
    if refusal.remedy == "accept":
        yield Row(Line((Span("     c ", "key"), Span("accepts it: the run goes on all the same", "dim"))), code=code)
    if limit is not None:
        told = Span(f"gives it another {SPENT[limit]}", "dim")
        yield Row(Line((Span("     e ", "key"), told)), code=code, limit=limit)


def spent(refusal: Refusal) -> Limit | None:
    """The limit that may be raised for the run to go on."""
    return next((limit for limit in SPENT if limit == refusal.remedy), None)


def _limits(made: Decisions) -> Iterator[Row]:
    """The limits that were raised."""
    for limit, words in SPENT.items():
        value = getattr(made, limit)
        if value is not None:
            head = Span(" ~ limit    ", "changed"), Span(f"{words}: {value}", "accent")
            yield Row(Line((*head, Span("   e another", "dim"))), limit=limit)


def _need(need: Need, deciding: Deciding, width: int) -> Iterator[Row]:
    word = deciding.word(need)
    sign = Span(" ✓ ", "done") if word else Span(" ? ", "waiting")
    arguments = deciding.arguments(need.call_id)
    spans = [sign, Span(f"{need.call_id}  " if need.call_id != need.name else "", "dim"), Span(need.name, "accent")]
    if arguments is not None:
        edited = need.call_id in deciding.decisions.arguments
        spans += [Span(f"  {brief(arguments)}"), *([Span("  edited", "changed")] if edited else [])]
    yield Row(Line(tuple(spans), about(need, deciding)), need=need)
    if need.detail:
        for line in words(need.detail, width, "problem"):
            yield Row(line, need=need)
    if word:
        why = deciding.decisions.why.get(need.call_id)
        told = f"{word}  (because: {why})" if why else word
        yield Row(Line((Span(f"     {told}", "done"),)), need=need)
    else:
        told = f"     {QUESTIONS[need.question]}  "
        yield Row(Line((Span(told, "waiting"), Span(KEYS[need.question], "dim"))), need=need)


def _edits(deciding: Deciding, width: int) -> Iterator[Row]:
    made = deciding.decisions
    if not made.edits:
        return
    yield _heading(counted(len(made.edits), "edit"), "the run goes on with these as a run of its own")
    for place, after in made.edits.items():
        head = (Span(" ~ edited  ", "changed"), Span(place, "accent"))
        yield Row(Line(head, Opens(place, after)), edit=place)
        was = deciding.originals.get(place)
        yield Row(Line((Span("     was  ", "dim"), Span(brief(was), "removed")), Opens(place, was)), edit=place)
        yield Row(Line((Span("     now  ", "dim"), Span(brief(after), "added")), Opens(place, after)), edit=place)
        why = made.why.get(place)
        told = Span(f"     because: {why}", "done") if why else Span(f"     {EDIT_KEYS}", "dim")
        yield Row(Line((told,), Opens(place, after)), edit=place)


def _warnings(
    warnings: tuple[Warned, ...], deciding: Deciding, width: int, sentence: Callable[[str], str | None]
) -> Iterator[Row]:
    accepted = deciding.decisions.accept
    told: set[str] = set()
    for warning in warnings:
        code = warning.code
        if warning.accept or code in accepted:
            box, style = ("[x] ", "done") if code in accepted else ("[ ] ", "waiting")
        else:
            box, style = "    ", "dim"
        spans = (Span(f" {box}", style), Span(f"{code}  ", "problem"), Span(warning.subject))
        yield Row(Line(spans, Opens(code, f"{warning.subject}: {warning.detail}")), code=code)
        for line in words(warning.detail, width):
            yield Row(line, code=code)
        if code not in told:
            told.add(code)
            for line in words(sentence(code) or "", width, "problem"):
                yield Row(line, code=code)


def _work(title: str, work: tuple[Planned, ...], style: str) -> Iterator[Row]:
    if not work:
        return
    yield _heading(title, counted(len(work), "entry", "entries"))
    for item in work[:NAMED]:
        step = f"step {item.step}  " if item.step is not None else ""
        note = f"  {item.note}" if item.note else ""
        kind = f"{item.kind or ''}".ljust(8)
        yield Row(
            Line(
                (
                    Span(f"   {kind}", style),
                    Span(step, "dim"),
                    Span(item.name),
                    Span(f"  {item.call_id or ''}{note}", "dim"),
                )
            )
        )
    if len(work) > NAMED:
        yield Row(plain(f"   and {len(work) - NAMED:,} more", "dim"))


def words(text: str, width: int, style: str = "") -> list[Line]:
    """A text in rows below what it is about."""
    flow = Flow(masked(text), max(width - 6, 20))
    return [Line((Span(f"     {flow[index]}", style),)) for index in range(min(len(flow), 6))] if text else []


def asking(how: str, need: Need, *, firing: bool) -> tuple[tuple[str, ...], str]:
    """What is said above the field of a decision, and the field's label; `firing`: it is about one of a network."""
    if need.question == "resolve":
        to = "model is told" if how in ("retry", "skip") else "run's error says"
        return (f"What the {to}; an empty text: the usual words.",), "text:"
    if how == "deny":
        return ("The model is told that the call was denied, and this reason, where there is one.",), "reason:"
    if how == "failure":
        told = "The model is told that the call failed, with this text."
        if need.call_id == MODEL:
            told = "The run fails with this text, for good."
        elif firing:
            told = "The firing is recorded as failed, with this text, and the run too; a resume then runs it again."
        return (told,), "failure:"
    ports = " Of a node with several outputs: an object of them, by port." if firing else ""
    return (need.detail or "", f"As JSON; what is no JSON is a text.{ports}"), "value:"


def purpose(deciding: Deciding) -> str:
    """What the run key is about to do, in one line."""
    plan = deciding.plan
    if plan is None:
        return ""
    if not (plan.runs or plan.runs_again or plan.needs or deciding.needs()) and not plan.refusals:
        return "the run is finished: its result is given again, and nothing runs"
    if "abort" in {made.how for made in deciding.decisions.reconcile.values()} and not plan.refusals:
        return "gives up the whole run: it ends as failed for good, and nothing runs"
    made = deciding.decisions
    if made.take_over is not None and deciding.owed() and not deciding.waited_for():
        return "takes the run over: what is under way there waits for a word of yours then"
    model = [decided.how for call, decided in made.reconcile.items() if call == MODEL]
    over = [OVER[how] for how in (*model, *(decided.how for decided in made.resolve.values())) if how in OVER]
    if over and plan.driver == "agent":
        return f"{over[0]}: it ends for good, and nothing runs"
    first = list(dict.fromkeys(item.name for item in (*plan.runs_again, *plan.runs) if not item.ways))
    more = f" and {len(first) - FIRST} more" if len(first) > FIRST else ""
    names = ", ".join(first[:FIRST]) + more
    runs = f"runs {names}" if names else "carries out what was decided"
    left = [need.name for need in deciding.needs() if need.question == "resolve" and not deciding.decisions.met(need)]
    runs = f"lets hooks decide about {', '.join(left)}" if left else runs
    edits = f", with {counted(len(plan.edits), 'edit')}" if plan.edits else ""
    # Of a network each entry stands for all firings of a node; of an agent for a step, of which the last may be open.
    steps = len(plan.replays) if all(item.step is not None for item in plan.replays) else plan.step
    replays = f"; takes over {counted(steps, 'step')}" if plan.replays else ""
    return f"{runs}, and goes on{edits}{replays}"
