import errno
import os
import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from stopwise.errors import JournalError, JournalFullError
from stopwise.store.journal import Header, Journal, JournalReader, journal_line, read_line

HEADER = Header("w", "here", "id", 0)


def line(n):
    return journal_line(["c", 0, 0, f"[{n}]", 1])


@pytest.fixture
def make_journal(tmp_path):
    with ExitStack() as stack:

        def make(max_bytes=10_000, *, is_durable=False):
            path = tmp_path / "w.journal"
            journal = Journal(path, HEADER, max_bytes=max_bytes, is_durable=is_durable)
            stack.callback(journal.release)
            return journal

        yield make


@pytest.fixture
def journal(make_journal):
    return make_journal()


def read(path, position=0):
    with path.open("rb") as file:
        reader = JournalReader(file.fileno(), path)
        return [entry.case for entry in reader.entries(position)], reader


def test_a_cut_keeps_positions(journal):
    for n in range(5):
        journal.append(line(n))
    third = 3 * len(line(0))
    journal.cut(third)
    journal.append(line(5))
    assert journal.end == 6 * len(line(0))
    assert read(journal.path, third)[0] == ["[3]", "[4]", "[5]"]
    cases, reader = read(journal.path, 0)
    assert cases == ["[3]", "[4]", "[5]"]
    assert "bytes 0 to" in reader.damaged[0]
    assert not list(journal.path.parent.glob("*.new"))
    journal.release()
    with pytest.raises(JournalError, match="is closed"):
        journal.append(line(6))


@pytest.mark.parametrize("n_lost", range(1, len(line(2))))
def test_a_torn_tail_is_no_tell(journal, n_lost):
    journal.append(line(0))
    journal.append(line(1))
    end = journal.end
    journal.append(line(2))
    os.truncate(journal.path, journal.path.stat().st_size - n_lost)
    cases, reader = read(journal.path)
    assert (cases, reader.end, reader.damaged) == (["[0]", "[1]"], end, [])


def test_a_whole_line_that_is_no_tell_is_named_too(journal):
    for record in (["c", 0, 0, "[0]", "1"], ["c", 0, 0, "[0]", -1], [1, 2], 7, {"a": 1}):
        journal.append(journal_line(record))
    journal.append(line(1))
    cases, reader = read(journal.path)
    assert (cases, len(reader.damaged)) == (["[1]"], 5)


def test_every_flipped_bit_is_noticed():
    good = line(7)
    for place in range(len(good) - 1):
        for bit in range(8):
            bad = bytearray(good)
            bad[place] ^= 1 << bit
            # The checksum is hexadecimal: a letter in upper case has the same value.
            if bytes(bad).lower() != good:
                with pytest.raises(ValueError, match=r"checksum|base 16|invalid"):
                    read_line(bytes(bad))


def test_a_journal_without_a_header_has_acknowledged_nothing(tmp_path):
    path = tmp_path / "x.journal"
    path.write_bytes(b"0123")
    assert read(path)[1].header is None
    path.write_bytes(b"0123\n")
    with pytest.raises(JournalError, match="no readable header"):
        read(path)


def test_a_file_that_may_not_grow_refuses_and_stays_whole(journal):
    for n in range(10):
        journal.append(line(n))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel writes half of the next line and then refuses.
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.size + len(line(0)) // 2, limits[1]))
    try:
        for _ in range(2):
            with pytest.raises(JournalFullError, match="cannot be written"):
                journal.append(line(0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    journal.append(line(10))
    assert read(journal.path)[0] == [f"[{n}]" for n in range(11)]


def test_threads_share_an_fsync(make_journal, monkeypatch):
    journal = make_journal(is_durable=True)
    lock, n_synced = threading.Lock(), [0]

    def slow_sync(file):
        n_synced[0] += 1
        time.sleep(0.005)
        os.fsync(file)

    monkeypatch.setattr("stopwise.store.journal._sync", slow_sync)

    def work(_):
        for n in range(10):
            with lock:
                journal.append(line(n))
                end = journal.end
            journal.flush(end)
            assert journal._synced >= end

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(read(journal.path)[0]) == 80
    assert n_synced[0] < 60


def test_after_a_failed_fsync_nothing_is_acknowledged(make_journal, monkeypatch):
    journal = make_journal(is_durable=True)
    journal.append(line(0))

    def fail(file):
        raise OSError(errno.EIO, "the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr("stopwise.store.journal._sync", fail)
        with pytest.raises(JournalError, match="could not be brought to disk"):
            journal.flush(journal.end)
    with pytest.raises(JournalError, match="could not be brought to disk"):
        journal.append(line(1))
