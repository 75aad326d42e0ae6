"""What every backend must do: each operation, each of its boundaries, and the code of each refusal."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from inspector.errors import StoreError
from inspector.model.records import Attempt, JournalRecord
from inspector.model.run import Definition, RunLink
from inspector.model.stored import StoredRun
from inspector.store.interface import Backend, Filter
from tests.store.backends import (
    BACKENDS,
    THERE,
    checkpoint,
    created,
    end,
    header,
    new,
    operation,
    step,
    wanted,
    written,
)

Open = Callable[[], Backend]


@pytest.fixture(params=BACKENDS)
def again(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the store; every call gives another handle on the same one."""
    opened: list[Backend] = []

    def open_() -> Backend:
        opened.append(BACKENDS[request.param](tmp_path))
        return opened[-1]

    yield open_
    for backend in opened:
        backend.close()


@pytest.fixture
def store(again: Open) -> Backend:
    """The store."""
    return again()


def refused(code: str, act: Callable[[], object], store: Backend, key: str = "k") -> None:
    """`act` raises this code, and the run is as it was."""
    before = store.read(key), [*store.lines(key)], [*store.operations(key)], [*store.events(key)]
    with pytest.raises(StoreError) as caught:
        act()
    assert caught.value.code == code, caught.value
    assert (store.read(key), [*store.lines(key)], [*store.operations(key)], [*store.events(key)]) == before


def row(store: Backend, key: str = "k") -> StoredRun:
    found = store.read(key)
    assert found is not None
    return found


# Create


def test_a_new_run_is_unclaimed_at_revision_0_and_attempt_1(store: Backend) -> None:
    parent = RunLink(run="outer", step=3)
    store.put_thread("th", {}, 90)
    given = new(thread="th", turn="tu", digest="d", parent=parent, metadata={"who": "x"}, sink=True)
    assert store.create(given, (header(), checkpoint()), 100)
    found = row(store)
    assert (found.revision, found.attempt, found.claim, found.status, found.final) == (0, 1, None, "running", False)
    assert (found.created, found.updated, found.steps, found.handed, found.sink) == (100, 100, 0, True, True)
    assert (found.thread, found.turn, found.digest, found.parent, found.metadata) == (
        "th",
        "tu",
        "d",
        parent,
        {"who": "x"},
    )
    lines = [*store.lines("k")]
    assert [line[:20] for line in lines] == [b'{"record":"header","', b'{"record":"checkpoin']
    assert found.size == sum(map(len, lines))


def test_a_key_is_taken_once(store: Backend, again: Open) -> None:
    created(store)
    before = row(store)
    assert not again().create(new(id="other"), (header(),), 300)
    assert row(store) == before


@pytest.mark.parametrize("key", ["", "  ", "k" * 513, "é" * 257, "a\0b", "a\ud800"])
def test_what_cannot_be_a_key(store: Backend, key: str) -> None:
    with pytest.raises(StoreError) as caught:
        store.create(new(key), (), 0)
    assert caught.value.code == "key_invalid"
    assert list(store.runs(Filter())) == []


@pytest.mark.parametrize("key", ["k" * 512, "é" * 256, " a ", "'; DROP TABLE runs; --", "a/b\n%_*", "\u202e"])
def test_any_other_text_is_a_key(store: Backend, key: str) -> None:
    created(store, key)
    assert row(store, key).key == key
    assert store.claim(key, wanted()).key == key
    assert len([*store.lines(key)]) == 2


def test_what_is_not_there(store: Backend) -> None:
    assert store.read("k") is None
    assert [*store.lines("k")] == []
    assert (list(store.operations("k")), list(store.events("k"))) == ([], [])
    assert not store.delete("k")
    for act in (
        lambda: store.claim("k", wanted()),
        lambda: store.renew("k", "t", 1, 2),
        lambda: store.progress(written(0)),
        lambda: store.acknowledge(written(0, token=None)),
    ):
        refused("run_absent", act, store)


# Claim


