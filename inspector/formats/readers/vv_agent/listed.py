"""A line of a store's list of runs."""

import msgspec

from inspector.model.run import RunRow


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """The line, where its row is, and until when (seconds since 1970) its status holds. `schema` is that of a
    checkpoint row; a session has none."""

    row: RunRow
    rowid: int
    schema: str | None
    expires: float | None
