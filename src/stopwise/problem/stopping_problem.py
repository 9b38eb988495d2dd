"""Stopping after seeing outputs where the truth is known: best rules with and without labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stopwise.cascade import TOLERANCE, IntArray
from stopwise.errors import InstanceError
from stopwise.patterns import Pattern, agreement
from stopwise.problem.instance import Instance
from stopwise.theory.gain import gain_of_going_on


@dataclass(frozen=True)
class Prefix:
    """What is true once a case has shown its first outputs."""

    chance: float  # the probability that a case shows them
    error: float  # P(Y^i ≠ Y | they were seen): the chance that their last output is wrong
    change: float  # P(Y^{i+1} ≠ Y^i | they were seen); 0 at the last stage
    gain: float  # the most that going on can gain over all labels: ``gain_of_going_on``
    going_on: float  # the least cost + error of going on, from here; infinite at the last stage
    children: tuple[Pattern, ...]  # the prefixes that are one output longer

    @property
    def value(self) -> float:
        """The least cost + error from here on, without what has been spent already (V)."""
        return min(self.error, self.going_on)


class StoppingProblem:
    """Where to stop if each output is seen before the next test is run.

    A rule says for each prefix of outputs whether to stop there and answer with its last output.
    The best one follows by dynamic programming, V(s) = min(error(s), c + E V(s, next output)).
    *Conditional weak dominance*: wherever the best rule stops, going on cannot gain whatever the
    labels are. Then the rule that needs no labels, which stops as soon as going on cannot gain, is
    the best one.

    Parameters
    ----------
    instance
        The joint law; a chain.
    pooled
        Whether rules see only which outputs agree, not their values.

    >>> from stopwise.cascade import Cascade
    >>> from stopwise.problem.families import nested_errors
    >>> problem = StoppingProblem(nested_errors(Cascade(costs=[0, 0.1, 0.1])))
    >>> problem.is_weakly_dominant()
    True
    >>> float(problem.instance.total_costs.min().round(4)), round(problem.best_cost, 4)
    (0.2, 0.19)
    """

    def __init__(self, instance: Instance, *, pooled: bool = False) -> None:
        check_chain(instance)
        self.instance = instance
        self.pooled = pooled
        # The patterns of the instance as a rule sees them.
        patterns = [tuple(row) for row in instance.outputs.tolist()]
        self._patterns = [agreement(row) for row in patterns] if pooled else patterns
        self.prefixes: dict[Pattern, Prefix] = {}
        rows_of: dict[Pattern, list[int]] = {}
        for r, row in enumerate(self._patterns):
            rows_of.setdefault(row[:1], []).append(r)
        self.first = tuple(rows_of)
        for prefix, rows in rows_of.items():
            self._add(prefix, np.array(rows))

    def _add(self, prefix: Pattern, rows: IntArray) -> Prefix:
        instance, stage = self.instance, len(prefix) - 1
        weights = instance.probabilities[rows]
        chance = float(weights.sum())
        error = float(weights @ ~instance.is_right[rows, stage]) / chance
        if stage == instance.cascade.n_stages - 1:
            self.prefixes[prefix] = Prefix(chance, error, 0.0, 0.0, np.inf, ())
            return self.prefixes[prefix]
        price = float(instance.cascade.costs[stage + 1])
        groups: dict[Pattern, list[int]] = {}
        for r in rows.tolist():
            groups.setdefault(self._patterns[r][: stage + 2], []).append(r)
        children = {child: self._add(child, np.array(group)) for child, group in groups.items()}
        same = children.get((*prefix, prefix[-1]))
        change = 1 - same.chance / chance if same else 1.0
        gain = gain_of_going_on(change, price, same.gain if same else 0.0)
        going_on = price + sum(p.chance * p.value for p in children.values()) / chance
        self.prefixes[prefix] = Prefix(chance, error, change, gain, going_on, tuple(children))
        return self.prefixes[prefix]

    def stops_at_best(self, prefix: Pattern) -> bool:
        """Whether the best rule stops at a prefix; in a tie it does."""
        node = self.prefixes[prefix]
        return node.error <= node.going_on + TOLERANCE

    def stops_without_labels(self, prefix: Pattern) -> bool:
        """Whether going on from a prefix gains nothing, whatever the labels are."""
        node = self.prefixes[prefix]
        return not node.children or node.gain <= TOLERANCE

    def cost(self, stops: Callable[[Pattern], bool]) -> float:
        """Return the expected cost + error of a rule; at the last stage every rule stops."""
        C = self.instance.cascade.cumulative_costs
        total, todo = 0.0, list(self.first)
        while todo:
            prefix = todo.pop()
            node = self.prefixes[prefix]
            if node.children and not stops(prefix):
                todo += node.children
            else:
                total += node.chance * (float(C[len(prefix) - 1]) + node.error)
        return total

    @cached_property
    def best_cost(self) -> float:
        """The least cost + error of any rule."""
        first = sum(self.prefixes[p].chance * self.prefixes[p].value for p in self.first)
        return float(self.instance.cascade.cumulative_costs[0]) + first

    @cached_property
    def cost_without_labels(self) -> float:
        """The cost + error of the rule that needs no labels."""
        return self.cost(self.stops_without_labels)

    def violations(self) -> tuple[Pattern, ...]:
        """Return the prefixes where the best rule stops but not the one without labels."""
        prefixes, todo = [], list(self.first)
        while todo:
            prefix = todo.pop()
            if not self.stops_at_best(prefix):
                todo += self.prefixes[prefix].children
            elif not self.stops_without_labels(prefix):
                prefixes.append(prefix)
        return tuple(sorted(prefixes, key=lambda p: (len(p), p)))

    def is_weakly_dominant(self) -> bool:
        """Whether conditional weak dominance holds: going on gains nowhere the best rule stops."""
        return not self.violations()


def check_chain(instance: Instance) -> None:
    """Refuse an instance on a tree."""
    if not instance.cascade.is_chain:
        raise InstanceError(f"instance must be on a chain, got {instance.cascade!r}")
