"""A difference as lines: what breaks first, then section by section, then what cannot be compared."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from inspector.tui.line import Line, Opens, Span, plain
from inspector.tui.panes.cells import brief, counted, fit
from inspector.tui.panes.parts import Blocks, Fixed, Part, Stack
from inspector.tui.planlines import words

if TYPE_CHECKING:
    from inspector.diff import Weighed
    from inspector.model.values import Value
    from inspector.resume.jobs import Plan, Refusal
    from inspector.tui.reports import Compared

SECTIONS = ("Tools", "Graph", "Hooks", "Settings", "State")
PARTS = {"Tools": ("tools",), "Graph": ("graph",), "Hooks": ("hooks",), "Settings": (), "State": ("state",)}
WEIGHTS = {"breaking": ("x", "failed"), "accept": ("!", "waiting"), "harmless": (" ", "dim")}
SIGNS = {"+": "added", "-": "removed", "~": "changed"}
TARGET = 32
"""Characters of the code's name that are shown beside the verdict."""
SIDE = 60
"""Characters of one side of a difference on its line; Enter shows all of both."""


ARROW = " → "
MARGIN = 3
"""Cells before the first side, and those of the cursor."""
NARROWEST = 12
"""Characters of a side that are left on the narrowest screen."""


def summary(compared: Compared) -> str:
    """The whole difference in one line."""
    unknown = set(compared.unknown)
    if not compared.weighed and unknown:
        all_of_it = compared.what == "code" and unknown >= {"tools", "hooks"}
        return "nothing of it can be compared" if all_of_it else "the same, as far as it can be compared"
    if not compared.weighed:
        return "the same"
    counts = Counter[str | None](item.weight for item in compared.weighed)
    if compared.what != "code":
        return counted(len(compared.weighed), "difference")
    weights = ", ".join(f"{counts[weight]} {name}" for weight, name in NAMES if counts[weight])
    return f"{counted(len(compared.weighed), 'difference')}: {weights}"


NAMES = (("breaking", "breaking"), ("accept", "to accept"), ("harmless", "harmless"))


def lines(compared: Compared, plan: Plan | None, width: int) -> Stack:
    """All of it, for a screen of `width` cells."""

    def height(item: Weighed) -> int:
        return 2 if _explained(item, compared) else 1

    def built(_: int, item: Weighed) -> list[Line]:
        return _item(item, compared, width)

    found: list[Part] = [Fixed(_verdict(plan, width))]
    for section in SECTIONS:
        items = [item for item in compared.weighed if item.section == section]
        compares = section != "State" or compared.what != "code"
        unknown = any(part in compared.unknown for part in PARTS[section])
        compares = compares and (section != "Graph" or compared.graphs or bool(items))
        if not compares or (section == "Settings" and not items):
            continue
        found.append(Fixed([Line((Span(section, "heading"), Span(f"  {_counted(len(items), unknown)}", "dim")))]))
        found.append(Blocks(items, height, built))
    if compared.unknown:
        found.append(Fixed([plain("Cannot be compared", "heading")]))
        found.append(Fixed(plain(f"   ? {part}: one side does not record it", "problem") for part in compared.unknown))
    return Stack(found)


def _counted(count: int, unknown: bool) -> str:
    if count:
        return counted(count, "difference")
    return "cannot be compared" if unknown else "the same"


def _verdict(plan: Plan | None, width: int) -> list[Line]:
    if plan is None:
        return []
    if plan.refusals:
        head = plain(f"A resume after step {plan.step} would be refused", "failed")
    else:
        head = plain(f"A resume after step {plan.step} is possible", "done")
    return [head, *(line for item in plan.refusals for line in _refused(item, width)), plain("")]


def _refused(item: Refusal, width: int) -> list[Line]:
    opens = Opens(item.code, f"{item.subject}: {item.detail}")
    head = Line((Span(" x ", "failed"), Span(f"{item.code}  ", "failed"), Span(item.subject)), opens)
    return [head, *words(item.detail, width)]


