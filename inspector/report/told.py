"""What is printed of runs: as it is, or without its credentials."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from inspector.model.values import to_json

Document = TypeVar("Document")


def told(document: Document, report: Callable[[Document], Iterable[str]], json: bool, *, masked: bool) -> Iterable[str]:
    """The lines of a document: its JSON, or its `report`; `masked`: without what looks like a credential."""
    if masked:
        from inspector.model.redact import redacted

        # Before it is told: where a text is cut, what is left of a credential does not look like one.
        document = msgspec.convert(redacted(document), type(document))
    return [to_json(document)] if json else report(document)
