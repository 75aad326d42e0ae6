"""What becomes of an operation that may have happened: the rules, where nobody decides."""

from typing import Literal

import msgspec

ABORTED = "operator_abort_with_unknown_outcome"
"""Why a run has failed that somebody gave up while something may have happened: what it did is not known."""


class Ambiguity(msgspec.Struct, frozen=True, kw_only=True):
    """`model`: whether a call without a recorded answer waits for somebody or is made, and billed, again;
    `tool`: whether a call of a tool that says it is idempotent is made again with the same key; `raised`:
    what an exception of a tool means in a durable run, where the tool does not say (`ToolError`, `ToolRefused`
    and tools with `failure="definite"` do): that it may have happened, or that it failed."""

    model: Literal["require_reconciliation", "retry_with_duplicate_risk"] = "require_reconciliation"
    tool: Literal["require_reconciliation", "retry_idempotent_only"] = "retry_idempotent_only"
    raised: Literal["ambiguous", "failed"] = "ambiguous"
