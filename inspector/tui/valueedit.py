"""Editing a value: in place as JSON on one line, or in the user's own editor."""

from __future__ import annotations

import json as jsons
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from inspector.model.large import referred
from inspector.model.values import Value, decimal, integer, to_json
from inspector.tui import masking

if TYPE_CHECKING:
    from textual.app import App

HIDDEN = "it holds what looks like a credential: V shows it, and then it can be edited"
LARGE = "kept in a file of its own, too large to edit here: `resume --edit` takes it"


def read_json(text: str) -> Value:
    """A value as it is typed: JSON, or else the text itself where it cannot be meant as JSON. Numbers stay as they are
    written. Raises ValueError."""
    try:
        return jsons.loads(text, parse_int=integer, parse_float=decimal)
    except (ValueError, RecursionError) as error:
        if text.strip()[:1] in ('"', "{", "[") or not text.strip():
            raise ValueError(f"this is no JSON: {error}") from None
        return text


def wrong_number(text: str) -> str | None:
    """Why a text is no limit; None where it is one."""
    return None if re.fullmatch("[1-9][0-9]{0,8}", text) else "a whole number, 1 or more"


def wrong(text: str, read: Callable[[str], Value] = read_json) -> str | None:
    """Why `read` does not take a text; None where it does."""
    try:
        read(text)
    except ValueError as error:
        return str(error)
    return None


def read_text(text: str) -> Value:
    """A text as it is typed: in quotes as JSON has it, or as it is. Raises ValueError."""
    return str(read_json(text)) if text[:1] == '"' else text


def pretty(value: Value) -> str:
    """A value as it is edited in an editor."""
    return value if isinstance(value, str) else jsons.dumps(jsons.loads(to_json(value)), indent=2, ensure_ascii=False)


def uneditable(value: Value) -> str | None:
    """Why a value is not to be edited on the screen, in words; None where it may be."""
    if masking.masked_value(value) != value:
        return HIDDEN
    return LARGE if referred(value) is not None else None


def edit_here(
    app: App[Any],
    title: str,
    told: Sequence[str],
    value: Value,
    done: Callable[[Value], object],
    *,
    label: str = "value:",
    json: bool = False,
) -> None:
    """Ask for a value in the place of another. What is in the place of a text is one, unless it may be any `json`.
    What comes back as it was is no edit: `done` does not hear of it."""
    _ask(app, title, told, value, done, label, json, to_json(value))


def _ask(
    app: App[Any],
    title: str,
    told: Sequence[str],
    value: Value,
    done: Callable[[Value], object],
    label: str,
    json: bool,
    text: str,
) -> None:
    from inspector.tui.asking import TextPage

    read = read_text if isinstance(value, str) and not json else read_json

    def take(text: str) -> None:
        _changed(value, read(text), done)

    app.push_screen(TextPage(title, told, label, take, text=text, check=partial(wrong, read=read)))


def _changed(before: Value, after: Value, done: Callable[[Value], object]) -> None:
    if to_json(after) != to_json(before):
        done(after)


def edit_outside(app: App[Any], value: Value, done: Callable[[Value], object], *, json: bool = False) -> str | None:
    """The same in $EDITOR. What went wrong, or None."""
    from inspector.tui.editor import edited

    before = pretty(value)
    is_text = isinstance(value, str) and not json
    text, trouble = edited(app, before, ".txt" if is_text else ".json")
    if text is None:
        return trouble
    if is_text:
        # Editors end what they write with a line's end.
        _changed(value, text if before.endswith("\n") else text.removesuffix("\n"), done)
        return None
    try:
        new = read_json(text)
    except ValueError as error:
        # What was typed is not thrown away: it is mended here, on one line.
        told = ("What the editor left cannot be taken as it is. It is below, on one line.", str(error))
        _ask(app, "Edit it here", told, value, done, "value:", json, " ".join(text.split("\n")).strip())
        return None
    _changed(value, new, done)
    return None
