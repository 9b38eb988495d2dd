import sqlite3
import time

import pytest
from typer.testing import CliRunner

from stopwise.cli.commands import app
from stopwise.errors import InputError
from stopwise.store import Row, Worker, open_store, totals


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path / 'store.db'}"
    for _ in range(2):
        with Worker(url) as worker:
            worker.open("triage").tell_many({"[0,1]": 3})
    return url


def run(*arguments):
    return CliRunner().invoke(app, ["store", *arguments])


def test_info_says_what_is_there(url):
    with open_store(url, clock=lambda: time.time() - 10_800) as store:
        store.enter("lost", host="north")
        store.put_cascade("triage", {"costs": [1]})
    lines = run("info", url).stdout.splitlines()
    assert lines[0].startswith(f"store     {url} (schema 1, SQLite")
    assert lines[1:6] == [
        "counts    2 rows; 0 keys of tells",
        "workers   0 alive, 1 silent, 3 in all",
        "  silent  lost on north, last folded 3 h ago",
        "cascade   triage: version 1, epoch 0",
        "records   1 cascade",
    ]


def test_check_names_what_is_damaged_and_goes_wrong_by_its_status(url, tmp_path):
    assert run("check", url).stdout == "all sound\n"
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("UPDATE stopwise_counts SET body = '{}' WHERE rowid = 1")
    connection.close()
    done = run("check", url)
    assert done.exit_code == 1
    assert "damaged: counts of 'triage', epoch 0" in done.stdout
    assert "1 damaged, put into quarantine" in done.stdout
    assert run("check", url).exit_code == 0
    assert "damaged   counts of 'triage'" in run("info", url).stdout


def test_compact_merges_and_drops(url):
    assert run("compact", url).stdout == "1 rows fewer\n"
    with open_store(url) as store:
        assert totals(store.rows("triage")) == {"[0,1]": 6}
        lease = store.enter("w", host="here")
        store.fold(lease, position=1, rows=[Row("triage", 0, 0, "w", {"[0]": 1})])
        store.open_epoch("triage", expected=0)
    assert run("compact", url, "--keep-days", "1", "--keep-key-days", "1").exit_code == 0
    with open_store(url) as store:
        assert totals(store.rows("triage", epoch=-1)) == {"[0,1]": 6}


def test_export_and_import_move_a_store(url, tmp_path):
    file, target = tmp_path / "export.jsonl", f"sqlite:///{tmp_path / 'other.db'}"
    assert run("export", url, "--file", str(file)).stdout == ""
    assert run("export", url).stdout == file.read_text()
    assert run("import", target, "--file", str(file)).stdout == "2 rows of counts imported\n"
    with open_store(target) as store:
        assert totals(store.rows("triage")) == {"[0,1]": 6}


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    done = run("info", f"sqlite:///{tmp_path / 'no.db'}")
    assert isinstance(done.exception, InputError)
    assert not (tmp_path / "no.db").exists()


def test_an_export_into_a_missing_folder_is_refused_by_its_option(url, tmp_path):
    done = run("export", url, "--file", str(tmp_path / "no" / "export.jsonl"))
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == f"--file: the directory {tmp_path / 'no'} does not exist"
