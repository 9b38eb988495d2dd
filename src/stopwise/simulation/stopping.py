"""Play a policy that looks at each output: `next` says whether to stop, regret is that of its rule.

What a policy needs: ``next(outputs_so_far)``, ``tell_many`` for a mapping from outputs to how
often, and, where its rule is certain for a while, ``hold()``, for how many cases that is so. One
that draws has ``chance_to_go_on(outputs_so_far)``; one with other answers than the last output has
``conclude(outputs_so_far)``, the answer first.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stopwise.cascade import IntArray
from stopwise.errors import PolicyError
from stopwise.patterns import Pattern
from stopwise.policies.resolution import epoch_end
from stopwise.policies.stopping_policy import Decision
from stopwise.problem.instance import Instance
from stopwise.problem.stopping_problem import StoppingProblem
from stopwise.simulation.events import checked_hold
from stopwise.simulation.world import Played

# Without `hold`, a batch is larger by this share than the one before it as long as the rule stays.
GROWTH = 0.1

Rule = dict[Pattern, float]
"""The chance to go on after each prefix."""


class StoppingWorld:
    """An instance whose outputs are looked at one by one."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.cascade = instance.cascade
        law = instance.output_law
        self.patterns = [tuple(row) for row in law.codes.tolist()]
        self.chances = law.probabilities / law.probabilities.sum()

    @cached_property
    def problem(self) -> StoppingProblem:
        """The truth about rules."""
        return StoppingProblem(self.instance)

    @property
    def gaps(self) -> Any:
        """What stopping at each stage costs more than the best stopping rule."""
        return self.instance.total_costs - self.problem.best_cost


class StoppingPlay:
    """One replication, told in batches.

    A policy with `hold` is told as many cases at once as it says that its rule is certain for. One
    without is told a single case whenever its rule has changed or an epoch, a power of two, begins;
    then batches grow while the rule stays. What is learned is used a little late, as in practice.
    The policy learns; ``rng`` draws the cases.
    """

    def __init__(self, policy: Any, rng: np.random.Generator) -> None:
        self._policy = policy
        self._rng = rng
        self._holds = hasattr(policy, "hold")
        self._luck = rng.spawn(1)[0]
        self._size = 1.0

    def play(self, world: StoppingWorld, ends: IntArray) -> Played:
        """Play on, up to each of ``ends`` in turn."""
        policy, problem = self._policy, world.problem
        stops = np.zeros((len(ends), world.cascade.n_stages), dtype=np.int64)
        wrong, regret = np.zeros(len(ends), dtype=np.int64), np.zeros(len(ends))
        stopped, missed, paid, t = np.zeros_like(stops[0]), 0, 0.0, 0
        rule, answers = rule_of(policy, problem), _Answers(policy, problem)
        cost = answers.cost(rule)
        for c, until in enumerate(ends.tolist()):
            while t < until:
                left = checked_hold(policy) if self._holds else _left_of_epoch(policy.n_rounds)
                left = min(left, getattr(policy, "_left_of_block", left))
                n = min(left, until - t, left if self._holds else int(self._size))
                batch = self._draw(world, rule, n)
                policy.tell_many(batch)
                for prefix, times in batch.items():
                    stopped[len(prefix) - 1] += times
                    missed += int(self._luck.binomial(times, answers.error(prefix)))
                paid += n * (cost - problem.best_cost)
                t += n
                if self._holds and n < left:
                    continue
                before, rule = rule, rule_of(policy, problem)
                if rule != before or answers.may_change:
                    answers = _Answers(policy, problem)
                    cost = answers.cost(rule)
                grows = rule == before and n < left
                self._size = self._size * (1 + GROWTH) if grows else 1.0
            stops[c], wrong[c], regret[c] = stopped, missed, paid
        return Played(stops, wrong, regret)

    def _draw(self, world: StoppingWorld, rule: Rule, n: int) -> dict[Pattern, int]:
        """Draw n cases and return how often each prefix at which one stops came up."""
        told: dict[Pattern, int] = {}
        counts = self._rng.multinomial(n, world.chances)
        for r in np.flatnonzero(counts).tolist():
            left = int(counts[r])
            for shown in range(1, world.cascade.n_stages + 1):
                prefix = world.patterns[r][:shown]
                chance = rule[prefix]
                on = int(self._rng.binomial(left, chance)) if 0 < chance < 1 else int(chance) * left
                if on < left:
                    told[prefix] = told.get(prefix, 0) + left - on
                if not on:
                    break
                left = on
        return told


class _Answers:
    """What a policy answers where it stops, and how often that is wrong."""

    def __init__(self, policy: Any, problem: StoppingProblem) -> None:
        self._policy = policy
        self._problem = problem
        self.may_change = getattr(policy, "answer", "last") != "last"

    def error(self, prefix: Pattern) -> float:
        """Return the chance that the answer after a prefix is wrong."""
        if not self.may_change:
            return self._problem.prefixes[prefix].error
        return self._problem.error_of(prefix, self._policy.conclude(prefix)[0])

    def cost(self, rule: Rule) -> float:
        """Return the expected cost + error of a rule."""
        return self._problem.cost(lambda prefix: 1 - rule[prefix], self.error)


def _left_of_epoch(n_rounds: int) -> int:
    return epoch_end(n_rounds) - n_rounds


def rule_of(policy: Any, problem: StoppingProblem) -> Rule:
    """Return how likely the policy goes on now, after each prefix that it comes to."""
    found: Rule = {}
    todo = list(problem.first)
    while todo:
        prefix = todo.pop()
        if hasattr(policy, "chance_to_go_on"):
            found[prefix] = policy.chance_to_go_on(prefix)
        else:
            found[prefix] = float(policy.next(prefix) is not Decision.STOP)
        if found[prefix] > 0 and not problem.prefixes[prefix].children:
            raise PolicyError(
                f"{type(policy).__name__}.next must stop at the last stage, "
                f"it goes on after {prefix!r}"
            )
        if found[prefix] > 0:
            todo += problem.prefixes[prefix].children
    return found
