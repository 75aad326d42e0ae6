"""What becomes of an operation that may have happened: the rules, where nobody decides."""

from typing import Literal

import msgspec

from inspector.runner.options import one_of

ABORTED = "operator_abort_with_unknown_outcome"
"""Why a run has failed that somebody gave up while something may have happened: what it did is not known."""


ModelRule = Literal["require_reconciliation", "retry_with_duplicate_risk"]
ToolRule = Literal["require_reconciliation", "retry_idempotent_only"]
RaisedRule = Literal["ambiguous", "failed"]


class Ambiguity(msgspec.Struct, frozen=True, kw_only=True):
    """`model`: whether a call without a recorded answer waits for somebody or is made, and billed, again;
    `tool`: whether a call of a tool that says it is idempotent is made again with the same key; `raised`:
    what an exception of a tool means in a durable run, where the tool does not say (`ToolError`, `ToolRefused`
    and tools with `failure="definite"` do): that it may have happened, or that it failed. Raises UsageError for what is
    no rule."""

    model: ModelRule = "require_reconciliation"
    tool: ToolRule = "retry_idempotent_only"
    raised: RaisedRule = "ambiguous"

    def __post_init__(self) -> None:
        for name, value, words in (
            ("model", self.model, ModelRule), ("tool", self.tool, ToolRule), ("raised", self.raised, RaisedRule),
        ):  # fmt: skip
            one_of(name, value, words)
