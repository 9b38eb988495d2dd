"""What is damaged is named and put aside, and the rest goes on."""

import contextlib
import socket
import sqlite3
from pathlib import Path

import pytest

from stopwise.errors import (
    SchemaError,
    SettingError,
    StoreError,
    StoreUnavailableError,
    StoreWarning,
)
from stopwise.store import KeyedTell, Record, Row, Worker, open_store, totals
from stopwise.store.journal import journal_line
from stopwise.store.sql import schema, sqlite
from stopwise.store.sql.sql_store import SqlStore
from stopwise.store.sql.sqlite import SqliteDatabase
from tests.store.child_jobs import Notes, tell
from tests.waiting import wait_until


@pytest.fixture
def path(url):
    return Path(url.removeprefix("sqlite:///"))


@pytest.fixture
def change(path):
    """Change one row of the database behind the store's back."""

    def run(sql, *values):
        with sqlite3.connect(path) as connection:
            assert connection.execute(sql, values).rowcount == 1
        connection.close()

    return run


@pytest.mark.parametrize(
    ("column", "value"),
    [("body", '{"[0]":9}'), ("body", "no JSON"), ("checksum", 1), ("epoch", 7), ("worker", "v")],
)
def test_a_damaged_row_is_named_and_the_rest_is_counted(store, change, column, value):
    lease = store.enter("w", host="here")
    rows = [Row("c", 0, bucket, "w", {"[0]": 2}) for bucket in (0, 60)]
    store.fold(lease, position=1, rows=rows)
    store.open_epoch("c", expected=-1)
    change(f"UPDATE stopwise_counts SET {column} = ? WHERE bucket = 60", value)
    assert totals(store.rows("c", epoch=-1)) == {"[0]": 2}
    (name,) = store.check()
    assert "bucket 60" in name
    assert "counts of 'c'" in name
    assert len(store.info().quarantined) == 1
    assert store.check() == []
    assert totals(store.rows("c", epoch=-1)) == {"[0]": 2}
    # The worker that wrote it has it in memory, and repairs it with the next fold.
    store.fold(lease, position=2, rows=rows)
    assert totals(store.rows("c")) == {"[0]": 4}


def test_a_reader_is_told_what_is_damaged(store, change):
    with Worker(store) as worker:
        lease = store.enter("w", host="here")
        store.fold(lease, position=1, rows=[Row("c", 0, 0, "w", {"[0]": 2})])
        shared = worker.open("c")
        change("UPDATE stopwise_counts SET body = '{}', revision = 99 WHERE worker = 'w'")
        update = shared.sync()
        assert "'w'" in update.damaged[0]
        assert not update.is_rebuild


def test_a_damaged_row_is_not_built_upon(store, change):
    """Neither by its next owner nor by a keyed tell: its content is in quarantine."""
    store.tell_keyed("w", [KeyedTell("c", "k1", "[0]")])
    change("UPDATE stopwise_counts SET checksum = 0")
    store.tell_keyed("w", [KeyedTell("c", "k2", "[0]")])
    assert totals(store.rows("c")) == {"[0]": 1}
    change("UPDATE stopwise_counts SET checksum = 0")
    assert store.enter("w+keys", host="here").rows == ()
    assert len(store.info().quarantined) == 2


def test_a_damaged_record_is_named(store, change):
    for key in ("a", "b"):
        store.put(Record("label", "c", key, 1.0, {"label": 1}))
    change("UPDATE stopwise_records SET body = '{}' WHERE record_key = 'a'")
    assert [record.key for record in store.records("label", "c")] == ["b"]
    assert store.get("label", "c", "a") is None
    assert store.check() == ["label 'a' of 'c': the checksum does not match"]
    assert store.info().records == {"label": 1}


def test_a_damaged_line_of_a_journal_is_named_by_its_adopter(store, tmp_path):
    dead = Worker(store, directory=tmp_path / "j", name="dead")
    shared = dead.open("c")
    for n in range(3):
        shared.tell((n,))
    dead.journal.release()
    file = tmp_path / "j" / "dead.journal"
    file.write_bytes(file.read_bytes().replace(b'"[1]"', b'"[7]"'))
    with Worker(store, directory=tmp_path / "j") as worker:
        assert worker.adopted == ["dead"]
    assert totals(store.rows("c")) == {"[0]": 1, "[2]": 1}
    (damage,) = store.records("damage")
    n_bytes = len(journal_line(["c", 0, shared.worker.bucket(), "[0]", 1]))
    expected = f"dead.journal: line at {n_bytes}: the checksum does not match"
    assert damage.body["damage"] == expected


