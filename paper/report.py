"""The report: one HTML page that needs nothing else, figures inside."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from paper import EXPERIMENTS
from paper.experiment import Claim, Scale, Table, Verdict
from paper.runner import FIGURES, REPORT, Finished
from stopwise import __version__
from stopwise.files import write_text

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff;
       max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; }
h2 { font-size: 1.25rem; margin: 3rem 0 .4rem; padding-top: 1rem; border-top: 1px solid #ddd; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
p { max-width: 46rem; }
figure { margin: 1rem 0; }
figure img { min-width: min(54rem, 100%); max-width: 100%; height: auto; }
figcaption, .note { color: #555; font-size: .88rem; }
table { border-collapse: collapse; font-size: .88rem; margin: .4rem 0 1rem; }
caption { text-align: left; color: #555; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0;
         border-bottom: 1px solid #e4e4e4; }
th { font-weight: 600; }
.wide { overflow-x: auto; }
.verdict { font-weight: 600; white-space: nowrap; }
.holds { color: #00694d; } .fails { color: #a83f00; } .undecided { color: #555; }
.source { color: #555; white-space: nowrap; }
details { margin: .6rem 0; } summary { cursor: pointer; color: #555; font-size: .88rem; }
pre { font-size: .8rem; background: #f6f6f6; padding: .6rem; overflow-x: auto; }
@media print { details { display: none; } h2 { break-before: page; }
               figure { break-inside: avoid; } }
"""
MARKS = {Verdict.HOLDS: "✓ holds", Verdict.FAILS: "✗ fails", Verdict.UNDECIDED: "? undecided"}


def write_report(directory: Path, finished: Sequence[Finished], scale: Scale) -> Path:
    """Write the page about the finished experiments and return where it is."""
    page = directory / REPORT
    write_text(page, _page(directory, finished, scale))
    return page


def tally(finished: Sequence[Finished]) -> Counter[Verdict]:
    """Return how many claims have each verdict."""
    return Counter(claim.verdict for done in finished for claim in done.claims)


def _page(directory: Path, finished: Sequence[Finished], scale: Scale) -> str:
    verdicts = tally(finished)
    counted = ", ".join(f"{verdicts[v]} {v.plural}" for v in Verdict if verdicts[v])
    hasty = (
        ""
        if scale.is_full
        else "<p><strong>Quick scale.</strong> These runs are too short for a verdict about rates: "
        "what depends on long runs is undecided here.</p>"
    )
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Sequential Learning without Feedback, reproduced</title><style>{STYLE}</style>",
        "</head><body>",
        "<h1>Sequential Learning without Feedback, reproduced</h1>",
        f'<p class="note">{_about(scale)}</p>',
        hasty,
        f"<p>{len(finished)} experiments; claims: {counted}. Failures are listed too.</p>",
        _contents(finished),
        *(_section(directory, done) for done in finished),
        "</body></html>",
    ]
    return "\n".join(parts)


def _about(scale: Scale) -> str:
    prices = "Turney's prices" if scale.turney_costs else "the prices printed in the paper"
    return (
        f"By stopwise {escape(__version__)}, {escape(scale.name)} scale: up to {scale.horizon:,} "
        f"rounds, {scale.replications} runs, {scale.fold_seeds} fold seeds, {prices}. Bands are "
        "95 % confidence intervals of the mean. Regret is counted in mistakes: what was paid, in "
        "tests and errors, beyond the best fixed stage."
    )


def _contents(finished: Sequence[Finished]) -> str:
    rows = [
        f"<tr><td>{_mark(claim)}</td><td><a href='#{done.name}'>{escape(done.name)}</a></td>"
        f"<td>{escape(claim.text)}</td></tr>"
        for done in finished
        for claim in done.claims
    ]
    return f"<div class='wide'><table>{''.join(rows)}</table></div>"


def _section(directory: Path, done: Finished) -> str:
    experiment = EXPERIMENTS[done.name]
    made = "kept from an earlier run, which took" if done.was_kept else "computed in"
    parameters = json.dumps(done.result.parameters, indent=1, ensure_ascii=False)
    summary = f"Parameters ({made} {done.seconds:.1f} s; every number is in results.json)"
    return "\n".join(
        [
            f"<h2 id='{done.name}'>{escape(experiment.TITLE)}</h2>",
            f"<p>{escape(experiment.ABOUT)}</p>",
            *(_figure(directory, stem) for stem in done.figures),
            _claims(done.claims),
            *(_table(table) for table in done.tables),
            f"<details><summary>{summary}</summary><pre>{escape(parameters)}</pre></details>",
        ]
    )


def _figure(directory: Path, stem: str) -> str:
    image = base64.b64encode((directory / FIGURES / f"{stem}.svg").read_bytes()).decode()
    return (
        f"<figure><img alt='{escape(stem)}' src='data:image/svg+xml;base64,{image}'>"
        f"<figcaption>{FIGURES}/{escape(stem)}.png, .svg</figcaption></figure>"
    )


def _claims(claims: Sequence[Claim]) -> str:
    rows = [
        f"<tr><td>{_mark(claim)}</td><td>{escape(claim.text)}<br>"
        f"<span class='note'>{escape(claim.evidence)}.</span></td>"
        f"<td class='source'>{escape(claim.source)}</td></tr>"
        for claim in claims
    ]
    head = "<tr><th>verdict</th><th>claim and evidence</th><th>where</th></tr>"
    return f"<div class='wide'><table>{head}{''.join(rows)}</table></div>"


def _mark(claim: Claim) -> str:
    return f"<span class='verdict {claim.verdict.value}'>{MARKS[claim.verdict]}</span>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f"<div class='wide'><table>{caption}<tr>{head}</tr>{rows}</table></div>"
