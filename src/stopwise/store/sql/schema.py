"""The tables of a store, and the migrations from every released version.

A migration is a list of statements that lead from one version to the next. A store of a newer
version is refused, so that an older release never writes what it does not understand.
"""

from __future__ import annotations

import uuid

from stopwise.errors import SchemaError
from stopwise.store.sql.database import Database, Transaction

# In the SQL that SQLite and PostgreSQL share; integers have 64 bits in both.
MIGRATIONS: list[list[str]] = [
    [
        """CREATE TABLE stopwise_cascades (
            cascade TEXT PRIMARY KEY, version BIGINT NOT NULL, epoch BIGINT NOT NULL,
            layout BIGINT NOT NULL)""",
        """CREATE TABLE stopwise_workers (
            worker TEXT PRIMARY KEY, host TEXT NOT NULL, generation BIGINT NOT NULL,
            position BIGINT NOT NULL, lease_until DOUBLE PRECISION NOT NULL,
            folded_at DOUBLE PRECISION NOT NULL, closed BIGINT NOT NULL)""",
        """CREATE TABLE stopwise_counts (
            cascade TEXT NOT NULL, epoch BIGINT NOT NULL, bucket BIGINT NOT NULL,
            worker TEXT NOT NULL, revision BIGINT NOT NULL, body TEXT NOT NULL,
            checksum BIGINT NOT NULL, PRIMARY KEY (cascade, epoch, bucket, worker))""",
        "CREATE INDEX stopwise_counts_changed ON stopwise_counts (cascade, epoch, revision)",
        "CREATE INDEX stopwise_counts_worker ON stopwise_counts (worker)",
        """CREATE TABLE stopwise_keys (
            cascade TEXT NOT NULL, tell_key TEXT NOT NULL, digest TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL, PRIMARY KEY (cascade, tell_key))""",
        """CREATE TABLE stopwise_records (
            kind TEXT NOT NULL, cascade TEXT NOT NULL, record_key TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL, revision BIGINT NOT NULL, body TEXT NOT NULL,
            checksum BIGINT NOT NULL, PRIMARY KEY (kind, cascade, record_key))""",
        "CREATE INDEX stopwise_records_at ON stopwise_records (kind, cascade, at)",
        """CREATE TABLE stopwise_quarantine (
            name TEXT NOT NULL, body TEXT NOT NULL, reason TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL)""",
    ],
]
VERSION = len(MIGRATIONS)

_META = "CREATE TABLE IF NOT EXISTS stopwise_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"


def prepare(database: Database) -> tuple[str, int]:
    """Bring a database to the current schema; return the store's id and the schema's version."""

    def work(tx: Transaction) -> tuple[str, int]:
        tx.lock_schema()
        tx.run(_META)
        meta = dict(tx.run("SELECT name, value FROM stopwise_meta"))
        version = int(meta.get("schema", 0))
        refuse_newer(version, database.url)
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                tx.run(statement)
        store_id = meta.get("store_id") or uuid.uuid4().hex
        if version < VERSION:
            values = {"schema": str(VERSION), "store_id": store_id}
            if not meta:
                values["revision"] = "0"
            for name, value in values.items():
                tx.run(
                    "INSERT INTO stopwise_meta VALUES (?, ?) "
                    "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (name, value),
                )
        return store_id, VERSION

    return database.write(work)


def refuse_newer(version: int, url: str) -> None:
    """Raise `SchemaError` if a store has a schema that this release does not know."""
    if version > VERSION:
        raise SchemaError(
            f"the store at {url} has schema {version}, this release knows up to {VERSION}: "
            "upgrade stopwise here too; nothing was changed"
        )
