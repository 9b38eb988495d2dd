"""kill -9 at every point and at random: nothing acknowledged is lost, nothing is counted twice."""

import random
import time

import pytest

from stopwise.store import Worker, open_store, totals
from tests.store.child_jobs import POINTS, Notes
from tests.waiting import wait_until


def counted(store, case):
    return totals(store.rows("c", epoch=-1)).get(f'["{case}"]', 0)


def check(store, directory, told, host="here"):
    """Adopt what is left; each child may have died between a tell and its note."""
    with Worker(store, directory=directory, host=host):
        pass
    for case, notes in told.items():
        acknowledged = Notes(str(notes)).count
        assert acknowledged <= counted(store, case) <= acknowledged + 1, case
    assert store.check() == []


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_named_point(point, tmp_path, children):
    url, journals = f"sqlite:///{tmp_path / 'store.db'}", tmp_path / "journals"
    notes = tmp_path / "notes"
    is_often = point in {"after a tell is written", "in the middle of a tell"}
    pid = children.start(
        "tell",
        url=url,
        directory=str(journals),
        case="a",
        notes=str(notes),
        times=3000,
        point=point,
        # A store that is slow is folded into after the first tell and at the end, no more.
        countdown=2000 if is_often else 2 if "fold" in point or "cut" in point else 1,
    )
    children.wait(pid)
    assert (tmp_path / "notes-died").exists()
    acknowledged = Notes(str(notes)).count
    assert acknowledged == 3000 or point not in {"before leaving", "after leaving"}
    store = open_store(url)
    check(store, journals, {"a": notes})
    check(store, journals, {"a": notes})
    assert not list(journals.iterdir())
    assert all(worker.is_closed for worker in store.workers() if worker.position)


@pytest.mark.parametrize(
    ("point", "countdown"),
    [
        ("after entering", 2),
        ("before a fold is committed", 1),
        ("after a fold", 1),
        ("before leaving", 1),
        ("after leaving", 1),
    ],
)
def test_an_adopter_is_killed_in_turn(point, countdown, tmp_path, children):
    url, journals = f"sqlite:///{tmp_path / 'store.db'}", tmp_path / "journals"
    notes = tmp_path / "notes"
    arguments = {"url": url, "directory": str(journals), "notes": str(notes)}
    pid = children.start(
        "tell",
        **arguments,
        case="a",
        point="after a tell is written",
        countdown=500,
    )
    children.wait(pid)
    children.wait(children.start("adopt", **arguments, point=point, countdown=countdown))
    assert (tmp_path / "notes-adopter-died").exists()
    assert list(journals.iterdir())
    check(open_store(url), journals, {"a": notes})


def random_kills(children, url, folders, n_kills, *, seed, n_at_once=3):
    """Children tell and are killed at random moments; each has a case of its own."""
    rng = random.Random(seed)
    told, running = {}, []
    for n in range(n_kills + n_at_once):
        if n < n_kills:
            host, directory = folders[n % len(folders)]
            case, notes = f"child-{n}", directory.parent / f"notes-{n}"
            pid = children.start(
                "tell",
                url=url,
                directory=str(directory),
                host=host,
                case=case,
                notes=str(notes),
                sync_seconds=0.02,
            )
            told[case] = notes
            running.append((pid, notes))
        if len(running) == n_at_once or (running and n >= n_kills):
            pid, notes = running.pop(rng.randrange(len(running)))
            if rng.random() < 0.8:  # the others may be killed before they have told anything
                wait_until(lambda notes=notes: Notes(str(notes)).count > 0)
            time.sleep(rng.uniform(0.0, 0.1))
            children.kill(pid)
    return told


def test_random_kills_under_load(tmp_path, children):
    url, journals = f"sqlite:///{tmp_path / 'store.db'}", tmp_path / "journals"
    told = random_kills(children, url, [("here", journals)], 15, seed=1)
    assert sum(Notes(str(notes)).count for notes in told.values()) > 1000
    check(open_store(url), journals, told)


@pytest.mark.slow
def test_a_hundred_random_kills(tmp_path, children):
    url, journals = f"sqlite:///{tmp_path / 'store.db'}", tmp_path / "journals"
    told = random_kills(children, url, [("here", journals)], 100, seed=2, n_at_once=5)
    check(open_store(url), journals, told)
