"""Figures 5 and 6: with and without labels on real data, and where weak dominance fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from stopwise.cascade import FloatArray
from stopwise.experiments.contenders import (
    ALGORITHM_2,
    CHECKPOINTS,
    RESOLVE,
    SUPERVISED,
    THOMPSON,
    curve,
    described,
    last_decade_slope,
    play,
)
from stopwise.experiments.drawing import (
    REGRET,
    REGRET_A_ROUND,
    ROUNDS,
    draw_curve,
    draw_line,
    from_zero,
    guide,
    legend_below,
    new_figure,
    shade,
    styled,
)
from stopwise.experiments.experiment import JSON, Claim, Docket, Result, Scale, Table
from stopwise.experiments.over_prices import failing_spans, limit_regret, limit_stage, priced
from stopwise.experiments.sensors import LAMBDA, Sensors
from stopwise.problem.instance import Instance
from stopwise.simulation.palette import INK, WINE

PANELS = (
    "Rows are drawn with replacement. Left: regret over time at λ = .001, in the regime of the "
    "paper, which prints no λ. Right: regret a round over λ, the weight of a dollar. Where weak "
    "dominance fails, learners that go by disagreement go wrong for ever: the dotted line is what "
    "they tend to. Right of that range they are right in the end, and where they are still above "
    "the dotted line T rounds were not enough."
)
CONTENDERS = (ALGORITHM_2, SUPERVISED, THOMPSON, RESOLVE)
SWEPT = (ALGORITHM_2, SUPERVISED, RESOLVE)
LAMBDAS = (1e-4, 3e-2)
# Regret below this, in mistakes, is nothing to divide by.
NOTHING = 1.0


def measure(name: str, sensors: Sensors, scale: Scale) -> Result:
    """Play the contenders at λ = .001, and some of them over a range of λ."""
    turney = scale.turney_costs
    world, dollars = sensors.recording(turney=turney), sensors.cumulative_costs(turney=turney)
    parameters = {
        **scale.described(),
        "seed": 0,
        "fold_seed": 0,
        "checkpoints": CHECKPOINTS,
        "lambda": LAMBDA,
        "dollars": list(dollars),
        "tests": list(sensors.names),
        "rows": len(world),
    }
    numbers = {
        "truth": described(world.instance),
        "curves": {c.label: curve(play(world, c, scale)) for c in CONTENDERS},
        "sweep": _swept(world.instance, np.array(dollars), scale),
    }
    return Result(name, parameters, numbers)


def _swept(world: Instance, dollars: FloatArray, scale: Scale) -> JSON:
    """Return regret a round over λ after a tenth of the rounds, and what it tends to."""
    lambdas = np.geomspace(*LAMBDAS, scale.grid).tolist()
    worlds = [priced(world, dollars, weight) for weight in lambdas]
    limits = [limit_stage(w.disagreement, w.cascade) for w in worlds]
    horizon = scale.horizon // 10
    swept: JSON = {
        "lambda": lambdas,
        "horizon": horizon,
        "checkpoints": [horizon],
        "best_stage": [w.best_stage + 1 for w in worlds],
        "weakly_dominant": [w.is_weakly_dominant() for w in worlds],
        "limit_stage": [stage + 1 for stage in limits],
        "limit_regret": [float(w.gaps[k]) for w, k in zip(worlds, limits, strict=True)],
        "limit_line": limit_regret(world, dollars, LAMBDAS),
        "failing": failing_spans(world, dollars, LAMBDAS),
    }
    for contender in SWEPT:
        traces = [play(w, contender, scale, horizon=horizon, checkpoints=1) for w in worlds]
        swept[contender.label] = [float(t.mean_regret()[-1]) / horizon for t in traces]
    return swept


@styled
def draw(result: Result) -> dict[str, Any]:
    """Draw regret over time at λ = .001, and regret a round over λ."""
    sheet, (left, right) = new_figure(1, 2, height=3.7)
    for label, numbers in result.numbers["curves"].items():
        draw_curve(left, label, numbers)
    left.set_xscale("log")
    left.set_xlabel(ROUNDS)
    left.set_ylabel(REGRET)
    best = result.numbers["truth"]["best_stage"]
    shown = f"{result.parameters['lambda']:g}".lstrip("0")
    left.set_title(f"λ = {shown}, best: stage {best}")

    sweep = result.numbers["sweep"]
    for label in (c.label for c in SWEPT):
        draw_line(right, label, sweep["lambda"], sweep[label])
    line = sweep["limit_line"]
    named = "disagreement rule (T → ∞)"
    guide(right, line["lambda"], line["regret"], named, (0, (1, 1)), color=WINE, zorder=3)
    for low, high in sweep["failing"]:
        shade(right, low, high, "weak dominance fails")
    right.axvline(result.parameters["lambda"], color=INK, linewidth=0.8, label="λ of the left")
    right.set_xscale("log")
    right.set_xlim(*LAMBDAS)
    right.set_xlabel("λ (mistakes a dollar)")
    right.set_ylabel(REGRET_A_ROUND)
    right.set_title(f"over λ, after T = {sweep['horizon']:,} rounds")
    for axis in (left, right):
        from_zero(axis)
    legend_below(sheet, [left, right], columns=3)
    return {result.name: sheet}


def tabulate(result: Result) -> list[Table]:
    """Return the truth, and the regret of each contender."""
    truth, p = result.numbers["truth"], result.numbers["truth"]["disagreement"]
    stages = tuple(
        (f"{k + 1}: {name}", f"${dollars:g}", f"{rate:.3f}", f"{gap:.3f}")
        for k, (name, dollars, rate, gap) in enumerate(
            zip(
                result.parameters["tests"],
                result.parameters["dollars"],
                truth["error_rates"],
                truth["gaps"],
                strict=True,
            )
        )
    )
    pairs = f"p₁₂ = {p[0][1]:.3f}, p₁₃ = {p[0][2]:.3f}, p₂₃ = {p[1][2]:.3f}"
    rows = tuple(
        (
            label,
            _final(c),
            _slope(c),
            ", ".join(f"{share:.1%}" for share in _shares(c)),
        )
        for label, c in result.numbers["curves"].items()
    )
    T = result.parameters["horizon"]
    return [
        Table(
            f"The cascade at λ = {result.parameters['lambda']:g}; {pairs}",
            ("stage", "cumulative price", "error rate", "gap"),
            stages,
        ),
        Table(
            f"After T = {T:,} rounds, {result.parameters['replications']} runs",
            ("learner", "regret", "slope over the last decade", "stopped at stage 1, 2, 3"),
            rows,
        ),
    ]


def judge(result: Result, *, regime: int, figure: str) -> list[Claim]:
    """The regime, the rate, the constant factor, and what happens outside weak dominance."""
    docket = Docket(result)
    truth, curves = result.numbers["truth"], result.numbers["curves"]
    ours, theirs = curves[ALGORITHM_2.label], curves[SUPERVISED.label]
    docket.judge(
        f"In the regime of the paper stage {regime} is best",
        truth["best_stage"] == regime and truth["weakly_dominant"],
        f"at λ = {result.parameters['lambda']:g} stage {truth['best_stage']} is, by "
        f"{min(g for g in truth['gaps'] if g > 0):.3f}, and weak dominance "
        f"{'holds' if truth['weakly_dominant'] else 'fails'}; the budget of $50, read as λ = 1/50, "
        "makes stage 1 best on both data sets",
        source="Section 7, regimes",
        at_any_scale=True,
    )
    docket.judge(
        "The regret of Algorithm 2, without labels, is sublinear",
        last_decade_slope(ours) < 0.5,
        f"{_final(ours)} at T = {result.parameters['horizon']:,}, slope over the last decade "
        f"{_slope(ours)}",
        source=figure,
    )
    factor, early = _factor(ours, theirs), _factor(ours, theirs, at=0.1)
    compared = (
        f"{_final(ours)} without and {_final(theirs)} with labels: {factor:.1f} times as much"
    )
    docket.judge(
        "Without labels the regret of Algorithm 2 is within a constant factor of that with labels",
        factor < 1.5 * max(early, 1.0),
        f"{compared}, and {early:.1f} times at T / 10 (regrets below one mistake count as one)",
        source=figure,
    )
    docket.judge(
        "Without labels one learns as well as with them (at most twice the regret)",
        factor <= 2,
        f"{compared}; Resolve, without labels: {_final(curves[RESOLVE.label])}",
        source="Section 7, last sentence",
    )
    docket.judge(
        "The learner with labels has the lower regret",
        theirs["mean"][-1] < ours["mean"][-1],
        f"{_final(theirs)} with and {_final(ours)} without" + _if_nothing(ours, theirs),
        source=figure,
    )
    resolve = curves[RESOLVE.label]
    docket.judge(
        "Resolve does no worse than Algorithm 2",
        resolve["low"][-1] <= max(ours["high"][-1], NOTHING),
        f"{_final(resolve)} against {_final(ours)} (regrets below one mistake count as one)",
        source="not in the paper",
    )
    _judge_outside(docket, result.numbers["sweep"])
    return docket.claims


def _judge_outside(docket: Docket, sweep: JSON) -> None:
    outside = [k for k, holds in enumerate(sweep["weakly_dominant"]) if not holds]
    wrong = [k for k in outside if sweep["limit_stage"][k] != sweep["best_stage"][k]]
    n = len(sweep["lambda"])
    n_wrong_inside = sum(
        holds and sweep["limit_stage"][k] != sweep["best_stage"][k]
        for k, holds in enumerate(sweep["weakly_dominant"])
    )
    worst = max((sweep["limit_regret"][k] for k in outside), default=0.0)
    spans = "; ".join(f"{low:.5f} to {high:.5f}" for low, high in sweep["failing"]) or "none"
    docket.judge(
        "By disagreement the best stage is found exactly where weak dominance holds",
        not n_wrong_inside and wrong == outside,
        f"weak dominance fails for λ from {spans} (of {LAMBDAS[0]:g} to {LAMBDAS[1]:g}): at "
        f"{len(wrong)} of the {len(outside)} λ of the sweep in there the rule names a wrong stage, "
        f"at up to {worst:.3f} mistakes a round; at {n_wrong_inside} of the {n - len(outside)} "
        "others",
        source="Propositions 6 and 7",
        at_any_scale=True,
    )


def _factor(ours: JSON, theirs: JSON, at: float = 1.0) -> float:
    T = ours["rounds"][-1] * at
    mine, other = (float(np.interp(T, c["rounds"], c["mean"])) for c in (ours, theirs))
    return max(mine, NOTHING) / max(other, NOTHING)


def _final(numbers: JSON) -> str:
    mean, half = numbers["mean"][-1], (numbers["high"][-1] - numbers["low"][-1]) / 2
    digits = 1 if mean >= NOTHING or mean == 0 else 3
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def _slope(numbers: JSON) -> str:
    slope = last_decade_slope(numbers)
    return f"{slope:.2f}" if np.isfinite(slope) else "none: no regret at all"


def _shares(numbers: JSON) -> list[float]:
    stops = np.array(numbers["final_stops"]).sum(axis=0)
    return [float(share) for share in stops / stops.sum()]


def _if_nothing(ours: JSON, theirs: JSON) -> str:
    if max(ours["mean"][-1], theirs["mean"][-1]) > NOTHING:
        return ""
    return (
        ": where the last stage is best Algorithm 2 has next to no regret, with or without labels, "
        "because it goes to the end unless it is sure. Two rising curves, as in the paper, do not "
        "come out"
    )
