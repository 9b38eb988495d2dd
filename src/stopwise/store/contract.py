"""The laws of a store, as tests to run on your own.

Derive a test class and say how a store is made; pytest finds the laws in it::

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self):
            return MyStore()
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from stopwise.errors import InputError
from stopwise.store.contract_helpers import assert_refused, enter, numbers, row
from stopwise.store.protocol import KeyedTell, Outcome, Record, StageChange, Store, totals

_NAMES = ["plain", "ärztlich 検査", 'it\'s "quoted"; -- %s ?', "a/b:c"]


class StoreContract:
    """What holds for every store; each test gets a fresh one."""

    def test_it_has_every_method(self, store: Store) -> None:
        assert isinstance(store, Store)
        assert store.store_id
        assert store.rows("nothing") == []
        assert store.cascade("nothing") is None
        assert store.changes("nothing").rows == ()

    def test_folding_again_changes_nothing(self, store: Store) -> None:
        lease = enter(store, "w")
        for _ in range(3):
            store.fold(lease, position=10, rows=[row(lease, {"[0]": 2, "[1]": 1})])
        assert totals(store.rows("c")) == {"[0]": 2, "[1]": 1}
        store.fold(lease, position=20, rows=[row(lease, {"[0]": 3, "[1]": 1})])
        assert totals(store.rows("c")) == {"[0]": 3, "[1]": 1}

    def test_workers_buckets_and_epochs_add_up(self, store: Store) -> None:
        first, second = enter(store, "w1"), enter(store, "w2")
        store.fold(
            first,
            position=1,
            rows=[row(first, {"[0]": 1}), row(first, {"[0]": 2}, bucket=60), row(first, {}, "d")],
        )
        store.fold(second, position=1, rows=[row(second, {"[0]": 4, "[1]": 8})])
        assert totals(store.rows("c")) == {"[0]": 7, "[1]": 8}
        assert totals(store.rows("c", since=60)) == {"[0]": 2}
        assert store.open_epoch("c", expected=0, reason="drift") == 1
        store.fold(first, position=2, rows=[row(first, {"[1]": 16}, epoch=1)])
        assert totals(store.rows("c")) == {"[1]": 16}
        assert totals(store.rows("c", epoch=0)) == {"[0]": 7, "[1]": 8}
        assert totals(store.rows("c", epoch=-1)) == {"[0]": 7, "[1]": 24}

    def test_names_may_be_any_text(self, store: Store) -> None:
        for name in _NAMES:
            lease = enter(store, name)
            store.fold(lease, position=1, rows=[row(lease, {f'["{name}"]': 1}, name)])
            assert totals(store.rows(name)) == {f'["{name}"]': 1}
            record = Record("event", name, name, 1.0, {"text": name})
            store.put(record)
            copy = store.get("event", name, name)
            assert copy is not None
            assert copy.body == record.body

    def test_a_lease_is_fenced_off_by_the_next(self, store: Store) -> None:
        old = enter(store, "w")
        store.fold(old, position=5, rows=[row(old, {"[0]": 1})])
        new = enter(store, "w")
        assert (new.generation > old.generation, new.position) == (True, 5)
        assert totals(new.rows) == {"[0]": 1}
        assert_refused(store, old, position=9, rows=[row(old, {"[0]": 9})])
        store.fold(new, position=6, rows=[row(new, {"[0]": 2})])
        assert totals(store.rows("c")) == {"[0]": 2}

    def test_a_position_never_goes_back(self, store: Store) -> None:
        lease = enter(store, "w")
        store.fold(lease, position=5, rows=[row(lease, {"[0]": 5})])
        assert_refused(store, lease, position=4, rows=[row(lease, {"[0]": 4})])
        assert totals(store.rows("c")) == {"[0]": 5}

    def test_a_worker_writes_its_own_rows_only(self, store: Store) -> None:
        lease, other = enter(store, "w"), enter(store, "v")
        assert_refused(store, lease, position=1, rows=[row(other, {"[0]": 1})], error=InputError)
        assert store.rows("c") == []

    def test_a_running_lease_is_left_alone_if_asked_for(self, store: Store) -> None:
        lease = enter(store, "w", seconds=1000)
        assert store.enter("w", host="there", only_expired=True) is None
        store.fold(lease, position=1, rows=[], seconds=-1)
        second = store.enter("w", host="there", only_expired=True)
        assert second is not None
        assert_refused(store, lease, position=2, rows=[])

    def test_a_worker_that_leaves_is_closed(self, store: Store) -> None:
        lease = enter(store, "w")
        store.leave(lease)
        (worker,) = store.workers()
        assert (worker.worker, worker.is_closed, worker.host) == ("w", True, "here")

    def test_changes_are_those_since_the_cursor(self, store: Store) -> None:
        first, second = enter(store, "w1"), enter(store, "w2")
        store.fold(first, position=1, rows=[row(first, {"[0]": 1})])
        start = store.changes("c")
        assert start.is_complete
        assert totals(start.rows) == {"[0]": 1}
        store.fold(second, position=1, rows=[row(second, {"[0]": 2})])
        after = store.changes("c", start.cursor)
        assert not after.is_complete
        assert {r.worker: r.counts for r in after.rows}["w2"] == {"[0]": 2}
        again = store.changes("c", after.cursor)
        assert all(r.counts == {"[0]": 2} for r in again.rows if r.worker == "w2")

    def test_a_new_epoch_is_read_from_its_start(self, store: Store) -> None:
        lease = enter(store, "w")
        store.fold(lease, position=1, rows=[row(lease, {"[0]": 1})])
        cursor = store.changes("c").cursor
        assert store.open_epoch("c", expected=0) == 1
        assert store.open_epoch("c", expected=0) == 1  # somebody else was first
        changes = store.changes("c", cursor)
        assert (changes.epoch, changes.is_complete, changes.rows) == (1, True, ())

    def test_a_change_of_stages_takes_over_every_case_once(self, store: Store) -> None:
        first, second = enter(store, "w1"), enter(store, "w2")
        store.fold(first, position=1, rows=[row(first, {"[0,1]": 2, "[0]": 1})])
        store.tell_keyed("w1", [KeyedTell("c", "k1", "[0,1]")])
        change = StageChange({"names": ["b", "new", "a"]}, [1, None, 0])
        assert store.open_epoch("c", expected=0, change=change) == 1
        record = store.cascade("c")
        assert record is not None
        assert record.description == change.description
        for _ in range(2):  # of a worker that does not know yet, and repeats itself
            store.fold(second, position=1, rows=[row(second, {"[1,1]": 3})])
            store.tell_keyed("w2", [KeyedTell("c", "k2", "[0,0]", epoch=0)])
        all_cases = {"[1,null,0]": 3, "[null,null,0]": 1, "[1,null,1]": 3, "[0,null,0]": 1}
        assert totals(store.changes("c").rows) == all_cases
        store.open_epoch("c", expected=1, change=StageChange({}, [2]))
        store.fold(second, position=2, rows=[row(second, {"[1,1]": 4})])
        assert totals(store.changes("c").rows) == {"[0]": 5, "[1]": 4}
        store.open_epoch("c", expected=2, reason="drift")
        store.fold(second, position=3, rows=[row(second, {"[1,1]": 5})])
        assert totals(store.changes("c").rows) == {}

    def test_compaction_keeps_every_total(self, store: Store) -> None:
        leases = [enter(store, f"w{k}") for k in range(4)]
        for lease in leases:
            rows = [row(lease, {"[0]": 1}), row(lease, {"[1]": 2}, bucket=60)]
            store.fold(lease, position=1, rows=rows)
        store.tell_keyed("w0", [KeyedTell("c", "k", "[0]")])
        cursor = store.changes("c").cursor
        for lease in leases[:3]:
            store.leave(lease)
        assert store.compact() > 0
        assert totals(store.rows("c")) == {"[0]": 5, "[1]": 8}
        changes = store.changes("c", cursor)
        assert changes.is_complete
        assert totals(changes.rows) == {"[0]": 5, "[1]": 8}
        assert store.compact() == 0
        # A worker that returns counts from nothing, on top of what was merged.
        back = enter(store, "w0")
        assert (back.position, totals(back.rows)) == (1, {})
        store.fold(back, position=2, rows=[row(back, {"[0]": 1})])
        assert totals(store.rows("c")) == {"[0]": 6, "[1]": 8}

    def test_compaction_fences_off_closed_workers(self, store: Store) -> None:
        lease = enter(store, "w")
        store.fold(lease, position=1, rows=[row(lease, {"[0]": 1})])
        store.leave(lease)
        store.compact()
        assert_refused(store, lease, position=2, rows=[row(lease, {"[0]": 2})])
        assert totals(store.rows("c")) == {"[0]": 1}

    def test_past_epochs_can_be_dropped(self, store: Store) -> None:
        lease = enter(store, "w")
        rows = [row(lease, {"[0]": 1}), row(lease, {"[0]": 2}, bucket=60)]
        store.fold(lease, position=1, rows=rows)
        store.compact(before=60)
        assert totals(store.rows("c", epoch=-1)) == {"[0]": 3}
        store.open_epoch("c", expected=0)
        store.compact(before=60)
        assert totals(store.rows("c", epoch=-1)) == {"[0]": 2}

    def test_a_key_counts_once(self, store: Store) -> None:
        first = [KeyedTell("c", "k1", "[0]"), KeyedTell("c", "k2", "[1]")]
        assert store.tell_keyed("w", first) == [Outcome.COUNTED] * 2
        second = [*first, KeyedTell("c", "k3", "[0]"), KeyedTell("c", "k3", "[0]")]
        expected = [Outcome.REPEATED, Outcome.REPEATED, Outcome.COUNTED, Outcome.REPEATED]
        assert store.tell_keyed("other", second) == expected
        conflict = [KeyedTell("c", "k1", "[1]"), KeyedTell("d", "k1", "[1]")]
        assert store.tell_keyed("w", conflict) == [Outcome.CONFLICT, Outcome.COUNTED]
        assert totals(store.rows("c")) == {"[0]": 2, "[1]": 1}
        assert totals(store.changes("c").rows) == {"[0]": 2, "[1]": 1}
        assert totals(store.rows("d")) == {"[1]": 1}

    def test_a_key_may_be_amended(self, store: Store) -> None:
        store.tell_keyed("w", [KeyedTell("c", "k1", "[0]"), KeyedTell("c", "k2", "[0]")])
        tell = KeyedTell("c", "k1", "[0,1]", amends=True)
        assert store.tell_keyed("other", [tell, tell]) == [Outcome.AMENDED, Outcome.REPEATED]
        assert totals(store.rows("c")) == {"[0]": 1, "[0,1]": 1}
        store.open_epoch("c", expected=0)
        late = KeyedTell("c", "k2", "[0,0]", amends=True)
        assert store.tell_keyed("w", [late, late]) == [Outcome.CONFLICT] * 2
        assert totals(store.rows("c")) == {}, "what an earlier epoch counted is left as it was"
        assert store.tell_keyed("w", [KeyedTell("c", "k2", "[0]")]) == [Outcome.REPEATED]

    def test_a_key_counts_once_over_threads(self, store: Store) -> None:
        tells = [KeyedTell("c", f"k{n}", "[0]") for n in range(50)]

        def tell(worker: str) -> list[Outcome]:
            batches = [tells[start : start + 10] for start in range(0, 50, 10)]
            return [outcome for batch in batches for outcome in store.tell_keyed(worker, batch)]

        with ThreadPoolExecutor(4) as pool:
            batches = pool.map(tell, ["w0", "w1", "w2", "w3"])
            outcomes = [outcome for batch in batches for outcome in batch]
        assert totals(store.rows("c")) == {"[0]": 50}
        assert (len(outcomes), outcomes.count(Outcome.COUNTED)) == (200, 50)

    def test_forgotten_keys_count_again(self, store: Store) -> None:
        tell = KeyedTell("c", "k", "[0]")
        store.tell_keyed("w", [tell])
        store.compact(keep_keys=1000)
        assert store.tell_keyed("w", [tell]) == [Outcome.REPEATED]
        store.compact(keep_keys=-1000)
        assert store.tell_keyed("w", [tell]) == [Outcome.COUNTED]

    def test_cascades_have_versions(self, store: Store) -> None:
        first = store.put_cascade("c", {"costs": [1, 2]})
        assert (first.version, first.epoch) == (1, 0)
        assert store.put_cascade("c", {"costs": [1, 2]}) == first
        second = store.put_cascade("c", {"costs": [1, 3]})
        assert second.version == 2
        assert store.cascade("c") == second
        store.put_cascade("a", {})
        assert [cascade.name for cascade in store.cascades()] == ["a", "c"]
        assert [record.body for record in store.records("cascade", "c")] == [
            {"costs": [1, 2]},
            {"costs": [1, 3]},
        ]

    def test_records_are_put_listed_and_bounded(self, store: Store) -> None:
        for n in range(5):
            assert store.put(Record("case", "c", f"k{n}", float(n), {"n": n}), keep=3)
        assert numbers(store.records("case", "c")) == [2, 3, 4]
        assert numbers(store.records("case", "c", limit=2)) == [3, 4]
        assert not store.put(Record("case", "c", "k4", 9.0, {"n": 9}), replace=False)
        assert store.put(Record("case", "c", "k4", 9.0, {"n": 10}))
        assert numbers(store.records("case")) == [2, 3, 10]
        assert store.records("case", "other") == []
        assert store.delete("case", "c", "k4")
        assert not store.delete("case", "c", "k4")
        assert store.get("case", "c", "k4") is None

    def test_records_can_be_followed(self, store: Store) -> None:
        all_numbers: list[int] = []
        since = 0
        for n in range(6):
            store.put(Record("event", "c", f"{n % 4}", 0.0, {"n": n}))
            if n % 2:
                records = store.records("event", "c", since=since)
                all_numbers += numbers(records)
                since = max(record.revision for record in records)
        assert all_numbers == [0, 1, 2, 3, 4, 5]
        assert store.records("event", "c", since=since) == []

    def test_a_sound_store_has_nothing_to_quarantine(self, store: Store) -> None:
        lease = enter(store, "w")
        store.fold(lease, position=1, rows=[row(lease, {"[0]": 1})])
        store.put_cascade("c", {"costs": [1]})
        assert store.check() == []
        info = store.info()
        assert (info.n_rows, info.n_keys, info.quarantined) == (1, 0, ())
        assert [cascade.name for cascade in info.cascades] == ["c"]
