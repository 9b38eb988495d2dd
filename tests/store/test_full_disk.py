"""A full disk refuses tells, damages nothing, and is forgotten when there is room again."""

import contextlib
import subprocess

import pytest

from stopwise.errors import JournalFullError, StoreUnavailableError
from stopwise.store import Worker, open_store, totals


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 400 kB, which only root can mount."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", place],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("durability", ["process", "disk"])
def test_a_full_disk_refuses_tells_and_loses_none(small_disk, durability):
    url = f"sqlite:///{small_disk / 'store.db'}"
    worker = Worker(url, durability=durability)
    shared = worker.open("c")
    shared.tell((0, 1))
    shared.sync()
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(1000)):
                pass
        except OSError:
            pass
    told, refused = 1, 0
    for n in range(3000):
        try:
            shared.tell((n % 7, 1))
            told += 1
        except JournalFullError:
            refused += 1
    assert refused > 0
    assert sum(shared.totals().values()) == told
    with contextlib.suppress(StoreUnavailableError):
        shared.sync()  # may find room in the log of the database, or none
    ballast.unlink()
    shared.tell((8, 8))
    shared.sync()
    worker.close()
    with open_store(url) as store:
        assert sum(totals(store.rows("c")).values()) == told + 1
        assert store.check() == []
        assert store.records("damage") == []
