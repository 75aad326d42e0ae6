"""Makes claims-waiting.jsonl: `python examples/make_claims.py`.

A real run of claims.py that waits for its first approval.
"""

from pathlib import Path

from claims import net

TRACE = Path(__file__).parent / "claims-waiting.jsonl"


def main() -> None:
    """Runs the network until it waits."""
    TRACE.unlink(missing_ok=True)
    result = net.run_sync({"claim": ["a bicycle", "a house"]}, trace=str(TRACE))
    print(result.status, result.reason, result.pending)


if __name__ == "__main__":
    main()
