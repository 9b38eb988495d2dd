"""What the statements of a store need of a database: transactions that can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Transaction(Protocol):
    """One open transaction. Parameters are marked by ``?`` in every dialect."""

    locking: str
    """What follows a SELECT to keep others from changing its rows: ``FOR UPDATE``, or nothing."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows, if it is a SELECT or is RETURNING any."""

    def now(self) -> float:
        """Return the clock that all who use the database share."""

    def revision(self) -> int:
        """Return the number of this transaction, which later ones exceed."""

    def horizon(self) -> int:
        """Return the number that no transaction still to be seen is below."""

    def lock_schema(self) -> None:
        """Keep others from changing the schema until the end of the transaction."""


class Database(Protocol):
    """A database on which work is carried out whole or not at all.

    The work may be run a second time if the connection was lost, so it has no effect elsewhere.
    """

    url: str
    is_durable: bool

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` on one snapshot."""

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` and commit."""

    def describe(self) -> tuple[str, tuple[str, ...]]:
        """Return the kind and version of the database and what to know about it."""

    def examine(self) -> list[str]:
        """Return what the database finds damaged in its own files."""

    def shrink(self) -> None:
        """Give room that is no longer used back to the system."""

    def close(self) -> None:
        """Release the connection; it is opened again when it is next needed."""
