"""Stores by URL, and where their journals are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from stopwise.errors import SettingError
from stopwise.store.protocol import Store
from stopwise.store.sql.database import without_password
from stopwise.store.sql.sql_store import SqlStore
from stopwise.store.sql.sqlite import SqliteDatabase


def open_store(
    url: str = "memory://", *, is_durable: bool = False, clock: Callable[[], float] = time.time
) -> SqlStore:
    """Open the store at a URL, and create or migrate its tables if necessary.

    Parameters
    ----------
    url
        ``memory://``, ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or
        ``postgresql://user@host/name`` (extra ``postgres``).
    is_durable
        Whether commits of SQLite survive loss of power. PostgreSQL has its own setting.
    clock
        The time in seconds by which leases on SQLite or in memory expire. PostgreSQL has its own.

    >>> from stopwise.store import Row, totals
    >>> store = open_store("memory://")
    >>> lease = store.enter("worker-1", host="here")
    >>> store.fold(lease, position=1, rows=[Row("triage", 0, 0, "worker-1", {"[0,1]": 3})])
    >>> totals(store.rows("triage"))
    {'[0,1]': 3}
    """
    scheme, separator, path = url.partition("://")
    if separator and scheme == "memory" and not path:
        return SqlStore(SqliteDatabase(None, clock=clock))
    if separator and scheme == "sqlite" and path.startswith("/") and path != "/":
        return SqlStore(SqliteDatabase(Path(path[1:]), is_durable=is_durable, clock=clock))
    if separator and scheme in {"postgresql", "postgres"}:
        from stopwise.store.sql.postgres import PostgresDatabase

        return SqlStore(PostgresDatabase(url))
    raise SettingError(
        "store must be memory://, sqlite:///file.db or postgresql://host/name, "
        f"got {without_password(url)!r}"
    )


def journal_directory(store: Store) -> Path:
    """Return the directory of journals that belongs to a store.

    It is beside the file of the store, or else in the user's folder for the state of programs
    (``$XDG_STATE_HOME``, ``~/.local/state``), under the id of the store.
    """
    scheme, _, path = store.url.partition(":///")
    if scheme == "sqlite":
        return Path(f"{path}-journals")
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    try:
        return Path(state).expanduser() / "stopwise" / f"{store.store_id}-journals"
    except RuntimeError:
        raise SettingError(
            f"directory must be given for the journals of a store at {store.url}, "
            "for a user without a home"
        ) from None
