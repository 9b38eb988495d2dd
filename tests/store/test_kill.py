"""kill -9 at every point and at random: nothing acknowledged is lost, nothing is counted twice."""

import random
import time

import pytest

from stopwise.store import Worker, open_store, totals
from tests.store.child_jobs import POINTS, Notes, adopt, tell
from tests.waiting import wait_until


@pytest.fixture
def places(url, tmp_path):
    """The arguments that all jobs have."""
    return {"url": url, "directory": tmp_path / "journals", "notes": tmp_path / "notes"}


def n_counted(store, case):
    return totals(store.rows("c", epoch=-1)).get(f'["{case}"]', 0)


def check(store, directory, notes_by_case, host="here"):
    """Adopt what is left; each child may have died between a tell and its note."""
    with Worker(store, directory=directory, host=host):
        pass
    for case, notes in notes_by_case.items():
        n_acknowledged = Notes(notes).count
        assert n_acknowledged <= n_counted(store, case) <= n_acknowledged + 1, case
    assert store.check() == []


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_named_point(point, places, tmp_path, children):
    journals, notes = places["directory"], places["notes"]
    is_often = point in {"after a tell is written", "in the middle of a tell"}
    # A store that is slow is folded into after the first tell and at the end, no more.
    countdown = 2000 if is_often else 2 if "fold" in point or "cut" in point else 1
    children.wait(
        children.start(tell, **places, case="a", times=3000, point=point, countdown=countdown)
    )
    assert (tmp_path / "notes-died").exists()
    assert Notes(notes).count == 3000 or point not in {"before leaving", "after leaving"}
    store = open_store(places["url"])
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
def test_an_adopter_is_killed_in_turn(point, countdown, places, tmp_path, children):
    journals, death = places["directory"], "after a tell is written"
    children.wait(children.start(tell, **places, case="a", point=death, countdown=500))
    children.wait(children.start(adopt, **places, point=point, countdown=countdown))
    assert (tmp_path / "notes-adopter-died").exists()
    assert list(journals.iterdir())
    check(open_store(places["url"]), journals, {"a": places["notes"]})


def random_kills(children, url, folders, n_kills, *, seed, n_at_once=3):
    """Children tell and are killed at random moments; each has a case and notes of its own."""
    rng = random.Random(seed)
    notes_by_case, processes = {}, []
    for n in range(n_kills + n_at_once):
        if n < n_kills:
            host, directory = folders[n % len(folders)]
            case, notes = f"child-{n}", directory.parent / f"notes-{n}"
            place = {"url": url, "directory": directory, "host": host}
            pid = children.start(tell, **place, case=case, notes=notes, sync_seconds=0.02)
            notes_by_case[case] = notes
            processes.append((pid, notes))
        if len(processes) == n_at_once or (processes and n >= n_kills):
            pid, notes = processes.pop(rng.randrange(len(processes)))
            if rng.random() < 0.8:  # the others may be killed before they have told anything
                wait_until(lambda notes=notes: Notes(notes).count > 0)
            time.sleep(rng.uniform(0.0, 0.1))
            children.kill(pid)
    return notes_by_case


@pytest.mark.parametrize(
    ("n_kills", "seed", "n_at_once"), [(15, 1, 3), pytest.param(100, 2, 5, marks=pytest.mark.slow)]
)
def test_random_kills_under_load(n_kills, seed, n_at_once, url, tmp_path, children):
    folders = [("here", tmp_path / "journals")]
    notes = random_kills(children, url, folders, n_kills, seed=seed, n_at_once=n_at_once)
    assert sum(Notes(path).count for path in notes.values()) > 1000
    check(open_store(url), tmp_path / "journals", notes)
