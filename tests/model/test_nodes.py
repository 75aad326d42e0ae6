import pytest

from inspector.model.nodes import like, perhaps

NAMES = ["paper", "loop/helper", "outer/each/helper", "outer/each/polish", "x" * 10_000]


@pytest.mark.parametrize(
    ("node", "meant"),
    [
        ("helper", ["loop/helper", "outer/each/helper"]),
        ("each/helper", ["outer/each/helper"]),
        ("each", ["outer/each"]),
        ("loop/helpr", ["loop/helper"]),
        ("polsh", ["outer/each/polish"]),
        ("papers", ["paper"]),
        ("zzz", []),
        ("y" * 10_000, []),
    ],
)
def test_a_name_that_is_none_is_like_those_it_ends(node: str, meant: list[str]) -> None:
    assert like(node, NAMES) == meant
    assert all(name in perhaps(node, NAMES) for name in meant)


def test_of_very_many_names_only_some_are_looked_at() -> None:
    assert len(like("node", (f"a/node{number}" for number in range(10**5)))) == 5
