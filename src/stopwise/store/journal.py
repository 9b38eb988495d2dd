"""The journal of a worker: its tells, in a file that survives the process.

Each line is one tell: a checksum and a JSON list ``[cascade, epoch, bucket, case, times]``. The
first line names the worker and the position at which the file starts. A position counts the bytes
of all lines that the worker ever wrote, so it stays the same when the file is shortened. A tell is
written with ``write(2)`` before it is acknowledged. An incomplete last line belongs to a tell that
was never acknowledged. A damaged line in between is reported and skipped.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import threading
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stopwise.errors import JournalError, JournalFullError

SUFFIX = ".journal"
DRAFT = ".journal.new"


@dataclass(frozen=True)
class Header:
    """The worker and the store of a journal, and the position of its first line."""

    worker: str
    host: str
    store_id: str
    start: int
    version: int = 1


@dataclass(frozen=True)
class JournalEntry:
    """One tell in a journal."""

    cascade: str
    epoch: int
    bucket: int
    case: str
    times: int


def journal_line(record: object) -> bytes:
    r"""Return a record as a line with its checksum.

    >>> journal_line(["triage", 0, 0, "[0,1]", 1])
    b'98c31d28 ["triage",0,0,"[0,1]",1]\n'
    """
    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def read_line(line: bytes) -> object:
    """Return the record of a line, or raise ``ValueError``."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if len(checksum) != 8 or zlib.crc32(text) != int(checksum, 16):
        raise ValueError("the checksum does not match")
    return json.loads(text)


class Journal:
    """The journal that a worker writes, locked for as long as the process lives.

    Beyond ``max_bytes`` tells are refused. With ``is_durable``, `flush` waits for the disk, so that
    tells survive loss of power.
    """

    def __init__(self, path: Path, header: Header, *, max_bytes: int, is_durable: bool) -> None:
        self.path = path
        self.header = header
        self.max_bytes = max_bytes
        self.is_durable = is_durable
        self._fault = ""  # why nothing can be written any more
        self._commit = threading.Lock()
        self._file, self._size, self._offset = self._create(header, b"")
        self._synced: float = self.end

    @property
    def end(self) -> int:
        """The position after the last line, by the size of the file."""
        return os.fstat(self._file).st_size + self._offset

    def append(self, line: bytes) -> None:
        """Write one line or several, or raise and leave the journal as it was.

        The caller must not let two threads write at once.
        """
        size = len(line)
        if self._size + size > self.max_bytes or self._fault:
            self._refuse()
        try:
            n_written = os.write(self._file, line)
        except OSError as error:
            self._undo(error)
        else:
            if n_written != size:
                self._undo(None)
        self._size += size

    def flush(self, position: int) -> None:
        """Return when all lines up to a position are on the disk, if the journal is durable.

        Threads that wait here together share one ``fsync``.
        """
        if not self.is_durable:
            return
        with self._commit:
            if self._synced >= position:
                return
            if self._file < 0:
                raise JournalError(self._fault)
            end = self.end
            try:
                _sync(self._file)
            except OSError as error:
                # The kernel may have dropped the pages, so another fsync would prove nothing.
                self._fault = f"the journal {self.path} could not be brought to disk: {error}"
                raise JournalError(self._fault) from error
            self._synced = end

    def cut(self, position: int) -> None:
        """Remove the lines before a position, which the store has counted.

        The caller must not let anything be written meanwhile.
        """
        with self._commit:
            tail = os.pread(self._file, self.end - position, position - self._offset)
            header = Header(**{**asdict(self.header), "start": position})
            try:
                file, size, offset = self._create(header, tail)
            except OSError:
                return  # no room for the shorter file: keep the longer one
            os.close(self._file)
            self._file, self._size, self._offset = file, size, offset
            self.header = header
            self._synced = self.end

    def reader(self) -> JournalReader:
        """Return a reader of the whole file."""
        return JournalReader(self._file, self.path)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self._size

    def remove(self) -> None:
        """Delete the file, once the store has counted every line."""
        if self._file >= 0:
            self._synced = math.inf  # threads that wait for the disk have their lines in the store
            self.path.unlink(missing_ok=True)
            self.release()

    def release(self) -> None:
        """Close the file and leave it to be adopted."""
        with self._commit:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
                self._fault = f"the journal {self.path} is closed"

    def disown(self) -> None:
        """Close the file in a forked child, whatever lock a thread of the parent held."""
        self._commit = threading.Lock()
        self.release()

    def _create(self, header: Header, tail: bytes) -> tuple[int, int, int]:
        """Return a new file, its size, and the difference between positions and offsets in it."""
        draft = self.path.with_name(self.path.name.removesuffix(SUFFIX) + DRAFT)
        file = _create_locked(draft)
        try:
            first = journal_line(asdict(header))
            content = first + tail
            if os.write(file, content) != len(content):
                raise OSError("short write")
            if self.is_durable:
                os.fsync(file)
            draft.replace(self.path)
            if self.is_durable:
                _sync_directory(self.path.parent)
        except BaseException:
            os.close(file)
            draft.unlink(missing_ok=True)
            raise
        return file, len(content), header.start - len(first)

    def _refuse(self) -> None:
        if self._fault:
            raise JournalError(self._fault)
        raise JournalFullError(
            f"the journal {self.path} is full ({self._size} of {self.max_bytes} bytes): "
            "the store has not been reached for too long; the tell was not counted"
        )

    def _undo(self, error: OSError | None) -> None:
        """Remove what was written of a line."""
        try:
            os.ftruncate(self._file, self._size)
        except OSError as second:
            self._fault = f"the journal {self.path} cannot be repaired: {second}"
        why = error or "short write"
        raise JournalFullError(f"the journal {self.path} cannot be written: {why}") from error


class JournalReader:
    """Reads a journal; ``damaged`` names the lines that were skipped."""

    def __init__(self, file: int, path: Path) -> None:
        self.path = path
        self.damaged: list[str] = []
        self.end = 0
        content = os.pread(file, os.fstat(file).st_size, 0)
        first, newline, self._body = content.partition(b"\n")
        self.header: Header | None = None
        if newline:  # else its owner was killed before it could acknowledge anything
            try:
                self.header = Header(**read_line(first))  # type: ignore[arg-type]
            except (TypeError, ValueError) as error:
                raise JournalError(f"the journal {path} has no readable header: {error}") from None

    def entries(self, position: int) -> Iterator[JournalEntry]:
        """Yield the tells after a position; ``end`` is then the end of the last complete line."""
        if self.header is None:
            return
        start = self.header.start
        self.end = max(position, start)
        if position < start:
            self.damaged.append(f"{self.path.name}: bytes {position} to {start} are missing")
        offset = max(0, position - start)
        while (stop := self._body.find(b"\n", offset) + 1) > 0:
            try:
                record: Any = read_line(self._body[offset:stop])
                entry = JournalEntry(*record)
                if [*map(type, record)] != [str, int, int, str, int] or entry.times < 1:
                    raise ValueError("it holds no tell")
            except (TypeError, ValueError, RecursionError) as error:
                self.damaged.append(f"{self.path.name}: line at {start + offset}: {error}")
            else:
                yield entry
            offset = stop
            self.end = start + stop


def still_at(file: int, path: Path) -> bool:
    """Whether an open file is still the one at its path."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _create_locked(path: Path) -> int:
    """Create a file and lock it; another worker may have removed it in between."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        if still_at(file, path):
            return file
        os.close(file)


# Not every system has fdatasync, which does not write times.
_sync = getattr(os, "fdatasync", os.fsync)


def _sync_directory(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
