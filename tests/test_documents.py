"""The documents are true: programs run and print what they say, links lead somewhere.

With RENEW=1 what programs print is written into the documents; `make snapshots` does that.
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
    """Run the Python blocks in one namespace and compare what they print."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(read(path)):
        if block.language != "python":
            continue
        # Blank lines in front make a traceback point at the line of the document.
        code = compile("\n" * (block.first - 1) + block.text, str(path), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)
        check_printed(path, block, printed.getvalue())


def prose(document: str) -> str:
    """The document without its fenced blocks and inline code."""
    lines = document.splitlines()
    for block in blocks(document):
        lines[block.first - 2 : block.last] = [""] * (block.last - block.first + 2)
    return re.sub(r"`[^`]*`", "", "\n".join(lines))


def relative_links(document: str) -> list[str]:
    text = prose(document)
    links = re.findall(r"\]\(\s*<?([^)>\s]+)", text)
    links += re.findall(r"^\s*\[[^\]]+\]:\s*<?([^>\s]+)", text, flags=re.MULTILINE)
    links += re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    return [link for link in links if not re.match(r"[a-z][a-z0-9+.-]*:|#", link)]


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
def test_relative_links_lead_to_files(path):
    targets = [link.partition("#")[0] for link in relative_links(read(path))]
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_make_targets_exist(path):
    targets = re.findall(r"^([a-z][a-z-]*)\s*:(?!=)", read(ROOT / "Makefile"), flags=re.MULTILINE)
    assert make_targets(read(path)) <= set(targets)


SAMPLE = """\
See [a](docs/a.md#part), [b](https://example.org) and ![c](c.png); `make test` or `make sure`.

```python
x = 20 + 1
```
```python
print(2 * x)
```

```text
42
```

```sh
make demo && make check  # then make bread
PYTHON=python3.12 [d](d.md)
```

[e]: e.md
"""


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Return what writes a sample with some words replaced."""
    monkeypatch.delenv("RENEW", raising=False)

    def write(old="", new=""):
        path = tmp_path / "sample.md"
        path.write_text(SAMPLE.replace(old, new) if old else SAMPLE, encoding="utf-8")
        return path

    return write


def test_programs_share_a_namespace_and_are_compared(sample):
    run_document(sample())
    with pytest.raises(AssertionError, match=r"sample\.md:7"):
        run_document(sample("42", "43"))
    with pytest.raises(ZeroDivisionError):
        run_document(sample("20 + 1", "1 / 0"))


def test_what_programs_print_can_be_renewed(sample, monkeypatch):
    monkeypatch.setenv("RENEW", "1")
    wrong = sample("42", "43")
    run_document(wrong)
    assert read(wrong) == SAMPLE


def test_only_text_directly_below_a_program_is_its_output(sample):
    run_document(sample("```text\n42", "It prints:\n\n```text\n43"))


def test_a_fence_left_open_is_refused():
    with pytest.raises(AssertionError, match="line 1 is never closed"):
        blocks("```python\nx = 1\n")


def test_links_and_targets_are_found():
    assert relative_links(SAMPLE) == ["docs/a.md#part", "c.png", "e.md"]
    assert make_targets(SAMPLE) == {"test", "sure", "demo", "check"}
