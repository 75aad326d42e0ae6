"""Makes wfpy-failed, the folder of a run of wfpy that failed: `python examples/make_wfpy.py`, with wfpy 1.1.0.

The workflow is wfpy_shop.py; it runs below /tmp/example, so that no path of the machine stands in the files.
wfpy's work folder is left out: every token is in the journal.
"""

import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
PLACE = Path("/tmp/example")


def main() -> None:
    """Runs the shop while the bridge is up."""
    from wfpy import run

    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir()
    shutil.copy(HERE / "wfpy_shop.py", PLACE)
    sys.path.insert(0, str(PLACE))
    os.chdir(PLACE)
    os.environ["BRIDGE"] = "up"
    from wfpy_shop import shop

    try:
        run(shop, out_dir=PLACE, run_id="wfpy-failed")
    except RuntimeError as error:
        print("failed, as it should:", error)
    target = HERE / "wfpy-failed"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(PLACE / "wfpy-failed", target, ignore=shutil.ignore_patterns("work"))


if __name__ == "__main__":
    main()
