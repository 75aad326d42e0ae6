"""(a, b) → changes, by name: registry, graph, hooks, state. Pure; knows no file and no screen."""

from inspector.diff.diff import Diff, Side, compare
from inspector.diff.weight import Weighed, weigh

__all__ = ["Diff", "Side", "Weighed", "compare", "weigh"]
