"""Values and texts on one line, and texts of an exact width on the screen, in cells."""

from rich.cells import cell_len, set_cell_size

from inspector.model.text import one_line
from inspector.model.values import Number, Value, preview
from inspector.tui.masking import hidden, masked

TEXT = 600
"""Characters of a value on one line: what does not fit the pane can be scrolled to, up to here."""

TAIL = 200
"""Characters behind what is shown which may be the rest of a credential."""


def brief(value: Value, name: object = None) -> str:
    """A value on one line: a text in quotes, so that `"1"` is not `1` and an empty one is seen; a number as
    it was written. `name` is that of the field it stands in, which may say that it is a credential."""
    mark = hidden(name, value) if name is not None else None
    if mark is not None:
        return mark
    if isinstance(value, str):
        return f'"{masked(preview(value, TEXT + TAIL))[:TEXT]}"'
    return value.text[:TEXT] if isinstance(value, Number) else masked(preview(value, TEXT + TAIL))[:TEXT]


def fit(text: str, cells: int) -> str:
    """`text` on one line of exactly `cells` cells: filled up, or cut with an ellipsis at its end."""
    line = one_line(masked(text[: 2 * cells + TAIL]))
    if cell_len(line) <= cells:
        line = set_cell_size(line, cells)
    else:
        line = set_cell_size(line, max(cells - 1, 0)) + "…"[:cells]
    return line if len(line) <= 2 * cells else _thinned(line, cells)


def _thinned(line: str, most: int) -> str:
    """The line with at most so many of the characters that take no cell: with a thousand marks on a letter, what
    fills up the cells behind it would stand too far back to be drawn."""
    kept = []
    for character in line:
        if not cell_len(character):
            most -= 1
            if most < 0:
                continue
        kept.append(character)
    return "".join(kept)


def column(texts: list[str], most: int) -> int:
    """The width of a column that holds these texts, at most `most` cells."""
    return min(max((cell_len(text[:most]) for text in texts), default=0), most)


def counted(number: int, one: str, many: str | None = None) -> str:
    """`3 calls`, `1 call`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
