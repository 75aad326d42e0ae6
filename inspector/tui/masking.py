"""Credentials on the screen: a visible mark stands in the place of each, until somebody reveals them.

Whatever is drawn is masked as it is drawn. Before that is masked what would not be known for a credential there
any more: what is cut to a width, broken into rows or searched. What is kept of a run, compared and resumed is
never masked.
"""

import re
from functools import lru_cache

import msgspec

from inspector.model.run import RawRecord, Step
from inspector.model.values import Value

SHORT = 2000
"""Characters up to which many masked texts are kept; of longer ones, the last few."""


SUSPECT = re.compile(
    r"[\w\-.]{16}|://|PRIVATE KEY|passw|passphrase|passcode|pwd|secret|token|key|auth|cookie|credential|bearer|basic"
    r"|digest",
    re.IGNORECASE,
)
"""What a text has that holds a credential, and most have not: those need no closer look, which takes a while to
be there."""

GLANCED = 16 << 10
"""Characters up to which a text is looked at for that first. It costs eight times what the closer look does: of a long
text more than is saved, and a record of 75 MB stopped every key for 14 seconds."""

LEAST = 10
"""Characters of the shortest text that holds a credential and what gives it away."""


class _Switch:
    revealed = False


def revealed() -> bool:
    """Whether credentials are shown."""
    return _Switch.revealed


def reveal(on: bool) -> None:
    """Show credentials, or mask them."""
    _Switch.revealed = on


def masked(text: str) -> str:
    """A text as it is shown."""
    if _Switch.revealed or len(text) < LEAST:
        return text
    return _short(text) if len(text) <= SHORT else _long(text)


def masked_head(text: str, least: int) -> tuple[str, int]:
    """The beginning of a text as it is shown, at least so many characters if there are as many, and of how many of the
    text it is made. Costs what it returns."""
    if _Switch.revealed:
        return text[:least], min(least, len(text))
    if len(text) <= max(least, SHORT):
        return masked(text), len(text)
    from inspector.model.redact import redacted_head

    return redacted_head(text, least)


@lru_cache(maxsize=2048)
def _short(text: str) -> str:
    return _redacted(text)


@lru_cache(maxsize=16)
def _long(text: str) -> str:
    return _redacted(text)


def _redacted(text: str) -> str:
    if len(text) <= GLANCED and not SUSPECT.search(text):
        return text
    from inspector.model.redact import redacted_text

    return redacted_text(text)


def masked_value(value: Value) -> Value:
    """A value as it is shown, copied and saved. Costs one pass."""
    return value if _Switch.revealed else always_masked(value)


def always_masked(value: Value) -> Value:
    """The same, whether credentials are shown or not."""
    from inspector.model.redact import redacted, redacted_text

    return redacted_text(value) if isinstance(value, str) else redacted(value)


def hidden(name: object, value: Value) -> str | None:
    """What stands in the place of a field's value; None where it may be shown."""
    if _Switch.revealed or not isinstance(name, str) or value in (None, "") or isinstance(value, bool | dict | list):
        return None
    from inspector.model.redact import mark, secret

    kind = secret(name)
    return mark(kind) if kind else None


def step(step: Step) -> Step:
    """A step with what its row says masked."""
    name, summary, error = masked(step.name), _optional(step.summary), _optional(step.error)
    if name == step.name and summary is step.summary and error is step.error:
        return step
    return msgspec.structs.replace(step, name=name, summary=summary, error=error)


def raw(record: RawRecord | None) -> RawRecord | None:
    """A record with its text masked."""
    if record is None or _Switch.revealed:
        return record
    return msgspec.structs.replace(record, text=_redacted(record.text))


def _optional(text: str | None) -> str | None:
    if text is None or _Switch.revealed:
        return text
    found = _redacted(text)
    return text if found == text else found
