"""What a store needs from a database: repeatable transactions, and values with checksums."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
_MAX_ROWS = 500  # in one statement; both databases take more parameters than these have values


class Transaction(Protocol):
    """One open transaction. Parameters are marked by ``?`` in every dialect."""

    locking: str
    """The clause of a SELECT that locks its rows: ``FOR UPDATE``, or nothing."""

    sharing: str
    """The same with a lock that several transactions may hold at once: ``FOR SHARE``."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows, if there are any."""

    def now(self) -> float:
        """Return the time by the clock that all users of the database share."""

    def revision(self) -> int:
        """Return the number of this transaction, which later ones exceed."""

    def horizon(self) -> int:
        """Return a number that no transaction which is not yet visible is below."""

    def lock_schema(self) -> None:
        """Lock the schema until the end of the transaction."""


class Database(Protocol):
    """A database that runs work in transactions.

    Work may run a second time if the connection was lost, so it must have no other effects.
    """

    url: str
    is_durable: bool

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` on one snapshot."""

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` and commit."""

    def describe(self) -> tuple[str, tuple[str, ...]]:
        """Return the product and version of the database, and notes about it."""

    def examine(self) -> list[str]:
        """Return the damage that the database finds in its own files."""

    def shrink(self) -> None:
        """Return unused space to the system."""

    def close(self) -> None:
        """Release the connection; it is opened again when it is next needed."""


def run_with_rows(
    tx: Transaction, sql: str, rows: Sequence[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Run a statement in which ``{rows}`` stands for rows of values; return what it returns.

    Many rows are split over several statements.
    """
    results: list[tuple[Any, ...]] = []
    for start in range(0, len(rows), _MAX_ROWS):
        chunk = rows[start : start + _MAX_ROWS]
        marks = ", ".join(f"({', '.join('?' * len(row))})" for row in chunk)
        results += tx.run(sql.replace("{rows}", marks), [value for row in chunk for value in row])
    return results


def seal(body: Any, *identity: object) -> tuple[str, int]:
    """Return a value as JSON text, and a checksum over the text and its identity."""
    text = json.dumps(body, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return text, _checksum(text, identity)


def unseal(text: str, checksum: int, *identity: object) -> Any:
    """Return the value that was sealed, or raise ``ValueError`` if it has changed."""
    if _checksum(text, identity) != checksum:
        raise ValueError("the checksum does not match")
    return json.loads(text)


def _checksum(text: str, identity: tuple[object, ...]) -> int:
    return zlib.crc32("\x1f".join([*map(str, identity), text]).encode())


def without_password(url: str) -> str:
    """Return a URL as it may be shown.

    >>> without_password("postgresql://me:secret@host/name")
    'postgresql://me@host/name'
    """
    return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", url)
