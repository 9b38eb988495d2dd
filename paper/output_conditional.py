"""Stopping after seeing outputs: what it gains over one stage for all, and what it needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper import contenders
from paper.conditional_rules import CUT, FIXED, LEARNER, ONE, ORACLE, OURS, SAVED, priced
from paper.drawing import REGRET, ROUNDS, legend_below, new_figure, shade, styled
from paper.experiment import (
    JSON,
    Claim,
    Docket,
    Result,
    Scale,
    Table,
    above,
    all_of,
    any_of,
    below,
    listing,
)
from paper.sensors import DATA, TITLES
from stopwise.cascade import Cascade, FloatArray
from stopwise.problem.families import nested_errors, relaxed_errors
from stopwise.problem.instance import Instance
from stopwise.problem.stopping_problem import StoppingProblem
from stopwise.simulation.palette import BROWN, GREY, INDIGO, INK, WINE

NAME = "output-conditional"
TITLE = "Stopping after seeing outputs"
ABOUT = (
    "Each output is looked at before the next test is run. Left and middle: cost + error beyond "
    "the best single stage over λ, the weight of a dollar, by the law of the recorded cases. "
    "Without labels a case goes on while some labels would make that pay; cut off, it never goes "
    "beyond the stage that disagreement names for all cases. Right: regret of the learner against "
    "the best stopping rule."
)
LOOKS: dict[str, JSON] = {
    ORACLE: {"color": INK, "linestyle": ":"},
    OURS: {"color": INDIGO, "linestyle": "-"},
    CUT: {"color": BROWN, "linestyle": "--"},
    ONE: {"color": WINE, "linestyle": "-."},
}
# Conditional weak dominance holds in the first world, and fails in the second.
INSIDE = "learner, nested errors, costs (0, .35, .1)"
OUTSIDE = "learner, relaxed errors, costs (0, .2, .2)"
LEARNING: dict[str, JSON] = {
    INSIDE: {"color": INDIGO, "linestyle": "-"},
    OUTSIDE: {"color": INDIGO, "linestyle": "--"},
}
SLACK = 1e-9
_CHOSEN = "the recorded cases taken for the truth, prices, classifiers, fold seed 0, range of λ"


def run(scale: Scale) -> Result:
    """Price every rule on both data sets, and let the learner play."""
    numbers: JSON = {name: priced(sensors, scale) for name, sensors in DATA.items()}
    worlds = {
        INSIDE: nested_errors(Cascade(costs=[0, 0.35, 0.1])),
        OUTSIDE: relaxed_errors(Cascade(costs=[0, 0.2, 0.2])),
    }
    numbers["learning"] = {label: _learning(world, scale) for label, world in worlds.items()}
    parameters = {
        **scale.parameters(),
        "seed": 0,
        "fold_seed": 0,
        "checkpoints": contenders.CHECKPOINTS,
    }
    return Result(NAME, parameters, numbers)


@styled
def figure(result: Result) -> dict[str, Any]:
    """Draw what each rule costs over λ, and the regret of the learner."""
    sheet, axes = new_figure(1, 3, width=10.5, height=3.7)
    for axis, name in zip(axes, DATA, strict=False):
        cell = result.numbers[name]
        x, fixed = cell["lambda"], np.array(cell[FIXED])
        axis.axhline(0, color=GREY, linewidth=1.2, label=FIXED)
        for label, look in LOOKS.items():
            axis.plot(x, np.array(cell[label]) - fixed, label=label, **look)
        played = cell["learned"]
        above = np.array(played["cost"]) - fixed[played["places"]]
        axis.plot(np.array(x)[played["places"]], above, "o", color=INDIGO, markersize=3.5,
                  label=f"learner, {played['horizon']:,} cases")  # fmt: skip
        for low, high in cell["failing"]:
            shade(axis, low, high, "conditional weak dominance fails")
        axis.set_xscale("log")
        axis.set_xlim(x[0], x[-1])
        axis.set_xlabel("λ (mistakes a dollar)")
        axis.set_title(TITLES[name])
    axes[0].set_ylabel("cost + error beyond the best stage")
    for label, numbers in result.numbers["learning"].items():
        rounds, look = numbers["rounds"], LEARNING[label]
        axes[2].plot(rounds, numbers["mean"], label=label, **look)
        axes[2].fill_between(rounds, numbers["low"], numbers["high"], color=look["color"],
                             alpha=0.18, linewidth=0)  # fmt: skip
    axes[2].set_xscale("log")
    axes[2].set_yscale("log")
    axes[2].set_ylim(bottom=1)
    axes[2].set_xlabel(ROUNDS)
    axes[2].set_ylabel(REGRET)
    axes[2].set_title("against the best stopping rule")
    legend_below(sheet, axes, columns=3)
    return {NAME: sheet}


def tables(result: Result) -> list[Table]:
    """Return what each rule costs at some λ, and what the learner paid."""
    rows = []
    for name in DATA:
        cell = result.numbers[name]
        for k, place in enumerate(cell["learned"]["places"]):
            holds = "yes" if cell["conditionally_dominant"][place] else "no"
            costs = (cell[label][place] for label in (FIXED, *LOOKS))
            learned = cell["learned"]["cost"][k]
            test = cell["held_out"]
            t = test["places"].index(place)
            rows.append(
                (
                    name,
                    f"{cell['lambda'][place]:.2g}",
                    *(f"{cost:.4f}" for cost in costs),
                    f"{learned:.4f}",
                    holds,
                    f"{test[FIXED][t]:.4f}, {test[ORACLE][t]:.4f}, {test[OURS][t]:.4f}",
                )
            )
    learning = tuple(
        (
            label,
            f"{c['best_cost']:.4f}",
            f"{c['best_fixed_cost']:.4f}",
            contenders.regret_text(c, digits=1),
            contenders.slope_text(c),
        )
        for label, c in result.numbers["learning"].items()
    )
    T = result.parameters["horizon"]
    return [
        Table(
            "Cost + error a case; held out: rules chosen on half of the cases, priced on the other",
            ("data", "λ", "best stage", *LOOKS, "learner, all cases", "cond. weak dominance",
             "held out: best stage, after seeing with labels, without"),
            tuple(rows),
        ),
        Table(
            f"The learner after T = {T:,} cases, {result.parameters['replications']} runs",
            ("world", "best rule", "best stage", "regret", "slope over the last decade"),
            learning,
        ),
    ]  # fmt: skip


def check(result: Result) -> list[Claim]:
    """The two theorems, what looking gains with labels and without, and the rate."""
    docket = Docket(result)
    cells = {name: result.numbers[name] for name in DATA}
    _judge_theorems(docket, cells)
    most = {
        name: max(
            1 - cell[ORACLE][place] / cell[FIXED][place] for place in cell["held_out"]["places"]
        )
        for name, cell in cells.items()
    }
    held_out = {name: _most_saved(cell["held_out"], ORACLE, FIXED) for name, cell in cells.items()}
    ends = {name: np.max(cell["held_out"][SAVED], axis=0).tolist() for name, cell in cells.items()}
    docket.judge_ours(
        "With labels, looking at each output saves more than 1 % over the best stage, somewhere",
        all_of(
            any_of(above((low, high), 0.01) for low, high in cell["held_out"][SAVED])
            for cell in cells.values()
        ),
        "most saved on cases that did not choose the rule: "
        + listing(held_out, "{:.1%}", TITLES)
        + ", where the ends of its interval are at most "
        + listing(ends, "{0[0]:.1%} and {0[1]:.1%}", TITLES)
        + "; on those that did: "
        + listing(most, "{:.1%}", TITLES),
        choices=f"{_CHOSEN}, cut in halves at random; ± two standard deviations over the cuts",
    )
    worse = {
        name: [a / b - 1 for a, b in zip(cell[OURS], cell[ONE], strict=True)]
        for name, cell in cells.items()
    }
    docket.judge_ours(
        "Without labels, looking is nowhere worse than one stage for all",
        all(max(shares) <= SLACK for shares in worse.values()),
        "; ".join(
            f"{TITLES[name]}: worse at {sum(s > SLACK for s in shares)} of {len(shares)} λ, by up "
            f"to {max(shares):.0%}, better at {sum(s < -SLACK for s in shares)}, by up to "
            f"{-min(shares):.0%}"
            for name, shares in worse.items()
        ),
        choices=_CHOSEN,
        is_exact=True,
    )
    inside, outside = (result.numbers["learning"][label] for label in (INSIDE, OUTSIDE))
    docket.judge_ours(
        "Under conditional weak dominance the regret against the best stopping rule is sublinear",
        below(contenders.slope_interval(inside), contenders.SUBLINEAR),
        f"slope over the last decade {contenders.slope_text(inside)}, "
        f"{contenders.slope_text(outside)} where it fails; regret {inside['mean'][-1]:.0f} and "
        f"{outside['mean'][-1]:.0f} mistakes, where the best single stage, known in advance, has "
        f"{_of_fixed(inside):.0f} and {_of_fixed(outside):.0f}",
        source="docs/contexts.md",
        choices=f"two worlds; {contenders.RATE}",
    )
    return docket.claims


def _judge_theorems(docket: Docket, cells: dict[str, JSON]) -> None:
    pairs = [
        (ours, best)
        for cell in cells.values()
        for ours, best, holds in zip(
            cell[OURS], cell[ORACLE], cell["conditionally_dominant"], strict=True
        )
        if holds
    ]
    off = max((ours - best for ours, best in pairs), default=0.0)
    total = sum(len(cell["lambda"]) for cell in cells.values())
    docket.judge_ours(
        "Where conditional weak dominance holds, the rule without labels is the best stopping rule",
        bool(pairs) and off <= SLACK,
        f"it holds at {len(pairs)} of {total} prices; there the rule costs at most {off:.1g} more",
        source="docs/contexts.md",
        choices=_CHOSEN,
        is_exact=True,
    )
    over = max(
        cut - one for cell in cells.values() for cut, one in zip(cell[CUT], cell[ONE], strict=True)
    )
    saved = {name: _most_saved(cell, CUT, ONE) for name, cell in cells.items()}
    docket.judge_ours(
        "Cut off at a stage, it never costs more than that stage for all, whatever the labels",
        over <= SLACK,
        f"most it costs beyond: {max(over, 0.0):.1g}; most it saves: "
        + listing(saved, "{:.1%}", TITLES),
        source="docs/contexts.md",
        choices=_CHOSEN,
        is_exact=True,
    )


def _learning(world: Instance, scale: Scale) -> JSON:
    return {
        **contenders.curve(contenders.play(world, LEARNER, scale)),
        "best_cost": StoppingProblem(world).best_cost,
        "best_fixed_cost": float(world.total_costs.min()),
    }


def _of_fixed(numbers: JSON) -> float:
    return float((numbers["best_fixed_cost"] - numbers["best_cost"]) * numbers["rounds"][-1])


def _most_saved(cell: JSON, rule: str, against: str) -> float:
    costs: tuple[FloatArray, FloatArray] = (np.array(cell[rule]), np.array(cell[against]))
    return float((1 - costs[0] / costs[1]).max())
