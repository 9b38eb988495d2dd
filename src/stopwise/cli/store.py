"""The command ``stopwise store``: look at a store, mend it, shrink it, move it."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stopwise.errors import InputError
from stopwise.files import check_target, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from stopwise.store import StoreInfo

DAY = 86_400
_argument = partial(typer.Argument, show_default=False)
_option = partial(typer.Option, show_default=False)


class Action(StrEnum):
    """What can be done to a store."""

    info = "info"
    check = "check"
    compact = "compact"
    export = "export"
    import_ = "import"


def store(
    action: Annotated[
        Action,
        _argument(
            help="info: what is in it. check: put damaged rows into quarantine and name them. "
            "compact: merge the rows of workers that have left. export and import: lines of JSON."
        ),
    ],
    url: Annotated[
        str, _argument(metavar="URL", help="sqlite:///file.db or postgresql://user@host/name.")
    ],
    file: Annotated[
        Path | None,
        _option(
            "--file",
            "-f",
            help="Where an export goes or an import comes from; by default the standard streams.",
        ),
    ] = None,
    keep_days: Annotated[
        int | None,
        _option(
            help="compact: drop counts of past epochs that are older than this many days.", min=0
        ),
    ] = None,
    keep_key_days: Annotated[
        int | None,
        _option(help="compact: forget keys of tells that are older than this many days.", min=0),
    ] = None,
) -> None:
    """Look at a store, mend it, shrink it, or move it."""
    from stopwise.store import open_store
    from stopwise.store.sql.transfer import export_store, import_store

    _refuse_missing(url, action)
    lines: Iterable[str] = sys.stdin
    if action is Action.import_ and file is not None:  # before it may make a store
        lines = file.read_text(encoding="utf-8").split("\n")
    if action is Action.export and file is not None:
        check_target(file, "--file")
    with open_store(url) as backend:
        if action is Action.info:
            print("\n".join(_info_lines(backend.info(), backend.now())))
        elif action is Action.check:
            damaged = backend.check()
            for name in damaged:
                print(f"damaged: {name}")
            print(f"{len(damaged)} damaged, put into quarantine" if damaged else "all sound")
            raise typer.Exit(1 if damaged else 0)
        elif action is Action.compact:
            before = None if keep_days is None else int(backend.now()) - keep_days * DAY
            keep_keys = None if keep_key_days is None else float(keep_key_days * DAY)
            print(f"{backend.compact(before=before, keep_keys=keep_keys)} rows fewer")
        elif action is Action.export:
            _write(file, export_store(backend))
        else:
            print(f"{import_store(backend, lines)} rows of counts imported")


def _refuse_missing(url: str, action: Action) -> None:
    """Only an import may create a store: a typing error must not."""
    kind, _, place = url.partition(":///")
    if kind == "sqlite" and action is not Action.import_ and not Path(place).is_file():
        raise InputError(f"there is no store at {url}")


def _write(file: Path | None, lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if file is None:
        sys.stdout.write(text)
    else:
        write_text(file, text)


def _info_lines(info: StoreInfo, now: float) -> list[str]:
    """Describe a store line by line."""
    alive = [worker for worker in info.workers if worker.lease_until >= now]
    silent = [w for w in info.workers if w.lease_until < now and not w.is_closed]
    lines = [
        f"store     {info.url} (schema {info.schema}, {info.database})",
        f"counts    {info.n_rows} rows; {info.n_keys} keys of tells",
        f"workers   {len(alive)} alive, {len(silent)} silent, {len(info.workers)} in all",
    ]
    for worker in silent:
        age = _age(now - worker.folded_at)
        lines.append(f"  silent  {worker.worker} on {worker.host}, last folded {age} ago")
    lines += [
        f"cascade   {cascade.name}: version {cascade.version}, epoch {cascade.epoch}"
        for cascade in info.cascades
    ]
    records = ", ".join(f"{count} {kind}" for kind, count in sorted(info.records.items()))
    lines.append(f"records   {records or 'none'}")
    lines += [f"damaged   {name} (in quarantine)" for name in info.quarantined]
    lines += [f"note      {note}" for note in info.notes]
    return lines


def _age(seconds: float) -> str:
    for unit, size in (("d", DAY), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
