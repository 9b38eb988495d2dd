"""What patient features are worth as context: cost + error on patients that were never seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.experiment import JSON, Scale
from paper.over_prices import limit_stage
from paper.sensors import HEART, PIMA, Sensors, out_of_fold
from stopwise import ContextualResolve
from stopwise.cascade import FloatArray, IntArray
from stopwise.problem.contextual_recording import ContextualRecording
from stopwise.simulation.simulator import prepare_job

# For each data set the weights of a dollar between which the best fixed stage changes.
DATA = {"PIMA": (PIMA, (5e-4, 1.5e-2)), "Heart": (HEART, (3e-5, 3e-3))}
WITH, WITHOUT = "with contexts", "without contexts"


def measure(scale: Scale) -> JSON:
    """Return for each data set and λ how far each way is above the best fixed stage."""
    seeds, points, rounds = (3, 9, 10_000) if scale.is_full else (1, 3, 2_000)
    return {
        name: _measure(sensors, np.geomspace(*span, points).tolist(), seeds, rounds, scale)
        for name, (sensors, span) in DATA.items()
    }


def _measure(sensors: Sensors, lambdas: list[float], seeds: int, rounds: int, scale: Scale) -> JSON:
    data = sensors.load()
    features = data.features[:, data.columns(sensors.adds[0])]
    excess: dict[str, list[FloatArray]] = {WITH: [], WITHOUT: []}
    stops, best = [], []
    for weight in lambdas:
        cascade = sensors.cascade(weight, turney=scale.turney_costs)
        total: dict[str, FloatArray] = {way: np.zeros(len(features)) for way in excess}
        counts = np.zeros(cascade.n_stages, dtype=np.int64)
        for seed in range(seeds):
            outputs, fold = out_of_fold(sensors, seed)
            world = ContextualRecording(outputs, data.labels, features, cascade)
            choices = _choices(world, fold, rounds, seed)
            rows = np.arange(len(features))
            fixed = world.row_costs[:, world.best_fixed_stage]
            for way, stages in choices.items():
                total[way] += (world.row_costs[rows, stages] - fixed) / seeds
            counts += np.bincount(choices[WITH], minlength=cascade.n_stages)
            if seed == 0:
                best.append(world.best_fixed_stage + 1)
        for way, values in total.items():
            excess[way].append(values)
        stops.append(counts.tolist())
    return {
        "lambda": lambdas,
        "best_fixed_stage": best,
        "final_stops": stops,
        "rounds": rounds,
        "fold_seeds": seeds,
        "patients": len(features),
        **{way: _summary(np.array(values)) for way, values in excess.items()},
        "difference": _summary(np.array(excess[WITH]) - np.array(excess[WITHOUT])),
    }


def _choices(
    world: ContextualRecording, fold: IntArray, rounds: int, seed: int
) -> dict[str, IntArray]:
    """Return a stage for each patient by what was learned without labels from other folds."""
    with_, without = (np.zeros(len(world), dtype=np.int64) for _ in range(2))
    for f in np.unique(fold).tolist():
        others, own = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        training = part(world, others)
        policy = ContextualResolve(world.cascade, world.n_features)
        learner = learn(training, policy, rounds=rounds, seed=seed)
        with_[own] = [learner.recommend(x) for x in world.features[own]]
        without[own] = limit_stage(training.instance.disagreement, world.cascade)
    return {WITH: with_, WITHOUT: without}


def learn(world: Any, policy: Any, *, rounds: int, seed: int = 0) -> Any:
    """Return a copy of a contextual policy that has played in a world."""
    job = prepare_job(world, policy, rounds, 1, seed, checkpoints=1, count_errors=False)
    player = job.player(0)
    player.play(job.worlds[0], job.rounds)
    return player.policy


def part(world: ContextualRecording, rows: IntArray) -> ContextualRecording:
    """Return some of the rows of a recording as a recording."""
    return ContextualRecording(
        world.outputs[rows], world.labels[rows], world.features[rows], world.cascade
    )


def _summary(values: FloatArray) -> JSON:
    """Return the mean over patients for each λ and over all λ, with half a 95 % interval.

    ``values`` has a row a λ and a column a patient: patients are what was drawn at random.
    """

    def mean_and_half(row: Any) -> tuple[float, float]:
        return float(row.mean()), float(1.96 * row.std(ddof=1) / np.sqrt(len(row)))

    means, halves = zip(*(mean_and_half(row) for row in values), strict=True)
    overall = mean_and_half(values.mean(axis=0))
    return {"mean": list(means), "half": list(halves), "overall": list(overall)}
