"""What the command line says about acting on a run: its code, whether anything may be done, where to stop."""

from msgspec import Struct


class Means(Struct, frozen=True):
    """`app` is the target of today's code, which may be imported, as somebody named it; `read_only`: nothing
    is resumed or imported here; `breaks` are breakpoints as they are written."""

    app: str | None = None
    read_only: bool = False
    breaks: tuple[str, ...] = ()


LOOKING = Means()
"""Nothing was said."""
