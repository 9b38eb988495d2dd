"""A store from its URL."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from stopwise.errors import SettingError
from stopwise.store.base import Store
from stopwise.store.sql import SqlStore
from stopwise.store.sqlite import SqliteDatabase


def open_store(
    url: str = "memory://", *, is_durable: bool = False, clock: Callable[[], float] = time.time
) -> SqlStore:
    """Open the store at a URL, and create or migrate its tables if need be.

    Parameters
    ----------
    url
        ``memory://``, ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or
        ``postgresql://user@host/name`` (extra ``postgres``).
    is_durable
        Whether what SQLite has committed survives loss of power. PostgreSQL decides for itself.
    clock
        The time in seconds by which leases on SQLite or in memory expire. PostgreSQL has its own.

    >>> from stopwise.store import Row, totals
    >>> store = open_store("memory://")
    >>> lease = store.enter("worker-1", host="here")
    >>> store.fold(lease, position=1, rows=[Row("triage", 0, 0, "worker-1", {"[0,1]": 3})])
    >>> totals(store.rows("triage"))
    {'[0,1]': 3}
    """
    kind, separator, place = url.partition("://")
    if separator and kind == "memory" and not place:
        return SqlStore(SqliteDatabase(None, clock=clock))
    if separator and kind == "sqlite" and place.startswith("/") and place != "/":
        return SqlStore(SqliteDatabase(Path(place[1:]), is_durable=is_durable, clock=clock))
    if separator and kind in {"postgresql", "postgres"}:
        from stopwise.store.postgres import PostgresDatabase

        return SqlStore(PostgresDatabase(url))
    raise SettingError(
        "store must be memory://, sqlite:///file.db or postgresql://host/name, "
        f"got {without_password(url)!r}"
    )


def without_password(url: str) -> str:
    """Return a URL as it may be shown.

    >>> without_password("postgresql://me:secret@host/name")
    'postgresql://me@host/name'
    """
    return re.sub(r"(://[^/@:]*):[^/@]*@", r"\1@", url)


def journals_beside(store: Store) -> Path:
    """Return the directory of journals that belongs to a store in a file."""
    kind, _, place = store.url.partition(":///")
    if kind != "sqlite":
        raise SettingError(
            f"directory must be given for the journals of a store at {store.url}: "
            "one on this host, for all its workers"
        )
    return Path(f"{place}-journals")
