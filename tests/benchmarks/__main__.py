"""Runs the benchmarks: `python -m tests.benchmarks --help`."""

import argparse
import tempfile
from pathlib import Path

from tests.benchmarks import durable, generate, library, screen
from tests.benchmarks.commands import commands

NAMES = ("index", "search", "memory", "commands", "document", "screen", "store")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description="What a large run costs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {' '.join(NAMES)} (default: all)")
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps of the trace (default: a million)")
    parser.add_argument("--document", type=int, default=200_000_000, help="bytes of the document (default: 200 MB)")
    parser.add_argument("--folder", help="where the files are made, and kept (default: a temporary folder)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="runinspect-benchmarks-") as scratch:
        run(options.names or list(NAMES), Path(options.folder or scratch), options.steps, options.document)


def run(names: list[str], folder: Path, steps: int, size: int) -> None:
    """Makes the files that are not there yet, and measures."""
    trace, document = folder / f"trace-{steps}.jsonl", folder / f"document-{size}.json"
    if {"index", "search", "memory", "screen"} & set(names) and not trace.exists():
        generate.trace(str(trace), steps)
    if "document" in names and not document.exists():
        generate.document(str(document), size)
    for name in names:
        print(f"{name}:", flush=True)
        if name == "commands":
            commands()
        elif name == "screen":
            screen.screen(trace)
        elif name == "store":
            durable.store(folder)
        elif name == "document":
            library.document(document)
        else:
            getattr(library, name)(trace)


if __name__ == "__main__":
    main()
