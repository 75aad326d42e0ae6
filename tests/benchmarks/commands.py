"""What commands without a screen cost."""

from tests.benchmarks.measure import COMMAND, PYTHON, ROOT, best, command, in_a_process, ms, row

MODULES = """
import sys
sys.argv = ["runinspect", *sys.argv[1:]]
from inspector.cli import main
import io, os
sys.stdout = io.TextIOWrapper(open(os.devnull, "wb"))
try:
    main()
except SystemExit:
    pass
names = {name.split(".")[0] for name in sys.modules}
print(len(sys.modules), int(bool({"textual", "rich"} & names)), file=sys.__stdout__)
"""


def commands() -> None:
    """Wall time and modules of `--help`, `show` and `diff`."""
    trace = str(ROOT / "examples" / "trace.json")
    bare = best(lambda: command(PYTHON, "-c", "pass"), 8)
    row("python", ms(bare))
    for arguments in (["--help"], ["show", trace], ["diff", f"{trace}@3", f"{trace}@9"], ["export", trace]):
        taken = best(lambda arguments=arguments: command(COMMAND, *arguments), 8)
        modules, heavy = map(int, in_a_process(MODULES, *arguments).split())
        name = f"runinspect {arguments[0]}"
        value = f"{ms(taken)} = python + {ms(taken - bare)}"
        row(name, value, f"{modules} modules, {'with' if heavy else 'without'} Textual or Rich", not heavy)
