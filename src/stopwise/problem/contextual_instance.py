"""Known truth with contexts: the law of label and outputs given a context."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from stopwise.cascade import TOLERANCE, BoolArray, Cascade, FloatArray, IntArray, read_only
from stopwise.errors import CascadeError, InstanceError
from stopwise.problem.contextual_laws import LogisticLaw, checked_table

N_AVERAGED = 20_000  # contexts drawn for an average over their law
MAX_REDRAWS = 1_000  # of a context outside weak dominance; more are an error
MAX_CORNERS = 1_024  # of the contexts, on which a law is checked


class ContextualCases(NamedTuple):
    """Cases drawn from an environment: what a learner may see, the truth, and the costs."""

    contexts: FloatArray  # the features of each case; shape (n, d)
    # The right answer and the tests' answers, as codes; shapes (n,) and (n, K).
    labels: IntArray
    outputs: IntArray
    # How much more it costs to stop each case at each stage, in expectation given its context, than
    # what regret is measured against; shape (n, K).
    gaps: FloatArray


class ContextualInstance:
    """A cascade with contexts and the conditional law of label and outputs.

    Everything true of an `Instance` is true here given a context: error rates, the best stage,
    gaps, weak dominance. Regret is measured against the best stage *for each context*. Features
    are independent and uniform on [-1, 1].

    Parameters
    ----------
    law
        The law of label and outputs given a context: `NestedErrors` or `LogisticPairs`.
    cascade
        The tests and what they cost; a chain.
    only_weakly_dominant
        Draw contexts again for which weak dominance fails, so that it holds given every context.

    >>> from stopwise.problem.contextual_laws import NestedErrors
    >>> law = NestedErrors([[-2.0, 2.0]])  # test 2 corrects more where the feature is large
    >>> world = ContextualInstance(law, Cascade(costs=[0, 0.2]))
    >>> world.best_stages([[-1.0], [1.0]])
    array([0, 1])
    """

    has_contexts = True

    def __init__(
        self, law: LogisticLaw, cascade: Cascade, *, only_weakly_dominant: bool = False
    ) -> None:
        if not isinstance(cascade, Cascade):
            raise CascadeError(f"cascade must be a Cascade, got {cascade!r}")
        if not isinstance(law, LogisticLaw):
            raise InstanceError(f"law must be NestedErrors or LogisticPairs, got {law!r}")
        if not cascade.is_chain:
            raise InstanceError(f"cascade must be a chain, got a tree: {cascade!r}")
        if law.is_wrong.shape[1] != cascade.n_stages:
            raise InstanceError(
                f"law must have {cascade.n_stages} tests, got {law.is_wrong.shape[1]}"
            )
        self.law = law
        self.cascade = cascade
        self.only_weakly_dominant = bool(only_weakly_dominant)
        self._is_wrong = read_only(np.array(law.is_wrong, dtype=np.int64))
        self._errors = read_only(self._is_wrong.astype(np.float64))
        differs = self._is_wrong[:, :, None] != self._is_wrong[:, None, :]
        self._differs = read_only(differs.reshape(len(differs), -1).astype(np.float64))
        # An invalid law is refused here, not in the middle of a run.
        self._chances(self.extreme_contexts())
        self.draw_contexts(1_000, np.random.default_rng(0))

    def __repr__(self) -> str:
        return (
            f"ContextualInstance({type(self.law).__name__}, {self.n_features} features, "
            f"{self.cascade.n_stages} stages)"
        )

    @property
    def n_features(self) -> int:
        """The length of a context."""
        return self.law.n_features

    def extreme_contexts(self) -> FloatArray:
        """Return the corners of the contexts, or a random sample if there are many."""
        d = self.n_features
        if 2**d > MAX_CORNERS:
            return np.random.default_rng(0).choice([-1.0, 1.0], size=(MAX_CORNERS, d))
        return np.array(list(product((-1.0, 1.0), repeat=d)))

    def error_rates(self, contexts: Any) -> FloatArray:
        """Return P(Y^k ≠ Y | x) for each context and test; shape (n, K)."""
        return np.asarray(self._chances(contexts) @ self._errors)

    def total_costs(self, contexts: Any) -> FloatArray:
        """Return the expected cost of stopping at each stage given each context; shape (n, K)."""
        return self._costs(self._chances(contexts))

    def disagreement(self, contexts: Any) -> FloatArray:
        """Return P(Y^i ≠ Y^j | x) for each context and pair; shape (n, K, K)."""
        return self._disagreement(self._chances(contexts))

    def best_stages(self, contexts: Any) -> IntArray:
        """Return the first stage of least total cost for each context; shape (n,)."""
        return _first_cheapest(self.total_costs(contexts))

    def gaps(self, contexts: Any) -> FloatArray:
        """Return how much more each stage costs than the best one for the context; shape (n, K)."""
        return _gaps(self.total_costs(contexts))

    def is_weakly_dominant(self, contexts: Any) -> BoolArray:
        """Return for each context whether prices beyond the best stage cover the disagreement."""
        return self._is_dominant(self._chances(contexts))

    @cached_property
    def average_gaps(self) -> FloatArray:
        """The mean gap of each stage over contexts: what always stopping there costs a round.

        The mean of 20,000 contexts drawn with a fixed seed.
        """
        contexts = self.draw_contexts(N_AVERAGED, np.random.default_rng(0))
        return read_only(self.gaps(contexts).mean(axis=0))

    @property
    def best_fixed_stage(self) -> int:
        """The stage that costs least if it is the same for all contexts."""
        return int(self.average_gaps.argmin())

    def draw_contexts(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` contexts; shape (n, d)."""
        return self._draw_contexts(n, rng)[0]

    def draw(self, n: int, rng: np.random.Generator) -> ContextualCases:
        """Draw ``n`` cases."""
        contexts, chances = self._draw_contexts(n, rng)
        ends = chances.T.cumsum(axis=0)
        patterns = (rng.random(n) * ends[-1] >= ends[:-1]).sum(axis=0)
        labels = rng.integers(2, size=n)
        outputs = labels[:, None] ^ self._is_wrong[patterns]
        return ContextualCases(contexts, labels, outputs, _gaps(self._costs(chances)))

    def _draw_contexts(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw contexts, and return with them the chances of each pattern."""
        contexts = rng.uniform(-1, 1, size=(n, self.n_features))
        chances = self._chances(contexts)
        if not self.only_weakly_dominant:
            return contexts, chances
        bad = np.flatnonzero(~self._is_dominant(chances))
        for _ in range(MAX_REDRAWS):
            if not len(bad):
                return contexts, chances
            contexts[bad] = rng.uniform(-1, 1, size=(len(bad), self.n_features))
            chances[bad] = self._chances(contexts[bad])
            bad = bad[~self._is_dominant(chances[bad])]
        raise InstanceError("some contexts must be weakly dominant, got none")

    def _chances(self, contexts: Any) -> FloatArray:
        table = checked_table("contexts", contexts)
        if table.shape[1] != self.n_features:
            raise InstanceError(
                f"contexts must have shape (n, {self.n_features}), got {table.shape}"
            )
        return self.law.chances(table)

    def _costs(self, chances: FloatArray) -> FloatArray:
        return np.asarray(chances @ self._errors + self.cascade.cumulative_costs)

    def _disagreement(self, chances: FloatArray) -> FloatArray:
        K = self.cascade.n_stages
        return np.asarray(chances @ self._differs).reshape(len(chances), K, K)

    def _is_dominant(self, chances: FloatArray) -> BoolArray:
        p, best = self._disagreement(chances), _first_cheapest(self._costs(chances))
        C = self.cascade.cumulative_costs
        is_covered = C - C[best, None] >= p[np.arange(len(best)), best] - TOLERANCE
        is_later = np.arange(len(C)) > best[:, None]
        return np.asarray(np.all(is_covered | ~is_later, axis=1))


def _first_cheapest(costs: FloatArray) -> IntArray:
    cheap = costs <= costs.min(axis=1, keepdims=True) + TOLERANCE
    return np.asarray(cheap.argmax(axis=1))


def _gaps(costs: FloatArray) -> FloatArray:
    gaps = costs - costs.min(axis=1, keepdims=True)
    return np.where(gaps <= TOLERANCE, 0.0, gaps)
