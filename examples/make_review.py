"""Makes review-failed.jsonl: `python examples/make_review.py`.

A real run of review_pipeline.py that fails on purpose at its fortieth firing.
"""

import os
from pathlib import Path

os.environ["REVIEW_FAILS"] = "1"

from review_pipeline import PAPERS, net

TRACE = Path(__file__).parent / "review-failed.jsonl"


def main() -> None:
    """Runs the network until it fails."""
    TRACE.unlink(missing_ok=True)
    result = net.run_sync({"paper": PAPERS}, trace=str(TRACE))
    print(result.status, result.error, result.steps)


if __name__ == "__main__":
    main()
