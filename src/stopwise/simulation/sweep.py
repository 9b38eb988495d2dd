"""Sweep: many policies in many worlds, on the workers that joblib is told to use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stopwise.errors import SettingError
from stopwise.problem.instance import Instance
from stopwise.simulation.simulator import (
    Environment,
    PolicyOrFactory,
    check_environment,
    prepare_job,
)
from stopwise.simulation.trace import Trace
from stopwise.simulation.workers import play_jobs

# A cascade with more stages is not shown stage by stage.
_WIDE = 8


@dataclass(frozen=True)
class Sweep:
    """The traces of a sweep, by the names of environment and policy.

    Parameters
    ----------
    traces
        A trace for each pair (environment, policy); some are missing if Ctrl-C came before them.
    environments
        The law of each environment.
    failures
        The errors of policies that failed, by the same names; their traces are missing.
    """

    traces: dict[tuple[str, str], Trace]
    environments: dict[str, Instance]
    failures: dict[tuple[str, str], Exception] = field(default_factory=dict)

    def __getitem__(self, names: tuple[str, str]) -> Trace:
        return self.traces[names]

    def of(self, environment: str) -> dict[str, Trace]:
        """Return the traces in one environment, by policy."""
        return {p: trace for (e, p), trace in self.traces.items() if e == environment}

    def table(self) -> str:
        """Return a table to print: final regret and shares of stops, stages counted from 1."""
        blocks = []
        for name, instance in self.environments.items():
            lines = _lines(self.of(name)) if self.of(name) else []
            lines += [
                f"{p} failed: {error!r}" for (e, p), error in self.failures.items() if e == name
            ]
            if lines:
                blocks.append("\n".join([_heading(name, instance), *lines]))
        return "\n\n".join(blocks)

    def summary(self) -> list[dict[str, Any]]:
        """Return the same as plain data for JSON, stages counted from 0."""
        return [
            {
                "environment": name,
                **_truth(instance),
                "policies": [_outcome(p, t) for p, t in self.of(name).items()],
            }
            for name, instance in self.environments.items()
        ]


def sweep(  # noqa: PLR0913  # all by keyword
    environments: Mapping[str, Environment],
    policies: Mapping[str, PolicyOrFactory],
    *,
    horizon: int,
    replications: int = 20,
    seed: int = 0,
    checkpoints: int | Iterable[int] = 100,
    count_errors: bool = False,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Sweep:
    """Simulate every policy in every environment.

    Each trace is the one that `simulate` returns for that environment, policy and seed, on any
    number of workers. To use a cluster, say so to joblib::

        with joblib.parallel_config(backend="dask"):
            result = sweep(environments, policies, horizon=10**6)

    Replication r starts from the same random numbers in each cell. So two settings of one rule see
    the same cases as long as their decisions are the same, and a rule has similar luck in similar
    environments. After the first different decision the cases differ, and rules that are drawn for
    in different ways have no cases in common. So the comparison of policies is fair, but their
    differences are not paired, and two traces are not quite independent.

    Parameters
    ----------
    environments, policies
        What to run, by name; the names go into the result. Environments have no contexts.
    horizon, replications, seed, checkpoints, count_errors, progress
        As in `simulate`.
    n_jobs
        The number of workers; by default what ``joblib.parallel_config`` says, else one.

    >>> from stopwise import FixedStage
    >>> from stopwise.problem.families import dominance_sweep
    >>> worlds = {f"ratio {r}": dominance_sweep(r) for r in (0.8, 1.2)}
    >>> first = {"first stage": lambda cascade: FixedStage(cascade, stage=0)}
    >>> print(sweep(worlds, first, horizon=1000, replications=2).table())
    ratio 0.8: best stage 2 of 3, weak dominance does not hold (ratio 0.80)
    policy           regret  stage 1  stage 2  stage 3
    first stage  66.4 ± 0.0   100.0%     0.0%     0.0%
    <BLANKLINE>
    ratio 1.2: best stage 2 of 3, weak dominance holds (ratio 1.20)
    policy            regret  stage 1  stage 2  stage 3
    first stage  129.6 ± 0.0   100.0%     0.0%     0.0%
    """
    _check_names("environments", environments)
    _check_names("policies", policies)
    worlds = {e: _plain(world) for e, world in environments.items()}
    jobs = {
        (e, p): prepare_job(
            environment, policy, horizon, replications, seed, checkpoints, count_errors
        )
        for e, environment in environments.items()
        for p, policy in policies.items()
    }
    errors: dict[int, Exception] = {}
    results = play_jobs(list(jobs.values()), n_jobs, progress=progress, failures=errors)
    failures = {list(jobs)[index]: error for index, error in errors.items()}
    for (e, p), error in failures.items():
        error.add_note(f"policy {p!r} in environment {e!r}")
        if len(failures) == len(jobs):
            raise error
    traces = {
        names: job.trace(played, name=names[1])
        for (names, job), played in zip(jobs.items(), results, strict=True)
        if played
    }
    return Sweep(traces, worlds, failures)


def _plain(environment: Any) -> Instance:
    """Return the law of an environment without contexts: one with them has no single best stage."""
    check_environment(environment)
    if environment.has_contexts:
        raise SettingError(
            f"environments must have no contexts in a sweep, got {environment!r}: simulate it"
        )
    instance: Instance = environment.instance
    return instance


def _check_names(what: str, mapping: Any) -> None:
    if not isinstance(mapping, Mapping) or not mapping:
        raise SettingError(f"{what} must be a mapping from names, not empty, got {mapping!r}")
    for name in mapping:
        if not isinstance(name, str):
            raise SettingError(f"{what} must have strings as names, got {name!r}")


def _heading(name: str, instance: Instance) -> str:
    holds = "holds" if instance.is_weakly_dominant() else "does not hold"
    return (
        f"{name}: best stage {instance.best_stage + 1} of {instance.cascade.n_stages}, "
        f"weak dominance {holds} (ratio {instance.dominance_ratio():.2f})"
    )


def _truth(instance: Instance) -> dict[str, Any]:
    ratio = instance.dominance_ratio()
    return {
        "cascade": instance.cascade.to_state(),
        "error_rates": instance.error_rates.tolist(),
        "total_costs": instance.total_costs.tolist(),
        "best_stage": instance.best_stage,
        "is_weakly_dominant": instance.is_weakly_dominant(),
        "dominance_ratio": ratio if math.isfinite(ratio) else None,
    }


def _outcome(policy: str, trace: Trace) -> dict[str, Any]:
    return {
        "policy": policy,
        "replications": trace.n_replications,
        "mean_regret": float(trace.mean_regret()[-1]),
        "half_width": float(trace.half_width()[-1]) if trace.n_replications > 1 else None,
        "stop_shares": trace.stop_shares().tolist(),
    }


def _lines(traces: Mapping[str, Trace]) -> list[str]:
    smallest = min(float(trace.mean_regret()[-1]) for trace in traces.values())
    digits = 1 if smallest >= 10 else 3
    cells = [[name, _regret(trace, digits), *_shares(trace)] for name, trace in traces.items()]
    K = next(iter(traces.values())).cascade.n_stages
    stages = [f"stage {k + 1}" for k in range(K)] if K <= _WIDE else ["most often at stage"]
    titles = ["policy", "regret", *stages]
    table = [titles, *cells]
    widths = [max(len(row[k]) for row in table) for k in range(len(titles))]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table
    ]


def _regret(trace: Trace, digits: int) -> str:
    mean, half = trace.mean_regret()[-1], trace.half_width()[-1]
    return f"{mean:,.{digits}f} ± " + (f"{half:,.{digits}f}" if math.isfinite(half) else "?")


def _shares(trace: Trace) -> list[str]:
    """Return the share of each stage; of many stages only the three largest, in one cell."""
    shares = trace.stop_shares().tolist()
    if len(shares) <= _WIDE:
        return [f"{share:.1%}" for share in shares]
    top = sorted(range(len(shares)), key=lambda k: -shares[k])[:3]
    return [", ".join(f"{k + 1} ({shares[k]:.1%})" for k in top if shares[k])]
