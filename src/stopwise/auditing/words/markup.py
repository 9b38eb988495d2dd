"""Pieces of an HTML page, as text."""

from __future__ import annotations

import re
from html import escape

from stopwise.auditing.words.main_sections import Section

STYLE = """
:root{color-scheme:light dark;--ink:#1f2328;--paper:#fff;--soft:#545d68;--line:#c5ccd3;
--fill:#eef1f4;--proven:#116329;--likely:#0550ae;--guess:#7d4e00;--warn:#a40e26;--bar:#0072b2;
--pale:#9ecae9;--on:#fff}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--soft:#9da7b3;
--line:#444c56;--fill:#1c2128;--proven:#56d364;--likely:#79c0ff;--guess:#e3b341;--warn:#ff8e8a;
--bar:#4aa3df;--pale:#24506f;--on:#0d1117}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;
margin:1.5rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.3rem;font-weight:500;margin:0 0 1rem}
h2{font-size:1.15rem;margin:2rem 0 .4rem}h3{font-size:1rem;margin:1.4rem 0 .3rem}
p{margin:.35rem 0}.small{color:var(--soft);font-size:.9rem}
.box{border:1px solid var(--line);border-left:.5rem solid var(--level);border-radius:.4rem;
padding:.8rem 1.1rem}.proven{--level:var(--proven)}.likely{--level:var(--likely)}
.guess{--level:var(--guess)}
.badge{background:var(--level);color:var(--on);border-radius:1rem;padding:.1rem .8rem;
font-weight:600;font-size:.9rem}
.box h2{display:inline;margin:0 .6rem 0 0}
.title{font-size:1.35rem;font-weight:650;line-height:1.3;margin:.5rem 0}
.warn{color:var(--warn);font-weight:600;margin:.35rem 0}
.whole{white-space:nowrap}
code{background:var(--fill);border-radius:.3rem;padding:.1rem .35rem;font-size:.9em}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}
td,th{padding:.25rem .6rem;text-align:right;vertical-align:top}
th{border-bottom:2px solid var(--line);font-weight:600}
td,th{overflow-wrap:normal;white-space:nowrap}
td:first-child,th:first-child{text-align:left;white-space:normal;min-width:8rem;
overflow-wrap:anywhere}
th{white-space:normal}
@media (max-width:30rem){td,th{padding:.25rem .3rem}td:first-child,th:first-child{min-width:6.5rem}}
tr:nth-child(even) td{background:var(--fill)}
.row{margin:0 0 .7rem;break-inside:avoid}.row b{font-weight:600}.rows{margin:.7rem 0}
@media (min-width:50rem){.many{columns:2;column-gap:2rem}}
.track{position:relative;height:1.3rem;background:var(--fill);border-radius:.2rem;overflow:hidden;
margin:.15rem 0}
.track span{position:absolute;top:0;bottom:0}.fees{background:var(--bar)}
.mistakes{background:var(--pale)}.range{background:var(--ink);opacity:.75;height:.2rem;
top:.55rem!important}.tick{width:3px;background:var(--warn)}
.unsure{background:repeating-linear-gradient(45deg,var(--pale) 0 6px,var(--fill) 6px 12px)}
.strip{height:2rem}.strip span+span{border-left:2px solid var(--paper)}
.strip .tick{border:0!important}
.key{display:inline-block;width:.9rem;height:.9rem;border-radius:.15rem;vertical-align:-.1rem}
ul{list-style:none;padding:0;margin:.5rem 0}
details{margin:2rem 0}summary{cursor:pointer;font-size:1.15rem;font-weight:600}
@page{margin:12mm}
@media print{:root{font-size:9pt}body{max-width:none;font-size:1rem;line-height:1.3;margin:0;
padding:0}details{display:none}h2{margin:.8rem 0 .2rem}h2,h2+p{break-after:avoid}
.box,tr,.wide{break-inside:avoid}
.rows{columns:2;column-gap:1.5rem}.dense{zoom:.8}.many{columns:3}.row{margin:0 0 .4rem}
.track{height:.8rem}
.range{top:.3rem!important}td,th{padding:.1rem .5rem}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph."""
    return f"<p{f' class={kind!r}' if kind else ''}>{unbroken(text)}</p>"


def unbroken(text: str) -> str:
    """Return a text for a page; no line ends within an option of a command or before a "%"."""
    return whole_options(text).replace(" %", "&nbsp;%")


def whole_options(command: str) -> str:
    """Return a command for a page, to be copied; no line ends within one of its options."""
    return re.sub(r"--[a-z][a-z-]*", r'<span class="whole">\g<0></span>', escape(command))


def section_html(section: Section, level: int = 2) -> str:
    """Return a section; its table scrolls where it is wider than the page."""
    title = escape(section.title)
    html = f"<h{level}>{title}</h{level}>" + (paragraph(section.text) if section.text else "")
    if not section.rows:
        return html
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in section.heads)
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in section.rows)
    body = "".join(f"<tr>{cells}</tr>" for cells in rows)
    return (
        f'{html}<div class="wide" tabindex="0" role="region" aria-label="{title}"><table>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )
