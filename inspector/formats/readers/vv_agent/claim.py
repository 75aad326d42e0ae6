"""Who may drive a run: the claim of a row and its lease."""

import msgspec

from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.shapes import milli_moment
from inspector.model.values import Value


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The claim of a run as found: its `token` (None: nobody holds it), the end of its lease in milliseconds
    since 1970, and whether the lease had not ended when it was looked at."""

    token: str | None = None
    cycle: int | None = None
    until: int | None = None
    live: bool = False

    @property
    def until_text(self) -> str:
        told = f"{self.until} ms after 1970" if self.until is not None else "an unknown time"
        return milli_moment(self.until) or told

    def shown(self) -> Value:
        """The claim as a value of the state; None where there is none."""
        if self.token is None and self.until is None:
            return None
        ends = milli_moment(self.until) or self.until
        return {"token": self.token, "cycle": self.cycle, "lease_until": ends, "live": self.live}


def held(token: str | None, until: int | None, now: float, cycle: int | None = None) -> Claim:
    """The claim that a token and a lease make at `now`, in seconds since 1970. A lease that ends now has
    ended."""
    live = token is not None and until is not None and until > now * 1000
    return Claim(token=token, cycle=cycle, until=until, live=live)


def claim_of(row: Row, now: float) -> Claim:
    """The claim of a checkpoint row."""
    return held(row.text("claim_token"), row.whole("lease_expires_at_ms"), now, row.whole("claimed_cycle"))
