"""What rules that look at each output cost on recorded cases, over a range of prices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from paper.contenders import Contender, play
from paper.experiment import JSON, Scale
from paper.over_prices import Span, limit_stage
from paper.real_data import LAMBDAS
from paper.sensors import Sensors
from stopwise import OutputConditional
from stopwise.cascade import Cascade
from stopwise.patterns import Pattern
from stopwise.problem.instance import Instance
from stopwise.problem.stopping_problem import StoppingProblem

FIXED = "best stage for all (labels)"
ORACLE = "after seeing, best (labels)"
OURS = "after seeing, no labels"
CUT = "after seeing, no labels, cut off"
ONE = "one stage for all, no labels"
SAVED = "saved by looking, with labels"
LEARNER = Contender("learner", "OutputConditional", OutputConditional)
# The learner is played at every sixth λ, for a tenth of the rounds.
STRIDE = 6
# Rules are tried at every third λ on cases that did not choose them.
HELD_STRIDE = 3


def priced(sensors: Sensors, scale: Scale) -> JSON:
    """Return what every rule costs at every λ, and what the learner paid at some."""
    lambdas = np.geomspace(*LAMBDAS, scale.grid)
    places = list(range(0, scale.grid, STRIDE))
    held_places = list(range(0, scale.grid, HELD_STRIDE))
    horizon, few_runs = scale.horizon // 10, replace(scale, replications=2)
    cell: JSON = {
        "lambda": lambdas.tolist(),
        "conditionally_dominant": [],
        **{label: [] for label in (FIXED, ORACLE, OURS, CUT, ONE)},
        "learned": {"places": places, "horizon": horizon, "cost": []},
        "held_out": {"places": held_places, FIXED: [], ORACLE: [], OURS: [], SAVED: []},
    }
    recording = sensors.recording(turney=scale.turney_costs)
    pairs = halves(recording.instance, len(recording), scale.fold_seeds)
    for k, weight in enumerate(lambdas.tolist()):
        cascade = sensors.cascade(weight, turney=scale.turney_costs)
        world = recording.instance.with_cascade(cascade)
        problem = StoppingProblem(world)
        stage = limit_stage(world.disagreement, cascade)
        cell[FIXED].append(float(world.total_costs.min()))
        cell["conditionally_dominant"].append(problem.is_weakly_dominant())
        cell[ORACLE].append(problem.best_cost)
        cell[OURS].append(problem.cost_without_labels)
        cell[CUT].append(StoppingProblem(cut_off(world, stage)).cost_without_labels)
        cell[ONE].append(float(world.total_costs[stage]))
        if k in places:
            trace = play(world, LEARNER, few_runs, horizon=horizon, checkpoints=1)
            excess = float(trace.mean_regret()[-1]) / horizon
            cell["learned"]["cost"].append(problem.best_cost + excess)
        if k in held_places:
            for label, cost in held_out(pairs, cascade).items():
                cell["held_out"][label].append(cost)
    cell["failing"] = failing(cell["lambda"], cell["conditionally_dominant"])
    return cell


def cut_off(world: Instance, stage: int) -> Instance:
    """Return the law of the tests up to ``stage`` alone, with their prices."""
    rows = np.column_stack([world.labels, world.outputs[:, : stage + 1]]).tolist()
    return Instance.from_patterns(rows, world.probabilities, world.cascade.cut(stage))


def failing(lambdas: list[float], holds: list[bool]) -> list[Span]:
    """Return the ranges of λ in which conditional weak dominance fails, to half a step."""
    half = (lambdas[1] / lambdas[0]) ** 0.5
    spans: list[Span] = []
    for k, weight in enumerate(lambdas):
        if not holds[k]:
            joined = k > 0 and not holds[k - 1]
            spans.append((spans.pop()[0] if joined else weight / half, weight * half))
    return spans


def halves(world: Instance, n_cases: int, n_splits: int) -> list[tuple[Instance, Instance]]:
    """Return random halves of the recorded cases; each half once chooses the rules, once pays."""
    rows = np.column_stack([world.labels, world.outputs]).tolist()
    counts = np.rint(world.probabilities * n_cases).astype(np.int64)
    pairs = []
    for seed in range(n_splits):
        one = np.random.default_rng(seed).multivariate_hypergeometric(counts, n_cases // 2)
        first, second = (
            Instance.from_patterns(rows, weights, world.cascade) for weights in (one, counts - one)
        )
        pairs += [(first, second), (second, first)]
    return pairs


def held_out(pairs: list[tuple[Instance, Instance]], cascade: Cascade) -> JSON:
    """Return what rules cost on the half of the cases that did not choose them, on average.

    What looking saves with labels has an interval: two standard deviations over the cuts.
    """
    costs: dict[str, list[float]] = {FIXED: [], ORACLE: [], OURS: []}
    for pair in pairs:
        own, other = (StoppingProblem(half.with_cascade(cascade)) for half in pair)
        costs[FIXED].append(float(other.instance.total_costs[own.instance.best_stage]))
        costs[ORACLE].append(other.cost(_or_stop(own, own.stops_at_best)))
        costs[OURS].append(other.cost(_or_stop(own, own.stops_without_labels)))
    means = {label: float(np.mean(values)) for label, values in costs.items()}
    saved = np.subtract(costs[FIXED], costs[ORACLE]) / means[FIXED]
    spread = 2 * saved.std()
    return {**means, SAVED: [saved.mean() - spread, saved.mean() + spread]}


def _or_stop(own: StoppingProblem, stops: Callable[[Pattern], bool]) -> Callable[[Pattern], bool]:
    """Return the rule that also stops at outputs that its own cases never showed."""
    return lambda prefix: prefix not in own.prefixes or stops(prefix)
