"""What the laws of a store are written with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stopwise.errors import FencedError
from stopwise.store.protocol import Lease, Record, Row, Store


def enter(store: Store, worker: str, seconds: float = 30.0) -> Lease:
    """Return the lease of a worker."""
    lease = store.enter(worker, host="here", seconds=seconds)
    assert lease is not None
    return lease


def row(
    lease: Lease, counts: dict[str, int], cascade: str = "c", *, epoch: int = 0, bucket: int = 0
) -> Row:
    """Return a row of a worker."""
    return Row(cascade, epoch, bucket, lease.worker, counts)


def assert_refused(
    store: Store,
    lease: Lease,
    *,
    position: int,
    rows: Sequence[Row],
    error: type[Exception] = FencedError,
) -> None:
    """Assert that a fold raises an error."""
    try:
        store.fold(lease, position=position, rows=rows)
    except error:
        return
    raise AssertionError(f"a fold that should have raised {error.__name__} was carried out")


def numbers(records: Sequence[Record]) -> list[Any]:
    """Return the numbers by which a test tells its records apart."""
    return [record.body["n"] for record in records]
