"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stopwise.errors import InputError

STREAMS = ("/dev/", "/proc/")  # where a path names an open file, which must not be replaced


@contextmanager
def draft(path: Path) -> Iterator[Path]:
    """Give a file to write to, which becomes ``path`` if all goes well.

    A link is followed, and an existing file keeps its permissions. A device, a pipe or anything
    else that is not a regular file receives the content and is not replaced.
    """
    if _is_stream(path):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"draft{path.suffix}"
            yield file
            with file.open("rb") as content, path.open("ab") as stream:
                shutil.copyfileobj(content, stream)
        return
    target = path.resolve()
    beside = _beside(target)
    try:
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def check_target(path: Path, name: str = "a file") -> None:
    """Raise `InputError` where ``path`` cannot be written; to be called before long work.

    ``name`` is what the user calls it, such as an option.
    """
    if path.is_dir():
        raise InputError(f"{name} must be a file, {path} is a directory")
    if not path.parent.is_dir():
        raise InputError(f"{name}: the directory {path.parent} does not exist")
    try:
        if _is_stream(path):
            if not os.access(path, os.W_OK):
                raise PermissionError("it is not writable")
        else:
            _beside(path.resolve()).unlink()
    except OSError as error:
        raise InputError(f"{name}: {path} cannot be written: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file, or raise `InputError` where it cannot be written."""
    check_target(path)
    with draft(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _is_stream(path: Path) -> bool:
    is_device = str(path.absolute()).startswith(STREAMS)
    return is_device or (path.exists() and not path.is_file())


def _beside(target: Path) -> Path:
    """Make an empty file beside ``target`` with its permissions; its suffix stays for writers."""
    beside = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666
    beside.unlink(missing_ok=True)
    os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    if target.exists():
        beside.chmod(mode)  # whatever the umask is
    return beside
