"""Stopping after seeing outputs, simulated: regret against the best stopping rule."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from stopwise.cascade import Cascade, FloatArray, IntArray
from stopwise.checks import finite_number, whole_number
from stopwise.errors import SettingError
from stopwise.patterns import Pattern, PatternTable
from stopwise.policies.output_conditional import OutputConditional
from stopwise.policies.resolution import epoch_end
from stopwise.policies.stopping_policy import Decision
from stopwise.problem.conditional import StoppingProblem
from stopwise.simulation.run import (
    Environment,
    check_takes_cascade,
    checkpoint_rounds,
    instance_of,
)
from stopwise.simulation.trace import Replicated


@dataclass(frozen=True, eq=False)
class StoppingTrace(Replicated):
    """What a policy that stops after seeing outputs cost up to each checkpoint.

    Parameters
    ----------
    rounds
        The checkpoints; shape (n,).
    stops
        How many cases had been stopped at each stage; shape (replications, n, K).
    costs
        Expected cost + error of the rules that were in force, summed; shape (replications, n).
    final_costs
        Cost + error a case of the rule in force at the end; shape (replications,).
    best_cost, best_fixed_cost
        Cost + error a case of the best stopping rule, and of the best single stage.
    """

    rounds: IntArray
    stops: IntArray
    costs: FloatArray
    final_costs: FloatArray
    best_cost: float
    best_fixed_cost: float

    @property
    def regret(self) -> FloatArray:
        """What was paid beyond the best stopping rule; shape (replications, n)."""
        return np.asarray(self.costs - self.best_cost * self.rounds)


def simulate_stopping(
    environment: Environment,
    policy: Callable[[Cascade], OutputConditional],
    *,
    horizon: int,
    replications: int = 20,
    seed: int = 0,
    checkpoints: int | Iterable[int] = 60,
    growth: float = 0.1,
) -> StoppingTrace:
    """Play an `OutputConditional` policy for ``horizon`` cases, many times over.

    Cases are told in batches. A batch starts at one case whenever the rule has changed or an epoch
    of the policy begins, and grows while the rule stays as it is; so what is learned by the way is
    used a little late, as in practice. With ``growth`` 0 the policy is told case by case.

    Parameters
    ----------
    environment
        An `Instance`, or a `Recording` whose rows are drawn with replacement.
    policy
        What makes the policy from a cascade: its class, say.
    horizon, replications, seed, checkpoints
        As for `simulate`.
    growth
        By which share a batch is larger than the one before it, >= 0.

    >>> from stopwise.problem.families import nested_errors
    >>> world = nested_errors(Cascade(costs=[0, 0.35, 0.1]))
    >>> trace = simulate_stopping(world, OutputConditional, horizon=20_000, replications=2)
    >>> bool(np.all(trace.final_costs < trace.best_cost + 1e-9))
    True
    """
    instance = instance_of(environment)
    rounds = checkpoint_rounds(checkpoints, whole_number("horizon", horizon, SettingError, least=1))
    R = whole_number("replications", replications, SettingError, least=1)
    share = finite_number("growth", growth, SettingError, zero=True)
    whole_number("seed", seed, SettingError, least=0)
    if not callable(policy):
        raise SettingError(f"policy must make an OutputConditional from a cascade, got {policy!r}")
    check_takes_cascade(policy)
    made = policy(instance.cascade)
    if not isinstance(made, OutputConditional):
        raise SettingError(f"policy must make an OutputConditional, it made {made!r}")
    if made.cascade != instance.cascade:
        raise SettingError(
            "policy must be for the cascade of the environment, "
            f"got {made.cascade!r} for {instance.cascade!r}"
        )
    play = _Play(instance.output_law, StoppingProblem(instance))
    played = [
        play.run(copy.deepcopy(made), rounds, share, np.random.default_rng([seed, r]))
        for r in range(R)
    ]
    stops, costs, final = map(np.array, zip(*played, strict=True))
    return StoppingTrace(
        rounds, stops, costs, final, play.problem.best_cost, float(instance.total_costs.min())
    )


class _Play:
    """One world, prepared: its output patterns, and the truth about rules."""

    def __init__(self, law: PatternTable, problem: StoppingProblem) -> None:
        self.problem = problem
        self.patterns = [tuple(row) for row in law.codes.tolist()]
        self.chances = law.probabilities / law.probabilities.sum()

    def run(
        self, policy: OutputConditional, rounds: IntArray, growth: float, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray, float]:
        """Return where was stopped, what that cost, and what the last rule costs a case."""
        stops = np.zeros((len(rounds), self.problem.instance.cascade.n_stages), dtype=np.int64)
        costs = np.zeros(len(rounds))
        rule, size, paid = self._rule(policy), 1.0, 0.0
        cost = self.problem.cost(rule.__contains__)
        for k, checkpoint in enumerate(rounds.tolist()):
            while (t := policy.n_rounds) < checkpoint:
                left = epoch_end(t) - t
                n = min(int(size), left, checkpoint - t)
                policy.tell_many(self._draw(rule, n, rng))
                paid += n * cost
                before, rule = rule, self._rule(policy)
                if rule != before:
                    cost = self.problem.cost(rule.__contains__)
                size = size * (1 + growth) if rule == before and n < left else 1.0
            stops[k], costs[k] = policy.n_stopped, paid
        return stops, costs, cost

    def _rule(self, policy: OutputConditional) -> frozenset[Pattern]:
        """Return the prefixes at which the policy would stop now."""
        found, todo = [], list(self.problem.first)
        while todo:
            prefix = todo.pop()
            if policy.next(prefix) is Decision.STOP:
                found.append(prefix)
            else:
                todo += self.problem.prefixes[prefix].children
        return frozenset(found)

    def _draw(
        self, rule: frozenset[Pattern], n: int, rng: np.random.Generator
    ) -> dict[Pattern, int]:
        """Draw n cases and return how often each prefix at which the rule stops came up."""
        told: dict[Pattern, int] = {}
        drawn = rng.multinomial(n, self.chances)
        for r in np.flatnonzero(drawn).tolist():
            pattern, shown = self.patterns[r], 1
            while pattern[:shown] not in rule:
                shown += 1
            told[pattern[:shown]] = told.get(pattern[:shown], 0) + int(drawn[r])
        return told
