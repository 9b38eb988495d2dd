"""The documents are true: programs run and print what they say, commands exist.

`tests/test_site.py` checks their links. With RENEW=1 what programs print is written into the
documents; `make snapshots` does that.
"""

import contextlib
import io
import logging
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]

FENCE = re.compile(r"^\s*(?P<fence>`{3,}|~{3,})\s*(?P<language>\w*)")


class Block(NamedTuple):
    language: str
    text: str
    first: int  # 1-based line number of the first line of text
    last: int  # of the closing fence


def blocks(document: str) -> list[Block]:
    """The fenced blocks of a Markdown document, in order."""
    fenced = []
    start = None
    lines = document.splitlines()
    for number, line in enumerate(lines, start=1):
        match = FENCE.match(line)
        if start is None and match:
            start = (match["fence"], match["language"], number)
        elif start is not None and match and line.strip().startswith(start[0]):
            text = textwrap.dedent("\n".join(lines[start[2] : number - 1]))
            fenced.append(Block(start[1], text, start[2] + 1, number))
            start = None
    assert start is None, f"the fence opened in line {start[2]} is never closed"
    return fenced


def expected_output(document: str, block: Block) -> str | None:
    """The text block that follows with only blank lines between, if there is one."""
    for other in blocks(document):
        between = document.splitlines()[block.last : other.first - 2]
        if other.language == "text" and other.first > block.last and not "".join(between).strip():
            return other.text
    return None


def check_printed(path: Path, block: Block, printed: str) -> None:
    """Compare what a block printed with the text that the document shows for it, if any."""
    document = read(path)
    expected = expected_output(document, block)
    if expected is None:
        return
    if os.environ.get("RENEW"):
        old, new = (f"```text\n{text.rstrip()}\n```" for text in (expected, printed))
        path.write_text(document.replace(old, new), encoding="utf-8")
        return
    assert printed.rstrip() == expected.rstrip(), f"{path}:{block.first}"


def run_document(path: Path) -> None:
    """Run the Python blocks and compare what they print; those of the README run alone."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(read(path)):
        if block.language != "python":
            continue
        if path == README:
            namespace = {"__name__": "__main__"}
        # Blank lines in front make a traceback point at the line of the document.
        code = compile("\n" * (block.first - 1) + block.text, str(path), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        check_printed(path, block, printed.getvalue())


def make_targets(document: str) -> set[str]:
    """The targets of every `make ...` in inline code or in a fenced block that is not Python."""
    commands = re.findall(r"`(make [^`\n]+)`", document)
    for block in blocks(document):
        if block.language != "python":
            commands += re.findall(r"(?:^|&&|;)[ \t$]*(make [^&;#\n]+)", block.text, re.MULTILINE)
    words = [word for command in commands for word in command.split("#")[0].split()[1:]]
    return {word for word in words if re.fullmatch(r"[a-z][a-z-]*", word)}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


WITH_PROGRAMS = [
    path
    for path in [README, *DOCS]
    if any(block.language == "python" for block in blocks(read(path)))
]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Run in a temporary directory with the examples, without a display; leave no figure open."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield tmp_path
    logging.getLogger("stopwise").setLevel(logging.NOTSET)  # which a program may have changed
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("path", WITH_PROGRAMS, ids=relative)
def test_programs_run_and_print_what_the_document_says(path):
    run_document(path)


@pytest.mark.parametrize("path", [README, ROOT / "docs/start/audit.md"], ids=relative)
def test_the_audit_prints_what_the_document_says(path, elsewhere):
    (block,) = [b for b in blocks(read(path)) if b.text.startswith("stopwise audit")]
    process = subprocess.run(
        [sys.executable, "-m", *shlex.split(block.text)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert (elsewhere / "report.html").stat().st_size > 10_000
    check_printed(path, block, process.stdout)


def test_first_program_is_short():
    first, *_ = [block for block in blocks(read(README)) if block.language == "python"]
    assert len(first.text.splitlines()) <= 12


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_make_targets_exist(path):
    targets = re.findall(r"^([a-z][a-z-]*)\s*:(?!=)", read(ROOT / "Makefile"), flags=re.MULTILINE)
    assert make_targets(read(path)) <= set(targets)
