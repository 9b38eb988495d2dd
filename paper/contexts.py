"""Section 6.2, contexts: regret where the best stage differs from case to case, and real data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from paper import contexts_data, drawing
from paper.contenders import (
    CHECKPOINTS,
    Contender,
    curve,
    play,
    regret_text,
    slope_interval,
    slope_text,
    stop_shares_text,
)
from paper.contexts_data import WITH, WITHOUT
from paper.experiment import JSON, Claim, Docket, Result, Scale, Table, above, all_of, below
from stopwise import (
    ContextualResolve,
    ContextualThompson,
    ContextualWeakDominance,
    Resolve,
    WeakDominance,
)
from stopwise.cascade import Cascade
from stopwise.problem.contextual_instance import ContextualInstance
from stopwise.problem.contextual_laws import LogisticPairs
from stopwise.simulation.palette import BROWN, style_of

NAME = "contexts"
TITLE = "Section 6.2: contexts, where the best stage differs from case to case"
ABOUT = (
    "Left: five features; every pair of three tests disagrees with logistic probability, and weak "
    "dominance holds given every context. Regret is against the best stage for each context. "
    "Right: what the patient's first attributes are worth as context. Each patient is stopped by "
    "what was learned, without labels, from other patients; cost + error above the best fixed "
    "stage, which only labels can tell, over λ, with 95 % intervals over patients."
)
COSTS = (0.0, 0.12, 0.13)
# Log odds common to all pairs, and where the first step and the second differ; constant first.
COMMON = (-2.2, 1.2, -0.7, 0.4, 0.1, 0.0)
TILT = (0.0, 0.2, 0.2, -0.1, 0.1, 0.0)
D = len(COMMON) - 1
# Rounds are played one by one, which takes long: half the usual runs are enough, and a quarter for
# policies without contexts, whose runs hardly differ.
FEWER = {True: 2, False: 4}

_CHOSEN = "range of λ, features, prices, classifiers; judged over all λ together"

CONTEXTUAL: dict[str, Callable[[Cascade], Any]] = {
    "ContextualWeakDominance": lambda cascade: ContextualWeakDominance(cascade, D),
    "ContextualResolve": lambda cascade: ContextualResolve(cascade, D),
    "ContextualThompson": lambda cascade: ContextualThompson(cascade, D, seed=0),
}
PLAIN: dict[str, Callable[[Cascade], Any]] = {"Algorithm 2": WeakDominance, "Resolve": Resolve}


def world() -> ContextualInstance:
    """Return the synthetic world; p_13 lies between the larger of p_12, p_23 and their sum."""
    common, tilt = np.array(COMMON), np.array(TILT)
    both = common + np.log([2.0] + [1.0] * D)
    law = LogisticPairs([common + tilt, both, common - tilt], last_error=0.03)
    cascade = Cascade(costs=COSTS)
    return ContextualInstance(law, cascade, only_weakly_dominant=True)


def run(scale: Scale) -> Result:
    """Play all policies on the same synthetic cases, and on both data sets."""
    truth = world()
    curves = {}
    for label, make in {**CONTEXTUAL, **PLAIN}.items():
        runs = max(scale.replications // FEWER[label in CONTEXTUAL], 2)
        contender = Contender(label, label, make)
        curves[label] = curve(play(truth, contender, replace(scale, replications=runs)))
    sample = truth.draw_contexts(20_000, np.random.default_rng(0))
    best = np.bincount(truth.best_stages(sample), minlength=len(COSTS)) / len(sample)
    numbers = {
        "best_stage_shares": best.tolist(),
        "average_gaps": truth.average_gaps.tolist(),
        "curves": curves,
        "data": contexts_data.measure(scale),
    }
    parameters = {
        **scale.parameters(),
        "seed": 0,
        "checkpoints": CHECKPOINTS,
        "costs": list(COSTS),
        "common": list(COMMON),
        "tilt": list(TILT),
    }
    return Result(NAME, parameters, numbers)


@drawing.styled
def figure(result: Result) -> dict[str, Any]:
    """Draw regret over time, and cost + error above the best fixed stage over λ."""
    sheet, axes = drawing.new_figure(1, 3, width=10.0, height=3.8)
    left = axes[0]
    for label, numbers in result.numbers["curves"].items():
        drawing.draw_curve(left, label, numbers)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlim(50, result.numbers["curves"]["Resolve"]["rounds"][-1])
    left.set_ylim(bottom=3)
    left.set_xlabel(drawing.ROUNDS)
    left.set_ylabel(drawing.REGRET)
    left.set_title("best stage differs by context")
    for axis, (name, cell) in zip(axes[1:], result.numbers["data"].items(), strict=True):
        for way, colour in ((WITH, style_of("ContextualResolve").colour), (WITHOUT, BROWN)):
            part = cell[way]
            low, high = (np.array(part["mean"]) + s * np.array(part["half"]) for s in (-1, 1))
            axis.plot(cell["lambda"], part["mean"], "o-", color=colour, markersize=3, label=way)
            axis.fill_between(cell["lambda"], low, high, color=colour, alpha=0.18, linewidth=0)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xlabel("λ (mistakes a dollar)")
        axis.set_title(f"{name}, held-out patients")
    axes[1].set_ylabel("cost + error above the best fixed stage")
    drawing.legend_below(sheet, axes, columns=4)
    return {"contexts": sheet}


def tables(result: Result) -> list[Table]:
    """Return the final regrets, and what contexts are worth on each data set."""
    rows = tuple(
        (
            label,
            str(len(c["final_stops"])),
            regret_text(c, digits=0),
            slope_text(c),
            stop_shares_text(c),
        )
        for label, c in result.numbers["curves"].items()
    )
    best = ", ".join(f"{share:.1%}" for share in result.numbers["best_stage_shares"])
    tables = [
        Table(
            f"Synthetic, T = {result.parameters['horizon']:,}; "
            f"stage 1, 2, 3 is best for {best} of the contexts",
            ("policy", "runs", "regret", "slope over the last decade", "stopped at stage 1, 2, 3"),
            rows,
        )
    ]
    for name, cell in result.numbers["data"].items():
        cells = tuple(
            (
                f"{weight:.5f}",
                str(cell["best_fixed_stage"][k]),
                *(_cell(cell[way], k) for way in (WITH, WITHOUT, "difference")),
                ", ".join(f"{s / sum(cell['final_stops'][k]):.0%}" for s in cell["final_stops"][k]),
            )
            for k, weight in enumerate(cell["lambda"])
        )
        tables.append(
            Table(
                f"{name}, {cell['patients']} patients, {cell['fold_seeds']} fold seeds: cost + "
                "error a case above the best fixed stage",
                ("λ", "best fixed stage", WITH, WITHOUT, "difference", "stopped at 1, 2, 3"),
                cells,
            )
        )
    return tables


def check(result: Result) -> list[Claim]:
    """Linear without contexts, sublinear with them; and what they are worth on patients."""
    docket = Docket(result)
    curves = result.numbers["curves"]
    docket.judge_ours(
        "Where the best stage differs by context, policies without contexts have linear regret",
        all_of(above(slope_interval(curves[label]), 0.9) for label in PLAIN),
        _curves_text(curves, PLAIN),
        source="docs/contexts.md",
        choices="the synthetic world, Algorithm 2 and Resolve; linear: slope above .9",
    )
    docket.judge(
        "With a logistic model of disagreement regret is sublinear",
        all_of(below(slope_interval(curves[label]), 0.7) for label in CONTEXTUAL),
        _curves_text(curves, CONTEXTUAL),
        source="Section 6.2, contexts",
        choices="the synthetic world, three policies of ours; sublinear: slope below .7",
    )
    for name, cell in result.numbers["data"].items():
        ours, difference = cell[WITH]["overall"], cell["difference"]["overall"]
        docket.judge_ours(
            f"{name}: with patient features as context, cost + error is below the best fixed "
            "stage's",
            below((ours[0] - ours[1], ours[0] + ours[1]), 0.0),
            f"{ours[0]:+.4f} ± {ours[1]:.4f} a case over all λ; {_sides(cell[WITH])}. The best "
            "fixed stage is known in hindsight, by labels",
            choices=_CHOSEN,
        )
        docket.judge_ours(
            f"{name}: with contexts, cost + error is below that of the rule without",
            below((difference[0] - difference[1], difference[0] + difference[1]), 0.0),
            f"{difference[0]:+.4f} ± {difference[1]:.4f} a case over all λ; "
            f"{_sides(cell['difference'])}. Both without labels",
            choices=_CHOSEN,
        )
    return docket.claims


def _curves_text(curves: JSON, labels: Iterable[str]) -> str:
    return "; ".join(
        f"{x} {regret_text(curves[x], digits=0)}, slope {slope_text(curves[x])}" for x in labels
    )


def _sides(part: JSON) -> str:
    low = sum(m + h < 0 for m, h in zip(part["mean"], part["half"], strict=True))
    high = sum(m - h > 0 for m, h in zip(part["mean"], part["half"], strict=True))
    return f"the interval is below 0 at {low} and above 0 at {high} of {len(part['mean'])} λ"


def _cell(part: JSON, k: int) -> str:
    return f"{part['mean'][k]:+.4f} ± {part['half'][k]:.4f}"
