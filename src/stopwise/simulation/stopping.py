"""Play a policy that looks at each output: `next` says whether to stop, regret is that of its rule.

A policy needs ``next(outputs_so_far)`` and ``tell_many`` for a mapping from outputs to counts. If
its rule is certain for a while, ``hold()`` returns for how many cases. A policy that draws has
``chance_to_go_on(outputs_so_far)``; one whose answer need not be the last output has
``conclude(outputs_so_far)``, which returns the answer first. If ``skip`` is set, tests are run in
any order and ``test_if_going_on(outputs_so_far)`` returns the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from stopwise.cascade import IntArray
from stopwise.errors import PolicyError
from stopwise.patterns import Pattern
from stopwise.policies.resolution import epoch_end
from stopwise.problem.instance import Instance
from stopwise.problem.skipping_problem import best_cost_in_any_order
from stopwise.problem.stopping_problem import StoppingProblem
from stopwise.simulation.events import checked_hold
from stopwise.simulation.job import Played

# Without `hold`, batches grow by this share as long as the rule stays the same.
GROWTH = 0.1


class Step(NamedTuple):
    """What a policy does after some outputs: its chance to go on, and the test it then runs."""

    chance: float
    test: int | None


Rule = dict[Pattern, Step]
"""What a policy does in each state: outputs in the order of the cascade, ``None`` if left out."""


class StoppingWorld:
    """An instance whose outputs are looked at one by one, in order or as the policy chooses."""

    stops_give_regret = False

    def __init__(self, instance: Instance, *, skips: bool = False) -> None:
        self.instance = instance
        self.cascade = instance.cascade
        self.skips = skips
        # The least cost + error of any rule.
        self.best_cost = (
            best_cost_in_any_order(instance) if skips else StoppingProblem(instance).best_cost
        )
        law = instance.output_law
        self.patterns = [tuple(row) for row in law.codes.tolist()]
        self.chances = law.probabilities / law.probabilities.sum()
        # For each state the patterns of the instance that show it.
        self._rows: dict[Pattern, IntArray] = {(): np.arange(len(instance.outputs))}
        # What `after` and `error_of` have returned.
        self._after: dict[tuple[Pattern, int], list[Pattern]] = {}
        self._errors: dict[tuple[Pattern, Any], float] = {}

    def player(self, policy: Any, rule: Any, rng: np.random.Generator) -> StoppingPlay:
        """Return what plays one replication here; no such rule is compiled."""
        return StoppingPlay(policy.reseeded(rng.spawn(1)[0]), rng)

    @property
    def gaps(self) -> Any:
        """How much more each stage costs than the best rule; with ``skips``, each test alone."""
        prices = self.cascade.costs if self.skips else self.cascade.cumulative_costs
        return prices + self.instance.error_rates - self.best_cost

    def after(self, state: Pattern, test: int) -> list[Pattern]:
        """Return the states that follow if a test is run."""
        if (state, test) not in self._after:
            rows = self._rows[state]
            outputs = self.instance.outputs[rows, test]
            values = np.unique(outputs).tolist()
            successors = {ran(state, test, y): rows[outputs == y] for y in values}
            self._rows |= successors
            self._after[state, test] = list(successors)
        return self._after[state, test]

    def error_of(self, state: Pattern, answer: Any) -> float:
        """Return the chance that ``answer``, a code, is wrong in a state that `after` gave."""
        if (state, answer) not in self._errors:
            rows = self._rows[state]
            weights = self.instance.probabilities[rows]
            wrong = float(weights @ (self.instance.labels[rows] != answer) / weights.sum())
            self._errors[state, answer] = min(wrong, 1.0)  # sums are rounded
        return self._errors[state, answer]


class StoppingPlay:
    """One replication, told in batches.

    A policy with `hold` is told at once as many cases as its rule is certain for. A policy without
    is told a single case whenever its rule has changed or an epoch of `Resolve` begins; then
    batches grow while the rule stays the same. So learning takes effect a little late, as in
    practice. The policy learns; ``rng`` draws the cases.
    """

    def __init__(self, policy: Any, rng: np.random.Generator) -> None:
        self._policy = policy
        self._rng = rng
        self._holds = hasattr(policy, "hold")
        self._may_answer_otherwise = hasattr(policy, "conclude")
        self._error_rng = rng.spawn(1)[0]
        self._size = 1.0

    def play(self, world: StoppingWorld, ends: IntArray) -> Played:
        """Play on, up to each of ``ends`` in turn."""
        policy = self._policy
        stops = np.zeros((len(ends), world.cascade.n_stages), dtype=np.int64)
        runs, wrong, regret = stops.copy(), stops[:, 0].copy(), np.zeros(len(ends))
        n_stopped, n_run, n_wrong, excess, t = stops[0].copy(), stops[0].copy(), 0, 0.0, 0
        rule = rule_of(policy, world)
        cost = self._cost(world, rule)
        for c, until in enumerate(ends.tolist()):
            while t < until:
                if self._holds:
                    most = checked_hold(policy)
                else:
                    most = epoch_end(policy.n_rounds) - policy.n_rounds
                most = min(most, policy._left_of_block)
                n = min(most, until - t, most if self._holds else int(self._size))
                batch = self._draw(world, rule, n)
                for state, times in batch.items():
                    n_stopped[len(state) - 1] += times
                    n_run[run_in(state)] += times
                    n_wrong += int(self._error_rng.binomial(times, self._error(world, state)))
                policy.tell_many(batch)  # after the answers, which it may change
                excess += n * (cost - world.best_cost)
                t += n
                if self._holds and n < most:
                    continue
                before, rule = rule, rule_of(policy, world)
                if rule != before or self._may_answer_otherwise:
                    cost = self._cost(world, rule)
                grows = rule == before and n < most
                self._size = self._size * (1 + GROWTH) if grows else 1.0
            stops[c], runs[c], wrong[c], regret[c] = n_stopped, n_run, n_wrong, excess
        return Played(stops, wrong, regret, runs if world.skips else None)

    def _draw(self, world: StoppingWorld, rule: Rule, n: int) -> dict[Pattern, int]:
        """Draw n cases and return how many of them stop in each state."""

        def draw(n_cases: int, chance: float) -> int:
            is_random = 0 < chance < 1
            return int(self._rng.binomial(n_cases, chance)) if is_random else int(chance) * n_cases

        return _stops(world, rule, self._rng.multinomial(n, world.chances), draw)

    def _error(self, world: StoppingWorld, state: Pattern) -> float:
        """Return the chance that the answer of the policy in a state is wrong."""
        answer = self._policy.conclude(state)[0] if self._may_answer_otherwise else state[-1]
        return world.error_of(state, answer)

    def _cost(self, world: StoppingWorld, rule: Rule) -> float:
        """Return the expected cost + error of a rule."""
        costs = world.cascade.costs
        total = 0.0
        for state, share in _stops(world, rule, world.chances, mul).items():
            total += share * (float(costs[run_in(state)].sum()) + self._error(world, state))
        return total


def _stops(
    world: StoppingWorld, rule: Rule, amounts: Any, going_on: Callable[[Any, float], Any]
) -> dict[Pattern, Any]:
    """Return how many cases stop in each state, given how many show each pattern.

    ``going_on`` returns how many of some cases go on, given the chance of each.
    """
    stops: dict[Pattern, Any] = {}
    for r in np.flatnonzero(amounts).tolist():
        state: Pattern = ()
        amount = amounts[r].item()
        while amount:
            chance, test = rule[state]
            rest = going_on(amount, chance)
            if rest < amount:
                stops[state] = stops.get(state, 0) + amount - rest
            if rest:
                assert test is not None  # see `rule_of`
                state = ran(state, test, world.patterns[r][test])
            amount = rest
    return stops


def ran(state: Pattern, test: int, output: int) -> Pattern:
    """Return the state after a test was run.

    >>> ran((1,), 2, 0), ran((None, 1), 0, 1)
    ((1, None, 0), (1, 1))
    """
    outputs = [*state, *(None,) * (test + 1 - len(state))]
    outputs[test] = output
    return tuple(outputs)


def run_in(state: Pattern) -> list[int]:
    """Return the tests that were run in a state."""
    return [k for k, output in enumerate(state) if output is not None]


def rule_of(policy: Any, world: StoppingWorld) -> Rule:
    """Return what the policy does now in each state that it can reach."""
    rule: Rule = {}
    todo: list[Pattern] = [()]
    while todo:
        state = todo.pop()
        rule[state] = step = _step(policy, state)
        if not step.chance:
            continue
        if step.test is None or step.test == world.cascade.n_stages:
            raise PolicyError(
                f"{type(policy).__name__}.next must stop at the last stage, "
                f"it goes on after {state!r}"
            )
        todo += world.after(state, step.test)
    return rule


def _step(policy: Any, state: Pattern) -> Step:
    if policy.skip:
        return Step(policy.chance_to_go_on(state), policy.test_if_going_on(state))
    if not state:
        return Step(1.0, 0)
    return Step(policy.chance_to_go_on(state), len(state))