def _sides(left: Value, right: Value, name: str, room: int) -> str:
    """Both sides of a difference. Where they are longer than `room`, a list or an object tells how much is in it, as
    of a queue, and what else is long is cut: so both are seen."""
    old, new = brief(left, name)[:SIDE], brief(right, name)[:SIDE]
    if len(old) + len(new) + len(ARROW) > room:
        room, half = room - len(ARROW), max((room - len(ARROW)) // 2, NARROWEST)
        first, second = max(half, room - len(new)), max(half, room - len(old))
        short = _short(left, old, first), _short(right, new, second)
        old, new = short if short[0] != short[1] else (fit(old, half), fit(new, half))
    return f"{old}{ARROW}{new}"


def _short(value: Value, text: str, cells: int) -> str:
    if len(text) <= cells:
        return text
    if isinstance(value, list | tuple):
        return f"[{counted(len(value), 'entry', 'entries')}]"
    return fit(text, cells)


def _explained(item: Weighed, compared: Compared) -> bool:
    return compared.what == "code" and bool(item.why) and item.weight is not None


def _item(item: Weighed, compared: Compared, width: int) -> list[Line]:
    sign, style = WEIGHTS[item.weight or "harmless"]
    spans = [Span(f" {sign} ", style), Span(f"{item.sign} ", SIGNS[item.sign]), Span(item.subject)]
    if item.path:
        spans.append(Span(f"  {item.path}", "accent"))
    name = (item.path or item.subject).rpartition(".")[2]
    both = item.sign == "~" and (item.left is not None or item.right is not None)
    if both:
        room = width - sum(len(span.text) for span in spans) - MARGIN
        spans.append(Span(f"  {_sides(item.left, item.right, name, room)}"))
    elif item.section == "State":
        spans.append(Span(f"  {brief(item.left if item.sign == '-' else item.right, name)[:SIDE]}"))
    opens = Opens(f"{item.subject} {item.path}".strip(), {compared.left: item.left, compared.right: item.right})
    found = [Line(tuple(spans), opens if both or item.section == "State" else None)]
    if item.weight is not None and _explained(item, compared):
        word = {"breaking": "breaking", "accept": "must be accepted", "harmless": "harmless"}[item.weight]
        found.append(Line((Span(f"       {word}: {item.why}", style),)))
    return found


def short(target: str) -> str:
    """The code's name; of a long one the end is kept, so that there is room for more."""
    return target if len(target) <= TARGET else "…" + target[1 - TARGET :]


def bar(target: str, plan: Plan | None, compared: Compared | None, error: str | None) -> Line:
    """The verdict on today's code in the line below the header."""
    spans = [Span(" against ", "dim"), Span(short(target), "accent"), Span("  ")]
    if error is not None and compared is None:
        return Line((*spans, Span(error.removeprefix(f"{target}: "), "failed")))
    over = plan is not None and not (plan.runs or plan.runs_again or plan.needs)
    if plan is not None and {(item.code, item.remedy) for item in plan.refusals} == {("terminal", None)}:
        spans.append(Span("nothing is left to run", "done"))
    elif plan is not None and plan.refusals:
        refused = ", ".join(dict.fromkeys(f"{item.code} {item.subject}" for item in plan.refusals))
        spans.append(Span(f"refused: {refused}", "failed"))
    elif plan is not None:
        codes = ", ".join(dict.fromkeys(item.code for item in plan.unaccepted(())))
        word = f"to accept: {codes}" if codes else "nothing is left to run" if over else "can be resumed"
        spans.append(Span(word, "waiting" if codes else "done"))
    if compared is None:
        return Line((*spans, Span("  …", "dim")))
    for section, name in (("Tools", "tools"), ("Graph", "graph"), ("Hooks", "hooks")):
        if name == "graph" and not compared.graphs:
            continue
        spans.append(Span(f"  {name}: {_word(section, name, compared)}", "dim"))
    return Line(tuple(spans))


def _word(section: str, part: str, compared: Compared) -> str:
    items = [item for item in compared.weighed if item.section == section]
    breaking = sum(item.weight == "breaking" for item in items)
    if items:
        return counted(len(items), "difference") + (f", {breaking} breaking" if breaking else "")
    return "?" if part in compared.unknown else "same"
