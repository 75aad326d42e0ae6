"""What the library does with a large file, without a screen: index, search, memory, one document."""

from pathlib import Path

from inspector.formats import open_path
from inspector.model.source import RunSource
from tests.benchmarks.measure import best, command, has, in_a_process, mib, ms, row

READ = """
import sys
from tests.benchmarks.measure import anonymous
from inspector.formats import open_path
from inspector.formats.reader import readers
readers()
before = anonymous()
run = open_path(sys.argv[1]).open()
for _ in run.index():
    pass
print(anonymous() - before, len(run))
"""


def opened(path: Path) -> RunSource:
    return open_path(str(path)).open()


def indexed(path: Path) -> RunSource:
    run = opened(path)
    for _ in run.index():
        pass
    return run


def index(path: Path) -> None:
    """How long until every step is known, beside counting the lines."""
    count = best(lambda: command("wc", "-l", str(path)))
    whole = best(lambda: indexed(path))
    first = best(lambda: next(iter(opened(path).index())))
    row("wc -l", ms(count))
    row("first batch", ms(first))
    row("index", f"{ms(whole)} = {whole / count:.1f} x wc -l", "goal 8 x, screen and all", whole <= 8 * count)
    run = indexed(path)
    last = len(run)
    row("50 steps", ms(best(lambda: run.steps(last // 2, last // 2 + 50), 20)))
    places = iter(range(last // 7, last, last // 97))
    row("state of a step far away", ms(best(lambda: run.state(next(places)), 60)))
    step = last - 100
    run.state(step)
    row("state one step back", ms(best(lambda: run.state(step - 1))))
    if has("lnav"):
        row("lnav, headless", ms(best(lambda: command("lnav", "-n", "-c", ":quit", str(path)), 2)))


def search(path: Path) -> None:
    """Literal search, both ways, beside grep -c."""
    run = indexed(path)
    last = len(run)
    for text in ("no such text", "refund-4711", "value error", f"number {last - 7},", "error"):
        beside = best(lambda text=text: command("grep", "-cF", text, str(path)), 3)
        hits = sum(isinstance(hit, int) for hit in run.find(text, 1))
        on = best(lambda text=text: list(run.find(text, 1)), 3)
        back = best(lambda text=text: list(run.find(text, last, backward=True)), 3)
        value = f"{ms(on)} = {on / beside:.2f} x grep -c"
        many = f"{hits} hits, back {back / beside:.2f} x"
        if hits == last:
            row(f"find {text!r}", value, many)
        else:
            row(f"find {text!r}", value, f"{many}; goal 1.3 x", on <= 1.3 * beside)


def memory(path: Path) -> None:
    """Anonymous memory that an indexed run takes."""
    taken, steps = map(int, in_a_process(READ, str(path)).split())
    limit = 8 * steps + (6 << 20)
    row("index and reader", mib(taken), f"goal {mib(limit)}: 8 bytes a step and 6 MiB", taken <= limit)


def document(path: Path) -> None:
    """One document of 200 MB."""
    size = path.stat().st_size
    count = best(lambda: command("wc", "-l", str(path)), 3)
    whole = best(lambda: indexed(path), 2)
    taken, steps = map(int, in_a_process(READ, str(path)).split())
    row("index", f"{ms(whole)} = {whole / count:.1f} x wc -l", f"{steps} steps")
    row("memory", f"{mib(taken)} = {taken / size:.2f} x file", "goal 0.2 x", taken <= 0.2 * size)
