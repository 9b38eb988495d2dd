"""Export a store as lines of JSON, and import them into another store.

Imported rows keep the names of their workers, followed by the id of the store they came from.
Importing the same export again, or a later one, replaces all rows of that store. So nothing is
counted twice, even if rows were merged there in between. Of a record that both stores have, the
newer one stays, and of two epochs of a cascade the later. Tokens are not exported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from stopwise.checks import MOST_CASES, finite_number, stored_text, whole_number
from stopwise.errors import InputError
from stopwise.store.case_encoding import check_case
from stopwise.store.protocol import PAST, Record, Row
from stopwise.store.sql.count_rows import SELECT, read_rows, write_rows
from stopwise.store.sql.database import Transaction, run_with_rows
from stopwise.store.sql.records import SELECT as RECORDS
from stopwise.store.sql.records import ensure_cascade, put_record, read_records
from stopwise.store.sql.sql_store import SqlStore

FORMAT = 1
_PRIVATE = {"token", "damage"}


def export_store(store: SqlStore) -> Iterator[str]:
    """Yield the lines of one snapshot of a store, the first of them about the store itself."""
    yield json.dumps({"stopwise_export": FORMAT, "store": store.store_id, "schema": store.schema})
    yield from store.database.read(_lines)


def import_store(store: SqlStore, lines: Iterable[str]) -> int:
    """Read an export into a store; return the number of rows of counts.

    All or nothing: a line that cannot be read is an `InputError`.
    """
    entries = [_parse(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not entries or entries[0].get("stopwise_export") != FORMAT:
        raise InputError(f"an export of format {FORMAT} must begin with a line that says so")
    kinds: dict[str, list[dict[str, Any]]] = {"cascade": [], "counts": [], "record": [], "key": []}
    try:
        source = _text(entries[0]["store"])
        for entry in entries[1:]:
            kinds[entry["type"]].append(entry)
        heads = [
            (_text(entry["name"]), _whole(entry["version"]), _whole(entry["epoch"]))
            for entry in kinds["cascade"]
        ]
        rows = [_row(entry, source) for entry in kinds["counts"]]
        records = [_record(entry) for entry in kinds["record"]]
        keys = [
            (*(_text(entry[name]) for name in ("cascade", "key", "digest")), _time(entry["at"]))
            for entry in kinds["key"]
        ]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"the export has an entry that cannot be read: {error!r}") from error
    if source == store.store_id:
        raise InputError(f"the export came from this store ({source}): all of it is here already")

    def work(tx: Transaction) -> None:
        for name, version, epoch in heads:
            current = ensure_cascade(tx, name, lock=True)
            tx.run(
                "UPDATE stopwise_cascades SET version = ?, epoch = ?, layout = layout + 1 "
                "WHERE cascade = ?",
                (max(version, current.version), max(epoch, current.epoch), name),
            )
        sources = {source, *(row.worker.partition("@")[2] for row in rows)}
        for (worker,) in tx.run("SELECT DISTINCT worker FROM stopwise_counts"):
            if worker.partition("@")[2] in sources:
                tx.run("DELETE FROM stopwise_counts WHERE worker = ?", (worker,))
        write_rows(tx, rows)
        for record in records:
            put_record(tx, record, replace=_is_newer(tx, record))
        run_with_rows(tx, "INSERT INTO stopwise_keys VALUES {rows} ON CONFLICT DO NOTHING", keys)

    store.write(work)
    return len(rows)


def _lines(tx: Transaction) -> list[str]:
    entries: list[dict[str, Any]] = []
    for name, version, epoch in tx.run("SELECT cascade, version, epoch FROM stopwise_cascades"):
        entries.append({"type": "cascade", "name": name, "version": version, "epoch": epoch})
    rows, _ = read_rows(tx.run(f"{SELECT} ORDER BY cascade, epoch, bucket, worker"))
    entries += [{"type": "counts", **vars(row)} for row in rows]
    records, _ = read_records(tx.run(f"{RECORDS} ORDER BY kind, cascade, at, record_key"))
    entries += [
        {"type": "record", **{name: v for name, v in vars(record).items() if name != "revision"}}
        for record in records
        if record.kind not in _PRIVATE
    ]
    for cascade, key, digest, at in tx.run(
        "SELECT cascade, tell_key, digest, at FROM stopwise_keys"
    ):
        entries.append({"type": "key", "cascade": cascade, "key": key, "digest": digest, "at": at})
    return [json.dumps(entry) for entry in entries]


def _is_newer(tx: Transaction, record: Record) -> bool:
    """Whether a record was written after the one that the store has in its place, if any."""
    identity = (record.kind, record.cascade, record.key)
    where = "WHERE kind = ? AND cascade = ? AND record_key = ?"
    entries = tx.run(f"SELECT at FROM stopwise_records {where}", identity)
    return all(record.at > at for (at,) in entries)


def _parse(number: int, line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {number} of the export is not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise InputError(f"line {number} of the export must be an object, got {line[:40]!r}")
    return entry


def _refuse_constant(name: str) -> float:
    raise ValueError(f"numbers must be finite, got {name}")


def _row(entry: dict[str, Any], source: str) -> Row:
    worker = _text(entry["worker"])
    counts = {check_case(case): _whole(n) for case, n in entry["counts"].items()}
    name = worker if "@" in worker else f"{worker}@{source}"
    bucket = _whole(entry["bucket"], least=PAST)
    return Row(_text(entry["cascade"]), _whole(entry["epoch"]), bucket, name, counts)


def _record(entry: dict[str, Any]) -> Record:
    kind, cascade, key = (_text(entry[name]) for name in ("kind", "cascade", "key"))
    return Record(kind, cascade, key, _time(entry["at"]), dict(entry["body"]))


def _text(value: Any) -> str:
    return stored_text("text", value, InputError)


def _whole(value: Any, *, least: int = 0) -> int:
    if whole_number("a count", value, InputError, least=least) > MOST_CASES:
        raise ValueError(f"a count must be at most {MOST_CASES}, got {value!r:.40}")
    return int(value)


def _time(value: Any) -> float:
    return finite_number("at", value, InputError, zero=True)
