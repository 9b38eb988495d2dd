"""Build the documentation site: python docs/build_site.py [folder, default build/site].

The pages are the Markdown files of this folder, the README, the changelog and CONTRIBUTING.md. The
reference is written from the code (reference_pages.py and its neighbours). Afterwards every link is
checked, and that no page loads anything from elsewhere. Needs the extras all and docs.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from config_page import configuration
from json_pages import audit_schema, json_formats
from reference_pages import commands, http_api, public_names

ROOT = Path(__file__).parents[1]
# Files from above this folder, and their names on the site.
ABOVE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
PARTS: dict[str, list[tuple[str, str]]] = {
    "Start": [
        ("stopwise", "index.md"),
        ("Audit a log", "start/audit.md"),
        ("Put a cascade in production", "start/production.md"),
        ("Label fifty cases", "start/labels.md"),
    ],
    "Guides": [
        ("Which learner to take", "policies.md"),
        ("LLM cascades", "guides/llm.md"),
        ("Medical test sequences", "guides/medical.md"),
        ("Moderation", "guides/moderation.md"),
        ("scikit-learn", "guides/scikit_learn.md"),
        ("Early exits", "guides/early_exits.md"),
        ("Many workers", "guides/workers.md"),
        ("Drift", "guides/drift.md"),
        ("Labels", "guides/labels.md"),
        ("From a router's log", "guides/router_log.md"),
        ("Tests that branch", "trees.md"),
        ("Contexts", "contexts.md"),
        ("Comparison with other tools", "comparison.md"),
    ],
    "Examples": [
        ("PIMA and heart disease", "examples/pima.md"),
        ("An LLM cascade", "examples/llm.md"),
        ("A cascade that breaks", "examples/live.md"),
        ("A drift", "examples/drift.md"),
        ("A tree", "examples/tree.md"),
    ],
    "Concepts": [
        ("The problem in pictures", "concepts/problem.md"),
        ("Three kinds of certainty", "concepts/certainty.md"),
        ("Weak dominance", "concepts/weak_dominance.md"),
        ("Beliefs", "concepts/beliefs.md"),
        ("Certificates", "concepts/certificates.md"),
        ("Regret", "concepts/regret.md"),
    ],
    "In depth": [
        ("The audit", "audit.md"),
        ("The runtime", "runtime.md"),
        ("The store", "store.md"),
        ("The service", "service.md"),
        ("Security", "security.md"),
        ("The belief model", "beliefs.md"),
        ("Resolve", "resolve.md"),
    ],
    "Reference": [
        ("Public names", "reference/names.md"),
        ("Command line", "reference/commands.md"),
        ("Configuration", "reference/configuration.md"),
        ("HTTP API", "reference/http.md"),
        ("JSON formats", "reference/json.md"),
    ],
    "The paper": [("Item by item", "paper.md"), ("Reproduction", "reproduction.md")],
    "Benchmarks": [("Performance", "performance.md")],
    "Decisions": [
        ("Decisions", "decisions.md"),
        ("Contributing", "contributing.md"),
        ("Releases", "release.md"),
    ],
    "Changelog": [("Changelog", "changelog.md")],
}
REFERENCE = {
    "names": public_names,
    "commands": commands,
    "configuration": configuration,
    "http": http_api,
    "json": json_formats,
}


def main() -> None:
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "build/site").resolve()
    source = site.with_name(f"{site.name}-source")
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(site, ignore_errors=True)
    collect(source / "docs")
    (source / "zensical.toml").write_text(settings(), encoding="utf-8")
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([zensical, "build", "--clean"], cwd=source, check=True)
    shutil.move(source / "site", site)
    problems = faults(site)
    if problems:
        raise SystemExit("\n".join(problems))
    print(f"{len(list(site.rglob('*.html')))} pages, all links lead somewhere: {site}/index.html")


def collect(pages: Path) -> None:
    """Copy the documents and write the reference."""
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name, new in ABOVE.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, page in ABOVE.items():
            text = text.replace(f"]({other}", f"]({page}")
        (pages / new).write_text(text, encoding="utf-8")
    for path in pages.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        for other, page in ABOVE.items():
            text = text.replace(f"](../{other}", f"]({page}")
            text = text.replace(f"](../../{other}", f"](../{page}")
        path.write_text(text, encoding="utf-8")
    reference = pages / "reference"
    reference.mkdir()
    for name, write in REFERENCE.items():
        (reference / f"{name}.md").write_text(write(), encoding="utf-8")
    schema = json.dumps(audit_schema(), indent=2, ensure_ascii=False)
    (reference / "audit.schema.json").write_text(schema, encoding="utf-8")


def settings() -> str:
    """Return the settings of Zensical: no fonts from elsewhere, pages that open from disk."""
    nav = [{part: [{title: page} for title, page in pages]} for part, pages in PARTS.items()]
    lines = [
        "[project]",
        'site_name = "stopwise"',
        'site_dir = "site"',
        "use_directory_urls = false",
        'extra_css = ["assets/site.css"]',
        f"nav = {toml(nav)}",
        "[project.theme]",
        "font = false",
        'features = ["content.code.copy", "navigation.top", "search.highlight"]',
        "[project.plugins.search]",
        "[project.plugins.offline]",  # search works on pages opened from disk
        "enabled = true",
        "[[project.extra.polyfills]]",
        'path = "assets/iframe-worker.js"',
        'type = "text/javascript"',
        "async = false",
        "defer = false",
        "[project.markdown_extensions]",
        "tables = {}",
        "toc.permalink = true",
        "pymdownx.highlight.pygments_lang_class = true",
        "pymdownx.superfences = {}",
    ]
    return "\n".join(lines) + "\n"


def toml(value: object) -> str:
    """Return lists and tables of strings as inline TOML."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


class Page(HTMLParser):
    """The links, loaded files and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])
        if tag == "link" and values.get("rel") not in ("canonical", "prev", "next", "alternate"):
            self.loaded.append(values.get("href", ""))


def faults(site: Path) -> list[str]:
    """Return the links that lead nowhere and the files that pages load from elsewhere."""
    pages = {}
    for path in site.rglob("*.html"):
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    problems = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        name = path.relative_to(site)
        foreign = [url for url in page.loaded if re.match(r"(https?:)?//", url)]
        problems += [f"{name} loads {url}" for url in foreign]
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                problems.append(f"{name}: no page {link}")
            elif (
                target in pages
                and parts.fragment
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                problems.append(f"{name}: no place {link}")
    return problems


if __name__ == "__main__":
    main()
