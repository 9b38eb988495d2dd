"""What two flaws cost: Algorithm 1 as printed, and Algorithm 2 where it rests on a wrong stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.contenders import (
    ALGORITHM_1,
    ALGORITHM_2,
    AS_PRINTED,
    CHECKPOINTS,
    RESOLVE,
    STYLES,
    Contender,
    curve,
    described,
    last_decade_slope,
    play,
    told_regret,
)
from paper.drawing import (
    REGRET,
    ROUNDS,
    draw_curve,
    from_zero,
    legend_below,
    new_figure,
    styled,
)
from paper.experiment import JSON, Claim, Docket, Result, Scale, Table
from stopwise.cascade import Cascade
from stopwise.problem.families import nested_errors
from stopwise.problem.instance import Instance
from stopwise.simulation.palette import style_of

NAME = "misprints"
TITLE = "Two flaws: a step size, and a stage that is never left"
ABOUT = (
    "First: Algorithm 1 with the step size 1/t as printed, and with 1/n, n being how often the "
    "test was seen. Second: Algorithm 2 plays the first stage that it has certified; while it "
    "plays stage 2 it sees nothing of test 3 and may never find out that stage 1 is best. Thin "
    "lines are single runs."
)
STEP_COSTS = (0.0, 0.2, 0.02)
# The dearer test 3, the sooner stage 2 is certified, by the fewer cases that show test 3.
STUCK_COSTS = (0.0, 0.35, 0.5)
# Algorithm 1 decides anew in every round and takes its time: shorter runs tell enough.
SHORT = 10


def run(scale: Scale) -> Result:
    """Play both algorithms against their remedies."""
    step = nested_errors(Cascade(costs=STEP_COSTS))
    stuck = nested_errors(Cascade(costs=STUCK_COSTS))
    numbers = {
        "step": _played(step, (AS_PRINTED, ALGORITHM_1), scale, scale.horizon // SHORT),
        "stuck": _played(stuck, (ALGORITHM_2, RESOLVE), scale, 10 * scale.horizon),
    }
    parameters = {
        **scale.described(),
        "seed": 0,
        "checkpoints": CHECKPOINTS,
        "step_costs": list(STEP_COSTS),
        "stuck_costs": list(STUCK_COSTS),
        "horizon_step": scale.horizon // SHORT,
        "horizon_stuck": 10 * scale.horizon,
    }
    return Result(NAME, parameters, numbers)


@styled
def figure(result: Result) -> dict[str, Any]:
    """Draw one figure a flaw: the mean with its band, and the single runs, a panel a policy."""
    sheets = {}
    for part in ("step", "stuck"):
        cells = result.numbers[part]["contenders"]
        sheet, axes = new_figure(1, 2, height=3.4, sharex=True, sharey=True)
        for axis, (label, cell) in zip(axes, cells.items(), strict=True):
            colour = style_of(STYLES[label]).colour
            thin = {"color": colour, "alpha": 0.4, "linewidth": 0.7}
            for single in cell["runs"]:
                axis.plot(cell["rounds"], single, **thin, label=f"{label}, single runs")
            draw_curve(axis, label, cell, label=f"{label}, mean")
            axis.set_title(f"{label}: {cell['n_wrong']} of {len(cell['runs'])} runs end wrong")
            axis.set_xlabel(ROUNDS)
            if part == "stuck":  # a hundred times more regret in some runs than in others
                axis.set_xscale("log")
                axis.set_yscale("log")
                axis.set_xlim(100, cell["rounds"][-1])
                axis.set_ylim(bottom=10)
        if part == "step":
            from_zero(axes[0])
        axes[0].set_ylabel(REGRET)
        legend_below(sheet, axes, columns=2)
        sheets[f"misprint-{part}"] = sheet
    return sheets


def tables(result: Result) -> list[Table]:
    """Return regret, slope and the runs that ended on a wrong stage."""
    header = (
        "costs",
        "policy",
        "T",
        "regret",
        "worst run",
        "slope over the last decade",
        "wrong at T",
    )
    rows = []
    for part in ("step", "stuck"):
        costs = ", ".join(f"{c:g}" for c in result.parameters[f"{part}_costs"])
        for label, cell in result.numbers[part]["contenders"].items():
            rows.append(
                (
                    costs,
                    label,
                    f"{cell['rounds'][-1]:,}",
                    told_regret(cell),
                    f"{max(cell['final_regret']):.1f}",
                    f"{last_decade_slope(cell):.2f}",
                    f"{cell['n_wrong']} of {len(cell['final_regret'])} runs",
                )
            )
    return [Table("Synthetic cascade of Section 7 (γ = .4, .1, .05)", header, tuple(rows))]


def check(result: Result) -> list[Claim]:
    """The printed step size makes regret linear; Algorithm 2 rests on a wrong stage."""
    docket = Docket(result)
    step = result.numbers["step"]["contenders"]
    printed, mended = step[AS_PRINTED.label], step[ALGORITHM_1.label]
    docket.judge(
        "Algorithm 1 as printed learns",
        last_decade_slope(printed) < 0.5,
        f"regret {printed['mean'][-1]:.0f} against {mended['mean'][-1]:.0f} with the right step "
        f"size after {printed['rounds'][-1]:,} rounds; slope {last_decade_slope(printed):.2f}; "
        f"{printed['n_wrong']} of {len(printed['final_regret'])} runs end on a wrong stage, "
        f"with the right one {mended['n_wrong']}",
        source="Algorithm 1, last line",
    )
    stuck = result.numbers["stuck"]["contenders"]
    two, resolve = stuck[ALGORITHM_2.label], stuck[RESOLVE.label]
    docket.judge(
        "Algorithm 2 leaves a wrong stage in time",
        two["n_wrong"] == 0,
        f"{two['n_wrong']} of {len(two['final_regret'])} runs are on a wrong stage after "
        f"{two['rounds'][-1]:,} rounds, the worst with regret {max(two['final_regret']):.0f}, and "
        f"{resolve['n_wrong']} of Resolve's, the worst with {max(resolve['final_regret']):.0f}. "
        "These costs were chosen to show it: it is rarer the cheaper test 3 is",
        source="Algorithm 2",
    )
    return docket.claims


def _played(world: Instance, contenders: tuple[Contender, ...], scale: Scale, horizon: int) -> JSON:
    cells = {}
    for contender in contenders:
        trace = play(world, contender, scale, horizon=horizon)
        # Where a run stopped most in the last stretch between two checkpoints.
        recent = (trace.stops[:, -1] - trace.stops[:, -2]).argmax(axis=1)
        cells[contender.label] = {
            **curve(trace),
            "runs": [[float(f"{x:.6g}") for x in run] for run in trace.regret],
            "n_wrong": int(np.sum(recent != world.best_stage)),
        }
    return {"truth": described(world), "contenders": cells}
