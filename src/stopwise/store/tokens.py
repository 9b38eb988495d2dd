"""Tokens: what a client shows to a service; the store knows their hashes only."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace

from stopwise.errors import SettingError
from stopwise.store.base import Record, Store


@dataclass(frozen=True)
class Token:
    """What is known of a token: never the token itself."""

    name: str
    scopes: tuple[str, ...]
    created: float
    expires: float | None
    is_revoked: bool = False


def create_token(
    store: Store, name: str, *, scopes: Iterable[str], seconds: float | None = None
) -> str:
    """Return a new token, which is shown this once; ``name`` is for people, and for revoking it.

    >>> from stopwise.store import open_store
    >>> store = open_store()
    >>> token = create_token(store, "dashboard", scopes=["read"])
    >>> check_token(store, token).scopes
    ('read',)
    >>> check_token(store, token + "x") is None
    True
    """
    now = store.now()
    secret = secrets.token_urlsafe(32)
    body = {
        "hash": _hash(secret),
        "scopes": sorted(scopes),
        "expires": None if seconds is None else now + seconds,
        "revoked": False,
    }
    if not store.put(Record("token", "", name, now, body), replace=False):
        raise SettingError(f"name must be new, there is a token {name!r} already")
    return secret


def check_token(store: Store, token: str) -> Token | None:
    """Return what is known of a token that is valid now."""
    given, now = _hash(token), store.now()
    valid = None
    for record in store.records("token"):
        # All are compared, each in constant time, so that time tells nothing.
        if hmac.compare_digest(record.body["hash"], given):
            valid = _token(record)
    if valid is None or valid.is_revoked or (valid.expires is not None and valid.expires <= now):
        return None
    return valid


def revoke_token(store: Store, name: str) -> bool:
    """Make a token invalid for ever; return whether there was one of that name."""
    record = store.get("token", "", name)
    return record is not None and store.put(replace(record, body={**record.body, "revoked": True}))


def tokens(store: Store) -> list[Token]:
    """Return all tokens, revoked and expired ones too."""
    return [_token(record) for record in store.records("token")]


def _hash(token: str) -> str:
    # 256 random bits need no slow hash.
    return hashlib.sha256(token.encode()).hexdigest()


def _token(record: Record) -> Token:
    body = record.body
    scopes = tuple(body["scopes"])
    return Token(record.key, scopes, record.at, body["expires"], body["revoked"])
