"""Snapshots for the panes, small and by hand, and what a pane says of one as text."""

import os
from collections.abc import Hashable, Sequence, Set
from typing import Any

from hypothesis import settings

from inspector.model.run import Definition, SourceInfo, State
from inspector.tui.line import COLOURS, text_of
from inspector.tui.panes.parts import Stack
from inspector.tui.session import StateSnapshot

few = settings(max_examples=40 * max(int(os.environ.get("RUNINSPECT_FUZZ", "1")), 1), deadline=None)
"""How often the properties are tried."""

SOURCE = SourceInfo(path="run.jsonl", format="runinspect")


def snapshot(*, before: State | None = None, definition: Definition | None = None, **fields: Any) -> StateSnapshot:
    """A snapshot of step 5 of 9; `state` fields are given by their names."""
    of_state = {name: fields.pop(name) for name in list(fields) if name in State.__struct_fields__ and name != "step"}
    state = State(step=5, **of_state) if of_state or fields.pop("known", False) else None
    return StateSnapshot(
        step=5, last=9, state=state, before=before, definition=definition or Definition(), source=SOURCE, **fields
    )


def shown(stack: Stack, rows: Sequence[int] | range | None = None) -> list[str]:
    """Lines as text, each with its spaces at the end cut off. Every style must be known to the screen."""
    found = []
    for row in range(len(stack)) if rows is None else rows:
        line = stack[row]
        assert all(span.style in COLOURS for span in line.spans)
        assert not any(char in span.text for span in line.spans for char in "\n\x1b")
        found.append(text_of(line).rstrip())
    return found


def opened(stack: Stack, text: str) -> Any:
    """The value that Enter opens on the first line that holds a text."""
    line = next(stack[row] for row in range(len(stack)) if text in text_of(stack[row]))
    assert line.opens is not None
    return line.opens.value


def fold_at(stack: Stack, text: str) -> Set[Hashable]:
    """What is toggled by the fold key on the first line that holds a text."""
    row = next(row for row in range(len(stack)) if text in text_of(stack[row]))
    fold = stack.fold(row)
    assert fold is not None
    return {fold}
