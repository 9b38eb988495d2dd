"""A worker whose store is away, whose lease is lost, or that is told what it cannot count."""

import os
from dataclasses import replace

import pytest

from stopwise.errors import (
    InputError,
    JournalFullError,
    OutputsError,
    StoreError,
    StoreUnavailableError,
)
from stopwise.store import Worker, WorkerSettings, totals
from tests.faults import unavailable
from tests.store.test_worker import Clock


def test_a_worker_that_was_taken_over_goes_on_from_there(store):
    with Worker(store, name="w") as worker:
        shared = worker.open("c")
        shared.tell_many({"[0]": 3})
        shared.sync()
        shared.tell((0,))
        lease = store.enter("w", host="there")
        (row,) = lease.rows
        rows = [replace(row, counts={"[0]": 4})]
        store.fold(lease, position=worker.journal.end, rows=rows)
        store.leave(lease)
        store.compact()
        shared.tell((0,))
        update = shared.sync()
        assert update.is_rebuild
        assert shared.totals() == {"[0]": 5}
    assert totals(store.rows("c")) == {"[0]": 5}


def test_without_the_store_it_goes_on_and_catches_up(store, monkeypatch):
    clock = Clock()
    with Worker(store, timer=clock) as worker:
        shared = worker.open("c")
        shared.tell((0,))
        with monkeypatch.context() as patch:
            patch.setattr(store, "fold", unavailable)
            pauses = []
            for _ in range(7):
                with pytest.raises(StoreUnavailableError):
                    shared.sync()
                shared.tell((0,))
                assert not shared.is_due
                start = clock.now
                while not shared.is_due:
                    clock.now += 1.0
                pauses.append(clock.now - start)
            assert pauses == [2, 4, 8, 16, 30, 30, 30]
            assert shared.staleness.n_failures == 7
        shared.sync()
        assert shared.staleness == type(shared.staleness)(0.0, 0, 0)
    assert totals(store.rows("c")) == {"[0]": 8}


def test_buckets_that_end_while_the_store_is_away_are_folded_later(store, monkeypatch):
    clock = Clock(0.0)
    with Worker(store, clock=clock, settings=WorkerSettings(bucket_seconds=10)) as worker:
        shared = worker.open("c")
        with monkeypatch.context() as patch:
            patch.setattr(store, "fold", unavailable)
            for n in range(3):
                clock.now = 10.0 * n
                shared.tell((0,))
                with pytest.raises(StoreUnavailableError):
                    shared.sync()
        shared.sync()
        assert [row.counts for row in store.rows("c")] == [{"[0]": 1}] * 3


def test_a_bucket_that_ends_during_a_fold_is_folded_again(store, monkeypatch):
    clock = Clock(0.0)
    with Worker(store, clock=clock, settings=WorkerSettings(bucket_seconds=10)) as worker:
        shared = worker.open("c")
        shared.tell((0,))
        fold = store.fold

        def fold_while_told(*arguments, **keywords):
            shared.tell((0,))
            clock.now = 10.0
            shared.tell((0,))
            fold(*arguments, **keywords)

        with monkeypatch.context() as patch:
            patch.setattr(store, "fold", fold_while_told)
            shared.sync()
        shared.sync()
        assert [row.counts for row in store.rows("c")] == [{"[0]": 2}, {"[0]": 1}]


def test_a_full_journal_refuses_tells_until_it_is_folded(store):
    settings = WorkerSettings(max_journal_bytes=2000)
    with Worker(store, settings=settings) as worker:
        shared = worker.open("c")
        shared.tell((0, 1))
        n_lines = 1 + (2000 - worker.journal.size) // worker.journal.end
        for _ in range(n_lines - 1):
            shared.tell((0, 1))
        with pytest.raises(JournalFullError):
            shared.tell((0, 1))
        assert shared.totals() == {"[0,1]": n_lines}
        shared.sync()
        shared.tell((0, 1))
    assert totals(store.rows("c")) == {"[0,1]": n_lines + 1}


def test_after_close_nothing_is_taken(store):
    for durability in ("memory", "process"):
        worker = Worker(store, durability=durability)
        shared = worker.open("c")
        shared.tell((0,))
        worker.close()
        worker.close()
        with pytest.raises(StoreError, match="is closed"):
            shared.tell((0,))
    assert totals(store.rows("c")) == {"[0]": 2}


def test_a_forked_child_cannot_write_the_journal_of_its_parent(store):
    with Worker(store) as worker:
        shared = worker.open("c")
        shared.tell((0,))
        pid = os.fork()
        if pid == 0:
            try:
                shared.tell((0,))
            except StoreError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        shared.tell((0,))
    assert totals(store.rows("c")) == {"[0]": 2}


def test_outputs_that_never_repeat_are_refused(store, monkeypatch):
    monkeypatch.setattr("stopwise.store.shared_counts.MAX_CASES", 10)
    with Worker(store) as worker:
        shared = worker.open("c")
        for n in range(10):
            shared.tell((n,))
        with pytest.raises(OutputsError, match="free text"):
            shared.tell((10,))
        with pytest.raises(OutputsError, match="free text"):
            shared.tell_many({"[11]": 1})
        with pytest.raises(OutputsError, match=r"at most 10000 letters .* free text"):
            shared.tell((9, "x" * 10_000))
        shared.tell((9,))
    assert sum(totals(store.rows("c")).values()) == 11


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"outputs": "text"}, "sequence"),
        ({"outputs": (float("nan"),)}, "finite"),
        ({"outputs": (object(),)}, "text, finite numbers"),
        ({"counts": {"[0]": 0}}, "times"),
        ({"counts": {"[0]": 1.5}}, "times"),
    ],
)
def test_what_cannot_be_counted_changes_nothing(store, arguments, words):
    with Worker(store) as worker:
        shared = worker.open("c")
        tell = shared.tell if "outputs" in arguments else shared.tell_many
        with pytest.raises(InputError, match=words):
            tell(**arguments)
        assert (shared.totals(), worker.journal.end, shared.n_told) == ({}, 0, 0)
