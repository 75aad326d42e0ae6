"""Any sequence of claims, writes, deliveries and ends by several processes, held against the rules in plain words."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from inspector.errors import StoreError
from inspector.model.records import JournalRecord
from inspector.store import transfer
from inspector.store.interface import Backend
from tests.store.backends import BACKENDS, created, end, operation, step, wanted, written

TOKENS = st.sampled_from(["a", "b", "c"])
BEHIND = st.sampled_from([0, 0, 0, 0, 1])


class Claims(RuleBasedStateMachine):
    """One run, three processes. What is known of the run here is what the rules say of it."""

    open: Any

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store: Backend = self.open(Path(self.folder.name))
        self.now = 100
        created(self.store, sink=True)
        self.revision, self.attempt, self.steps, self.claims = 0, 1, 0, 0
        self.holder: str | None = None
        self.expires = self.first = 0
        self.handed, self.final, self.acknowledged = True, False, False
        self.begun: str | None = None
        self.lines, self.delivered = 2, 0

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def act(self, problem: str | None, act: Any) -> bool:
        """Whether it was done; it must be, unless there is a problem, and then it must be refused by its name."""
        code = None
        try:
            act()
        except StoreError as error:
            code = error.code
        assert code == problem
        return code is None

    @rule(ms=st.sampled_from([0, 1, 50, 100, 300]))
    def time_passes(self, ms: int) -> None:
        self.now += ms

    @rule(token=TOKENS, mode=st.sampled_from(["continue", "recovery"]), behind=BEHIND, over=st.none() | TOKENS)
    def claim(self, token: str, mode: str, behind: int, over: str | None) -> None:
        problem = None
        if self.final:
            problem = "run_final"
        elif self.holder is not None and self.expires > self.now and over != self.holder:
            problem = "claim_active"
        elif behind:
            problem = "revision_conflict"
        elif mode == "continue" and not self.handed:
            problem = "claim_mode_invalid"
        about = {"mode": mode, "step": self.steps + 1, "revision": self.revision - behind, "over": over}
        asked = wanted(token, now=self.now, expires=self.now + 100, **about)
        if self.act(problem, lambda: self.store.claim("k", asked)):
            if mode == "recovery" and self.claims:
                self.attempt += 1
                self.begun = "ambiguous" if self.begun == "started" else self.begun
            self.lines += self.claims > 0
            self.claims, self.revision = self.claims + 1, self.revision + 1
            self.holder, self.expires, self.first, self.handed = token, self.now + 100, self.steps + 1, False

    @rule(token=TOKENS)
    def renew(self, token: str) -> None:
        problem = None if token == self.holder and self.expires > self.now else "claim_lost"
        if self.act(problem, lambda: self.store.renew("k", token, self.now, self.now + 100)):
            self.expires = self.now + 100

    def problem(self, token: str | None, behind: int) -> str | None:
        if self.final:
            return "run_final"
        if token != self.holder:
            return "claim_lost"
        return "revision_conflict" if behind else None

    def change(self, token: str | None, behind: int, *records: JournalRecord) -> Any:
        return written(self.revision - behind, *records, token=token, now=self.now)

    @rule(token=TOKENS, behind=BEHIND)
    def make_a_step(self, token: str, behind: int) -> None:
        change = self.change(token, behind, step(self.steps + 1))
        if self.act(self.problem(token, behind), lambda: self.store.progress(change)):
            self.revision, self.steps, self.lines = self.revision + 1, self.steps + 1, self.lines + 1

    @rule(token=TOKENS, status=st.sampled_from(["planned", "started", "succeeded", "failed", "ambiguous"]))
    def move_the_operation(self, token: str, status: str) -> None:
        legal = {
            None: {"planned", "started"},
            "planned": {"planned", "started", "failed"},
            "started": {"succeeded", "failed", "ambiguous"},
            "ambiguous": {"planned", "started", "succeeded", "failed", "ambiguous"},
        }
        problem = self.problem(token, 0)
        if problem is None and status not in legal.get(self.begun, set()):
            problem = "operation_invalid"
        change = self.change(token, 0, operation(status))  # type: ignore[arg-type]
        if self.act(problem, lambda: self.store.progress(change, durable=False)):
            self.begun, self.revision, self.lines = status, self.revision + 1, self.lines + 1

    @rule(token=TOKENS, behind=BEHIND)
    def suspend(self, token: str, behind: int) -> None:
        change = self.change(token, behind)
        if self.act(self.problem(token, behind), lambda: self.store.suspend(change, "suspended", "approval")):
            self.revision, self.holder = self.revision + 1, None

    @rule(token=TOKENS)
    def commit(self, token: str) -> None:
        problem = self.problem(token, 0)
        if problem is None and self.steps < self.first:
            problem = "step_conflict"
        elif problem is None and self.begun in ("started", "ambiguous"):
            problem = "operation_invalid"
        if self.act(problem, lambda: self.store.commit(self.change(token, 0), "interrupted", "stopped")):
            self.revision, self.holder, self.handed = self.revision + 1, None, True

    @rule(token=st.none() | TOKENS, behind=BEHIND)
    def finalize(self, token: str | None, behind: int) -> None:
        change = self.change(token, behind, end())
        if self.act(self.problem(token, behind), lambda: self.store.finalize(change, "completed", None)):
            self.revision, self.holder, self.final, self.lines = self.revision + 1, None, True, self.lines + 1

    @rule(token=st.none() | TOKENS)
    def deliver(self, token: str | None) -> None:
        pending = self.store.events("k", pending_only=True)
        if not pending:
            return
        problem = None if token == self.holder else "claim_lost"
        event = pending[0]
        if self.act(problem, lambda: self.store.deliver(self.change(token, 0), event.id, event.digest)):
            self.revision, self.delivered = self.revision + 1, self.delivered + 1

    @rule()
    def acknowledge(self) -> None:
        if self.holder is not None:
            problem: str | None = "claim_lost"
        elif not self.final:
            problem = "not_final"
        elif self.acknowledged:
            problem = "acknowledged"
        else:
            problem = "events_pending" if self.store.events("k", pending_only=True) else None
        if self.act(problem, lambda: self.store.acknowledge(self.change(None, 0))):
            self.revision, self.acknowledged = self.revision + 1, True

    @invariant()
    def the_row_is_what_the_rules_say(self) -> None:
        if not hasattr(self, "store"):
            return
        found = self.store.read("k")
        assert found is not None
        assert (found.revision, found.attempt, found.steps) == (self.revision, self.attempt, self.steps)
        assert (found.claim.token if found.claim else None) == self.holder
        assert found.claim is None or found.claim.expires == self.expires
        assert (found.final, found.handed, found.acknowledged) == (self.final, self.handed, self.acknowledged)
        assert [row.operation.status for row in self.store.operations("k")] == ([self.begun] if self.begun else [])
        lines = [*self.store.lines("k")]
        assert (len(lines), found.size) == (self.lines, sum(map(len, lines)))
        made, kept, operations = transfer.read(lines, None, self.now)
        assert (made.attempt, made.steps, made.size, kept) == (found.attempt, found.steps, found.size, lines)
        assert [row.operation for row in operations] == [row.operation for row in self.store.operations("k")]
        events = self.store.events("k")
        assert len({event.id for event in events}) == len(events)
        assert sum(event.delivered is not None for event in events) == self.delivered


@pytest.mark.parametrize("name", BACKENDS)
def test_claims(name: str) -> None:
    machine = type("Machine", (Claims,), {"open": staticmethod(BACKENDS[name])})
    machine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
    machine.TestCase("runTest").runTest()
