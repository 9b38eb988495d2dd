"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stopwise.errors import InputError


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Give a name beside ``path`` to write to, which becomes ``path`` if all goes well."""
    # The suffix is kept since writers go by it.
    beside = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, or raise `InputError` where there is no directory for it."""
    if not path.parent.is_dir():
        raise InputError(f"a file must go into a directory, {path.parent} is none")
    with draft(path) as beside:
        beside.write_text(text, encoding="utf-8")
