"""Tell, fold, kill, adopt, compact, retry in any order, against a plain counter."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from stopwise.errors import StoreUnavailableError
from stopwise.store import (
    KeyedTell,
    Outcome,
    StageChange,
    Worker,
    WorkerSettings,
    open_store,
    totals,
    worker,
)
from stopwise.store.recovery import adopt

WORKERS = st.integers(0, 2)
CASES = st.sampled_from(["[0]", "[0,1]", "[1]"])


class StoreMachine(RuleBasedStateMachine):
    """Three workers of two hosts on one SQLite store; a killed one is replaced by a new one."""

    change = None

    @initialize()
    def begin(self):
        self.cut_bytes, worker._CUT_BYTES = worker._CUT_BYTES, 300
        self.folder = Path(tempfile.mkdtemp(prefix="stopwise-machine-"))
        self.store = open_store(f"sqlite:///{self.folder / 'store.db'}", clock=lambda: self.now)
        self.now = 1e6
        self.expected, self.keys = Counter(), {}
        self.workers = [self.new_worker(k) for k in range(3)]

    def new_worker(self, k):
        host = f"host{k % 2}"
        member = Worker(
            self.store,
            directory=self.folder / host,
            host=host,
            settings=WorkerSettings(bucket_seconds=100),
            clock=lambda: self.now,
            timer=lambda: self.now,
        )
        return member, member.open("c")

    @rule(k=WORKERS, case=CASES, times=st.integers(1, 3))
    def tell(self, k, case, times):
        self.workers[k][1].tell_many({case: times})
        self.expected[case] += times

    @rule(k=WORKERS)
    def sync(self, k):
        before = Counter(self.workers[k][1].totals())
        update = self.workers[k][1].sync()
        if not update.is_rebuild:
            assert before + Counter(update.added) == Counter(self.workers[k][1].totals())

    @rule(k=WORKERS, is_committed=st.booleans())
    def sync_with_a_broken_connection(self, k, is_committed):
        """The worker cannot know whether its fold was carried out."""
        fold = self.store.fold

        def broken(*arguments, **keywords):
            if is_committed:
                fold(*arguments, **keywords)
            raise StoreUnavailableError("the connection is gone")

        self.store.fold = broken
        try:
            with pytest.raises(StoreUnavailableError):
                self.workers[k][1].sync()
        finally:
            del self.store.fold

    @rule(k=WORKERS)
    def kill(self, k):
        """As kill -9 does: the lock goes, the journal stays, memory is lost."""
        self.workers[k][0].journal.release()
        self.workers[k] = self.new_worker(k)

    @rule(k=WORKERS)
    def close(self, k):
        self.workers[k][0].close()
        self.workers[k] = self.new_worker(k)

    @rule(k=WORKERS)
    def adopt(self, k):
        self.workers[k][0].adopt()

    @rule(k=WORKERS)
    def take_over_by_lease(self, k):
        """Another host that sees the journal but not its lock, after the lease has run out."""
        self.now += 100.0
        copies = self.folder / "copies"
        copies.mkdir()
        shutil.copy(self.workers[k][0].journal.path, copies)
        adopt(self.store, copies, host="elsewhere")
        shutil.rmtree(copies)

    @rule(key=st.integers(0, 5), case=CASES)
    def tell_keyed(self, key, case):
        (outcome,) = self.store.tell_keyed("net", [KeyedTell("c", f"k{key}", case)])
        if key not in self.keys:
            self.keys[key] = case
            self.expected[case] += 1
            assert outcome is Outcome.COUNTED
        else:
            same = self.keys[key] == case
            assert outcome is (Outcome.REPEATED if same else Outcome.CONFLICT)

    @rule()
    def compact(self):
        self.store.compact()

    @rule(seconds=st.floats(-500, 500))
    def clock_jumps(self, seconds):
        self.now += seconds

    @rule(k=WORKERS)
    def open_epoch(self, k):
        self.workers[k][1].open_epoch("drift", change=self.change)

    def counted(self):
        return Counter(totals(self.store.rows("c", epoch=-1)))

    @invariant()
    def nothing_is_counted_that_was_not_told(self):
        assert self.counted() <= self.expected

    def teardown(self):
        if not hasattr(self, "workers"):
            return
        try:
            for member, _ in self.workers:
                member.close()
            for k in range(2):
                self.new_worker(k)[0].close()  # adopts whoever was killed last
            assert self.counted() == self.expected
            assert self.store.check() == []
            assert self.store.records("damage") == []
            assert not list(self.folder.glob("host*/*"))
        finally:
            worker._CUT_BYTES = self.cut_bytes
            self.store.close()
            shutil.rmtree(self.folder)


class StageChangeMachine(StoreMachine):
    """The same where each epoch has other stages: it has every case that was ever told."""

    change = StageChange({}, [0, 1, None])

    def counted(self):
        return Counter(totals(self.store.changes("c").rows))


TestStoreMachine = StoreMachine.TestCase
TestStageChangeMachine = StageChangeMachine.TestCase
TestStoreMachine.settings = settings(max_examples=15, stateful_step_count=30)
TestStageChangeMachine.settings = TestStoreMachine.settings


@pytest.mark.slow
@pytest.mark.parametrize("machine", [StoreMachine, StageChangeMachine])
def test_many_more_stories(machine):
    run_state_machine_as_test(machine, settings=settings(max_examples=100, stateful_step_count=50))
