import json
import math

import pytest

from stopwise.errors import InputError
from stopwise.store import KeyedTell, Outcome, Record, Row, open_store, totals
from stopwise.store.protocol import PAST
from stopwise.store.sql.transfer import export_store, import_store

COUNTS = {"cascade": "c", "epoch": 0, "bucket": 0, "worker": "w", "counts": {"[0]": 1}}


def fill_store():
    store = open_store()
    lease = store.enter("w", host="here")
    store.put_cascade("c", {"costs": [1, 2]})
    store.fold(lease, position=1, rows=[Row("c", 0, 60, "w", {"[0]": 2, '["ä"]': 1})])
    store.open_epoch("c", expected=0, reason="drift")
    rows = [Row("c", 1, PAST, "w", {"[1]": 7}), Row("c", 1, 120, "w", {"[1]": 4})]
    store.fold(lease, position=2, rows=rows)
    store.tell_keyed("w", [KeyedTell("c", "k", "[0]")])
    store.put(Record("label", "c", "visit", 5.0, {"label": 1}))
    store.put(Record("token", "", "t", 5.0, {"hash": "secret"}))
    return store, lease


def test_an_import_is_all_that_was_exported_but_tokens():
    source, _ = fill_store()
    target = open_store()
    assert import_store(target, export_store(source)) == 4
    assert totals(target.changes("c").rows) == totals(source.changes("c").rows)
    for epoch in (-1, 0, 1, None):
        assert totals(target.rows("c", epoch=epoch)) == totals(source.rows("c", epoch=epoch))
    assert target.cascade("c") == source.cascade("c")
    assert target.get("label", "c", "visit").body == {"label": 1}
    assert target.records("token") == []
    assert [r.body for r in target.records("epoch", "c")] == [{"reason": "drift"}]
    assert target.tell_keyed("v", [KeyedTell("c", "k", "[0]")]) == [Outcome.REPEATED]
    assert target.check() == []


def test_importing_again_or_later_counts_nothing_twice():
    source, lease = fill_store()
    target = open_store()
    import_store(target, export_store(source))
    import_store(target, export_store(source))
    assert totals(target.rows("c", epoch=-1)) == totals(source.rows("c", epoch=-1))
    source.fold(lease, position=3, rows=[Row("c", 1, 120, "w", {"[1]": 9})])
    cursor = target.changes("c").cursor
    import_store(target, export_store(source))
    assert totals(target.rows("c")) == {"[0]": 1, "[1]": 9}
    assert target.changes("c", cursor).is_complete
    # Over a third store, too, and after rows were merged.
    last = open_store()
    import_store(last, export_store(target))
    source.leave(lease)
    source.compact()
    import_store(last, export_store(source))
    assert totals(last.rows("c")) == {"[0]": 1, "[1]": 9}
    assert totals(last.rows("c", epoch=-1)) == totals(source.rows("c", epoch=-1))


def test_two_stores_add_up():
    target = open_store()
    for _ in range(2):
        source, _ = fill_store()
        import_store(target, export_store(source))
    assert totals(target.rows("c", epoch=0)) == {"[0]": 4, '["ä"]': 2}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "must begin"),
        (['{"stopwise_export": 99}'], "must begin"),
        (["no JSON"], "line 1"),
        (['{"stopwise_export": 1, "store": "x"}', "[]"], "line 2"),
        (["[" * 100_000], "line 1"),
        (['{"stopwise_export": 1}'], "'store'"),
        *[
            (['{"stopwise_export": 1, "store": "x"}', json.dumps(entry)], "cannot be read|finite")
            for entry in (
                {"type": "counts"},
                {"type": "count", **COUNTS},
                {"type": "counts", **COUNTS, "epoch": 0.5},
                {"type": "counts", **COUNTS, "bucket": 2**64},
                {"type": "counts", **COUNTS, "worker": "\ud800"},
                *[
                    {"type": "counts", **COUNTS, "counts": counts}
                    for counts in ({"[0]": -1}, {"[0]": 1.5}, {"zzz": 1}, {"[0": 1}, {"5": 1})
                ],
                {"type": "cascade", "name": "c", "version": 10**30, "epoch": 0},
                {"type": "key", "cascade": "c", "key": "k", "digest": "d", "at": math.nan},
                {"type": "record", "kind": "label", "cascade": "c", "key": 1, "at": 1, "body": {}},
            )
        ],
    ],
)
def test_what_is_no_export_is_refused(lines, words):
    store = open_store()
    with pytest.raises(InputError, match=words):
        import_store(store, lines)
    assert store.cascades() == []


def test_a_store_does_not_import_itself():
    source, _ = fill_store()
    with pytest.raises(InputError, match="from this store"):
        import_store(source, export_store(source))


def test_cases_from_before_are_moved_and_newer_records_replace_older():
    source, lease = fill_store()
    source.fold(lease, position=3, rows=[Row("c", 1, PAST, "w", {"[0,1]": 5})])
    target = open_store()
    import_store(target, export_store(source))
    assert totals(target.rows("c")) == totals(source.rows("c"))
    source.put(Record("label", "c", "visit", 6.0, {"label": 0}))
    import_store(target, export_store(source))
    assert target.get("label", "c", "visit").body == {"label": 0}
    target.put(Record("label", "c", "visit", 7.0, {"label": 2}))
    import_store(target, export_store(source))
    assert target.get("label", "c", "visit").body == {"label": 2}


def test_imported_cases_can_be_amended():
    source, _ = fill_store()
    target = open_store()
    import_store(target, export_store(source))
    amended = KeyedTell("c", "k", "[1]", amends=True)
    assert target.tell_keyed("v", [amended]) == [Outcome.AMENDED]
    assert totals(target.rows("c")) == {"[1]": 5}
