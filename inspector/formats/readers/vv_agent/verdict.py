"""What a checkpoint row says of its run: status, reason, error, what a resume would be told, and whether the
row is stuck."""

import re
from collections.abc import Iterator
from typing import Any

from inspector.formats.readers.vv_agent.claim import Claim
from inspector.formats.readers.vv_agent.journal import Journal
from inspector.formats.readers.vv_agent.shapes import mapping, sequence, text
from inspector.model.run import Resume, RunError, RunStatus
from inspector.model.values import Value

KNOWN = range(3, 13)
"""Generations of the checkpoint that are known."""
TERMINAL = ("completed", "wait_user", "failed", "max_cycles")
_SUSPENDED = {"reconciliation_required": "reconciliation", "deferred": "input", "host_interaction": "input"}

LIKELY = (10**12, 253_402_300_800_000)
"""Milliseconds since 1970 that a lease may end at: those of the years 2001 to 9999."""

Verdict = tuple[RunStatus, str | None]


def version(schema: str | None) -> str | None:
    """`vv-agent.checkpoint.v5` → `v5`; anything else as it stands."""
    match = re.search(r"\.(v\d+)$", schema or "")
    return match[1] if match else schema


def is_known(version: str | None) -> bool:
    """Whether the meaning of that version's columns is known."""
    match = re.fullmatch(r"v(\d{1,4})", version or "")
    return match is not None and int(match[1]) in KNOWN


def _contradictions(status: str | None, terminal: dict[str, Any] | None) -> Iterator[str]:
    if terminal is None:
        return
    told = text(terminal.get("status"))
    if status in TERMINAL and not terminal:
        yield f"is {status}, and its terminal result is missing"
    elif status in TERMINAL and told is not None and told != status:
        yield f"is {status}, and its terminal result says {told}"
    elif status not in TERMINAL and terminal:
        yield f"is {status}, and has the terminal result of a run that has ended"


def unknown_words(version: str | None) -> str:
    """What to say of a generation that is not known."""
    return (
        f"generation {version} is not known ({KNOWN[0]} to {KNOWN[-1]} are): columns are read by their names, and what "
        "they mean may have changed"
    )


def verdict(
    status: str | None, claim: Claim, terminal: dict[str, Any], waits: dict[str, Any], origin: Value
) -> Verdict:
    """Status and reason of a run. `terminal` is its terminal result, `waits` the tool result that made it
    wait for its user, `origin` where it stood when it was suspended from outside."""
    if status == "completed":
        return "completed", None
    if status == "wait_user":
        return "suspended", "approval" if waits.get("error_code") == "tool_approval_required" else "input"
    if status == "max_cycles":
        return "failed", "max_cycles"
    if status == "failed":
        reason = terminal.get("completion_reason")
        if reason == "cancelled":
            return "cancelled", None
        spent = reason == "budget_exhausted" or mapping(terminal.get("budget_exhaustion"))
        return "failed", "budget" if spent else None
    if status == "suspended":
        before = text(mapping(origin).get("status"))
        return "suspended", _SUSPENDED.get(before or "", "tools")
    if status in _SUSPENDED:
        return "suspended", _SUSPENDED[status]
    if status in ("running", "pending"):
        return ("running", None) if claim.live else ("interrupted", None)
    return "unknown", None


def waiting(cycles: Any) -> dict[str, Any]:
    """The tool result of the last cycle that asks for the user, {} where there is none."""
    results = sequence(mapping(cycles[-1]).get("tool_results")) if cycles else []
    found = [mapping(result) for result in results if mapping(result).get("directive") == "wait_user"]
    return found[-1] if found else {}


def error(status: RunStatus, terminal: dict[str, Any], step: int) -> RunError | None:
    """Why a run failed: the error is a text, and from v10 on an object."""
    if status not in ("failed", "cancelled"):
        return None
    found = terminal.get("error")
    if isinstance(found, dict):
        return RunError(message=text(found.get("message")), type=text(found.get("code")), step=step or None)
    code = text(terminal.get("error_code"))
    words = text(found)
    if words is None and terminal.get("status") == "max_cycles":
        words, code = text(terminal.get("final_answer")), code or "max_cycles"
    if words is None and code is None:
        return None
    return RunError(message=words, type=code, step=step or None)


def resume(status: str | None, claim: Claim, journal: Journal, known: bool, defined: bool) -> Resume:
    """Nothing here resumes such a run; the reasons are those that would stand in its way at home."""
    reasons = []
    if not known:
        reasons.append("version_unsupported")
    if status in TERMINAL:
        reasons.append("terminal")
    elif claim.live:
        reasons.append("owned")
    else:
        if not defined:
            reasons.append("definition_unknown")
        if any(entry.get("state") in ("started", "ambiguous") for entry in journal.models):
            reasons.append("model_in_flight")
        reasons.append("not_resumable")
    return Resume(possible=False, reasons=tuple(reasons))


def oddities(
    status: str | None,
    claim: Claim,
    journal: Journal,
    attempt: int | None,
    committed: int | None,
    undelivered: int,
    terminal: dict[str, Any] | None,
) -> Iterator[str]:
    """What is wrong with the row as a whole, in words: states that no resume gets out of by itself, and columns that
    contradict each other. `terminal` is the terminal result: {} for none, None where it cannot be read."""
    known = (*TERMINAL, *_SUSPENDED, "suspended", "running", "pending")
    if status not in known:
        yield f"the status {status!r} is not known"
    if status == "running" and journal.ambiguous and not claim.live:
        tries = "" if attempt is None else f" (attempt {attempt})"
        yield (
            f"looks stuck: a resume{tries} found an operation that may have happened and ended without a decision; "
            "releases 0.8 to 0.12 never get past this, later ones do"
        )
    if status in TERMINAL and undelivered:
        yield f"{undelivered} events of the ended run are not delivered: a resume delivers them, perhaps twice"
    if status == "reconciliation_required" and not journal.ambiguous:
        yield "waits for a decision about what may have happened, and its journals hold nothing that is ambiguous"
    yield from _contradictions(status, terminal)
    if claim.token is None and claim.until is not None:
        yield "has a lease that nobody holds: there is no claim"
    if claim.until is not None and not LIKELY[0] <= claim.until < LIKELY[1]:
        yield f"its lease ends {claim.until} ms after 1970, which is no likely time: a clock or a unit was wrong"
    if claim.token is not None and status in TERMINAL:
        yield "has ended and is claimed all the same"
    if claim.token is not None and claim.until is None:
        yield "is claimed without a lease: whether its owner lives is not known"
    if None not in (claim.token, claim.cycle, committed) and claim.cycle != (committed or 0) + 1:
        yield f"cycle {claim.cycle} is claimed, but the last committed one is {committed}"
