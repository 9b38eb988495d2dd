"""Theorem 3: two instances that are hard to tell apart, and what that costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paper.contenders import ALGORITHM_1, ALGORITHM_2, RESOLVE, THOMPSON, Contender, play
from paper.drawing import draw_line, guide, legend_below, new_figure, styled
from paper.experiment import JSON, Claim, Docket, Result, Scale, Table
from paper.hard_pair import hidden_pair, lower_bound, staying_regrets
from stopwise.policies import Resolve
from stopwise.problem.instance import Instance
from stopwise.simulation import Trace
from stopwise.simulation.palette import INK

NAME = "nonuniform"
TITLE = "Theorem 3: is weak dominance learnable uniformly?"
ABOUT = (
    "The proof's two instances: in θ stage 1 is best by 1/4, in θ' stage 2 is best by ε, and the "
    "tests disagree in 1/4 and in 1/4 + ε of the cases. Stage 1 alone shows nothing of the "
    "difference. Left: the worse of a learner's two regrets for one ε. Middle: the same after "
    "1/ε² rounds as ε shrinks, as a share of ε n, which is what never looking costs. Right: the "
    "worst over all ε. The indifference zone is ε and, on the right, where the worst ε is not "
    "known beforehand, n^(−1/3). The rule that attains n^(2/3) plays stage 2 for n^(2/3) rounds, "
    "and on as long as p̂ > price + ½ n^(−1/3)."
)
EPSILONS = (0.2, 0.1, 0.05)
SHOWN = EPSILONS[-1]
SHRINKING = (0.2, 0.1, 0.05, 0.025, 0.0125, 0.00625)
WORST_OVER = tuple(np.geomspace(0.01, 0.3, 8).round(4).tolist())
ZONED = "Resolve with an indifference zone"
STAYING = "rule of order n^(2/3)"
MARGIN = 0.5
RUNS_OF_RULE = 5  # times the usual number, since its runs are fast
BOUND = "two-point bound: no learner has less"
# Algorithm 1 decides in every round, which takes long: shorter runs are enough.
SHORT = 10


def run(scale: Scale) -> Result:
    """Play on both instances for several ε, and find the worst ε for each horizon."""
    shrinking = [e for e in SHRINKING if e**-2 <= scale.horizon]
    horizons = np.geomspace(100, scale.horizon, 7 if scale.is_full else 3).astype(int).tolist()
    worst: JSON = {c.label: _worst(c, scale, horizons) for c in (ALGORITHM_2, THOMPSON, RESOLVE)}
    worst[ZONED] = [_worst(_zoned(n ** (-1 / 3)), scale, [n])[0] for n in horizons]
    worst[STAYING] = _worst_of_rule(horizons, scale)
    worst[BOUND] = [max(lower_bound(n, e) for e in WORST_OVER) for n in horizons]
    numbers = {
        "pairs": {str(e): _pair(e, scale) for e in EPSILONS},
        "shrinking": shrinking,
        "at_turn": _at_turn(shrinking, scale),
        "horizons": horizons,
        "worst": worst,
    }
    parameters = {**scale.parameters(), "seed": 0, "epsilons": list(EPSILONS)}
    parameters["checkpoints"] = {
        "pairs": _rounds(scale.horizon),
        f"pairs, {ALGORITHM_1.label}": _rounds(scale.horizon // SHORT),
        "at_turn": "1/ε² alone",
        "worst": horizons,
        f"worst, {ZONED}": "each horizon alone",
    }
    return Result(NAME, {**parameters, "worst_over": list(WORST_OVER)}, numbers)


@styled
def figure(result: Result) -> dict[str, Any]:
    """Draw the worse of two regrets over time, after 1/ε² rounds over ε, and the worst over ε."""
    numbers = result.numbers
    sheet, axes = new_figure(1, 3, width=10.5, height=4.1)
    left, middle, right = axes
    pair = numbers["pairs"][str(SHOWN)]
    for k, (label, cell) in enumerate(pair["learners"].items()):
        draw_line(left, label, cell["rounds"], cell["worse"], zorder=9 - k)
    x = pair["bound"]["rounds"]
    guide(left, x, [SHOWN * n for n in x], "always stage 1: ε n", "--")
    guide(left, x, pair["bound"]["worse"], BOUND, "-")
    left.axvline(SHOWN**-2, color=INK, linewidth=0.8, label="n = 1/ε²")
    left.set_title(f"ε = {SHOWN:g}")
    left.set_ylabel("the worse of the two regrets (mistakes)")

    x = numbers["shrinking"]
    for k, (label, shares) in enumerate(numbers["at_turn"].items()):
        if label == BOUND:
            guide(middle, x, shares, label, "-")
        else:  # the first on top: dashes, which show what they lie on
            draw_line(middle, label, x, shares, marker="o", markersize=3, zorder=9 - k)
    guide(middle, x, [1.0 for _ in x], "always stage 1: ε n", "--")
    middle.set_title("after n = 1/ε² rounds, as ε shrinks")
    middle.set_xlabel("ε")
    middle.set_ylabel("the worse of the two regrets, over ε n")

    x = numbers["horizons"]
    for label, y in numbers["worst"].items():
        if label in (BOUND, STAYING):
            guide(right, x, y, label, "-" if label == BOUND else "-.")
        else:
            draw_line(right, label, x, y, marker="o", markersize=3)
    start = numbers["worst"][ZONED][0] / x[0] ** (2 / 3)
    guide(right, x, [start * n ** (2 / 3) for n in x], "slope 2/3", ":")
    right.set_title("at the worst ε for each n")
    right.set_ylabel("the worse of the two regrets (mistakes)")
    for axis in axes:
        axis.set_xscale("log")
        axis.set_yscale("log")
    middle.invert_xaxis()
    for axis in (left, right):
        axis.set_xlabel("rounds n")
        axis.set_ylim(0.5, 5e4)
    legend_below(sheet, axes, columns=4)
    return {"nonuniform": sheet}


def tables(result: Result) -> list[Table]:
    """Return the worst regret over ε by horizon."""
    worst = result.numbers["worst"]
    header = ("n", *worst)
    rows = tuple(
        (f"{n:,}", *(f"{values[k]:.1f}" for values in worst.values()))
        for k, n in enumerate(result.numbers["horizons"])
    )
    return [Table("The worse of the two regrets, at the worst ε", header, rows)]


def check(result: Result) -> list[Claim]:
    """Linear up to 1/ε², and what happens beyond."""
    docket = Docket(result)
    numbers = result.numbers
    floors = numbers["at_turn"][BOUND]
    least = {c: min(shares) for c, shares in numbers["at_turn"].items() if c != BOUND}
    last = f"ε = {numbers['shrinking'][0]:g} to {numbers['shrinking'][-1]:g}"
    docket.judge(
        "For every learner the worse of the two regrets is linear up to n = 1/ε²: at least a "
        "constant times ε n",
        min(least.values()) > 0.1 and min(floors) > 0.02,
        f"at n = 1/ε², over {last}, as a share of ε n at least: "
        + ", ".join(f"{label} {share:.2f}" for label, share in least.items())
        + f"; any learner without labels {min(floors):.3f} (two-point bound)",
        source="Theorem 3, proof",
        choices="learners and ε; the pair is mirrored, so that stage 1 shows nothing of it",
    )
    growth = {e: _growth(numbers["pairs"][str(e)]["learners"][ZONED]) for e in EPSILONS}
    docket.judge(
        "Beyond n = 1/ε² it stays linear, so that the worst regret over all of Θ_WD is linear",
        min(growth.values()) > 0.9,
        "slope of log regret over the last decade: "
        + ", ".join(f"{g:.2f} for ε = {e:g}" for e, g in growth.items())
        + ", by a learner with an indifference zone of ε",
        source="Theorem 3",
        choices="linear: slope above .9",
    )
    worst_of_rule = numbers["worst"][STAYING]
    slopes = {label: _slope(numbers["horizons"], y) for label, y in numbers["worst"].items()}
    scaled = [y / n ** (2 / 3) for n, y in zip(numbers["horizons"], worst_of_rule, strict=True)]
    docket.judge_ours(
        "The minimax regret over the pair is of order n^(2/3), without a logarithm",
        0.6 < slopes[BOUND] < 0.73 and max(scaled) < 2 * min(scaled),
        f"the rule's worst regret over ε is {min(scaled):.2f} to {max(scaled):.2f} times n^(2/3) "
        f"for n = {numbers['horizons'][0]:,} to {numbers['horizons'][-1]:,}; the lower bound has "
        f"slope {slopes[BOUND]:.2f} over the last two decades; Resolve with an indifference zone "
        f"of n^(−1/3) has {slopes[ZONED]:.2f}, logarithms included",
        source="docs/paper.md",
        choices="the pair of Theorem 3, eight ε; the same order: within a factor of 2",
    )
    docket.judge_ours(
        "Algorithm 2 has linear regret on θ, an instance of Θ_WD on its edge",
        slopes[ALGORITHM_2.label] > 0.95,
        "slopes: "
        + ", ".join(
            f"{c} {slopes[c]:.2f}" for c in (ALGORITHM_2.label, THOMPSON.label, RESOLVE.label)
        )
        + ". Where a price equals the disagreement, whoever asks for proof asks for ever",
        source="docs/paper.md",
        choices="linear: slope above .95",
    )
    return docket.claims


def _zoned(zone: float) -> Contender:
    return Contender(ZONED, ZONED, lambda cascade: Resolve(cascade, indifference=zone))


def _rounds(horizon: int) -> list[int]:
    return np.unique(np.geomspace(10, horizon, 25).astype(int)).tolist()  # type: ignore[no-any-return]


def _learners(epsilon: float) -> tuple[Contender, ...]:
    return (ALGORITHM_1, ALGORITHM_2, THOMPSON, RESOLVE, _zoned(epsilon))


def _pair(epsilon: float, scale: Scale) -> JSON:
    """Return regrets over time, of all learners for the ε that is shown, and the bound."""
    learners = {}
    for c in _learners(epsilon) if epsilon == SHOWN else (_zoned(epsilon),):
        rounds = _rounds(scale.horizon // (SHORT if c is ALGORITHM_1 else 1))
        learners[c.label] = _worse(c, epsilon, scale, rounds)
    rounds = _rounds(scale.horizon)
    bound = {"rounds": rounds, "worse": [lower_bound(n, epsilon) for n in rounds]}
    return {"learners": learners, "bound": bound}


def _at_turn(epsilons: list[float], scale: Scale) -> dict[str, list[float]]:
    """Return the worse regret after 1/ε² rounds over ε n, for each learner and the bound."""
    shares: dict[str, list[float]] = {}
    for epsilon in epsilons:
        n = round(epsilon**-2)
        for c in _learners(epsilon):
            regret = _worse(c, epsilon, scale, [n])["worse"][0]
            shares.setdefault(c.label, []).append(regret / (epsilon * n))
        shares.setdefault(BOUND, []).append(lower_bound(n, epsilon) / (epsilon * n))
    return shares


def _worse(contender: Contender, epsilon: float, scale: Scale, rounds: list[int]) -> JSON:
    traces = [_play(world, contender, scale, rounds) for world in hidden_pair(epsilon)]
    regrets = [trace.mean_regret() for trace in traces]
    return {
        "rounds": rounds,
        "theta": regrets[0].tolist(),
        "theta_prime": regrets[1].tolist(),
        "worse": np.maximum(*regrets).tolist(),
        "final_stops": [trace.stops[:, -1].sum(axis=0).tolist() for trace in traces],
    }


def _worst(contender: Contender, scale: Scale, horizons: list[int]) -> list[float]:
    """Return the worse regret at the worst ε for each horizon; θ is the same for every ε."""
    pairs = [hidden_pair(epsilon) for epsilon in WORST_OVER]
    worlds = [pairs[0][0], *(second for _, second in pairs)]
    regrets = [_play(world, contender, scale, horizons).mean_regret() for world in worlds]
    return np.max(regrets, axis=0).tolist()  # type: ignore[no-any-return]


def _worst_of_rule(horizons: list[int], scale: Scale) -> list[float]:
    rng, runs = np.random.default_rng(0), RUNS_OF_RULE * scale.replications
    return [
        max(max(staying_regrets(n, e, margin=MARGIN, runs=runs, rng=rng)) for e in WORST_OVER)
        for n in horizons
    ]


def _play(world: Instance, contender: Contender, scale: Scale, rounds: list[int]) -> Trace:
    return play(world, contender, scale, horizon=rounds[-1], checkpoints=rounds)


def _at(x: list[int], y: list[float], place: float) -> float:
    """Return y at a place by interpolation on logarithmic scales."""
    return float(np.exp(np.interp(math.log(place), np.log(x), np.log(np.maximum(y, 1e-12)))))


def _growth(cell: JSON) -> float:
    n, final = cell["rounds"][-1], cell["worse"][-1]
    return math.log10(final / _at(cell["rounds"], cell["worse"], n / 10))


def _slope(x: list[int], y: list[float]) -> float:
    start = x[-1] / 100
    return math.log(y[-1] / _at(x, y, start)) / math.log(x[-1] / start)
