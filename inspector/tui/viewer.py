"""A value full-screen: a text in rows, a list or dict as a tree; searched, copied, printed, saved."""

import json
import os
from asyncio import sleep
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec import structs
from textual import events
from textual.app import SuspendNotSupported
from textual.binding import BindingType

from inspector import audit, policy
from inspector.errors import InspectorError
from inspector.model.text import one_line
from inspector.model.values import Value, clean_value, decimal, integer, to_json
from inspector.tui import clipboard, masking
from inspector.tui._compat import send
from inspector.tui.aside import aside
from inspector.tui.bars import Bar
from inspector.tui.keys import Where, bindings
from inspector.tui.line import Line, Opens, plain
from inspector.tui.page import Page
from inspector.tui.panes.flow import Flow
from inspector.tui.panes.textview import TextView
from inspector.tui.panes.treeview import TreeView
from inspector.tui.prompt import Prompt
from inspector.tui.rows import Rows

T = TypeVar("T")

MOST_PARSED = 1_000_000
"""Characters of a text that is tried as JSON when it is opened."""
LARGE = 256 << 10
"""Characters from which on a value is masked and laid out aside: it takes longer than a key may wait."""
A_PART = 64
"""Characters of which the masking takes as long as one part of a list or object does."""
MOST_LISTED = 100
"""Items that are looked at to tell how large a lazy sequence is."""


