"""What is printed of runs: as it is, or without its credentials."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from inspector.model.values import to_json

Document = TypeVar("Document")


def told(document: Document, report: Callable[[Document], Iterable[str]], json: bool, *, masked: bool) -> Iterable[str]:
    """The lines of a document: its JSON, or its `report`; `masked`: without what looks like a credential."""
    if not masked:
        return [to_json(document)] if json else report(document)
    from inspector.model.redact import redacted, redacted_text

    return [to_json(redacted(document))] if json else map(redacted_text, report(document))
