"""The audit trail: who changed what, by the id of their token."""

from __future__ import annotations

import time
import uuid
from typing import Any

from stopwise.store import Record, Store

KIND = "admin"
MAX_ENTRIES = 10_000


def write(store: Store, cascade: str, *, who: str, did: str, **more: Any) -> None:
    """Add one entry to the trail of a store."""
    now = time.time()
    body = {"who": who, "did": did, **more}
    key = f"{now:017.6f}-{uuid.uuid4().hex[:8]}"
    store.put(Record(KIND, cascade, key, now, body), keep=MAX_ENTRIES)


def read(store: Store) -> list[dict[str, Any]]:
    """Return all changes, oldest first."""
    return [
        {"at": record.at, "cascade": record.cascade, **record.body}
        for record in store.records(KIND)
    ]
