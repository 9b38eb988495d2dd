"""Tokens for reading, telling and administration: hashed, scoped, expiring, revocable."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from stopwise.checks import known_name
from stopwise.errors import SettingError, StoreUnavailableError
from stopwise.store import Record, Store

SCOPES = ("read", "tell", "admin")
"""Each scope includes those before it: ``tell`` may read, and ``admin`` may do both."""

KIND = "token"
PREFIX = "sw"
CACHE_SECONDS = 5.0  # for which a token is accepted without another look into the store


@dataclass(frozen=True)
class Grant:
    """What a token allows, and who it was made for."""

    token_id: str
    scope: str
    note: str
    expires: float

    def allows(self, scope: str) -> bool:
        """Whether requests of this scope are allowed."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


class Tokens:
    """The tokens of a store; only their hashes are kept.

    >>> from stopwise.store import open_store
    >>> tokens = Tokens(open_store("memory://"))
    >>> secret = tokens.create("tell", note="triage workers", days=30)
    >>> tokens.grant(secret).scope, tokens.grant("sw_1_guess")
    ('tell', None)
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._cache: dict[str, tuple[float, Grant | None]] = {}

    def create(self, scope: str, *, note: str = "", days: float = 365.0) -> str:
        """Return a new token; this is the only time that it is shown."""
        known_name("scope", scope, SCOPES, SettingError)
        token_id, secret = secrets.token_hex(4), secrets.token_urlsafe(24)
        token = f"{PREFIX}_{token_id}_{secret}"
        now = self._clock()
        body = {"hash": _hash(token), "scope": scope, "note": note, "expires": now + days * 86400}
        self._store.put(Record(KIND, "", token_id, now, body))
        return token

    def revoke(self, token_id: str) -> bool:
        """Revoke a token; return whether it existed."""
        self._cache.clear()
        return self._store.delete(KIND, "", token_id)

    def grants(self) -> list[Grant]:
        """Return what each token allows; never the tokens themselves."""
        return [_grant(record) for record in self._store.records(KIND, "")]

    def grant(self, token: str) -> Grant | None:
        """Return what a token allows, ``None`` if it is wrong, revoked or expired.

        While the store is unavailable, a token that was valid before stays valid until it expires.
        """
        grant = self.cached(token)
        if grant is not None:
            return grant
        _, grant = self._cache.get(token, (0.0, None))
        try:
            grant = self._look_up(token)
        except StoreUnavailableError:
            if grant is None:
                raise
        if len(self._cache) > 10_000:
            self._cache.clear()
        self._cache[token] = (self._clock(), grant)
        return self.cached(token)

    def cached(self, token: str) -> Grant | None:
        """Return what a token allows if it was looked up recently; this never waits."""
        now = self._clock()
        at, grant = self._cache.get(token, (0.0, None))
        is_good = grant is not None and now - at <= CACHE_SECONDS and now < grant.expires
        return grant if is_good else None

    def _look_up(self, token: str) -> Grant | None:
        parts = token.split("_", 2)
        if len(parts) != 3 or parts[0] != PREFIX:
            return None
        record = self._store.get(KIND, "", parts[1])
        if record is None or not hmac.compare_digest(str(record.body["hash"]), _hash(token)):
            return None
        return _grant(record)


def _grant(record: Record) -> Grant:
    body = record.body
    return Grant(record.key, body["scope"], body["note"], float(body["expires"]))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
