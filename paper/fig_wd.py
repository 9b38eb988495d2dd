"""Figure 4: regret a round as weak dominance is lost."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from paper import drawing, slips
from paper.contenders import (
    ALGORITHM_1,
    ALGORITHM_2,
    OPEN,
    RESOLVE,
    Contender,
    mean_interval,
    play,
    truth_of,
)
from paper.experiment import (
    JSON,
    Claim,
    Docket,
    Interval,
    Result,
    Scale,
    Table,
    above,
    all_of,
    any_of,
    below,
    larger,
)
from paper.random_instances import random_weak
from paper.slips import SLIP, turn_of_ranking
from stopwise.cascade import FloatArray
from stopwise.problem.families import dominance_sweep

NAME = "fig-wd"
TITLE = "Figure 4: the phase transition where weak dominance is lost"
ABOUT = (
    "The relaxed synthetic cascade, stage 2 best, total cost .3, costs moved between tests 2 and "
    "3. ρ is the price of going from test 2 to test 3 over how often the two disagree; weak "
    "dominance is ρ ≥ 1. Left: Algorithm 2 as runs get longer. Right: three learners side by side, "
    "Algorithm 2 among them. Bands, thinner than the lines at most ρ, are 95 %. Second figure: the "
    "paper does not say how often each test errs where test 1 is right. Algorithm 1 finds stage 2 "
    "above the line, so whether it learns below ρ = 1 depends on these slips."
)
TOTAL_COST = 0.3
RATIOS = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 1.7)
N_RANDOM = 2_000
STEEP = 5
_CHOICES = (
    f"ρ as defined here; total cost {TOTAL_COST:g}, which with the error rates leaves room for "
    f"ρ up to {RATIOS[-1]:g}; tests 2 and 3 both err with probability {SLIP:g} where test 1 is "
    "right; T"
)


def run(scale: Scale) -> Result:
    """Sweep the ratio for the three policies, and test the ranking of Algorithm 1 at random."""
    numbers: JSON = {
        "ratios": list(RATIOS),
        "truth": [truth_of(dominance_sweep(r, total_cost=TOTAL_COST)) for r in RATIOS],
        ALGORITHM_2.label: _sweep(ALGORITHM_2, scale),
        RESOLVE.label: _sweep(RESOLVE, scale),
        ALGORITHM_1.label: _sweep(ALGORITHM_1, scale),
        "random": _count_misranked(N_RANDOM if scale.is_full else N_RANDOM // 10),
        "slips": slips.turns(),
    }
    parameters = {**scale.parameters(), "seed": 0, "checkpoints": _checkpoints(scale)}
    return Result(NAME, {**parameters, "total_cost": TOTAL_COST, "slip": SLIP}, numbers)


@drawing.styled
def figure(result: Result) -> dict[str, Any]:
    """Draw the sweep at three horizons, and the three policies at one."""
    numbers = result.numbers
    sheet, axes = drawing.new_figure(1, 2, height=3.5, sharey=True)
    x = numbers["ratios"]
    for (T, sweep), dashes in zip(_by_horizon(numbers), (":", "--", "-"), strict=True):
        label = ALGORITHM_2.label
        name = f"{label}, T = {T:,}"
        drawing.draw_line(axes[0], label, x, sweep["mean"], linestyle=dashes, label=name)
        drawing.draw_band(axes[0], label, x, sweep["low"], sweep["high"])
    axes[0].set_title("Algorithm 2 as runs get longer")
    T = result.parameters["horizon"]
    for label in (ALGORITHM_2.label, RESOLVE.label, ALGORITHM_1.label):
        sweep = _a_round(numbers[label], -1)
        name = f"{label}, T = {T:,}" if label == ALGORITHM_2.label else label
        drawing.draw_line(axes[1], label, x, sweep["mean"], marker="o", markersize=3, label=name)
        drawing.draw_band(axes[1], label, x, sweep["low"], sweep["high"])
    axes[1].set_title(f"three learners, T = {T:,}")
    for axis in axes:
        gaps = [truth["gaps"][2] for truth in numbers["truth"]]
        drawing.guide(axis, numbers["ratios"], gaps, "always going to test 3")
        drawing.shade(axis, RATIOS[0], 1.0, "weak dominance fails")
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.set_xlabel("ρ = (C₃ − C₂) / P(Y² ≠ Y³)")
        axis.set_xlim(RATIOS[0], RATIOS[-1])
        drawing.from_zero(axis)
    axes[0].set_ylabel(drawing.REGRET_A_ROUND)
    drawing.legend_below(sheet, axes, columns=3)
    return {"fig-wd": sheet, "fig-wd-slips": slips.draw(numbers["slips"])}


def tables(result: Result) -> list[Table]:
    """Return regret a round for each ratio."""
    numbers = result.numbers
    columns = [numbers[c.label]["a_round"] for c in (ALGORITHM_2, RESOLVE, ALGORITHM_1)]
    rows = tuple(
        (f"{r:g}", f"{truth['gaps'][2]:.3f}", *(f"{x:.4f}" for x in cells))
        for r, truth, *cells in zip(numbers["ratios"], numbers["truth"], *columns, strict=True)
    )
    header = ("ρ", "gap of stage 3", "Algorithm 2", "Resolve", "Algorithm 1")
    return [Table("Regret a round", header, rows)]


def check(result: Result) -> list[Claim]:
    """A jump at 1 for Algorithm 2; whether Algorithm 1 fails."""
    docket = Docket(result)
    numbers = result.numbers
    share, bands = _shares(numbers, ALGORITHM_2.label)
    halves = {T: _half_band(numbers, sweep) for T, sweep in _by_horizon(numbers)}
    docket.judge(
        "The regret a round of Algorithm 2 changes at ρ = 1",
        all_of(
            [above(band, 0.9) for r, band in bands.items() if r < 1]
            + [below(band, 0.1) for r, band in bands.items() if r >= 1.3]
            + [larger(a, b) for a, b in pairwise([*halves.values(), (1.0, 1.0)])]
        ),
        f"as a share of the gap of stage 3: at least {_least(share):.3f} for ρ < 1, "
        f"{share[1.0]:.3f} at 1, {share[1.05]:.3f} at 1.05, {share[1.1]:.3f} at 1.1, at most "
        f"{_most(share, 1.3):.3f} from 1.3 on. It falls below half of the gap at a ρ that moves "
        "towards 1 as T grows: "
        + ", ".join(
            f"{low:.3f} to {high:.3f} for T = {T:,}"
            if high < math.inf
            else f"beyond {RATIOS[-1]:g} for T = {T:,}"
            for T, (low, high) in halves.items()
        ),
        source="Section 7, Figure 4",
        choices=f"{_CHOICES}; below 1 at least nine tenths of the gap, from 1.3 on at most a tenth",
    )
    at_one, at_last = bands[1.0], bands[RATIOS[-1]]
    docket.judge(
        "As ρ falls to 1 from the right the regret a round of Algorithm 2 rises steeply",
        above((at_one[0] / at_last[1], at_one[1] / at_last[0]), STEEP),
        f"from {share[RATIOS[-1]]:.4f} of the gap at {RATIOS[-1]:g} to {share[1.0]:.3f} at 1",
        source="Section 7, Figure 4",
        choices=f"{_CHOICES}; steeply: {STEEP:g} times from ρ = {RATIOS[-1]:g} to 1",
    )
    one, late = _shares(numbers, ALGORITHM_1.label, "late")
    n_drawn, n_wrong = numbers["random"]["drawn"], numbers["random"]["wrong"]
    docket.judge(
        "Algorithm 1 fails in this sweep, which is why the paper leaves it out",
        any_of(above(band, 0.5) for r, band in late.items() if r >= 1),
        "regret a round in the last tenth of the runs, as a share of the gap of stage 3: "
        + ", ".join(f"{s:.3f} at {r:g}" for r, s in one.items())
        + ". It cannot fail for ρ ≥ 1: where stage 2 "
        "of three is best under weak dominance, "
        "p₁₃ − p₁₂ ≤ p₂₃ ≤ C₃ − C₂ and p₁₂ ≥ γ₁ − γ₂ ≥ C₂ − C₁, so C − p₁ is least there: "
        f"{n_wrong[1]} of {n_drawn[1]} random weakly dominant cascades with stage 2 best are "
        f"misranked. With stage 3 best it is {n_wrong[2]} of {n_drawn[2]}: there it can fail",
        source="Section 7, below Figure 4",
        choices=f"{_CHOICES}; {OPEN}; to fail: more than half of the gap at some ρ ≥ 1",
    )
    docket.judge(
        "The transition shows that more than weak dominance cannot be learned",
        all_of(above(band, 0.5) for r, band in late.items() if r < 1),
        f"below ρ = 1 Algorithm 1, without labels, has {_least(one):.3f} to {_most(one, 0, 1):.3f} "
        "of the gap: the transition is one of Algorithm 2, not of what can be learned on this "
        "sweep. That depends on the slips: Algorithm 1 is right from ρ = (p₁₃ − p₁₂) / p₂₃ on, "
        f"which is {turn_of_ranking(SLIP, SLIP):.2f} with equal slips of {SLIP:g}, "
        f"{turn_of_ranking(0.05, SLIP):.2f} if test 2 slips half as often, and 1 if it never does. "
        "That weak dominance is maximal is about all classes of instances (Theorem 2), and false "
        "from three stages on",
        source="Section 7, below Figure 4",
        choices=f"{_CHOICES}; the second figure shows the curve over how often they err; {OPEN}; "
        "learned: less than half of the gap",
    )
    share, bands = _shares(numbers, RESOLVE.label)
    docket.judge_ours(
        "Resolve learns wherever weak dominance holds with a margin, and not below ρ = 1",
        all_of(
            [below(band, 0.1) for r, band in bands.items() if r >= 1.1]
            + [above(band, 0.9) for r, band in bands.items() if r < 1]
        ),
        f"at most {_most(share, 1.1):.4f} of the gap from 1.1 on, at least {_least(share):.3f} "
        "below 1",
        choices=f"{_CHOICES}; a margin: ρ ≥ 1.1, with at most a tenth of the gap",
    )
    return docket.claims


def _least(share: dict[float, float]) -> float:
    """Return the least share where weak dominance fails."""
    return min(s for r, s in share.items() if r < 1)


def _most(share: dict[float, float], start: float, end: float = math.inf) -> float:
    return max(s for r, s in share.items() if start <= r < end)


def _checkpoints(scale: Scale) -> list[int]:
    T = scale.horizon
    return [T // 100, T // 10, T * 9 // 10, T]


def _sweep(contender: Contender, scale: Scale) -> JSON:
    horizon, checkpoints = scale.horizon, _checkpoints(scale)
    traces = [
        play(dominance_sweep(r, total_cost=TOTAL_COST), contender, scale, checkpoints=checkpoints)
        for r in RATIOS
    ]
    bands = [trace.interval(0.95) for trace in traces]
    return {
        "ratios": list(RATIOS),
        "rounds": checkpoints,
        "mean": [trace.mean_regret().tolist() for trace in traces],
        "low": [low.tolist() for low, _ in bands],
        "high": [high.tolist() for _, high in bands],
        "a_round": [float(trace.mean_regret()[-1]) / horizon for trace in traces],
        "late": [_late(trace.regret, checkpoints) for trace in traces],
        "final_stops": [trace.stops[:, -1].sum(axis=0).tolist() for trace in traces],
    }


def _by_horizon(numbers: JSON) -> list[tuple[int, JSON]]:
    sweep = numbers[ALGORITHM_2.label]
    return [(sweep["rounds"][c], _a_round(sweep, c)) for c in (0, 1, 3)]


def _a_round(sweep: JSON, checkpoint: int) -> JSON:
    """Return mean regret and its band at a checkpoint, over the rounds up to it."""
    T = sweep["rounds"][checkpoint]
    return {key: [row[checkpoint] / T for row in sweep[key]] for key in ("mean", "low", "high")}


def _late(regret: FloatArray, rounds: list[int]) -> list[float]:
    """Return mean and band of the regret a round after the last checkpoint but one."""
    late = (regret[:, -1] - regret[:, -2]) / (rounds[-1] - rounds[-2])
    return [float(late.mean()), *mean_interval(late)]


def _half_band(numbers: JSON, sweep: JSON) -> Interval:
    """Return between which ρ the regret a round falls below half of the gap, by its band."""
    return _half(numbers, sweep["low"]), _half(numbers, sweep["high"])


def _half(numbers: JSON, a_round: list[float]) -> float:
    """Return the ρ at which regret a round falls below half of the gap; inf if it does not."""
    shares = [a / t["gaps"][2] for a, t in zip(a_round, numbers["truth"], strict=True)]
    for (r, before), (s, after) in pairwise(zip(numbers["ratios"], shares, strict=True)):
        if before >= 0.5 > after:
            return float(r + (s - r) * (before - 0.5) / (before - after))
    return math.inf


def _shares(
    numbers: JSON, label: str, when: str = "all"
) -> tuple[dict[float, float], dict[float, Interval]]:
    """Return regret a round over the gap of stage 3 by ratio: means and bands."""
    sweep = numbers[label]
    rows = sweep["late"]
    if when == "all":
        whole = _a_round(sweep, -1)
        rows = zip(whole["mean"], whole["low"], whole["high"], strict=True)
    gaps = [truth["gaps"][2] for truth in numbers["truth"]]
    cells = {
        r: [x / gap for x in row] for r, row, gap in zip(sweep["ratios"], rows, gaps, strict=True)
    }
    return {r: c[0] for r, c in cells.items()}, {r: (c[1], c[2]) for r, c in cells.items()}


def _count_misranked(n: int) -> JSON:
    """Count where C_k - p_1k, which Algorithm 1 goes by, does not name the best stage."""
    rng = np.random.default_rng(0)
    total, wrong = [0, 0, 0], [0, 0, 0]
    for _ in range(n):
        world = random_weak(rng, 3)
        if len(world.optimal_stages) > 1:
            continue
        ranks = world.cascade.cumulative_costs - world.disagreement[0]
        total[world.best_stage] += 1
        wrong[world.best_stage] += ranks[world.best_stage] > ranks.min() + 1e-9
    return {"drawn": total, "wrong": [int(w) for w in wrong]}
