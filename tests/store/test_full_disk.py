"""A full disk refuses tells, damages nothing, and is forgotten when there is room again."""

import contextlib
import subprocess

import pytest

from stopwise.errors import JournalFullError, StoreUnavailableError
from stopwise.store import Worker, open_store, totals


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 400 kB, which only root can mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", folder]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("durability", ["process", "disk"])
def test_a_full_disk_refuses_tells_and_loses_none(small_disk, durability):
    url = f"sqlite:///{small_disk / 'store.db'}"
    worker = Worker(url, durability=durability)
    shared = worker.open("c")
    shared.tell((0, 1))
    shared.sync()
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(1000)):
            pass
    n_told = 1
    for n in range(3000):
        with contextlib.suppress(JournalFullError):
            shared.tell((n % 7, 1))
            n_told += 1
    assert n_told < 3001
    assert sum(shared.totals().values()) == n_told
    with contextlib.suppress(StoreUnavailableError):
        shared.sync()  # may find room in the log of the database, or none
    ballast.unlink()
    shared.tell((8, 8))
    shared.sync()
    worker.close()
    with open_store(url) as store:
        assert sum(totals(store.rows("c")).values()) == n_told + 1
        assert store.check() == []
        assert store.records("damage") == []
