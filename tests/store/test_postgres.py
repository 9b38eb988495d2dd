"""Workers of two hosts on one PostgreSQL, which is restarted and killed under them."""

import os
import shutil
import signal
import time

import pytest

from stopwise.errors import StoreUnavailableError
from stopwise.runtime import Runtime, Stage
from stopwise.store import Row, Worker, WorkerSettings, open_store, totals
from tests.store.child_jobs import Notes, tell, tell_keyed
from tests.store.test_kill import check, n_counted, random_kills
from tests.waiting import wait_until


@pytest.mark.parametrize(
    ("n_kills", "seed", "n_at_once"), [(10, 3, 3), pytest.param(100, 4, 6, marks=pytest.mark.slow)]
)
def test_random_kills_on_two_hosts(n_kills, seed, n_at_once, tmp_path, children, postgres_url):
    hosts = [(host, tmp_path / host / "journals") for host in ("north", "south")]
    for _, directory in hosts:
        directory.parent.mkdir()
    notes = random_kills(children, postgres_url, hosts, n_kills, seed=seed, n_at_once=n_at_once)
    assert sum(Notes(path).count for path in notes.values()) > 200
    with open_store(postgres_url) as store:
        for host, directory in hosts:
            with Worker(store, directory=directory, host=host):
                pass
        check(store, hosts[0][1], notes, host="north")


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_the_server_stops_and_comes_back(mode, tmp_path, postgres, postgres_url, children):
    notes = tmp_path / "notes"
    # A worker under load while the server is away; this process has a connection too.
    store = open_store(postgres_url)
    place = {"url": postgres_url, "directory": tmp_path / "j"}
    pid = children.start(tell, **place, case="a", notes=notes, pause=0.0005)
    wait_until(lambda: n_counted(store, "a") > 20)
    postgres.stop(mode)
    try:
        before = Notes(notes).count
        with pytest.raises(StoreUnavailableError, match="cannot be used now"):
            store.now()
        for store_or_url in (store, postgres_url):
            with pytest.raises(StoreUnavailableError, match=r"cannot start: .* needs the store"):
                Worker(store_or_url, directory=tmp_path / "late")
        wait_until(lambda: Notes(notes).count > before + 100)
    finally:
        postgres.start()
    n_acknowledged = Notes(notes).count
    wait_until(lambda: n_counted(store, "a") > n_acknowledged)
    children.kill(pid)
    check(store, tmp_path / "j", {"a": notes})
    store.close()


def test_keyed_tells_are_counted_once_whatever_is_repeated(tmp_path, postgres, children):
    url = postgres.new_database()
    store = open_store(url)
    spans = [(0, 300), (100, 400), (200, 500)]
    pids = [
        children.start(
            tell_keyed, url=url, case="a", notes=str(tmp_path / f"{k}"), first=first, last=last
        )
        for k, (first, last) in enumerate(spans)
    ]
    notes = [Notes(tmp_path / f"{k}") for k in range(3)]
    # None of them is opening the store, which needs it to be there.
    wait_until(lambda: n_counted(store, "a") > 50 and all(note.count for note in notes))
    postgres.stop("immediate")
    postgres.start()
    for pid in pids:
        children.wait(pid)
    assert [note.count for note in notes] == [300, 300, 300]
    assert n_counted(store, "a") == 500
    store.close()


def test_a_worker_stopped_past_its_lease_goes_on_when_it_is_woken(tmp_path, children, postgres_url):
    notes, journals = tmp_path / "notes", tmp_path / "shared"
    store = open_store(postgres_url)
    pid = children.start(
        tell,
        url=postgres_url,
        directory=journals,
        host="north",
        case="a",
        notes=notes,
        lease_seconds=0.2,
        pause=0.0005,
    )
    wait_until(lambda: n_counted(store, "a") > 20)
    stop_outside_transactions(pid, postgres_url)
    # South sees the journals of north, but not the locks on them: there is only the lease to go by.
    copies = tmp_path / "seen-from-south"
    shutil.copytree(journals, copies)
    settings = WorkerSettings(lease_seconds=0.2)
    with Worker(store, directory=copies, host="south", settings=settings) as south:
        wait_until(lambda: south.adopted or south.adopt())
        stopped_at = Notes(notes).count
        assert stopped_at <= n_counted(store, "a") <= stopped_at + 1
        assert len(list(copies.glob("*.journal"))) == 2  # it stays: its owner may be alive
        assert south.adopt() == []
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: n_counted(store, "a") > stopped_at + 50)
        children.kill(pid)
    check(store, journals, {"a": notes}, host="north")
    store.close()


def stop_outside_transactions(pid, url):
    """Stop a process at a moment when it holds no locks that others would have to wait for."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:

        def is_idle():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.05)
            ((n_busy,),) = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stopwise' "
                "AND state <> 'idle'"
            ).fetchall()
            if n_busy:
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.01)
            return not n_busy

        wait_until(is_idle)


def test_the_oldest_running_transaction_holds_back_the_cursor(postgres_url):
    """A reader in between does not miss a fold that began first and ends last."""
    import psycopg

    with open_store(postgres_url) as store, psycopg.connect(postgres_url) as slow:
        leases = [store.enter(name, host="here") for name in ("w1", "w2")]
        slow.execute("SELECT pg_current_xact_id()")
        slow.execute(
            "INSERT INTO stopwise_counts SELECT 'c', 0, 0, 'w1', "
            "pg_current_xact_id()::text::bigint, '{}', 0"
        )
        store.fold(leases[1], position=1, rows=[Row("c", 0, 0, "w2", {"[0]": 1})])
        first = store.changes("c")
        assert totals(first.rows) == {"[0]": 1}
        slow.commit()
        second = store.changes("c", first.cursor)
        assert any("'w1'" in name for name in second.damaged)  # it is seen: its checksum is not one


def test_a_runtime_needs_no_more_than_the_address(tmp_path, postgres_url, monkeypatch):
    """Journals have a place of their own; a worker that is given has the same checks of stages."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    a, b, c = (Stage(str, cost=1, name=name, inline=True) for name in "abc")
    with Runtime("triage", stages=[a, b], store=postgres_url) as first:
        first.tell(("0", "1"))
        folder = tmp_path / "state" / "stopwise" / f"{first.worker.store.store_id}-journals"
        assert [path.stem for path in folder.iterdir()] == [first.worker.name]
    for stages, patterns in (([a, b], {("0", "1"): 1}), ([a, c, b], {("0", None, "1"): 1})):
        with Runtime("triage", stages=stages, store=Worker(postgres_url)) as runtime:
            assert runtime.learning.patterns() == patterns
            assert runtime.worker.store.cascade("triage").description["names"] == [
                stage.name for stage in stages
            ]
