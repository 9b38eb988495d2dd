"""What two flaws cost: Algorithm 1 as printed, and Algorithm 2 on a wrong stage for too long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from paper import drawing
from paper.contenders import (
    ALGORITHM_1,
    ALGORITHM_2,
    AS_PRINTED,
    CHECKPOINTS,
    OPEN,
    RATE,
    RESOLVE,
    STYLES,
    SUBLINEAR,
    Contender,
    curve,
    last_decade_slope,
    play,
    regret_text,
    slope_interval,
    slope_text,
    truth_of,
)
from paper.experiment import JSON, Claim, Docket, Result, Scale, Table, all_of, below, near
from stopwise.cascade import Cascade
from stopwise.problem.families import nested_errors
from stopwise.problem.instance import Instance
from stopwise.simulation.palette import INK, style_of
from stopwise.theory.divergence import bernoulli_kl

NAME = "misprints"
TITLE = "Algorithms 1 and 2: a misprinted step size, and a stage that is left too slowly"
ABOUT = (
    "First: Algorithm 1 with the step size 1/t as printed, and with 1/n, n being how often the "
    "test was seen. Second: Algorithm 2 plays the first stage that it has certified; while it "
    "plays stage 2 it sees test 3 about 1.5 ln t / m₂₃² times, m₂₃ = C₃ − C₂ − p₂₃, so that stage "
    "1, which is best, stays rejected with a chance of about t^(−1.5 kl(c₂, p₁₂) / m₂₃²). Thin "
    "lines are single runs. Third: the exponent of its regret over the cost of test 3."
)
_RATES = (0.4, 0.1, 0.05)
STEP_COSTS = (0.0, 0.2, 0.02)
# The dearer test 3, the sooner stage 2 is certified, by the fewer cases that show test 3.
STUCK_COSTS = (0.0, 0.35, 0.5)
# The exponent over the cost of test 3: more and longer runs, because few runs have most of the
# regret. Below the first cost where the prediction is judged, a logarithm still hides it.
THIRD_COSTS = (0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8)
JUDGED_FROM, NEAR = 0.4, 0.1
LONGER, MORE = 1_000, 10
# Algorithm 1 decides in every round, which takes long: shorter runs are enough.
SHORT = 10


def run(scale: Scale) -> Result:
    """Play both algorithms against their remedies."""
    step = nested_errors(Cascade(costs=STEP_COSTS))
    stuck = nested_errors(Cascade(costs=STUCK_COSTS))
    numbers = {
        "step": _play_all(step, (AS_PRINTED, ALGORITHM_1), scale, scale.horizon // SHORT),
        "stuck": _play_all(stuck, (ALGORITHM_2, RESOLVE), scale, 10 * scale.horizon),
        "exponent": _exponents(scale),
    }
    parameters = {
        **scale.parameters(),
        "seed": 0,
        "checkpoints": CHECKPOINTS,
        "step_costs": list(STEP_COSTS),
        "stuck_costs": list(STUCK_COSTS),
        "horizon_step": scale.horizon // SHORT,
        "horizon_stuck": 10 * scale.horizon,
        "horizon_exponent": LONGER * scale.horizon,
        "runs_exponent": MORE * scale.replications,
    }
    return Result(NAME, parameters, numbers)


@drawing.styled
def figure(result: Result) -> dict[str, Any]:
    """Draw one figure a flaw: the mean with its band, and the single runs, a panel a policy."""
    sheets = {}
    for part in ("step", "stuck"):
        cells = result.numbers[part]["contenders"]
        sheet, axes = drawing.new_figure(1, 2, height=3.4, sharex=True, sharey=True)
        for axis, (label, cell) in zip(axes, cells.items(), strict=True):
            colour = style_of(STYLES[label]).colour
            thin = {"color": colour, "alpha": 0.4, "linewidth": 0.7}
            for single in cell["runs"]:
                axis.plot(cell["rounds"], single, **thin, label=f"{label}, single runs")
            drawing.draw_curve(axis, label, cell, label=f"{label}, mean")
            axis.set_title(f"{label}: {cell['n_wrong']} of {len(cell['runs'])} runs end wrong")
            axis.set_xlabel(drawing.ROUNDS)
            if part == "stuck":  # a hundred times more regret in some runs than in others
                axis.set_xscale("log")
                axis.set_yscale("log")
                axis.set_xlim(100, cell["rounds"][-1])
                axis.set_ylim(bottom=10)
        if part == "step":
            drawing.from_zero(axes[0])
        axes[0].set_ylabel(drawing.REGRET)
        drawing.legend_below(sheet, axes, columns=2)
        sheets[f"misprint-{part}"] = sheet
    sheets["algorithm-2-exponent"] = _draw_exponents(result)
    return sheets


def _draw_exponents(result: Result) -> Any:
    numbers = result.numbers["exponent"]
    sheet, (axis,) = drawing.new_figure(width=5.0, height=3.2)
    for label, cell in numbers["contenders"].items():
        style = style_of(STYLES[label])
        half = np.array(cell["slope"]) - np.array(cell["low"])
        axis.errorbar(THIRD_COSTS, cell["slope"], yerr=half, fmt="o", markersize=4, capsize=3,
                      color=style.colour, label=f"{label}, simulated")  # fmt: skip
    x = np.linspace(THIRD_COSTS[0] - 0.02, THIRD_COSTS[-1] + 0.02, 200)
    label = "predicted: 1 − 1.5 kl(c₂, p₁₂) / m₂₃²"
    drawing.guide(axis, x, [predicted_exponent(c) for c in x], label, "-", color=INK)
    axis.set_xlabel("cost of test 3")
    axis.set_ylabel("exponent of the regret")
    axis.set_ylim(-0.1, 1.05)
    axis.set_title(f"slope of log regret over the last decade, T = {numbers['horizon']:,}")
    drawing.legend_below(sheet, [axis], columns=1)
    return sheet


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
                    regret_text(cell),
                    f"{max(cell['final_regret']):.1f}",
                    slope_text(cell),
                    f"{cell['n_wrong']} of {len(cell['final_regret'])} runs",
                )
            )
    return [Table("Synthetic cascade of Section 7 (γ = .4, .1, .05)", header, tuple(rows))]


def check(result: Result) -> list[Claim]:
    """The printed step size makes regret linear; Algorithm 2 leaves a wrong stage too slowly."""
    docket = Docket(result)
    step = result.numbers["step"]["contenders"]
    printed, corrected = step[AS_PRINTED.label], step[ALGORITHM_1.label]
    docket.judge(
        "Algorithm 1 as printed learns",
        below(slope_interval(printed), SUBLINEAR),
        f"regret {printed['mean'][-1]:.0f} against {corrected['mean'][-1]:.0f} with the right step "
        f"size after {printed['rounds'][-1]:,} rounds; slope {slope_text(printed)}; "
        f"{printed['n_wrong']} of {len(printed['final_regret'])} runs end on a wrong stage, "
        f"with the right one {corrected['n_wrong']}",
        source="Algorithm 1, last line",
        choices=f"costs chosen to show it; {OPEN}; {RATE}",
    )
    stuck = result.numbers["stuck"]["contenders"]
    two, resolve = stuck[ALGORITHM_2.label], stuck[RESOLVE.label]
    costs = ", ".join(f"{c:g}" for c in STUCK_COSTS)
    docket.judge(
        "Algorithm 2 works under weak dominance",
        all_of([two["n_wrong"] == 0, below(slope_interval(two), SUBLINEAR)]),
        f"with costs ({costs}), under strong dominance even, {two['n_wrong']} of "
        f"{len(two['final_regret'])} runs are on a wrong stage after {two['rounds'][-1]:,} rounds, "
        f"the worst with regret {max(two['final_regret']):.0f}; slope {slope_text(two)}. Of "
        f"Resolve's runs {resolve['n_wrong']} are, the worst with "
        f"{max(resolve['final_regret']):.0f}. The right stage is found, but too slowly",
        source="Section 6.1",
        choices="costs chosen to show it: it is rarer the cheaper test 3 is. To work is to end on "
        "the right stage in every run, so that one wrong run refutes it; by the slope alone "
        f"the verdict would be: {below(slope_interval(two), SUBLINEAR).value}; {RATE}",
    )
    cell = result.numbers["exponent"]["contenders"][ALGORITHM_2.label]
    places = [k for k, c in enumerate(THIRD_COSTS) if c >= JUDGED_FROM]
    docket.judge_ours(
        "Off the edge, too, the regret of Algorithm 2 is polynomial: T to the power "
        "1 − 1.5 kl(c₂, p₁₂) / m₂₃²",
        all_of(
            near((cell["low"][k], cell["high"][k]), predicted_exponent(THIRD_COSTS[k]), NEAR)
            for k in places
        ),
        "simulated and predicted exponent by the cost of test 3: "
        + "; ".join(
            f"{c:g}: {slope:.2f} ± {slope - low:.2f} and {predicted_exponent(c):.2f}"
            for c, slope, low in zip(THIRD_COSTS, cell["slope"], cell["low"], strict=True)
        ),
        source="docs/paper.md",
        choices=f"error rates of Section 7, c₂ = {STUCK_COSTS[1]:g}; agreement: the interval lies "
        f"within {NEAR:g} of the prediction; judged from a cost of {JUDGED_FROM:g} on, since below "
        "it T is too short",
    )
    return docket.claims


def predicted_exponent(third_cost: float) -> float:
    """Return the exponent of Algorithm 2's regret with costs (0, .35, ``third_cost``).

    >>> round(predicted_exponent(0.5), 3)
    0.957
    """
    gain, rest = _RATES[0] - _RATES[1], _RATES[1] - _RATES[2]  # p_12 and p_23: errors are nested
    return 1 - 1.5 * float(bernoulli_kl(STUCK_COSTS[1], gain)) / (third_cost - rest) ** 2


def _exponents(scale: Scale) -> JSON:
    """Return the slope of log regret over the last decade for each cost of test 3."""
    long = replace(scale, replications=MORE * scale.replications)
    horizon = LONGER * scale.horizon
    cells: JSON = {c.label: {"slope": [], "low": [], "high": []} for c in (ALGORITHM_2, RESOLVE)}
    for contender in (ALGORITHM_2, RESOLVE):
        for third in THIRD_COSTS:
            world = nested_errors(Cascade(costs=(*STUCK_COSTS[:2], third)), _RATES)
            rounds = [horizon // 10, horizon]
            regret = curve(play(world, contender, long, horizon=horizon, checkpoints=rounds))
            low, high = slope_interval(regret)
            cell = {"slope": last_decade_slope(regret), "low": low, "high": high}
            for key, value in cell.items():
                cells[contender.label][key].append(value)
    return {"horizon": horizon, "contenders": cells}


def _play_all(
    world: Instance, contenders: tuple[Contender, ...], scale: Scale, horizon: int
) -> JSON:
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
    return {"truth": truth_of(world), "contenders": cells}
