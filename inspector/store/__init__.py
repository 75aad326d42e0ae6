"""Durable runs in one store: each run a row, a journal, its operations and events, and at most one owner.

    open_store("runs.db")          a SQLite file; without an argument the platform's own

`interface` says what a backend must do; `sqlite` is the one for a single host. `fold` is what records mean, `rules`
what is refused, the same for every backend; `journal` is how the runner writes a run; `store` is what users hold.
"""

import os

from inspector.errors import StoreError, UsageError
from inspector.model.stored import store_path
from inspector.store.interface import Filter
from inspector.store.journal import LEASE_SECONDS
from inspector.store.store import Store


def open_store(place: str | os.PathLike[str] | None = None, *, lease: float = LEASE_SECONDS) -> Store:
    """The store at a path or URL (`sqlite:///runs.db`), made when it is not there; None: the platform's own.
    `lease` is in seconds. Raises StoreError when it cannot be opened, and UsageError for a URL that nothing
    here knows."""
    from inspector.store.sqlite import SQLite

    try:
        path = default_path() if place is None else store_path(os.fspath(place))
    except ValueError as error:
        raise UsageError(str(place), str(error)) from error
    return Store(SQLite(path), lease=lease)


def default_path() -> str:
    """The platform's own store."""
    import platformdirs

    return os.path.join(platformdirs.user_data_dir("runinspect"), "runs.db")


__all__ = ["Filter", "Store", "StoreError", "default_path", "open_store"]
