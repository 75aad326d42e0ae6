"""Makes dataflow-trace.jsonl: `python examples/make_dataflow.py`.

A real run of newsroom.py that fails: the press jams, while drafts of other topics are still under way.
"""

import asyncio
from pathlib import Path

from newsroom import net

TRACE = Path(__file__).parent / "dataflow-trace.jsonl"
TOPICS = ["tea", "the old walls", "bees", "a flood", "night trains"]


async def main() -> None:
    """Runs the network until it fails."""
    TRACE.unlink(missing_ok=True)
    result = await net.run({"topic": TOPICS}, workers=2, trace=str(TRACE))
    print(result.status, result.reason)


if __name__ == "__main__":
    asyncio.run(main())
