"""What else one might do without labels: Dawid and Skene, a majority vote, always the last test."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.drawing import legend_below, new_figure, shade, styled
from paper.experiment import JSON, Claim, Docket, Result, Scale, Table, listing
from paper.over_prices import Span, failing_spans, limit_stage, priced
from paper.sensors import DATA, TITLES
from stopwise.beliefs.em import Design
from stopwise.beliefs.model import LatentClasses
from stopwise.cascade import Cascade, FloatArray
from stopwise.patterns import PatternTable
from stopwise.problem.families import nested_errors, relaxed_errors
from stopwise.problem.instance import Instance
from stopwise.simulation.palette import GREY, INK, OLIVE, SKY, WINE

NAME = "alternatives"
TITLE = "What else one might do without labels"
ABOUT = (
    "Each method sees the same outputs of all tests and names a stage for each λ, the weight of a "
    "dollar. Disagreement: the rule of stopwise. Dawid and Skene: error rates by maximum "
    "likelihood, as if tests erred independently, then the least cost + error. Majority vote: the "
    "same with the vote taken for the truth. Regret is what the stage named costs beyond the best."
)
OURS = "disagreement (stopwise)"
DAWID_SKENE = "Dawid and Skene"
VOTE = "majority vote as truth"
LAST = "always the last test"
METHODS = (OURS, DAWID_SKENE, VOTE, LAST)
LOOKS: dict[str, JSON] = {
    OURS: {"color": WINE, "linestyle": "-"},
    DAWID_SKENE: {"color": SKY, "linestyle": "--"},
    VOTE: {"color": OLIVE, "linestyle": "-."},
    LAST: {"color": GREY, "linestyle": ":"},
}
# Synthetic tests cost 0, 1 and 1 dollars on top of each other.
SYNTHETIC_STEPS = (0.0, 1.0, 1.0)
# Nothing is played here, so there is time for a finer grid than elsewhere.
FINER = 4
LAMBDAS = {
    "PIMA": (1e-4, 3e-2),
    "Heart": (1e-4, 3e-2),
    "nested": (1e-2, 1.0),
    "relaxed": (1e-2, 1.0),
}
# The largest regret of the figure; always running the last test has far more.
TOP = 0.3
NAMES = {**TITLES, "nested": "synthetic, nested errors", "relaxed": "synthetic, relaxed"}


def run(scale: Scale) -> Result:
    """Let every method name a stage on every data set and for every λ."""
    numbers = {name: _compare(name, _truth(name), span, scale) for name, span in LAMBDAS.items()}
    return Result(NAME, {**scale.parameters(), "fold_seed": 0}, numbers)


@styled
def figure(result: Result) -> dict[str, Any]:
    """Draw the stage named and its regret over λ, a column a data set."""
    sheet, axes = new_figure(2, 4, width=10.5, height=4.8, sharex="col", sharey="row")
    for column, (name, cell) in enumerate(result.numbers.items()):
        top, bottom = axes[column], axes[4 + column]
        x = cell["lambda"]
        top.step(x, cell["best_stage"], where="mid", color=INK, linewidth=5, alpha=0.25,
                 label="best stage")  # fmt: skip
        for k, method in enumerate(METHODS):
            # Apart, so that lines on the same stage or of the same regret can be seen.
            stages = np.array(cell[method]["stage"]) + 0.1 * (1.5 - k)
            top.step(x, stages, where="mid", label=method, **LOOKS[method])
            bottom.plot(x, cell[method]["regret"], label=method, **LOOKS[method], zorder=4 - k)
        most = max(cell[LAST]["regret"])
        bottom.annotate(f"{LAST}: up to {most:.2g}", (0.98, 0.98), xycoords="axes fraction",
                        ha="right", va="top", fontsize=7.5, color=GREY,
                        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
        for axis in (top, bottom):
            for low, high in cell["failing"]:
                shade(axis, low, high, "weak dominance fails")
            axis.set_xscale("log")
            axis.set_xlim(x[0], x[-1])
        top.set_title(NAMES[name])
        top.set_yticks([1, 2, 3])
        top.set_ylim(0.6, 3.4)
        bottom.set_ylim(-0.02 * TOP, TOP)
        unit = "dollar" if name in DATA else "unit of cost"
        bottom.set_xlabel(f"λ (mistakes a {unit})")
    axes[0].set_ylabel("stage named")
    axes[4].set_ylabel("regret a case (mistakes)")
    legend_below(sheet, axes, columns=3)
    return {"alternatives": sheet}


def tables(result: Result) -> list[Table]:
    """Return mean regrets, and what the methods take the error rates to be."""
    regrets = tuple(
        (
            NAMES[name],
            *(f"{np.mean(cell[m]['regret']):.4f} ({_within(cell, m):.4f})" for m in METHODS),
        )
        for name, cell in result.numbers.items()
    )
    rates = tuple(
        (NAMES[name], *(_numbers(cell[key]) for key in ("error_rates", *_ESTIMATES)))
        for name, cell in result.numbers.items()
    )
    return [
        Table(
            "Mean regret a case over λ (and where weak dominance holds)",
            ("data", *METHODS),
            regrets,
        ),
        Table("Error rates of the three tests", ("data", "true", DAWID_SKENE, VOTE), rates),
    ]


def check(result: Result) -> list[Claim]:
    """Whatever came out, method by method."""
    docket = Docket(result)
    cells = result.numbers
    wrong = {
        name: sum(
            holds and stage != best
            for holds, stage, best in zip(
                cell["weakly_dominant"], cell[OURS]["stage"], cell["best_stage"], strict=True
            )
        )
        for name, cell in cells.items()
    }
    choices = (
        "two real and two synthetic cascades, the law of their outputs taken as known; prices, "
        "classifiers, fold seed 0; range of λ, evenly in ln λ"
    )
    docket.judge(
        "Where weak dominance holds, disagreement alone names the best stage",
        not any(wrong.values()),
        "it names another at so many λ: " + listing(wrong, "{}", NAMES),
        source="Proposition 6",
        choices=choices,
        is_exact=True,
    )
    off = {
        name: max(np.abs(np.subtract(cell["dawid_skene"], cell["error_rates"])))
        for name, cell in cells.items()
    }
    docket.judge_ours(
        "Dawid and Skene find the error rates without labels (within .03)",
        max(off.values()) < 0.03,
        "largest error: "
        + listing(off, "{:.3f}", NAMES)
        + ". It takes tests to err independently; tests "
        "that share attributes, or errors that are nested, do not",
        choices=f"{choices}; found: every rate within .03 on every data set",
        is_exact=True,
    )
    for rival in (DAWID_SKENE, VOTE, LAST):
        pairs = {
            name: (np.mean(cell[OURS]["regret"]), np.mean(cell[rival]["regret"]))
            for name, cell in cells.items()
        }
        docket.judge_ours(
            f"Over all λ disagreement has no more regret than: {rival}",
            all(ours <= theirs + 1e-9 for ours, theirs in pairs.values()),
            "mean regret of disagreement against it: "
            + ", ".join(f"{NAMES[n]} {a:.4f} against {b:.4f}" for n, (a, b) in pairs.items()),
            choices=f"{choices}; no more: on average over λ, on every data set",
            is_exact=True,
        )
    return docket.claims


_ESTIMATES = ("dawid_skene", "majority")


def _truth(name: str) -> Instance:
    if name in DATA:
        return DATA[name].recording().instance
    make = nested_errors if name == "nested" else relaxed_errors
    return make(Cascade(costs=SYNTHETIC_STEPS))


def _compare(name: str, truth: Instance, span: Span, scale: Scale) -> JSON:
    dollars = (
        np.array(DATA[name].cumulative_costs(turney=scale.turney_costs))
        if name in DATA
        else np.cumsum(SYNTHETIC_STEPS)
    )
    lambdas = np.geomspace(*span, FINER * (scale.grid - 1) + 1).tolist()
    law = truth.output_law
    fitted = LatentClasses.fit(law).error_rates  # a law is fitted without a prior
    rates = {"dawid_skene": fitted, "majority": voted_error_rates(law)}
    cell: JSON = {
        "dollars": dollars.tolist(),
        "lambda": lambdas,
        "failing": failing_spans(truth, dollars, span),
        "error_rates": truth.error_rates.tolist(),
        **{key: value.tolist() for key, value in rates.items()},
        "best_stage": [],
        "weakly_dominant": [],
        **{method: {"stage": [], "regret": []} for method in METHODS},
    }
    for weight in lambdas:
        C = weight * dollars
        world = priced(truth, dollars, weight)
        stages = {
            OURS: limit_stage(world.disagreement, world.cascade),
            DAWID_SKENE: int(np.argmin(rates["dawid_skene"] + C)),
            VOTE: int(np.argmin(rates["majority"] + C)),
            LAST: len(C) - 1,
        }
        cell["best_stage"].append(world.best_stage + 1)
        cell["weakly_dominant"].append(world.is_weakly_dominant())
        for method, stage in stages.items():
            cell[method]["stage"].append(stage + 1)
            cell[method]["regret"].append(float(world.gaps[stage]))
    return cell


def voted_error_rates(law: PatternTable) -> FloatArray:
    """Return how often each test differs from the majority of the tests."""
    vote = Design(law.codes, law.n_classes).votes.argmax(axis=1)
    return np.asarray(law.probabilities @ (law.codes != vote[:, None]))


def _within(cell: JSON, method: str) -> float:
    """Return the mean regret over the λ at which weak dominance holds."""
    regrets = zip(cell[method]["regret"], cell["weakly_dominant"], strict=True)
    return float(np.mean([regret for regret, holds in regrets if holds]))


def _numbers(values: list[float]) -> str:
    return ", ".join(f"{value:.3f}" for value in values)
