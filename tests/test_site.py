"""The site has a page for everything, and its own check finds what is broken."""

import contextlib
import importlib
import io
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import stopwise
from stopwise.runtime import config

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "docs" / "build_site.py"


@pytest.fixture
def build(monkeypatch):
    pytest.importorskip("msgspec")
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return importlib.import_module("build_site")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site and what the script says, which runs in this process."""
    pytest.importorskip("zensical")
    pytest.importorskip("msgspec")
    folder, stdout = tmp_path_factory.mktemp("built") / "site", io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(stdout):
        patch.syspath_prepend(SCRIPT.parent)
        patch.setattr(sys, "argv", [str(SCRIPT), str(folder)])
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return folder, stdout.getvalue()


def test_every_document_is_in_the_navigation(build):
    navigation = {page for pages in build.PARTS.values() for _, page in pages}
    documents = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    reference = {f"reference/{name}.md" for name in build.REFERENCE}
    assert navigation == documents | set(build.ABOVE.values()) | reference


def test_every_public_name_is_in_the_reference(site):
    names = site[0].with_name("site-source") / "docs" / "reference" / "names.md"
    page = names.read_text(encoding="utf-8")
    assert [name for name in stopwise.__all__ if f"### `{name}`" not in page] == []
    assert "Parameters\n---" not in page


def test_every_key_of_the_configuration_is_described(build):
    page = build.configuration()
    keys = {*config.CASCADE_KEYS, *config.STAGE_KEYS, *config.NORMALISERS}
    described = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert keys - {"normalise", "stages", "monitor", "labels"} <= described
    assert all(line.rstrip(" |").count("|") >= 3 for line in page.splitlines() if "| `" in line)


def test_the_schema_of_an_audit_fits_an_audit(build):
    jsonschema = pytest.importorskip("jsonschema")
    cascade = stopwise.Cascade([5, 40, 400], mistake_cost=2000)
    log = np.random.default_rng(0).integers(0, 2, (50, 3))
    document = json.loads(stopwise.audit(log, cascade, n_planned=5).to_json())
    schema = build.audit_schema()
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "advice": None}, schema)


def test_what_is_said_of_states_and_answers_is_all_there_is(build):
    pages = importlib.import_module("json_pages")
    state = stopwise.Resolve(stopwise.Cascade([1, 2])).fork().to_state()
    assert set(state) == set(pages.STATE)
    source = (ROOT / "src/stopwise/cli/run.py").read_text(encoding="utf-8")
    assert [key for key in pages.ANSWER if f'"{key}": ' not in source] == []


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


def test_the_site_is_built_and_searchable(site):
    folder, printed = site
    assert "all links lead somewhere" in printed
    assert "iframe-worker.js" in (folder / "index.html").read_text(encoding="utf-8")
    assert "BeliefStopping" in (folder / "search.json").read_text(encoding="utf-8")
