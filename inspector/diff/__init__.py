"""(a, b) → changes, by name: registry, graph, hooks, state. Pure; knows no file and no screen."""

from inspector.diff.diff import Diff, Side, compare

__all__ = ["Diff", "Side", "compare"]
