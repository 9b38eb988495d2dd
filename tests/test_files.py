"""A file is there completely or as it was, and stays the kind of file that it was."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from stopwise.errors import InputError
from stopwise.files import check_target, draft, write_text


def test_what_goes_wrong_leaves_what_was_there(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(target, "new, until here: \ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_text_is_written_over_what_was_there(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("a longer text that was there before")
    write_text(target, "γ = 0.1\n")
    assert target.read_text(encoding="utf-8") == "γ = 0.1\n"
    assert list(tmp_path.iterdir()) == [target]


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path):
    with pytest.raises(InputError, match=r"the directory .*nowhere does not exist"):
        write_text(tmp_path / "nowhere" / "page.html", "")
    with pytest.raises(InputError, match=r"--out must be a file, .* is a directory"):
        check_target(tmp_path, "--out")
    check_target(tmp_path / "page.html", "--out")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a folder of the kernel's")
def test_a_folder_that_cannot_be_written_is_found_out_before_the_work():
    """Also by root, whom permissions do not stop."""
    with pytest.raises(InputError, match="cannot be written"):
        check_target(Path("/sys/kernel/page.html"), "--out")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_permissions_stay(mode, tmp_path):
    target = tmp_path / "page.html"
    target.touch()
    target.chmod(mode)
    with draft(target) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == mode  # nobody else reads the draft
        assert beside.suffix == target.suffix  # by which some writers choose the format
        beside.write_text("new")
    assert stat.S_IMODE(target.stat().st_mode) == mode
    assert target.read_text() == "new"


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    write_text(tmp_path / "page.html", "")
    (tmp_path / "other").touch()
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "page.html", tmp_path / "link.html"
    link.symlink_to(target)
    for text in ("made through the link", "written over"):
        write_text(link, text)
        assert link.is_symlink()
        assert target.read_text() == text


def test_a_device_stays_a_device():
    write_text(Path(os.devnull), "gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_pipe_gets_the_text(tmp_path):
    pipe, texts = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, "through the pipe")
    reader.join(10)
    assert texts == ["through the pipe"]
    assert pipe.is_fifo()


def test_standard_output_is_written_to_and_not_replaced(tmp_path):
    code = "from pathlib import Path; from stopwise.files import write_text\n"
    code += "write_text(Path('/dev/stdout'), 'first\\n'); print('second')"
    with (tmp_path / "out.txt").open("a") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert "second" in (tmp_path / "out.txt").read_text()
    assert "first" in (tmp_path / "out.txt").read_text()
