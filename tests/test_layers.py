"""Imports point one way; this test reads them."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "inspector"
MODULES = sorted(ROOT.rglob("*.py"))

MAY_IMPORT = {
    "model": {"model"},
    "errors": {"model"},
    "exits": {"model", "errors", "streams"},
    "process": {"model"},
    "held": set(),
    "audit": {"model", "errors", "process"},
    "policy": {"errors"},
    "streams": {"model", "policy"},
    "journal": {"model", "errors"},
    "formats": {"formats", "model", "errors", "process", "held"},
    "diff": {"diff", "model"},
    "report": {"report", "diff", "model", "errors", "journal"},
    "dataflow": {"dataflow", "model", "errors", "journal"},
    "runner": {"runner", "dataflow", "diff", "model", "errors", "journal", "process"},
    "store": {"store", "model", "errors", "journal", "process", "held"},
    "resume": {
        *("resume", "runner", "dataflow", "store", "formats", "diff", "report", "model", "errors", "journal"),
        *("audit", "policy", "streams"),
    },
    "listing": {"formats", "store", "report", "model", "errors", "streams", "policy"},
    "tui": {"tui", "model", "audit", "policy", "streams"},
    "cli": {"commands", "tui", "exits"},
    "options": {"errors"},
    "commands": {
        "options",
        *("resume", "runner", "store", "listing", "formats", "diff", "report", "tui", "model", "errors", "streams"),
        *("journal", "audit", "policy"),
    },
}
"""What a part may import, by the first name below `inspector`."""

FETCHES = {
    "session",
    "loader",
    "app",
    "start",
    "code",
    "comparing",
    "driving",
    "deciding",
    "owing",
    "resumescreen",
    "apart",
}
"""The modules of the screen that may touch more than the model."""

FOREIGN = {"textual": {"tui"}, "rich": {"tui"}, "typer": {"commands", "options"}}
"""Packages that only these parts may import."""


def imports(path: Path) -> Iterator[str]:
    """What a module imports, also inside functions; not what stands under TYPE_CHECKING."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "inspector":
                yield from (f"inspector.{alias.name}" for alias in node.names)


def part(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    here = part(path)
    if here in ("__init__", "__main__"):
        return
    allowed = MAY_IMPORT[here]
    if here == "tui" and path.stem in FETCHES:
        allowed = allowed | {"formats", "diff", "report", "resume", "runner", "errors"}
    if here == "tui":
        allowed = allowed | {"errors"}
    for name in imports(path):
        first, *rest = name.split(".")
        if first == "inspector" and rest and rest[0] != "__version__":
            assert rest[0] in allowed, f"{path.relative_to(ROOT)} imports {name}"
        elif first in FOREIGN:
            assert here in FOREIGN[first], f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("path", [path for path in MODULES if part(path) == "formats"], ids=lambda path: path.stem)
def test_a_reader_never_needs_what_wrote_the_file(path: Path) -> None:
    ours = {"inspector", "msgspec", "rfc8785"}
    for name in imports(path):
        first = name.split(".")[0]
        assert first in ours or first in sys.stdlib_module_names, f"{path.stem} imports {name}"
        assert first not in ("pickle", "shelve", "marshal"), f"{path.stem} imports {name}"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["show", "examples/trace.json"], ["diff", "examples/trace.json", "examples/trace.json"]]
)
def test_what_needs_no_screen_loads_none(arguments: list[str]) -> None:
    program = (
        "import sys\nsys.argv = ['runinspect', *sys.argv[1:]]\nfrom inspector.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "assert not {'textual', 'rich'} & {name.split('.')[0] for name in sys.modules}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_modules_stay_small() -> None:
    """A module over this has become two rooms; make it two files."""
    large = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: lines for name, lines in large.items() if lines > 400} == {}
