"""Pieces of an HTML page, as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MAX_UNFOLDED = 15
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#22262c;max-width:960px;margin:2rem auto;
 padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid #dfe2e6}
.lead p:first-child{font-size:1.25rem;font-weight:600}.lead p{margin:.3rem 0}
table{border-collapse:collapse;font-size:.85rem}td,th{padding:.25rem .5rem;text-align:right}
th{border-bottom:2px solid #c9ccd1}tr:nth-child(even) td{background:#f6f7f8}
td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto;font-size:13px}
.warn{background:#fff4de;border-left:4px solid #E69F00;padding:.5rem 1rem}
td{white-space:nowrap}.wide{overflow-x:auto}.small{color:#5b626c;font-size:.9rem}
"""


def paragraph(text: str) -> str:
    """Return a paragraph."""
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    """Return a paragraph in small print."""
    return f'<p class="small">{escape(text)}</p>'


def folded(n: int, what: str, body: str) -> str:
    """Return ``body``, out of sight until it is asked for where it is long."""
    if n <= MAX_UNFOLDED:
        return body
    return f"<details><summary>All {n:,} {what}</summary>{body}</details>"


def items(texts: Iterable[str]) -> str:
    """Return a list."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, which scrolls where it is wider than the page."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )
