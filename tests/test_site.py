"""The site has a page for everything, and its own check finds what is broken."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import stopwise

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "docs" / "build_site.py"


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("build_site", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_document_is_in_the_navigation(build):
    listed = {page for pages in build.PARTS.values() for _, page in pages}
    documents = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    written = {f"reference/{name}.md" for name in ("names", "commands", "http")}
    assert listed == documents | set(build.ABOVE.values()) | written


def test_every_public_name_is_in_the_reference(build):
    page = build.public_names()
    assert [name for name in stopwise.__all__ if f"### `{name}`" not in page] == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="b.html">b</a>', None),
        ('<a href="b.html#here">b</a>', None),
        ('<a href="https://example.org/">elsewhere</a>', None),
        ('<a href="c.html">c</a>', "a.html: no page c.html"),
        ('<a href="b.html#gone">b</a>', "a.html: no place b.html#gone"),
        ('<img src="c.png">', "a.html: no page c.png"),
        (
            '<script src="https://example.org/x.js"></script>',
            "a.html loads https://example.org/x.js",
        ),
        ('<link rel="stylesheet" href="//example.org/f.css">', "a.html loads //example.org/f.css"),
    ],
)
def test_broken_links_and_files_from_elsewhere_are_found(build, tmp_path, body, fault):
    (tmp_path / "a.html").write_text(body, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="here">', encoding="utf-8")
    assert build.faults(tmp_path) == ([fault] if fault else [])


def test_the_site_is_built_and_searchable(tmp_path):
    pytest.importorskip("zensical")
    pytest.importorskip("msgspec")
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "site"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all links lead somewhere" in done.stdout
    assert "BeliefStopping" in (tmp_path / "site" / "search.json").read_text(encoding="utf-8")
