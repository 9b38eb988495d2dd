"""Build the documentation site: python docs/build_site.py [folder, default build/site].

The pages are the Markdown files of this folder, the README, the changelog and CONTRIBUTING.md. The
reference is written here from docstrings and from the help of each command. Afterwards every link
is checked, and that no page loads anything from elsewhere. Needs the extra docs.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import stopwise
from stopwise import runtime

ROOT = Path(__file__).parents[1]
COMMANDS = ("audit", "run", "check", "serve", "simulate", "store")
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
        ("Reading an audit", "audit.md"),
        ("The runtime", "runtime.md"),
        ("The service", "service.md"),
        ("Security", "security.md"),
        ("LLM cascades", "guides/llm.md"),
        ("scikit-learn", "guides/scikit_learn.md"),
        ("Many workers", "store.md"),
        ("Drift", "guides/drift.md"),
        ("Labels", "guides/labels.md"),
        ("From a router's log", "guides/router_log.md"),
        ("Medical test sequences", "guides/medical.md"),
        ("Early exits", "guides/early_exits.md"),
        ("Moderation", "guides/moderation.md"),
        ("Tests that branch", "trees.md"),
    ],
    "Concepts": [
        ("The problem", "concepts/problem.md"),
        ("Three kinds of certainty", "concepts/certainty.md"),
        ("Weak dominance and regret", "concepts/weak_dominance.md"),
        ("Which learner to take", "policies.md"),
        ("Beliefs", "beliefs.md"),
        ("Resolve and certificates", "resolve.md"),
        ("Contexts", "contexts.md"),
        ("Comparison with other tools", "comparison.md"),
    ],
    "Reference": [
        ("Public names", "reference/names.md"),
        ("Command line", "reference/commands.md"),
        ("HTTP API", "reference/http.md"),
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
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
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
    (reference / "names.md").write_text(public_names(), encoding="utf-8")
    (reference / "commands.md").write_text(commands(), encoding="utf-8")
    (reference / "http.md").write_text(http_api(), encoding="utf-8")


def settings() -> str:
    """Return the settings of Zensical: no fonts from elsewhere, pages that open from disk."""
    nav = [{part: [{title: page} for title, page in pages]} for part, pages in PARTS.items()]
    lines = [
        "[project]",
        'site_name = "stopwise"',
        'site_dir = "site"',
        "use_directory_urls = false",
        f"nav = {toml(nav)}",
        "[project.theme]",
        "font = false",
        'features = ["content.code.copy", "navigation.sections", "search.highlight"]',
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


def public_names() -> str:
    """Return a page with every public name: its signature and its docstring."""
    parts = ["# Public names\n"]
    for module in (stopwise, runtime):
        parts.append(f"## `{module.__name__}`\n")
        for name in sorted(module.__all__, key=str.lower):
            parts += described(name, getattr(module, name), 3)
    return "\n".join(parts)


def described(name: str, thing: object, level: int) -> list[str]:
    """Return a heading, the docstring, and for a class its own public methods."""
    try:
        signature = str(inspect.signature(thing))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        signature = ""
    signature = re.sub(r" at 0x[0-9a-f]+", "", signature).replace("'", "")
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    lines = [
        f"{'#' * level} `{name}`\n",
        f"```python\n{name}{signature}\n```\n",
        f"```text\n{text}\n```\n",
    ]
    if inspect.isclass(thing):
        for method, found in sorted(vars(thing).items()):
            value = getattr(found, "__func__", found)
            documented = inspect.isfunction(value) or isinstance(value, property)
            if documented and not method.startswith("_") and value.__doc__:
                first = inspect.cleandoc(value.__doc__).splitlines()[0]
                call = "" if isinstance(value, property) else "()"
                lines.append(f"- `{method}{call}`: {first}")
        lines.append("")
    return lines


def commands() -> str:
    """Return a page with the help of every command."""
    parts = ["# Command line\n"]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    for command in ([], *([name] for name in COMMANDS)):
        said = subprocess.run(
            [sys.executable, "-m", "stopwise", *command, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
        parts.append(f"## `{' '.join(['stopwise', *command])}`\n\n```text\n{said.strip()}\n```\n")
    return "\n".join(parts)


def http_api() -> str:
    """Return a page with every path of the HTTP API, from its OpenAPI description."""
    from stopwise.serve.app import ROUTES
    from stopwise.serve.openapi import openapi

    document = openapi(ROUTES)
    parts = ["# HTTP API\n", "A running server gives the whole description at `/openapi.json`.\n"]
    parts.append("| method | path | what it does |\n|---|---|---|")
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            if isinstance(told, dict) and ("summary" in told or "description" in told):
                what = told.get("summary") or told["description"]
                parts.append(f"| {method.upper()} | `{path}` | {what} |")
    parts.append("\n## Schemas\n")
    for name, schema in document.get("components", {}).get("schemas", {}).items():
        parts.append(f"### `{name}`\n\n```json\n{json.dumps(schema, indent=2)}\n```\n")
    return "\n".join(parts)


class Page(HTMLParser):
    """The links, loaded files and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next", "alternate"):
            self.loaded.append(given.get("href", ""))


def faults(site: Path) -> list[str]:
    """Return the links that lead nowhere and the files that pages load from elsewhere."""
    pages = {}
    for path in site.rglob("*.html"):
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    found = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        name = path.relative_to(site)
        found += [f"{name} loads {url}" for url in page.loaded if re.match(r"(https?:)?//", url)]
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{name}: no page {link}")
            elif target in pages and parts.fragment:
                missing = unquote(parts.fragment) not in pages[target].anchors
                found += [f"{name}: no place {link}"] * missing
    return found


if __name__ == "__main__":
    main()
