"""The report: one HTML page that needs nothing else, figures inside."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from paper import BEYOND, EXPERIMENTS
from paper.experiment import Claim, Scale, Table, Verdict
from paper.keeping import Finished
from paper.report_style import STYLE
from paper.runner import FIGURES, REPORT
from stopwise import __version__
from stopwise.files import write_text

MARKS = {Verdict.HOLDS: "✓ holds", Verdict.FAILS: "✗ fails", Verdict.UNDECIDED: "? undecided"}
HEADING = "Sequential Learning without Feedback, reproduced"
# Figures by their names in the paper; what the paper has no figure for says so.
CAPTIONS = {
    "table1": "Table 1, drawn",
    "fig-sd": "Figure 3",
    "fig-sd-tied": "Corollary 5 with two best stages; no figure of the paper",
    "fig-sd-open": "Figure 3 over α; no figure of the paper",
    "fig-wd": "Figure 4",
    "fig-wd-slips": "Algorithm 1 over the slips of the relaxed data; no figure of the paper",
    "pima": "Figure 5, top left, and what it depends on",
    "heart": "Figure 6, top left, and what it depends on",
    "nonuniform": "Theorem 3; no figure of the paper",
    "misprint-step": "Algorithm 1 as printed and as meant; no figure of the paper",
    "misprint-stuck": "Algorithm 2 and Resolve; no figure of the paper",
    "algorithm-2-exponent": "Algorithm 2 over the cost of test 3; no figure of the paper",
    "triage-tree": "Section 6.2, trees; no figure of the paper",
    "triage-tree-traffic": "Section 6.2, trees: where cases stop; no figure of the paper",
    "contexts": "Section 6.2, contexts; no figure of the paper",
    "alternatives": "Other ways without labels; no figure of the paper",
    "output-conditional": "Stopping after seeing outputs; no figure of the paper",
}


def write_report(directory: Path, finished: Sequence[Finished], scale: Scale) -> Path:
    """Write the page about the finished experiments and return where it is."""
    page = directory / REPORT
    write_text(page, _page(directory, finished, scale))
    return page


def tally(finished: Iterable[Finished], *, is_ours: bool) -> str:
    """Return how many claims, of the paper or of ours, have each verdict, in words."""
    counts = Counter(c.verdict for done in finished for c in done.claims if c.is_ours == is_ours)
    return ", ".join(v.count_text(counts[v]) for v in Verdict if counts[v]) or "none"


def _page(directory: Path, finished: Sequence[Finished], scale: Scale) -> str:
    parts = {
        "The paper's tables, figures and statements": [d for d in finished if d.name not in BEYOND],
        "Beyond the paper": [d for d in finished if d.name in BEYOND],
    }
    body = [
        f"<h1>{HEADING}</h1>",
        *_story(finished, scale),
        _contents(parts),
        *(
            f"<section><h2>{heading}</h2>{''.join(_section(directory, d) for d in part)}</section>"
            for heading, part in parts.items()
            if part
        ),
        _all_claims(finished),
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{HEADING}</title><style>{STYLE}</style></head><body><main>",
            *body,
            "</main></body></html>",
        ]
    )


def _story(finished: Sequence[Finished], scale: Scale) -> list[str]:
    failing = [
        f"<li><a href='#{done.name}'>{escape(claim.source)}</a>: {escape(claim.text)}</li>"
        for done in finished
        for claim in done.claims
        if claim.verdict is Verdict.FAILS and not claim.is_ours
    ]
    story = (
        "The paper asks where to stop in a sequence of tests when nobody ever says which answer "
        "was right, and answers by how often the tests disagree. "
        f"Of its claims that can be computed here, {tally(finished, is_ours=False)}; of claims of "
        f"our own, which stand apart, {tally(finished, is_ours=True)}. "
        "A claim is undecided where its confidence interval contains the threshold; what is "
        "computed without sampling has no interval and says so. Every verdict names the choices of "
        "ours that it depends on."
    )
    quick = (
        "<p><strong>Quick scale.</strong> These runs are too short for a verdict about rates: "
        "what depends on long runs is undecided here.</p>"
    )
    return [
        f"<p class='story'>{story}</p>",
        "" if scale.is_full else quick,
        f"<p>What fails as the paper states it:</p><ul>{''.join(failing)}</ul>" if failing else "",
        f"<p class='note'>{_about(scale)}</p>",
    ]


def _about(scale: Scale) -> str:
    prices = "Turney's prices" if scale.turney_costs else "the prices printed in the paper"
    return (
        f"By stopwise {escape(__version__)}, {escape(scale.name)} scale: up to {scale.horizon:,} "
        f"rounds, {scale.replications} runs, {scale.fold_seeds} fold seeds, {prices}, unless a "
        "section says otherwise. Bands are 95 % confidence intervals of the mean. Regret is "
        "counted in mistakes: what was paid, in tests and errors, beyond the best fixed stage."
    )


def _contents(parts: dict[str, list[Finished]]) -> str:
    items = [
        f"<li><a href='#{done.name}'>{escape(EXPERIMENTS[done.name].TITLE)}</a></li>"
        for part in parts.values()
        for done in part
    ]
    end = "<li><a href='#claims'>All claims</a></li>"
    return f"<nav aria-label='Contents'><ol>{''.join(items)}{end}</ol></nav>"


def _section(directory: Path, done: Finished) -> str:
    experiment = EXPERIMENTS[done.name]
    made = "kept from an earlier run, which took" if done.was_kept else "computed in"
    parameters = json.dumps(done.result.parameters, indent=1, ensure_ascii=False)
    summary = f"Parameters ({made} {done.seconds:.1f} s; every number is in results.json)"
    return "\n".join(
        [
            f"<article id='{done.name}'><h3>{escape(experiment.TITLE)}</h3>",
            f"<p>{escape(experiment.ABOUT)}</p>",
            *(_figure(directory, stem) for stem in done.figures),
            _claims("The paper says", [c for c in done.claims if not c.is_ours]),
            _claims("We say", [c for c in done.claims if c.is_ours]),
            "<details><summary>Tables</summary>",
            *(_table(table) for table in done.tables),
            "</details>",
            f"<details><summary>{summary}</summary><pre>{escape(parameters)}</pre></details>",
            "</article>",
        ]
    )


def _figure(directory: Path, stem: str) -> str:
    image = base64.b64encode((directory / FIGURES / f"{stem}.svg").read_bytes()).decode()
    caption = escape(CAPTIONS.get(stem, stem))
    files = f"{FIGURES}/{escape(stem)}.png, .svg"
    return (
        f"<figure><div class='wide' tabindex='0' role='group' aria-label='{caption}'>"
        f"<img alt='{caption}' src='data:image/svg+xml;base64,{image}'></div>"
        f"<figcaption><strong>{caption}.</strong> {files}</figcaption></figure>"
    )


def _claims(heading: str, claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    items = [
        f"<li>{_mark(claim)} {escape(claim.text)} <span class='note'>({escape(claim.source)})"
        f"</span><p class='note'>{escape(_sentence(claim.evidence))}{_choices(claim)}</p></li>"
        for claim in claims
    ]
    return f"<h4>{heading}</h4><ul class='claims'>{''.join(items)}</ul>"


def _choices(claim: Claim) -> str:
    exact = " Exact: computed without sampling." if claim.is_exact else ""
    return f"{exact} <em>Depends on:</em> {escape(_sentence(claim.choices))}"


def _sentence(text: str) -> str:
    """Return the text with a full stop, and with a capital if it begins with a word."""
    is_word = text[:2].isascii() and text[:2].isalpha()
    return (text[:1].upper() if is_word else text[:1]) + text[1:] + "."


def _all_claims(finished: Sequence[Finished]) -> str:
    tables = []
    for heading, is_ours in (("Claims of the paper", False), ("Claims of ours", True)):
        rows = [
            f"<tr><td>{_mark(claim)}</td><td>{escape(claim.text)}</td>"
            f"<td><a href='#{done.name}'>{escape(claim.source)}</a></td></tr>"
            for done in finished
            for claim in done.claims
            if claim.is_ours == is_ours
        ]
        head = "<tr><th>verdict</th><th>claim</th><th>where</th></tr>"
        caption = f"<caption>{heading}: {tally(finished, is_ours=is_ours)}</caption>"
        if rows:
            tables.append(f"<div class='wide'><table>{caption}{head}{''.join(rows)}</table></div>")
    return f"<section id='claims'><h2>All claims</h2>{''.join(tables)}</section>"


def _mark(claim: Claim) -> str:
    return f"<span class='verdict {claim.verdict.value}'>{MARKS[claim.verdict]}</span>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f"<div class='wide'><table>{caption}<tr>{head}</tr>{rows}</table></div>"