def test_a_claim_tells_who_holds_a_run_since_when_and_until_when(store: Backend) -> None:
    created(store)
    found = store.claim("k", wanted(now=120, expires=220, program=THERE, born="b"))
    assert found == row(store)
    claim = found.claim
    assert claim is not None
    assert (claim.token, claim.step, claim.taken, claim.renewed, claim.expires) == ("t", 1, 120, 120, 220)
    assert (claim.program, claim.born) == (THERE, "b")
    assert (found.revision, found.attempt, found.status, found.handed) == (1, 1, "running", False)
    assert len([*store.lines("k")]) == 2  # the first claim writes nothing


def test_a_claim_that_holds_keeps_others_off_and_one_that_has_passed_does_not(store: Backend) -> None:
    created(store)
    store.claim("k", wanted(expires=200))
    late = {"mode": "recovery", "revision": 1, "expires": 400}
    refused("claim_active", lambda: store.claim("k", wanted("u", now=199, **late)), store)
    refused("claim_active", lambda: store.claim("k", wanted("t", now=199, **late)), store)  # also its own holder
    found = store.claim("k", wanted("u", now=200, **late))
    assert (found.claim and found.claim.token, found.attempt, found.revision) == ("u", 2, 2)


def test_an_expired_claim_is_recovered_never_continued(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    refused("claim_mode_invalid", lambda: store.claim("k", wanted("u", now=300, expires=400, revision=1)), store)


def test_a_run_that_was_never_claimed_accepts_either_mode(store: Backend) -> None:
    created(store, "a")
    created(store, "b")
    assert store.claim("a", wanted(mode="continue")).attempt == 1
    assert store.claim("b", wanted(mode="recovery")).attempt == 1


def test_a_claim_that_holds_is_taken_over_by_its_token(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    about = {"mode": "recovery", "revision": 1, "now": 120, "expires": 220}
    refused("claim_active", lambda: store.claim("k", wanted("u", over="x", **about)), store)
    assert store.claim("k", wanted("u", over="t", **about)).attempt == 2
    refused("claim_lost", lambda: store.progress(written(1, step(1))), store)


@pytest.mark.parametrize("revision", [0, 2])
def test_a_claim_is_for_the_revision_that_was_read(store: Backend, revision: int) -> None:
    created(store)
    store.claim("k", wanted())
    about = {"mode": "recovery", "now": 200, "expires": 300, "revision": revision}
    refused("revision_conflict", lambda: store.claim("k", wanted("u", **about)), store)


@pytest.mark.parametrize("first", [0, 2])
def test_a_claim_is_for_the_next_step(store: Backend, first: int) -> None:
    created(store)
    refused("step_conflict", lambda: store.claim("k", wanted(step=first)), store)


def test_a_claim_that_has_passed_already_is_none(store: Backend) -> None:
    created(store)
    refused("claim_lost", lambda: store.claim("k", wanted(now=100, expires=100)), store)


def test_a_later_claim_is_written_down_and_leaves_open_what_was_begun(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    store.progress(written(1, operation("planned"), operation("started"), operation("planned", "tool-1.2.1")))
    code = Definition(digest="e" * 64)
    about = {"mode": "recovery", "revision": 2, "now": 200, "expires": 300, "definition": code}
    store.claim("k", wanted("u", **about))
    *_, last = records(store)
    assert isinstance(last, Attempt)
    assert (last.number, last.mode, last.program and last.program.host, last.definition) == (
        2,
        "recovery",
        "here",
        code,
    )
    assert row(store).digest == code.digest
    assert states(store) == {"tool-1.1.1": "ambiguous", "tool-1.2.1": "planned"}


def test_of_two_who_claim_at_once_one_gets_it(again: Open) -> None:
    created(again())
    for attempt in range(5):
        assert sorted(race([again(), again()], now=100 + attempt * 100)) == ["claim_active", "won"]


def race(stores: list[Backend], now: int) -> list[str]:
    """What came of claims by all of them at once, each for the revision of before."""
    revision = row(stores[0]).revision
    ready, got = threading.Barrier(len(stores)), list[str]()

    def claim(place: int) -> None:
        about = {"revision": revision, "mode": "recovery", "now": now, "expires": now + 100}
        ready.wait()
        try:
            stores[place].claim("k", wanted(f"t{place}", **about))
            got.append("won")
        except StoreError as error:
            got.append(error.code)

    threads = [threading.Thread(target=claim, args=(place,)) for place in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return got


# Renew


def test_a_lease_is_renewed_as_long_as_it_holds(store: Backend) -> None:
    created(store)
    store.claim("k", wanted(expires=200))
    store.renew("k", "t", 199, 299)
    found = row(store)
    assert found.claim is not None
    assert (found.revision, found.claim.taken, found.claim.renewed, found.claim.expires) == (1, 100, 199, 299)
    refused("claim_lost", lambda: store.renew("k", "t", 299, 399), store)
    refused("claim_lost", lambda: store.renew("k", "u", 250, 350), store)
    refused("claim_lost", lambda: store.renew("k", "t", 250, 250), store)


def test_whoever_lost_a_run_is_told_that_it_is_over(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    store.claim("k", wanted("u", mode="recovery", revision=1, now=200, expires=300))
    store.finalize(written(2, end(), token="u", now=210), "completed", None)
    for code, act in (
        ("claim_lost", lambda: store.renew("k", "t", 190, 290)),
        ("run_final", lambda: store.progress(written(1, step(1)))),
        ("run_final", lambda: store.suspend(written(1), "interrupted", None)),
        ("run_final", lambda: store.finalize(written(1, end()), "completed", None)),
        ("claim_lost", lambda: store.deliver(written(1), "e", "d")),
    ):
        with pytest.raises(StoreError, match="the run is completed: somebody ended it"):
            act()
        refused(code, act, store)


def test_an_unclaimed_run_has_no_lease(store: Backend) -> None:
    created(store)
    refused("claim_lost", lambda: store.renew("k", "t", 100, 200), store)


# Progress


def test_records_go_behind_the_end_of_the_journal(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    assert store.progress(written(1, step(1), now=120)) == 2
    assert store.progress(written(2, step(2), checkpoint(2), now=130), durable=False) == 3
    found = row(store)
    assert (found.revision, found.steps, found.updated) == (3, 2, 130)
    assert found.claim is not None
    lines = [*store.lines("k")]
    assert found.size == sum(map(len, lines))
    assert all(line.endswith(b"\n") for line in lines)
    assert [line.split(b'"')[3] for line in lines] == [b"header", b"checkpoint", b"step", b"step", b"checkpoint"]
    begin = sum(map(len, lines[:3]))
    assert [*store.lines("k", begin)] == lines[3:]


def test_a_holder_whose_lease_has_passed_may_write_until_somebody_took_over(store: Backend) -> None:
    created(store)
    store.claim("k", wanted(expires=200))
    assert store.progress(written(1, step(1), now=500)) == 2
    store.claim("k", wanted("u", mode="recovery", step=2, revision=2, now=500, expires=600))
    refused("claim_lost", lambda: store.progress(written(3, step(2))), store)


def test_a_write_needs_the_token_and_the_revision(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    refused("claim_lost", lambda: store.progress(written(1, step(1), token="u")), store)
    refused("claim_lost", lambda: store.progress(written(1, step(1), token=None)), store)
    for revision in (0, 2):
        refused("revision_conflict", lambda revision=revision: store.progress(written(revision, step(1))), store)


@pytest.mark.parametrize("seq", [0, 2])
def test_a_step_follows_the_last(store: Backend, seq: int) -> None:
    created(store)
    store.claim("k", wanted())
    refused("record_invalid", lambda: store.progress(written(1, step(seq))), store)


LEGAL = {
    "": ["planned", "started"],
    "planned": ["planned", "started", "failed"],
    "planned started": ["succeeded", "failed", "ambiguous"],
    "planned started ambiguous": ["planned", "started", "succeeded", "failed", "ambiguous"],
    "planned started succeeded": [],
    "planned started failed": [],
}


@pytest.mark.parametrize("way", LEGAL)
@pytest.mark.parametrize("then", ["planned", "started", "succeeded", "failed", "ambiguous"])
def test_an_operation_goes_from_status_to_status_as_it_may(store: Backend, way: str, then: str) -> None:
    created(store)
    store.claim("k", wanted())
    revision = store.progress(written(1, *(operation(status) for status in way.split())))  # type: ignore[arg-type]
    change = written(revision, operation(then))  # type: ignore[arg-type]
    if then in LEGAL[way]:
        store.progress(change)
        assert states(store) == {"tool-1.1.1": then}
    else:
        refused("operation_invalid", lambda: store.progress(change), store)


@pytest.mark.parametrize("kind", ["firing", "memory"])
def test_what_keeps_its_id_may_be_made_anew_after_a_failure(store: Backend, kind: str) -> None:
    created(store)
    store.claim("k", wanted())
    story = [operation(status, "x", kind=kind) for status in ("started", "failed", "started", "succeeded")]  # type: ignore[arg-type]
    store.progress(written(1, *story))
    assert states(store) == {"x": "succeeded"}
    refused("operation_invalid", lambda: store.progress(written(2, operation("started", "x", kind=kind))), store)


def test_an_operation_keeps_what_its_first_record_told(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    first = operation("planned", digest="d", idempotency_key="key", call_id="c1", request={"big": 1})
    store.progress(written(1, first, now=120))
    store.progress(written(2, operation("started"), now=130))
    store.progress(written(3, operation("succeeded", result="paid"), now=140))
    (found,) = store.operations("k")
    assert (found.started, found.updated, found.operation.status) == (130, 140, "succeeded")
    assert (found.operation.digest, found.operation.idempotency_key, found.operation.call_id) == ("d", "key", "c1")
    assert list(store.operations("k", open_only=True)) == []


# Suspend, commit, finalize


def test_a_suspended_run_is_unclaimed_and_only_recovered(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    assert store.suspend(written(1, end("suspended", final=False), now=150), "suspended", "approval") == 2
    found = row(store)
    assert (found.status, found.reason, found.claim, found.final, found.ended) == (
        "suspended",
        "approval",
        None,
        False,
        None,
    )
    refused("claim_mode_invalid", lambda: store.claim("k", wanted("u", revision=2)), store)
    again = store.claim("k", wanted("u", revision=2, mode="recovery"))
    assert (again.status, again.reason, again.attempt) == ("running", None, 2)


@pytest.mark.parametrize("status", ["running", "completed", "cancelled", "unknown"])
def test_a_run_is_not_suspended_as_anything(store: Backend, status: str) -> None:
    created(store)
    store.claim("k", wanted())
    refused("status_invalid", lambda: store.suspend(written(1), status, None), store)  # type: ignore[arg-type]
    refused("status_invalid", lambda: store.commit(written(1, step(1)), status, None), store)  # type: ignore[arg-type]


def test_a_run_that_was_given_back_behind_a_step_is_continued(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    assert store.commit(written(1, step(1)), "interrupted", "stopped") == 2
    found = row(store)
    assert (found.claim, found.handed, found.steps) == (None, True, 1)
    assert found.standing(160) == ("interrupted", "stopped")
    again = store.claim("k", wanted("u", revision=2, step=2))
    assert (again.attempt, again.status, again.reason, again.handed) == (1, "running", None, False)
    (attempt,) = [record for record in records(store) if isinstance(record, Attempt)]
    assert (attempt.number, attempt.mode) == (1, "continue")


def test_only_a_whole_step_is_given_back(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    refused("step_conflict", lambda: store.commit(written(1), "interrupted", "stopped"), store)
    begun = (operation("planned"), operation("started"))
    refused("operation_invalid", lambda: store.commit(written(1, *begun, step(1)), "suspended", "tools"), store)
    store.commit(written(1, *begun, operation("succeeded"), step(1)), "suspended", "tools")


def test_what_nobody_holds_is_not_written_to(store: Backend) -> None:
    created(store)
    change = written(0, step(1), token=None)
    refused("claim_lost", lambda: store.progress(change), store)
    refused("claim_lost", lambda: store.suspend(change, "interrupted", None), store)
    refused("claim_lost", lambda: store.commit(change, "interrupted", None), store)


def test_a_final_run_stays_as_it_is(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    assert store.finalize(written(1, step(1), end(), now=150), "completed", None) == 2
    found = row(store)
    assert (found.status, found.final, found.claim, found.ended, found.steps) == ("completed", True, None, 150, 1)
    refused("run_final", lambda: store.claim("k", wanted("u", revision=2, step=2, mode="recovery")), store)
    refused("run_final", lambda: store.progress(written(2, step(2), token=None)), store)
    refused("run_final", lambda: store.suspend(written(2, token=None), "suspended", None), store)
    refused("run_final", lambda: store.commit(written(2, token=None), "interrupted", None), store)
    refused("run_final", lambda: store.finalize(written(2, token=None), "failed", None), store)


@pytest.mark.parametrize("status", ["running", "suspended", "interrupted", "unknown"])
def test_a_run_does_not_end_as_anything(store: Backend, status: str) -> None:
    created(store)
    store.claim("k", wanted())
    refused("status_invalid", lambda: store.finalize(written(1), status, None), store)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["suspend", "commit", "finalize"])
def test_whoever_lost_the_claim_ends_nothing(store: Backend, how: str) -> None:
    created(store)
    store.claim("k", wanted())
    store.claim("k", wanted("u", mode="recovery", revision=1, now=200, expires=300))
    arguments = {"suspend": ("suspended", None), "commit": ("interrupted", None), "finalize": ("completed", None)}[how]
    refused("claim_lost", lambda: getattr(store, how)(written(2, step(1)), *arguments), store)


def test_an_unclaimed_run_is_ended_by_its_revision(store: Backend) -> None:
    created(store)
    refused("revision_conflict", lambda: store.finalize(written(1, token=None), "cancelled", None), store)
    assert store.finalize(written(0, end("cancelled"), token=None), "cancelled", "operator") == 1
    assert (row(store).status, row(store).reason) == ("cancelled", "operator")


# Events


def test_events_are_made_in_the_write_that_they_tell_of_and_delivered_one_by_one(store: Backend) -> None:
    created(store, sink=True)
    store.claim("k", wanted())
    store.progress(written(1, operation("planned"), operation("started"), operation("succeeded"), step(1)))
    events = list(store.events("k"))
    assert [event.kind for event in events] == ["run_started", "operation_started", "operation_succeeded", "step"]
    assert [event.number for event in events] == [1, 2, 3, 4]
    assert len({event.id for event in events}) == 4
    assert all(event.id.startswith("evt_") and len(event.id) == 36 and event.delivered is None for event in events)
    first = events[0]
    refused("event_conflict", lambda: store.deliver(written(2), first.id, "x"), store)
    refused("event_absent", lambda: store.deliver(written(2), "evt_none", first.digest), store)
    refused("claim_lost", lambda: store.deliver(written(2, token=None), first.id, first.digest), store)
    refused("revision_conflict", lambda: store.deliver(written(1), first.id, first.digest), store)
    assert store.deliver(written(2, now=170), first.id, first.digest) == 3
    refused("event_absent", lambda: store.deliver(written(3), first.id, first.digest), store)
    assert [event.delivered for event in store.events("k")] == [170, None, None, None]
    assert list(store.events("k", pending_only=True)) == events[1:]


def test_a_run_without_a_sink_has_no_events(store: Backend) -> None:
    created(store)
    store.claim("k", wanted())
    store.progress(written(1, operation("planned"), operation("started")))
    assert list(store.events("k")) == []


def test_an_end_is_acknowledged_once_and_when_all_is_delivered(store: Backend) -> None:
    created(store, sink=True)
    refused("not_final", lambda: store.acknowledge(written(0, token=None)), store)
    store.claim("k", wanted())
    store.finalize(written(1, end()), "completed", None)
    revision = 2
    for event in store.events("k"):
        refused("events_pending", lambda at=revision: store.acknowledge(written(at, token=None)), store)
        revision = store.deliver(written(revision, token=None), event.id, event.digest)
    assert [event.kind for event in store.events("k")] == ["run_started", "run_ended"]
    refused("revision_conflict", lambda: store.acknowledge(written(revision + 1, token=None)), store)
    assert store.acknowledge(written(revision, token=None)) == revision + 1
    assert row(store).acknowledged
    refused("acknowledged", lambda: store.acknowledge(written(revision + 1, token=None)), store)


def test_a_second_recovery_keeps_the_events_of_the_first(store: Backend) -> None:
    created(store, sink=True)
    store.claim("k", wanted())
    store.progress(written(1, operation("planned"), operation("started")))
    known = list(store.events("k"))
    for number, revision in ((2, 2), (3, 4)):
        about = {"mode": "recovery", "revision": revision, "now": number * 100, "expires": number * 100 + 100}
        store.claim("k", wanted(f"t{number}", **about))
        store.suspend(
            written(revision + 1, end("suspended", final=False), token=f"t{number}"), "suspended", "reconciliation"
        )
        events = list(store.events("k"))
        assert events[: len(known)] == known
        assert len({event.id for event in events}) == len(events)
        known = events


# Deleting, listing, sessions


def test_nothing_of_a_deleted_run_is_left(store: Backend) -> None:
    created(store, sink=True)
    created(store, "other", sink=True)
    store.claim("k", wanted())
    store.progress(written(1, operation("planned"), step(1)))
    assert store.delete("k")
    assert (store.read("k"), [*store.lines("k")], [*store.operations("k")], [*store.events("k")]) == (None, [], [], [])
    assert len([*store.lines("other")]) == 2
    created(store)
    assert row(store).revision == 0
    assert len([*store.lines("k")]) == 2


def test_runs_are_listed_oldest_first_and_by_what_is_asked(store: Backend) -> None:
    for number in range(6):
        about = {"name": f"n{number % 2}", "thread": "th" if number < 2 else None}
        created(store, f"k{number}", kind="agent" if number % 3 else "dataflow", **about)
    store.claim("k4", wanted(expires=200))
    store.finalize(written(0, end(), token=None, key="k5"), "completed", None)

    def keys(**wanted: object) -> list[str]:
        return [run.key for run in store.runs(Filter(**wanted))]  # type: ignore[arg-type]

    assert keys() == [f"k{number}" for number in range(6)]
    assert keys(limit=2) == ["k4", "k5"]
    assert keys(name="n1") == ["k1", "k3", "k5"]
    assert keys(kind="dataflow") == ["k0", "k3"]
    assert keys(thread="th") == ["k0", "k1"]
    assert keys(status="completed") == ["k5"]
    assert keys(status="running", name="n0", limit=1) == ["k4"]
    assert (keys(expired=199), keys(expired=200)) == ([], ["k4"])


def test_a_run_from_elsewhere_brings_its_large_values(store: Backend, again: Open) -> None:
    created(store, "other")
    there = row(store, "other")
    lines = list(store.lines("other"))
    values = [("b" * 64, b"\xff"), ("a" * 64, b"")]
    assert store.adopt(msgspec.structs.replace(there, key="k"), lines, (), values)
    assert not store.adopt(msgspec.structs.replace(there, key="k"), lines, (), [("c" * 64, b"c")])
    for seen in (store, again()):
        assert list(seen.lines("k")) == lines
        assert list(seen.digests("k")) == ["a" * 64, "b" * 64]
        assert [seen.large("k", letter * 64) for letter in "abc"] == [b"", b"\xff", None]
        assert (list(seen.digests("other")), seen.large("other", "a" * 64)) == ([], None)

    def torn() -> Iterator[tuple[str, bytes]]:
        yield "a" * 64, b"a"
        raise StoreError("k", "record_invalid", "torn")

    with pytest.raises(StoreError, match="torn"):
        store.adopt(msgspec.structs.replace(there, key="torn"), lines, (), torn())
    assert store.read("torn") is None
    assert store.delete("k")
    assert list(store.digests("k")) == []


def test_operations_from_elsewhere_are_the_same(store: Backend) -> None:
    created(store, "other")
    store.claim("other", wanted())
    begun = (operation("planned"), operation("started"), operation("planned", "tool-1.2.1"))
    store.progress(written(1, *begun, key="other", now=120))
    store.progress(written(2, operation("succeeded"), key="other", now=130))
    given = list(store.operations("other"))
    assert [(found.started, found.updated) for found in given] == [(120, 130), (None, 120)]
    store.adopt(msgspec.structs.replace(row(store, "other"), key="k"), list(store.lines("other")), given)
    assert list(store.operations("k")) == given


def test_a_session_takes_a_commit_once(store: Backend, again: Open) -> None:
    assert store.add_once("s", "c1", "d1", ["a", "b"], 1)
    assert not again().add_once("s", "c1", "d1", ["a", "b"], 2)
    assert store.add_once("s", "c2", "d2", ["c"], 3)
    assert store.add_once("other", "c1", "d9", ["z"], 3)
    with pytest.raises(StoreError) as caught:
        store.add_once("s", "c1", "d3", ["x"], 4)
    assert caught.value.code == "session_conflict"
    assert list(store.session("s")) == ["a", "b", "c"]
    assert list(store.session("nobody")) == []


def test_a_thread_is_made_once_and_archived(store: Backend, again: Open) -> None:
    assert store.put_thread("th", {"lang": "de"}, 10)
    assert not again().put_thread("th", {"lang": "fr"}, 20)
    found = store.thread("th")
    assert found is not None
    assert (found.id, found.archived, found.metadata, found.created, found.updated) == (
        *("th", False, {"lang": "de"}, 10, 10),
    )
    store.archive("th", True, 30)
    found = store.thread("th")
    assert found is not None
    assert (found.archived, found.updated) == (True, 30)
    assert store.thread("other") is None
    with pytest.raises(StoreError) as caught:
        store.archive("other", True, 30)
    assert caught.value.code == "thread_absent"


def test_a_run_is_made_the_turn_that_it_names(store: Backend) -> None:
    def make(key: str, turn: str) -> None:
        store.create(new(key, thread="th", turn=turn), (header(key),), 100)

    refused("thread_absent", lambda: make("a", "t1"), store, "a")
    store.put_thread("th", {}, 10)
    make("a", "t1")
    make("b", "t2")
    refused("turn_exists", lambda: make("c", "t1"), store, "c")
    assert [(turn.thread, turn.id, turn.key, turn.created) for turn in store.turns("th")] == [
        ("th", "t1", "a", 100),
        ("th", "t2", "b", 100),
    ]
    store.archive("th", True, 30)
    refused("thread_archived", lambda: make("d", "t3"), store, "d")
    assert store.delete("a")
    assert [turn.id for turn in store.turns("th")] == ["t2"]


def test_what_is_written_is_there_for_another_handle(store: Backend, again: Open) -> None:
    created(store)
    store.claim("k", wanted())
    store.progress(written(1, step(1)), durable=False)
    other = again()
    assert row(other) == row(store)
    assert [*other.lines("k")] == [*store.lines("k")]


def records(store: Backend, key: str = "k") -> list[JournalRecord]:
    import msgspec

    return [msgspec.json.decode(line, type=JournalRecord) for line in store.lines(key)]


def states(store: Backend, key: str = "k") -> dict[str, str]:
    return {found.operation.id: found.operation.status for found in store.operations(key)}
