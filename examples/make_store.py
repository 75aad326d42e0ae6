"""Makes runs.db, a store of three durable runs of refund_agent.py: `python examples/make_store.py`.

One waits for an approval, one was approved and is completed, and the process of one was killed while its payment
was under way, so that nobody knows whether it happened.
"""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from refund_agent import agent

from inspector import Store, open_store

PLACE = Path(__file__).parent / "runs.db"


async def begun(store: Store, key: str, prompt: str) -> None:
    """Stops where a person must decide."""
    await agent.prompt(prompt).id(f"refund-{key}").durable(store, key=key).run()


async def completed(store: Store, key: str) -> None:
    """Somebody approves, and it goes on to its end in its own journal."""
    await begun(store, key, "Refund order A-17, the kettle was damaged on arrival")
    await agent.resume(store, key).approve("c3").run()


async def killed(store: Store, key: str) -> None:
    """Is killed inside of the payment."""
    refund = next(tool for tool in agent.setup.registry.local if tool.spec.name == "refund")

    async def pays(**_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    await begun(store, key, "Refund order A-17 again: the new kettle came damaged too")
    refund.function = pays  # type: ignore[attr-defined]
    await agent.resume(store, key).approve("c3").run()


def main() -> None:
    """The store, without a log beside it."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{PLACE}{suffix}").unlink(missing_ok=True)
    subprocess.run([sys.executable, __file__, "killed"], check=False)
    store = open_store(PLACE)
    asyncio.run(completed(store, "order-A-17"))
    asyncio.run(begun(store, "order-A-17-late", "Refund order A-17: the customer called, it was damaged"))
    store.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["killed"]:
        asyncio.run(killed(open_store(PLACE, lease=2), "order-A-17-again"))
    else:
        main()
