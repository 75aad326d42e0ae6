"""What every backend refuses, whatever it keeps runs in: looked at inside of its transaction, on the row as it is
there."""

from inspector.errors import StoreError
from inspector.model.run import RunStatus
from inspector.model.stored import StoredRun, moment
from inspector.store.interface import KEY_BYTES, Wanted, Written

SUSPENDED: tuple[RunStatus, ...] = ("suspended", "interrupted", "failed")
FINAL: tuple[RunStatus, ...] = ("completed", "failed", "cancelled")


def key(given: str) -> None:
    """Raises StoreError `key_invalid` for what cannot be a key."""
    if not given.strip():
        raise StoreError("key", "key_invalid", "a run needs a key that is not blank")
    size = len(given.encode(errors="surrogatepass"))
    if size > KEY_BYTES:
        raise StoreError("key", "key_invalid", f"has {size} bytes; {KEY_BYTES} are the most")
    if any("\ud800" <= letter <= "\udfff" or letter == "\0" for letter in given):
        raise StoreError("key", "key_invalid", "holds what is no text")


def waiting(run: str, status: RunStatus) -> None:
    """Raises StoreError `status_invalid` for what a run cannot be that somebody gives up."""
    if status not in SUSPENDED:
        raise StoreError(run, "status_invalid", f"a run is not suspended as {status}")


def ending(run: str, status: RunStatus) -> None:
    """Raises StoreError `status_invalid` for what no run ends as."""
    if status not in FINAL:
        raise StoreError(run, "status_invalid", f"a run does not end as {status}")


def claimable(run: StoredRun, wanted: Wanted) -> None:
    """Raises what `Backend.claim` does for a run that cannot be claimed so."""
    if run.final:
        raise StoreError(run.key, "run_final", f"the run is {run.status}")
    owner = run.owner(wanted.now)
    if owner is not None and owner.token != wanted.over:
        raise StoreError(run.key, "claim_active", f"is driven by {owner.who()}")
    if run.revision != wanted.revision:
        raise StoreError(run.key, "revision_conflict", f"is at revision {run.revision}, not {wanted.revision}")
    if wanted.mode == "continue" and not run.handed:
        raise StoreError(run.key, "claim_mode_invalid", "was not given back at a boundary: recover it")
    if wanted.step != run.steps + 1:
        raise StoreError(run.key, "step_conflict", f"its next step is {run.steps + 1}, not {wanted.step}")
    if wanted.expires <= wanted.now:
        raise StoreError(run.key, "claim_lost", "the lease would have passed already")


def held(run: StoredRun, token: str | None) -> None:
    """Raises StoreError `claim_lost` unless the claim of a run has this token (None: it has no claim)."""
    if (run.claim.token if run.claim is not None else None) != token:
        who = "is held by nobody" if run.claim is None else f"is held by {run.claim.who()}"
        who = who if token is None else f"was taken over, and {who} now"
        raise StoreError(run.key, "claim_lost", f"the run is {run.status}: somebody ended it" if run.final else who)


def renewable(run: StoredRun, token: str, now: int, expires: int) -> None:
    """Raises StoreError `claim_lost` unless the claim of a run can be renewed until `expires`."""
    held(run, token)
    if run.claim is None or not run.claim.live(now) or expires <= now:
        passed = moment(run.claim.expires if run.claim is not None else now)
        raise StoreError(run.key, "claim_lost", f"the lease passed at {passed}")


def current(run: StoredRun, change: Written, *, final: bool = False) -> None:
    """Raises StoreError `run_final` (but with `final`), `claim_lost` and `revision_conflict` unless whoever makes a
    change holds the run, and has read it as it is."""
    if run.final and not final:
        raise StoreError(run.key, "run_final", f"the run is {run.status}: somebody ended it")
    held(run, change.token)
    if run.revision != change.revision:
        raise StoreError(run.key, "revision_conflict", f"is at revision {run.revision}, not {change.revision}")


def kind_of(line: bytes) -> str:
    """The kind of a record, from its line."""
    return line[11:].partition(b'"')[0].decode(errors="replace")
