"""Every key, as data: Textual's bindings, the footer, the help screen and the README's list are made of it.

A key belongs to a place (`where`): `app` everywhere, `run` the screen of a run, `live` the same while the run is
driven from here, `runs` the list of runs, `rows` any list of lines, `state` the state pane, `viewer` a value shown
full-screen, `diff` a difference, `resume` the plan of a resume, `choice` a question with its answers, `prompt` a line
that is being typed. `hint` is its word in the footer; keys without one stand in the help alone.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from textual.binding import Binding, BindingType
from textual.dom import DOMNode

Where = Literal["app", "run", "runs", "rows", "state", "viewer", "diff", "resume", "live", "choice", "prompt"]


class Key(Struct, frozen=True):
    """`keys` are Textual's names, `action` a method `action_...` of the place's widget; `{}` in it stands for
    the key, so that some keys share a line of the help."""

    id: str
    keys: str
    action: str
    help: str
    where: Where
    hint: str = ""
    shown: str = ""
    """The keys as people write them, where their names say it badly."""


KEYS = (
    Key("row-up", "up,k", "row(-1)", "one row up", "rows", shown="Up k"),
    Key("row-down", "down,j", "row(1)", "one row down", "rows", shown="Down j"),
    Key("page-up", "pageup,b", "page(-1)", "one screen up", "rows", shown="PageUp b"),
    Key("page-down", "pagedown,space", "page(1)", "one screen down", "rows", shown="PageDown Space"),
    Key("first", "home", "first", "the first row", "rows", shown="Home"),
    Key("last", "end,G", "last", "the last row", "rows", shown="End G"),
    Key("left", "less_than_sign,shift+left", "sideways(-1)", "show what is further left", "rows", shown="<"),
    Key("right", "greater_than_sign,shift+right", "sideways(1)", "show what is further right", "rows", shown=">"),
    Key("choose", "enter", "choose", "open what the row stands for", "rows", "open", "Enter"),
    Key("step-back", "left,h", "step(-1)", "the step before", "run", "step", "Left h"),
    Key("step-on", "right,l", "step(1)", "the next step", "run", "step", "Right l"),
    Key("other-pane", "tab", "other_pane", "between timeline and state", "run", "pane", "Tab"),
    Key("odd-back", "left_square_bracket", "odd(-1)", "the failed or open step before", "run", "failed/open", "["),
    Key("odd-on", "right_square_bracket", "odd(1)", "the next failed or open step", "run", "failed/open", "]"),
    Key("go", "g", "go", "go to a step by its number", "run", "go to"),
    Key("diff", "d", "diff", "differences: another step, another run, today's code", "run", "diff"),
    Key("resume", "r", "resume", "resume the run: shows the plan first", "run", "resume"),
    Key("rerun", "R", "rerun", "run again from this step or node on: shows the plan first", "run"),
    Key("break", "B", "break_at", "hold a resumed run before a tool, node or model call", "run"),
    Key("output", "O", "output", "what the code of a run that was resumed here printed", "run"),
    Key("find", "slash", "find", "find a text in names, summaries and records", "run", "find", "/"),
    Key("find-on", "n", "find_again(1)", "the next place where it stands", "run"),
    Key("find-back", "N", "find_again(-1)", "the place before", "run"),
    Key("filter", "f", "filter", "show only steps of some kinds or statuses", "run", "filter"),
    Key("mark", "m", "mark", "mark the step", "run"),
    Key("to-mark", "apostrophe", "to_mark", "go to the marked step, and back", "run", shown="'"),
    Key("follow", "F", "follow", "go to the last step, and follow a run that grows", "run"),
    Key("problems", "p", "problems", "what is wrong with the file, and where", "run"),
    Key(
        "export",
        "x",
        "export",
        "write it as a trace of ours (as rig saves it: *.rig.json)",
        "run",
    ),
    Key("reveal", "V", "reveal", "show credentials, or mask them again; that is written down", "run"),
    Key("tab-number", "1,2,3,4,5,6,7", "tab({})", "a tab of the state by its number", "state", shown="1 to 7"),
    Key("tab-before", "comma,H", "beside(-1)", "the tab before", "state", shown=", H"),
    Key("tab-after", "full_stop,L", "beside(1)", "the next tab", "state", "tab", ". L"),
    Key("edit-value", "e", "edit", "edit the value, and resume with that: shows the plan", "state", "edit"),
    Key("edit-value-outside", "E", "edit_outside", "the same in $EDITOR", "state"),
    Key("fold", "o", "fold", "unfold or fold what is at the cursor", "state", "unfold"),
    Key("form", "v", "form", "the graph as a drawing or as a list", "state"),
    Key(
        "view-open",
        "right,l",
        "fold(1)",
        "unfold what is at the cursor; in a text, further right",
        "viewer",
        shown="Right l",
    ),
    Key(
        "view-close",
        "left,h",
        "fold(0)",
        "fold it, or go to what it is in; in a text, further left",
        "viewer",
        shown="Left h",
    ),
    Key("view-all", "a", "unfold_all", "unfold everything", "viewer"),
    Key("view-edit", "e", "edit", "edit it, and resume with that: shows the plan first", "viewer", "edit"),
    Key("view-find", "slash", "find", "find a text", "viewer", "find", "/"),
    Key("view-on", "n", "find_again(1)", "the next place where it stands", "viewer", "next"),
    Key("view-back", "N", "find_again(-1)", "the place before", "viewer", "next"),
    Key("view-wrap", "w", "wrap", "break long lines, or let them run on", "viewer", "wrap"),
    Key("view-form", "t", "form", "as a tree or as text", "viewer", "tree/text"),
    Key("view-copy", "c", "copy", "copy to the terminal's clipboard", "viewer", "copy"),
    Key("view-print", "p", "print", "print to the plain terminal, to select there", "viewer", "print"),
    Key("view-save", "s", "save", "save to a file", "viewer", "save"),
    Key("diff-step-back", "left,h", "step(-1)", "the same for the step before", "diff", "step", "Left h"),
    Key("diff-step-on", "right,l", "step(1)", "the same for the next step", "diff", "step", "Right l"),
    Key("diff-before", "s", "beside('before')", "against the step before", "diff", "step before"),
    Key("diff-mark", "m", "beside('mark')", "against the marked step", "diff", "mark"),
    Key("diff-code", "c", "beside('code')", "against today's code", "diff", "code"),
    Key("diff-other", "o", "beside('other')", "against another run or file", "diff", "other run"),
    Key("run", "r", "run", "do what the plan says", "resume", "run"),
    Key("approve", "a", "decide('approve')", "approve the call at the cursor", "resume", "approve"),
    Key("deny", "x", "decide('deny')", "deny it, with a reason; take an edit back", "resume", "deny"),
    Key("edit", "e", "decide('edit')", "edit its arguments, or what was edited, here", "resume", "edit"),
    Key("edit-outside", "E", "decide('editor')", "the same in $EDITOR", "resume"),
    Key("answer", "i", "decide('answer')", "answer what it asks", "resume", "answer"),
    Key("why", "w", "decide('why')", "write down why it was decided so", "resume"),
    Key("accept", "c", "accept", "accept the warning at the cursor, or no longer", "resume", "accept"),
    Key("owner-follow", "F", "owner('follow')", "follow the run that somebody else drives", "resume", "follow it"),
    Key(
        "owner-take",
        "K",
        "owner('take')",
        "take the run over from whoever drives it, with a reason",
        "resume",
        "take over",
    ),
    Key("plan-output", "O", "output", "what the code printed", "resume"),
    Key("pause", "space", "pause", "pause at the next boundary; go on", "live", "pause/go on", "Space"),
    Key("one-step", "s", "one_step", "one step, then pause again", "live", "one step"),
    Key("detach", "D", "detach", "have the run go on in a process of its own, and follow it", "live", "detach"),
    Key("runs-find", "slash", "find", "show only runs whose line holds a text", "runs", "filter", "/"),
    Key("runs-problems", "p", "problems", "what is wrong with the source, and where", "runs", "problems"),
    Key("take", "enter", "choose", "take the answer at the cursor", "choice", "choose", "Enter"),
    Key("palette", "ctrl+p", "palette", "choose what to do from a list", "app", shown="Ctrl-P"),
    Key("back", "q", "leave(False)", "go back; leave when there is nothing to go back to", "app", "back"),
    Key(
        "undo",
        "escape",
        "leave(True)",
        "go back; end a search, drop what was found, drop the filter",
        "app",
        shown="Esc",
    ),
    Key("help", "question_mark", "help", "all keys of where you are", "app", "all keys", "?"),
    Key("repaint", "ctrl+l", "repaint", "draw everything again", "app", shown="Ctrl-L"),
    Key("suspend", "ctrl+z", "suspend_process", "to the shell; fg comes back", "app", shown="Ctrl-Z"),
    Key("quit", "ctrl+c,ctrl+q", "quit", "leave; first stop the run that is driven here", "app", shown="Ctrl-C"),
)

ALWAYS = ("repaint", "suspend", "quit")
"""Keys that act also while something is being typed."""


def of(*places: Where) -> Iterator[Key]:
    """The keys of these places, in the order of the table."""
    return (key for key in KEYS if key.where in places)


def bindings(where: Where) -> list[BindingType]:
    """Textual's bindings of a place.

    They are *priority* bindings, run as the key arrives and in its order: what is typed after `/` goes into
    the prompt even when it comes in the same packet. The app's are looked up first: no place has one of its
    keys."""
    return [
        Binding(
            names,
            key.action.format(names),
            key.help,
            show=False,
            priority=True,
            id=f"{where}.{key.id}" + (f".{names}" if "{}" in key.action else ""),
        )
        for key in of(where)
        for names in (key.keys.split(",") if "{}" in key.action else (key.keys,))
    ]


def typing(node: DOMNode) -> bool:
    """Whether keys are text now: then only the keys of ALWAYS act."""
    # Named and not imported: no first paint has to wait for it.
    return any(base.__name__ == "Input" for base in type(node.app.focused).__mro__)


def shown(key: Key) -> str:
    """The key as people write it."""
    return key.shown or key.keys.replace(",", " ")
