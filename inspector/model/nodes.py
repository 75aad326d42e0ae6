"""Names of nodes: paths, in which a node stands behind what it is nested in."""

import difflib
from collections.abc import Iterable

FEW = 5
"""Names that are suggested."""
NEAR = 0.7
"""How like each other names are that may be meant for each other; 1 is the same."""
LOOKED_AT = 1000
"""Names that are compared with one that is not there."""
LONGEST = 200
"""Characters of a name that is compared."""


def within(name: str, node: str) -> bool:
    """Whether a step of this name is of the node, or of one in it."""
    return name == node or name.startswith(f"{node}/")


def like(node: str, names: Iterable[str]) -> list[str]:
    """The few nodes that somebody may have meant who gave a name that is none: those that end in it, else those whose
    path or last part is nearly it. `names` are of steps; what they are nested in is a node too."""
    places: dict[str, None] = {}
    for name in names:
        if len(name) <= LONGEST:
            parts = name.split("/")
            places |= dict.fromkeys("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        if len(places) >= LOOKED_AT:
            break
    if ending := [place for place in places if place.endswith(f"/{node}")]:
        return sorted(ending)[:FEW]
    near = difflib.get_close_matches(node[:LONGEST], places, FEW, NEAR)
    lasts = set(difflib.get_close_matches(node[:LONGEST], {place.rpartition("/")[2] for place in places}, FEW, NEAR))
    return [*dict.fromkeys([*near, *sorted(place for place in places if place.rpartition("/")[2] in lasts)])][:FEW]


def perhaps(node: str, names: Iterable[str]) -> str:
    """The same as the end of a sentence; empty where nothing is like it."""
    found = like(node, names)
    return f"; is it {' or '.join(found)}?" if found else ""
