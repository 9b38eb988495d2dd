"""A file is there completely or as it was."""

import contextlib
from pathlib import Path

import pytest

from stopwise.errors import InputError
from stopwise.files import draft, write_text


def test_what_goes_wrong_leaves_what_was_there(tmp_path):
    target = tmp_path / "t.npz"
    target.write_text("old")
    with contextlib.suppress(RuntimeError), draft(target) as beside:
        assert beside.suffix == ".npz"
        beside.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_text_is_written_over_what_was_there(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("a longer text that was there before")
    write_text(target, "γ = 0.1\n")
    assert target.read_text(encoding="utf-8") == "γ = 0.1\n"
    assert list(tmp_path.iterdir()) == [target]


def test_a_disk_that_is_full_leaves_what_was_there(tmp_path, monkeypatch):
    def half(path, text, encoding):
        with path.open("w", encoding=encoding) as stream:
            stream.write(text[:1])
        raise OSError(28, "No space left on device")

    target = tmp_path / "page.html"
    target.write_text("old")
    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(OSError, match="No space left"):
        write_text(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_file_into_no_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"must go into a directory, .*nowhere is none"):
        write_text(tmp_path / "nowhere" / "page.html", "")
