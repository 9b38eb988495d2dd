"""The audit trail: who changed what, by the id of their token."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from typing import Any

from starlette.requests import Request

from stopwise.store import Record, Store

KIND = "admin"
MAX_ENTRIES = 10_000
MAX_BODY_BYTES = 2_000


async def record(request: Request, store: Store, who: str) -> None:
    """Record a change that was made; no body contains secrets."""
    body = (await request.body())[:MAX_BODY_BYTES]
    try:
        content: Any = json.loads(body) if body else None
    except ValueError:
        content = body.decode(errors="replace")
    await asyncio.to_thread(
        write,
        store,
        request.path_params.get("name", ""),
        who=who,
        did=f"{request.method} {request.url.path}",
        asked=content,
        request_id=request.scope.get("request_id", ""),
    )


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
