"""Trees, which the paper sketches: seven tests in three branches, learned without a label."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper import drawing
from paper.contenders import (
    ALGORITHM_1,
    ALGORITHM_2,
    CHECKPOINTS,
    RATE,
    RESOLVE,
    STYLES,
    SUBLINEAR,
    SUPERVISED,
    THOMPSON,
    curve,
    mean_interval,
    play,
    regret_text,
    slope_interval,
    slope_text,
    slopes_text,
    truth_of,
)
from paper.experiment import JSON, Claim, Docket, Result, Scale, Table, above, all_of, any_of, below
from stopwise.cascade import Cascade
from stopwise.disagreement import sound_stage
from stopwise.problem.families import nested_errors, relaxed_errors
from stopwise.problem.instance import Instance
from stopwise.simulation.palette import style_of
from stopwise.simulation.tree_drawing import draw_tree

NAME = "triage-tree"
TITLE = "Trees: a triage of seven tests in three branches"
ABOUT = (
    "After the questions one may follow any of three branches, two tests deep; the outputs on the "
    "way are seen, those of other branches never. Left: a right answer stays right along every "
    "path. Right: later tests slip in a tenth of the cases that the questions get right."
)
NAMES = ("questions", "blood test", "culture", "X-ray", "CT", "ECG", "stress test")
PARENTS = (None, 0, 1, 0, 3, 0, 5)
CONTENDERS = (ALGORITHM_1, ALGORITHM_2, SUPERVISED, THOMPSON, RESOLVE)
STRONG, WEAK = "strong dominance", "weak dominance"


def worlds() -> dict[str, Instance]:
    """Return the two synthetic triages.

    Under strong dominance several branches pay, so that weak dominance fails; under weak dominance
    the tests of other branches are dear.
    """
    strong = Cascade([0, 0.05, 0.1, 0.1, 0.02, 0.02, 0.25], names=NAMES, parents=PARENTS)
    weak = Cascade([0, 0.4, 0.2, 0.1, 0.25, 0.5, 0.2], names=NAMES, parents=PARENTS)
    return {
        STRONG: nested_errors(strong, [0.4, 0.3, 0.25, 0.2, 0.05, 0.35, 0.02]),
        WEAK: relaxed_errors(weak, [0.4, 0.3, 0.2, 0.1, 0.05, 0.3, 0.1]),
    }


def run(scale: Scale) -> Result:
    """Play every policy in both worlds."""
    numbers = {}
    for name, world in worlds().items():
        sound = sound_stage(world.disagreement, world.cascade)
        numbers[name] = {
            "truth": truth_of(world),
            "costs": world.cascade.costs.tolist(),
            "sound_stage": None if sound is None else sound + 1,
            "curves": {c.label: curve(play(world, c, scale)) for c in CONTENDERS},
        }
    parameters = {**scale.parameters(), "seed": 0, "checkpoints": CHECKPOINTS}
    return Result(NAME, parameters, numbers)


@drawing.styled
def figure(result: Result) -> dict[str, Any]:
    """Draw the regret of each policy, and where Resolve and Algorithm 2 sent the cases."""
    sheet, axes = drawing.new_figure(1, 2, height=3.4)
    for axis, (name, cell) in zip(axes, result.numbers.items(), strict=True):
        for label, numbers in cell["curves"].items():
            drawing.draw_curve(axis, label, numbers)
        axis.set_xscale("log")
        axis.set_yscale("symlog", linthresh=1)
        axis.set_ylim(bottom=0)
        axis.set_xlabel(drawing.ROUNDS)
        axis.set_title(f"{name}; best: {NAMES[cell['truth']['best_stage'] - 1]}")
    axes[0].set_ylabel(drawing.REGRET)
    drawing.legend_below(sheet, axes, columns=5)
    trees, panels = drawing.new_figure(2, 2, height=6.4)
    for k, (name, cell) in enumerate(result.numbers.items()):
        cascade = Cascade(cell["costs"], names=NAMES, parents=PARENTS)
        for panel, contender in zip(panels[k::2], (ALGORITHM_2, RESOLVE), strict=True):
            stops = np.sum(cell["curves"][contender.label]["final_stops"], axis=0)
            draw_tree(
                panel,
                cascade,
                stops / stops.sum(),
                colour=style_of(STYLES[contender.label]).colour,
                best=cell["truth"]["best_stage"] - 1,
            )
            panel.set_title(f"{contender.label}, {name}")
    trees.suptitle(
        "On the edges the share of all cases; filled: where most stopped; ringed: the best test",
        fontsize=9,
    )
    return {"triage-tree": sheet, "triage-tree-traffic": trees}


def tables(result: Result) -> list[Table]:
    """Return the truth of each world and the regret of each policy."""
    T, R = result.parameters["horizon"], result.parameters["replications"]
    tables = []
    for name, cell in result.numbers.items():
        truth = cell["truth"]
        rows = tuple(
            (
                label,
                regret_text(numbers, digits=1),
                slope_text(numbers),
                f"{np.mean(_shares_at_best(numbers, truth)):.1%}",
            )
            for label, numbers in cell["curves"].items()
        )
        header = ("policy", "regret at T", "slope over the last decade", "cases at the best test")
        tables.append(Table(f"{name}: T = {T:,}, {R} runs", header, rows))
        columns = (truth[key] for key in ("cumulative_costs", "error_rates", "gaps"))
        costs = zip(NAMES, *columns, strict=True)
        tables.append(
            Table(
                f"{name}: the truth",
                ("test", "cost of the path", "error rate", "gap to the best"),
                tuple((test, f"{c:.3f}", f"{g:.3f}", f"{gap:.3f}") for test, c, g, gap in costs),
            )
        )
    return tables


def check(result: Result) -> list[Claim]:
    """The selector finds the best test, and every policy learns where its assumption holds."""
    docket = Docket(result)
    strong, weak = result.numbers[STRONG], result.numbers[WEAK]
    docket.judge_ours(
        "Under weak dominance the sound test of the tree is the best one",
        weak["truth"]["weakly_dominant"] and weak["sound_stage"] == weak["truth"]["best_stage"],
        f"sound: {NAMES[weak['sound_stage'] - 1]}, best: {NAMES[weak['truth']['best_stage'] - 1]}",
        source="docs/trees.md",
        choices="one triage; weak dominance and the sound test as defined in docs/trees.md",
        is_exact=True,
    )
    for name, cell, contenders in (
        (STRONG, strong, (ALGORITHM_1, ALGORITHM_2, THOMPSON, RESOLVE)),
        (WEAK, weak, (ALGORITHM_2, THOMPSON, RESOLVE)),
    ):
        curves = {c.label: cell["curves"][c.label] for c in contenders}
        docket.judge(
            f"On a tree some algorithm has sublinear regret under {name}",
            any_of(below(slope_interval(c), SUBLINEAR) for c in curves.values()),
            "slope of log regret against log t over the last decade (1 is linear): "
            + slopes_text(curves),
            source="Section 6.2, trees",
            choices="one triage, dominance on trees as defined in docs/trees.md; one of "
            f"{len(curves)} policies, as we carried them over to trees, is enough; {RATE}",
        )
    shares = {
        name: np.array(_shares_at_best(cell["curves"][RESOLVE.label], cell["truth"]))
        for name, cell in result.numbers.items()
    }
    bands = {name: mean_interval(runs) for name, runs in shares.items()}
    docket.judge_ours(
        "Under either dominance Resolve stops more than 95 % of cases at the best test",
        all_of(above(band, 0.95) for band in bands.values()),
        "share of cases at the best test, mean over the runs and least of them: "
        + ", ".join(f"{name} {runs.mean():.1%}, {runs.min():.1%}" for name, runs in shares.items()),
        source="docs/trees.md",
        choices=f"the two triages, T = {result.parameters['horizon']:,}",
    )
    return docket.claims


def _shares_at_best(numbers: JSON, truth: JSON) -> list[float]:
    """Return the share of cases that was stopped at the best test, run by run."""
    stops = np.array(numbers["final_stops"])
    shares: list[float] = (stops[:, truth["best_stage"] - 1] / stops.sum(axis=1)).tolist()
    return shares
