from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from stopwise.errors import SettingError
from stopwise.store import KeyedTell, Outcome, Worker, WorkerSettings, open_store, tellable, totals


class Clock:
    def __init__(self, now=1_000_000.0):
        self.now = now

    def __call__(self):
        return self.now


def test_workers_learn_from_each_other(store):
    with Worker(store) as first, Worker(store) as second:
        a, b = first.open("c"), second.open("c")
        a.tell((0, 1))
        a.tell([0, 1])
        a.tell_many({"[0,1]": 1})
        b.tell((1,), stage=3)
        assert a.sync().added == {}
        assert b.sync().added == {"[0,1]": 3}
        assert a.sync().added == {"[[1],3]": 1}
        assert a.sync().added == {}
        assert a.totals() == b.totals() == {"[0,1]": 3, "[[1],3]": 1}
        assert tellable(a.totals()) == {(0, 1): 3, ((1,), 3): 1}
    assert totals(store.rows("c")) == {"[0,1]": 3, "[[1],3]": 1}


@pytest.mark.parametrize("durability", ["memory", "process", "disk"])
def test_every_durability_counts_alike(url, durability):
    with Worker(url, durability=durability) as worker:
        worker.open("c").tell_many({"[0]": 5})
        assert (worker.journal is None) == (durability == "memory")
    with Worker(url) as next_worker:
        assert next_worker.open("c").totals() == {"[0]": 5}


def test_syncs_are_due_by_evidence_and_at_least_every_second(store):
    clock = Clock()
    with Worker(store, timer=clock) as worker:
        shared = worker.open("c")
        synced_at = []
        for n in range(1, 70):
            shared.tell((0,))
            if shared.is_due:
                shared.sync()
                synced_at.append(n)
        assert synced_at == [1, 2, 4, 8, 16, 32, 64]
        assert not shared.is_due
        clock.now += 1.0
        assert shared.is_due
        assert shared.staleness.seconds == 1.0
        assert shared.staleness.n_unfolded == 5


def test_a_slow_store_is_asked_less_often(store, monkeypatch):
    clock = Clock()
    with Worker(store, timer=clock) as worker:
        shared = worker.open("c")
        fold = store.fold

        def slow_fold(*arguments, **keywords):
            clock.now += 0.01
            fold(*arguments, **keywords)

        monkeypatch.setattr(store, "fold", slow_fold)
        shared.tell((0,))
        shared.sync()
        shared.tell((0,))
        assert not shared.is_due
        clock.now += 0.11
        assert shared.is_due
        shared.sync()
        shared.tell_many({"[0]": 2})
        assert not shared.is_due
        shared.hasten()  # others are waiting for it
        assert shared.is_due


def test_an_epoch_starts_from_nothing_everywhere(store):
    clock = Clock()
    with Worker(store, timer=clock) as first, Worker(store, timer=clock) as second:
        a, b = first.open("c"), second.open("c")
        a.tell_many({"[0]": 8})
        b.tell_many({"[0]": 4})
        b.sync()
        assert a.open_epoch("drift").is_rebuild
        assert (a.epoch, a.totals()) == (1, {})
        b.tell((1,))  # b does not know yet
        update = b.sync()
        assert (update.is_rebuild, b.epoch, b.totals()) == (True, 1, {})
        b.tell((1,))
        b.sync()
        assert a.sync().added == {"[1]": 1}
        assert b.is_due is False
    assert totals(store.rows("c", epoch=0)) == {"[0]": 12, "[1]": 1}
    assert [r.body for r in store.records("epoch", "c")] == [{"reason": "drift"}]


def test_time_buckets_follow_the_clock_and_its_jumps(store):
    clock = Clock(7200.0)
    settings = WorkerSettings(bucket_seconds=3600)
    with Worker(store, clock=clock, settings=settings) as worker:
        shared = worker.open("c")
        for now in (7200.0, 10_799.0, 10_800.0, 9e9, 7201.0):
            clock.now = now
            shared.tell((0,))
        shared.sync()
        clock.now = 9e9 + 1
        shared.tell((0,))
        shared.sync()
        assert shared.totals() == {"[0]": 6}
    n_by_bucket = {row.bucket: row.counts["[0]"] for row in store.rows("c")}
    assert n_by_bucket == {7200: 3, 10_800: 1, 9_000_000_000: 2}


def test_long_ago_buckets_are_remembered_as_sums(store):
    clock = Clock(0.0)
    with ExitStack() as stack:
        settings = WorkerSettings(bucket_seconds=10)
        workers = [
            stack.enter_context(Worker(store, clock=clock, settings=settings)) for _ in range(3)
        ]
        a, b, late = (worker.open("c") for worker in workers)
        late.tell((2,))
        late.sync()
        n_read = 0
        for n in range(400):
            clock.now = 10.0 * n
            a.tell((0,))
            b.tell((1,))
            b.sync()
            n_read += a.sync().added.get("[1]", 0)
        assert (a.totals(), n_read) == ({"[0]": 400, "[1]": 400, "[2]": 1}, 400)
        assert len(a.worker.rows) < 200
        assert len(a._remote._rows) < 200
        # The clock goes back, to rows that the first worker remembers as a sum alone.
        clock.now = 0.0
        a.tell((0,))
        late.tell((2,))
        late.sync()
        assert a.sync().added == {"[2]": 1}
        assert a.totals() == {"[0]": 401, "[1]": 400, "[2]": 2}
    assert totals(store.rows("c")) == {"[0]": 401, "[1]": 400, "[2]": 2}


def test_threads_lose_no_tell(store):
    with Worker(store) as worker:
        shared = worker.open("c")

        def work(case):
            for n in range(500):
                shared.tell((case,))
                if n % 50 == 0:
                    shared.sync()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
    assert totals(store.rows("c")) == {f"[{k}]": 500 for k in range(4)}


def test_keyed_tells_come_back_with_the_next_sync(store):
    with Worker(store) as worker:
        shared = worker.open("c")
        tells = [KeyedTell("c", "k", "[0]")]
        assert worker.tell_keyed(tells) == [Outcome.COUNTED]
        assert worker.tell_keyed(tells) == [Outcome.REPEATED]
        assert shared.sync().added == {"[0]": 1}
        (row,) = store.rows("c")
        assert row.bucket == worker.bucket()


def test_workers_that_left_long_ago_are_forgotten_and_their_counts_are_not():
    clock = Clock()
    store = open_store(clock=clock)
    for _ in range(2):
        with Worker(store) as worker:
            worker.open("c").tell((0,))
        store.compact()
        clock.now += 91 * 86_400
    assert len(store.workers()) == 1
    store.compact()
    assert store.workers() == []
    assert totals(store.rows("c")) == {"[0]": 2}


@pytest.mark.parametrize(
    ("name", "value"),
    [("durability", "perhaps"), ("durability", "disk"), ("name", "../w"), ("name", "merged")],
)
def test_arguments_are_checked(store, name, value):
    with pytest.raises(SettingError, match=name):
        Worker(store, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("bucket_seconds", 0), ("lease_seconds", 0), ("max_journal_bytes", 10)]
)
def test_settings_are_checked(name, value):
    with pytest.raises(SettingError, match=name):
        WorkerSettings(**{name: value})
