"""bytes → RunSource. `open_path` is the door; one module per format stands in `readers`."""

from inspector.formats.open import open_path

__all__ = ["open_path"]
