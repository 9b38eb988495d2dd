"""Every experiment at quick scale: its numbers, figures, tables and claims."""

import json
import re

import pytest

from paper import EXPERIMENTS, Verdict, triage_tree
from stopwise.simulation.palette import BLACK, GREY, STYLES


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_experiment_leaves_figures_tables_and_claims(quick, name):
    directory, done = quick
    finished = done[name]
    assert finished.claims
    assert finished.tables
    for table in finished.tables:
        assert {len(row) for row in table.rows} == {len(table.header)}
    for stem in finished.figures:
        assert (directory / "figures" / f"{stem}.png").stat().st_size > 10_000
        svg = (directory / "figures" / f"{stem}.svg").read_text(encoding="utf-8")
        assert svg.rstrip().endswith("</svg>")
    assert all(
        claim.evidence and not re.search(r"\bnan\b", claim.evidence) for claim in finished.claims
    )


DRAWN = {
    "table1": set(),
    "fig-sd": {"strongdominance"},
    "fig-sd-tied": {"strongdominance"},
    "fig-wd": {"strongdominance", "weakdominance", "resolve"},
    "pima": {"weakdominance", "thompson", "resolve"},
    "heart": {"weakdominance", "thompson", "resolve"},
    "nonuniform": {"strongdominance", "weakdominance", "thompson", "resolve"},
    "fig-sd-open": {"strongdominance"},
    "fig-wd-slips": set(),
    "misprint-step": {"strongdominance"},
    "misprint-stuck": {"weakdominance", "resolve"},
    "algorithm-2-exponent": {"weakdominance", "resolve"},
    "alternatives": set(),
    "output-conditional": {"outputconditional"},
    "triage-tree": {"strongdominance", "weakdominance", "thompson", "resolve"},
    "triage-tree-traffic": {"weakdominance", "resolve"},
    "contexts": {
        "weakdominance",
        "resolve",
        "contextualweakdominance",
        "contextualresolve",
        "contextualthompson",
    },
}


@pytest.mark.parametrize("stem", list(DRAWN))
def test_the_colour_of_a_policy_means_that_policy_in_every_figure(quick, stem):
    svg = (quick[0] / "figures" / f"{stem}.svg").read_text(encoding="utf-8").upper()
    # Text is black and guides are grey in all figures.
    looks = {n: s.colour for n, s in STYLES.items() if s.colour not in (BLACK, GREY)}
    assert {name for name, colour in looks.items() if colour.upper() in svg} == DRAWN[stem]


def test_every_figure_is_looked_at(quick):
    assert set(DRAWN) == {stem for finished in quick[1].values() for stem in finished.figures}


def test_results_hold_every_number_with_what_made_it(quick):
    directory, done = quick
    results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    assert list(results["experiments"]) == list(EXPERIMENTS)
    for name, entry in results["experiments"].items():
        assert entry["numbers"] == done[name].result.numbers
        assert entry["parameters"]["horizon"] == 2_000
        assert entry["parameters"]["replications"] == 4
        # What is played is cut at checkpoints, so they belong to what made the numbers.
        assert ("checkpoints" in entry["parameters"]) == (name not in ("table1", "alternatives"))
        assert [c["text"] for c in entry["claims"]] == [c.text for c in done[name].claims]


def test_runs_too_short_for_a_verdict_give_none(quick):
    _, done = quick
    assert {claim.verdict for claim in done["fig-sd"].claims} == {Verdict.UNDECIDED}
    # That the sound test is the best one needs no long run.
    verdicts = [claim.verdict for claim in done["triage-tree"].claims]
    assert verdicts == [Verdict.HOLDS, *[Verdict.UNDECIDED] * 3]


def test_the_worlds_of_the_triage_tree_are_what_they_are_called():
    strong, weak = triage_tree.worlds().values()
    assert strong.is_strongly_dominant()
    assert not strong.is_weakly_dominant()
    assert weak.is_weakly_dominant()
    assert not weak.is_strongly_dominant()
    assert all(len(w.cascade.children[0]) == 3 and w.cascade.n_stages == 7 for w in (strong, weak))


def test_one_fold_is_a_fifth_of_the_rows(quick):
    numbers = quick[1]["table1"].result.numbers
    assert len(numbers["Heart"]["by_fold"]["gamma_1"]) == 10
