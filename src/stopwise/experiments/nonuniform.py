"""Theorem 3: two instances that are hard to tell apart, and what that costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stopwise.experiments.contenders import ALGORITHM_2, RESOLVE, THOMPSON, Contender, play
from stopwise.experiments.drawing import draw_line, guide, legend_below, new_figure, styled
from stopwise.experiments.experiment import JSON, Claim, Docket, Result, Scale, Table
from stopwise.policies import Resolve
from stopwise.problem.families import indistinguishable_pair
from stopwise.problem.instance import Instance
from stopwise.simulation.palette import GREY, style_of
from stopwise.theory.divergence import bernoulli_kl

NAME = "nonuniform"
TITLE = "Theorem 3: is weak dominance learnable uniformly?"
ABOUT = (
    "The proof's two instances: in θ stage 1 is best by 1/4, in θ' stage 2 is best by ε, and the "
    "tests disagree in 1/4 and in 1/4 + ε of the cases. Stage 1 alone shows nothing of the "
    "difference. Left: the worse of a learner's two regrets. Right: the worst over all ε."
)
EPSILONS = (0.2, 0.1, 0.05)
WORST_OVER = tuple(np.geomspace(0.01, 0.3, 8).round(4).tolist())
ZONED = "Resolve, indifference n^(-1/3)"
BOUND = "no learner can do better"


def run(scale: Scale) -> Result:
    """Play on both instances for several ε, and find the worst ε for each horizon."""
    rounds = np.unique(np.geomspace(10, scale.horizon, 25).astype(int)).tolist()
    pairs = {str(epsilon): _worse(_zoned(epsilon), epsilon, scale, rounds) for epsilon in EPSILONS}
    horizons = np.geomspace(100, scale.horizon, 7 if scale.is_full else 3).astype(int).tolist()
    worst: JSON = {c.label: _worst(c, scale, horizons) for c in (ALGORITHM_2, THOMPSON, RESOLVE)}
    worst[ZONED] = [_worst(_zoned(n ** (-1 / 3)), scale, [n])[0] for n in horizons]
    worst[BOUND] = [max(lower_bound(n, e) for e in WORST_OVER) for n in horizons]
    numbers = {
        "rounds": rounds,
        "pairs": pairs,
        "bounds": {str(e): [lower_bound(n, e) for n in rounds] for e in EPSILONS},
        "horizons": horizons,
        "worst": worst,
    }
    parameters = {**scale.described(), "seed": 0, "epsilons": list(EPSILONS)}
    return Result(NAME, {**parameters, "worst_over": list(WORST_OVER)}, numbers)


def hidden_pair(epsilon: float) -> tuple[Instance, Instance]:
    """Return the proof's pair, each case turned into its opposite with probability one half.

    As printed test 2 always says 0, so that stage 1 shows how often test 1 says 1 and with it,
    free of charge, the disagreement. The turned pair has the same costs, error rates and
    disagreement, and stage 1 shows a fair coin in both.
    """
    first, second = indistinguishable_pair(epsilon)
    return _turned(first), _turned(second)


def lower_bound(n: int, epsilon: float) -> float:
    """Return what the worse of the two regrets is at least after n rounds, for any learner.

    With m = E_θ[plays of stage 2]: R(θ) = m / 4 and, by Bretagnolle and Huber's inequality,
    R(θ) + R(θ') >= min(1/8, ε/2) n · exp(-m kl) / 2 with kl = kl(1/4, 1/4 + ε).
    """
    kl = float(bernoulli_kl(0.25, 0.25 + epsilon))
    m = np.geomspace(1e-3, n, 2_000)
    other = min(1 / 8, epsilon / 2) * n * np.exp(-m * kl) / 4
    return float(np.maximum(m / 4, other).min())


@styled
def figure(result: Result) -> dict[str, Any]:
    """Draw the worse of two regrets for each ε, and the worst over ε for each policy."""
    numbers = result.numbers
    sheet, (left, right) = new_figure(1, 2, height=3.9)
    colour = style_of(RESOLVE.style).colour
    x = numbers["rounds"]
    for epsilon, alpha in zip(EPSILONS, (0.45, 0.7, 1.0), strict=True):
        y, named = numbers["pairs"][str(epsilon)]["worse"], f" ε = {epsilon:g}"
        turn = 1 / epsilon**2
        left.plot(x, y, color=colour, alpha=alpha, label="Resolve, indifference ε")
        left.plot(turn, _at(x, y, turn), "o", color="black", markersize=5, label="n = 1/ε²")
        left.text(x[-1], y[-1], named, color=colour, fontsize=8, va="center")
        guide(left, x, [epsilon * n for n in x], "always stage 1: ε n", ":")
        left.text(x[-1], epsilon * x[-1], named, color=GREY, fontsize=8, va="center")
    left.set_xlim(x[0], 8 * x[-1])
    left.set_title("the worse of the two regrets")
    x = numbers["horizons"]
    for label, y in numbers["worst"].items():
        if label == BOUND:
            guide(right, x, y, BOUND, "-")
        else:
            draw_line(right, label, x, y, marker="o", markersize=3)
    scale = numbers["worst"][ZONED][0] / x[0] ** (2 / 3)
    guide(right, x, [scale * n ** (2 / 3) for n in x], "slope 2/3", "--")
    right.set_title("the worst over ε")
    for axis in (left, right):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("rounds n")
    left.set_ylabel("regret (mistakes)")
    left.set_ylim(bottom=0.3)
    legend_below(sheet, (left, right), columns=3)
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
    shares, growth = {}, {}
    for epsilon in EPSILONS:
        at, y = 1 / epsilon**2, numbers["pairs"][str(epsilon)]["worse"]
        shares[epsilon] = _at(numbers["rounds"], y, at) / (epsilon * at)
        n = numbers["rounds"][-1]
        growth[epsilon] = math.log10(y[-1] / _at(numbers["rounds"], y, n / 10))
    floors = {e: _at(numbers["rounds"], numbers["bounds"][str(e)], 1 / e**2) * e for e in EPSILONS}
    docket.judge(
        "Up to n = 1/ε² the worse of the two regrets is linear: at least a constant times ε n",
        min(shares.values()) > 0.1 and min(floors.values()) > 0.02,
        "at n = 1/ε² it is "
        + ", ".join(f"{s:.2f} ε n for ε = {e:g}" for e, s in shares.items())
        + f"; for every learner at least {min(floors.values()):.3f} ε n (two-point bound)",
        source="Theorem 3, proof",
    )
    docket.judge(
        "Beyond that it stays linear, so that regret over all of Θ_WD is linear in the worst case",
        min(growth.values()) > 0.9,
        "slope of log regret over the last decade: "
        + ", ".join(f"{g:.2f} for ε = {e:g}" for e, g in growth.items())
        + ", by a learner with an indifference zone of ε",
        source="Theorem 3",
    )
    slopes = {label: _slope(numbers["horizons"], y) for label, y in numbers["worst"].items()}
    docket.judge(
        "The minimax regret over the pair is of order n^(2/3), and a learner attains it",
        0.6 < slopes[BOUND] < 0.73 and slopes[ZONED] < 0.85,
        "slope of the worst regret over ε against n, last two decades: "
        f"{slopes[ZONED]:.2f} for {ZONED} (logarithms included), "
        f"{slopes[BOUND]:.2f} for the lower bound",
        source="docs/paper.md",
    )
    docket.judge(
        "Algorithm 2 has linear regret on θ, an instance of Θ_WD on its edge",
        slopes[ALGORITHM_2.label] > 0.95,
        "slopes: "
        + ", ".join(
            f"{c} {slopes[c]:.2f}" for c in (ALGORITHM_2.label, THOMPSON.label, RESOLVE.label)
        )
        + ". Where a price equals the disagreement, whoever asks for proof asks for ever",
        source="docs/paper.md",
    )
    return docket.claims


def _zoned(zone: float) -> Contender:
    return Contender(ZONED, ZONED, lambda cascade: Resolve(cascade, indifference=zone))


def _turned(instance: Instance) -> Instance:
    rows = np.column_stack([instance.labels, instance.outputs])
    both = np.vstack([rows, 1 - rows])
    weights = np.tile(instance.probabilities, 2)
    return Instance.from_patterns(both.tolist(), weights, instance.cascade)


def _worse(contender: Contender, epsilon: float, scale: Scale, rounds: list[int]) -> JSON:
    traces = [
        play(world, contender, scale, horizon=rounds[-1], checkpoints=rounds)
        for world in hidden_pair(epsilon)
    ]
    regrets = [trace.mean_regret() for trace in traces]
    return {
        "theta": regrets[0].tolist(),
        "theta_prime": regrets[1].tolist(),
        "worse": np.maximum(*regrets).tolist(),
        "final_stops": [trace.stops[:, -1].sum(axis=0).tolist() for trace in traces],
    }


def _worst(contender: Contender, scale: Scale, horizons: list[int]) -> list[float]:
    found = [_worse(contender, epsilon, scale, horizons)["worse"] for epsilon in WORST_OVER]
    return np.max(found, axis=0).tolist()  # type: ignore[no-any-return]


def _at(x: list[int], y: list[float], place: float) -> float:
    return float(np.exp(np.interp(math.log(place), np.log(x), np.log(np.maximum(y, 1e-12)))))


def _slope(x: list[int], y: list[float]) -> float:
    start = x[-1] / 100
    return math.log(y[-1] / _at(x, y, start)) / math.log(x[-1] / start)