class Viewer(Page):
    """The value that Enter was pressed on."""

    PLACES: ClassVar[tuple[Where, ...]] = ("viewer", "app")
    BINDINGS: ClassVar[list[BindingType]] = bindings("viewer")

    def __init__(self, opens: Opens, edits: Callable[[str], object] | None = None, why_not: str | None = None) -> None:
        self._place, self._edits, self._why_not = opens.place, edits, why_not
        self._titled = opens.title
        self._large = is_large(opens.value)
        self._make = partial(made, opens.value, opens.title, Rows.ascii)
        self._value: Value
        self._view: TextView | TreeView
        self._value, self._view = (None, TextView("")) if self._large else self._make()
        self._ready = not self._large
        self._other: TextView | TreeView | None = None
        self._found = ""
        super().__init__(one_line(opens.title), self._view, heading=plain(""))
        if opens.place is None or edits is None or why_not is not None:
            self.footer.at(*self.PLACES, without={"view-edit"})

    def on_mount(self) -> None:
        super().on_mount()
        if not self._ready:
            self._say("getting it ready to be seen …")
            self._do(self._make, self._get_ready)
        else:
            self._lay(0)

    def _get_ready(self, made: tuple[Value, TextView | TreeView]) -> None:
        self._value, self._view = made
        self._ready = True
        self._lay(0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        there = self._ready or f"action_{action}" not in vars(Viewer)
        return there and super().check_action(action, parameters)

    def on_resize(self, event: events.Resize) -> None:
        if self._ready:
            self._lay()

    def _lay(self, cursor: int | None = None) -> None:
        """Lay the value out for the width there is."""
        view, width = self._view, max(self.size.width - 1, 1)
        if isinstance(view, TextView):
            self._do(partial(view.flow, width), partial(self._laid, view, cursor), only="lay")
        else:
            view.lay(width)
            self._show(view, cursor)

    def _laid(self, view: TextView, cursor: int | None, flow: Flow) -> None:
        view.lay(flow)
        if view is self._view:
            self._show(view, cursor)

    def _show(self, view: TextView | TreeView, cursor: int | None) -> None:
        self.rows.show(view, cursor)
        self._tell_about()

    def _do(self, work: Callable[[], T], then: Callable[[T], object], *, only: str = "", kept: bool = False) -> None:
        """Do `work`, and `then` with what it returns: at once, or what it takes for a large value aside. Of works that
        are `only` the same, nothing comes of any but the last; one that is `kept` ends before the app has ended."""

        async def going() -> None:
            then(await aside(work, kept=kept))

        if self._large:
            self._run(going, only)
        else:
            then(work())

    def _run(self, work: Callable[[], Coroutine[Any, Any, None]], only: str) -> None:
        # Not a coroutine: of one that is given up before it begins, Python complains.
        self.run_worker(work, group=only, exclusive=bool(only))  # type: ignore[arg-type]  # a union it reads two ways

    def _tell_about(self, place: str = "") -> None:
        found = f"   {self._found!r}: {place}" if place else ""
        self._say(f"{self._view.about()}{found}")

    def _say(self, text: str) -> None:
        self.query_one("#heading", Bar).set(plain(f" {text}", "dim"))

    def text(self) -> str:
        """The value as text: what is copied, printed and saved. Where only looking is allowed, credentials do not
        leave the screen."""
        if masking.revealed() and policy.read_only():
            return as_text(masking.always_masked(self._value))
        return as_text(self._value)

    def chosen(self, line: Line, index: int) -> None:
        if isinstance(self._view, TreeView) and self._view.fold(index):
            self._lay()
        elif isinstance(self._view, TreeView) and line.opens is not None:
            self.app.push_screen(Viewer(structs.replace(line.opens, place=self._place), self._edits, self._why_not))

    def action_fold(self, opened: int) -> None:
        """Open what is at the cursor, or close it; what is closed already leads to what it is in."""
        if not isinstance(self._view, TreeView):
            self.rows.action_sideways(1 if opened else -1)
        elif self._view.fold(self.rows.cursor, bool(opened)):
            self._lay()
        elif not opened:
            self.rows.move(self._view.above(self.rows.cursor))

    def action_edit(self) -> None:
        """Edit the value for a resume; what is open of it leaves."""
        place, edits = self._place, self._edits
        if place is None or edits is None or self._why_not is not None:
            self.footer.tell(self._why_not or "this is not edited: tokens, states, values, messages and calls are")
            return
        for screen in [*self.app.screen_stack]:
            if isinstance(screen, Viewer):
                screen.leave()
        self.app.call_later(edits, place)

    def action_unfold_all(self) -> None:
        """Open everything."""
        if isinstance(self._view, TreeView):
            if not self._view.unfold_all():
                self.footer.tell("there is too much in it to unfold all at once")
            self._lay()

    def action_wrap(self) -> None:
        """Break long lines, or let them run on to the right."""
        if isinstance(self._view, TextView):
            self._view.wrap = not self._view.wrap
            self.rows.shift = 0
            self._lay()

    def action_form(self) -> None:
        """Show the value as a tree or as text."""
        if self._other is not None:
            self._turn(self._other)
        else:
            self._do(partial(other_view, self._value, self._titled, Rows.ascii), self._turn, only="form")

    def _turn(self, other: TextView | TreeView | None) -> None:
        if other is None:
            self.footer.tell("this is plain text: there is no tree in it")
        else:
            self._view, self._other = other, self._view
            self._lay(0)

    def action_find(self) -> None:
        """Ask what to search for."""
        self._ask("find", "find:", self._found)

    def action_find_again(self, direction: int) -> None:
        """Go to the next or previous place."""
        if not self._found:
            self.action_find()
            return
        # Not aside: looking through a text lets no other thread work, and of keys typed ahead each goes one further.
        row = self._view.find(self.rows.cursor, direction)
        if row is None:
            self.footer.tell(f"{self._found!r} does not stand here")
            self._tell_about()
            return
        self.rows.show(self._view, row)
        self._tell_about(self._view.place(row))

    async def _search(self, text: str) -> None:
        """Search a tree in slices, so that keys work meanwhile."""
        view = self._view
        assert isinstance(view, TreeView)
        for count in view.search(text):
            self.footer.tell(f"finding {text!r}: {count} so far", "accent")
            await sleep(0)
        self.footer.key_pressed()
        if view is self._view:
            self.action_find_again(1)

    def action_copy(self) -> None:
        """Ask the terminal to put the text into its clipboard."""
        self._do(self.text, self._copy)

    def _copy(self, text: str) -> None:
        sequences = clipboard.osc52(text, os.environ)
        if sequences is None:
            self.footer.tell(f"{len(text):,} characters are too many for a terminal's clipboard: p prints, s saves")
            return
        send(self.app, sequences)
        self.footer.tell(
            f"sent {len(text):,} characters to the clipboard; if they do not arrive: p prints, s saves", "done"
        )

    def action_print(self) -> None:
        """Print the text on the plain terminal, where it can be selected."""
        self._do(self.text, self._print)

    def _print(self, text: str) -> None:
        try:
            with self.app.suspend():
                clipboard.print_plain(text, self._titled, ascii=Rows.ascii)
        except SuspendNotSupported:
            self.footer.tell("this terminal cannot be left for a moment: s saves to a file")

    def action_save(self) -> None:
        """Ask for a file's name."""
        kind = "txt" if isinstance(self._value, str) else "json"
        self._ask("save", "save to:", f"{file_name(self._titled)}.{kind}")

    def _ask(self, kind: str, label: str, text: str) -> None:
        self.footer.display = False
        self.prompt.ask(kind, label, text, again=kind == "find")

    def on_prompt_left(self, event: Prompt.Left | None = None) -> None:
        self.prompt.close()
        self.footer.display = True
        self.rows.focus()

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        self.on_prompt_left()
        if event.kind == "save":
            self._save(event.text)
        else:
            self._find(event.text)

    def _find(self, text: str) -> None:
        self._found = self._view.found = text
        if isinstance(self._view, TreeView):
            self._view.hits = []
        self.rows.show(self._view)
        self._tell_about()
        if text and isinstance(self._view, TreeView):
            self._run(partial(self._search, text), "search")
        elif text:
            self.action_find_again(1)

    def _save(self, path: str) -> None:
        if path.strip():
            self._do(partial(self._saved, path.strip()), lambda told: self.footer.tell(*told), kept=True)

    def _saved(self, path: str) -> tuple[str, str]:
        """Save the text; what came of it, and how that is shown."""
        try:
            audit.record("save", self._titled, to=path, revealed=masking.revealed() or None)
            full = clipboard.save(self.text(), path)
        except InspectorError as error:
            return str(error), "failed"
        except FileExistsError:
            return f"{path}: there is such a file already, and it stays as it is; choose another name", "problem"
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return f"{path}: not saved: {reason}", "failed"
        return f"saved {full}", "done"


def is_large(value: Any) -> bool:
    """Whether a value is masked and laid out aside. Looks at no more of it than that takes."""
    size, stack = 0, [value]
    while stack and size < LARGE:
        item = stack.pop()
        if isinstance(item, str):
            size += len(item)
        elif isinstance(item, dict | list | tuple):
            size += A_PART * len(item)
            if size < LARGE:
                stack += item.values() if isinstance(item, dict) else item
        elif isinstance(item, Sequence):
            size += LARGE if len(item) > MOST_LISTED else 0
            stack += item[:MOST_LISTED]
    return size >= LARGE


def made(value: Any, title: str, ascii: bool) -> tuple[Value, TextView | TreeView]:
    """A value as it is shown, and the best way to show it."""
    shown = masking.masked_value(as_value(value))
    return shown, view_of(shown, title, ascii)


def as_value(value: Any) -> Value:
    """A lazy sequence as the list it stands for."""
    if isinstance(value, Sequence) and not isinstance(value, str | list | tuple):
        return list(value)
    return value


def as_text(value: Value) -> str:
    """A value as a person reads it: a text as it is, anything else as JSON, a line for each part."""
    if isinstance(value, str):
        return value
    text = to_json(value)
    try:
        return msgspec.json.format(text, indent=2)
    except (RecursionError, msgspec.DecodeError):
        return text


def view_of(value: Value, title: str, ascii: bool) -> TextView | TreeView:
    """The best way to show a value."""
    return TreeView(value, title) if isinstance(value, list | tuple | dict) else TextView(as_text(value), ascii=ascii)


def other_view(value: Value, title: str, ascii: bool) -> TextView | TreeView | None:
    """The other way to show it; None where there is none."""
    if isinstance(value, list | tuple | dict):
        return TextView(as_text(value), ascii=ascii) if value else None
    inner = parsed(value) if isinstance(value, str) else None
    return None if inner is None else TreeView(inner, title)


def parsed(text: str) -> list[Value] | dict[str, Value] | None:
    """What a text holds that is a JSON list or object with something in it, numbers as written; else None."""
    if len(text) > MOST_PARSED or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text, parse_int=integer, parse_float=decimal, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
    return clean_value(value) if isinstance(value, list | dict) and value else None


def _object(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def file_name(title: str) -> str:
    """A title as a file's name."""
    words = "".join(char if char.isalnum() or char in "._-" else "-" for char in title[:60])
    return "-".join(filter(None, words.split("-"))) or "value"