def test_a_journal_of_another_store_is_left_alone(store, tmp_path):
    with open_store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        dead = Worker(other, directory=tmp_path / "j")
        dead.open("c").tell((0,))
        dead.journal.release()
        (tmp_path / "j" / "junk.journal").write_bytes(b"junk\n")
        with Worker(store, directory=tmp_path / "j") as worker:
            assert worker.adopted == []
        assert len(list((tmp_path / "j").iterdir())) == 2
        assert "no readable header" in store.records("damage")[0].body["damage"]


def test_a_newer_schema_is_refused_and_nothing_is_changed(store, url, change):
    lease = store.enter("w", host="here")
    newer = str(schema.VERSION + 1)
    change("UPDATE stopwise_meta SET value = ? WHERE name = 'schema'", newer)
    with pytest.raises(SchemaError, match="upgrade stopwise"):
        store.fold(lease, position=1, rows=[Row("c", 0, 0, "w", {"[0]": 1})])
    assert store.rows("c") == []
    with pytest.raises(SchemaError, match=f"has schema {newer}"):
        open_store(url)


def test_a_store_of_an_older_schema_is_migrated(url, monkeypatch):
    def set_migrations(migrations):
        monkeypatch.setattr(schema, "MIGRATIONS", migrations)
        monkeypatch.setattr(schema, "VERSION", len(migrations))

    with open_store(url) as store:
        lease = store.enter("w", host="here")
        store.fold(lease, position=1, rows=[Row("c", 0, 0, "w", {"[0]": 1})])
        old_id = store.store_id
    migrations = [*schema.MIGRATIONS, ["ALTER TABLE stopwise_workers ADD COLUMN note TEXT"]]
    set_migrations(migrations)
    with open_store(url) as store:
        assert (store.schema, store.store_id) == (len(migrations), old_id)
        assert totals(store.rows("c")) == {"[0]": 1}
        assert store.database.read(lambda tx: tx.run("SELECT note FROM stopwise_workers"))
    # A migration that fails leaves the store as it was.
    set_migrations([*migrations, ["ALTER TABLE nothing ADD COLUMN x TEXT"]])
    with pytest.raises(StoreError, match="syntax error"):
        open_store(url)
    set_migrations(migrations)
    with open_store(url) as store:
        assert store.schema == len(migrations)


def test_a_file_that_is_no_database_is_refused(path, url):
    path.write_bytes(b"This is no database. " * 100)
    with pytest.raises(StoreError, match="cannot be read"):
        open_store(url)


def test_a_busy_store_is_said_to_be_busy(store, path):
    with SqlStore(SqliteDatabase(path, timeout=0.05)) as other:

        def work(tx):
            with pytest.raises(StoreUnavailableError, match="is busy"):
                other.enter("w", host="here")

        store.database.write(work)
        assert other.enter("w", host="here").generation == 1


@pytest.mark.parametrize("is_fixed", [False, True])
def test_many_writers_are_warned_of_a_bug_of_the_database(
    url, tmp_path, is_fixed, monkeypatch, children, recwarn
):
    monkeypatch.setattr(sqlite, "_WAL_RESET_FIXED", (3, 0) if is_fixed else (99, 0))
    notes = tmp_path / "notes"
    with Worker(url), Worker(url):
        assert not recwarn.list, "these are one process"
    place = {"directory": tmp_path / "store.db-journals", "host": socket.gethostname()}
    pid = children.start(tell, url=url, **place, case="a", notes=notes, pause=0.001)
    wait_until(lambda: Notes(notes).count > 0)
    context = contextlib.nullcontext() if is_fixed else pytest.warns(StoreWarning, match="WAL")
    with context, Worker(url):
        pass
    children.kill(pid)
    Worker(url).close()  # the dead are no writers
    assert not [w for w in recwarn.list if issubclass(w.category, StoreWarning)]


def test_files_are_private(store, tmp_path):
    with Worker(store):
        for file in tmp_path.rglob("*"):
            assert file.stat().st_mode & 0o077 == 0, file


@pytest.mark.parametrize(
    "url", ["", "store.db", "sqlite://", "sqlite:///", "mysql://x", "memory://x"]
)
def test_a_url_that_names_no_store_is_refused(url):
    with pytest.raises(SettingError, match="store must be memory://"):
        open_store(url)


def test_a_password_is_never_shown():
    with pytest.raises(SettingError) as caught:
        open_store("mysql://me:secret@host/name")
    assert "secret" not in str(caught.value)
