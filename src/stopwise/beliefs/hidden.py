"""The fitted law of the hidden class and of the outputs given it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stopwise.beliefs.em import Design, posteriors
from stopwise.cascade import FloatArray, IntArray, read_only

UNSEEN = 1e-3  # the weight of classes that an earlier fit did not know


@dataclass(frozen=True, eq=False)
class Hidden:
    """The law of the hidden class and of the outputs given it.

    Parameters
    ----------
    parameters
        Row 0 is how often each hidden class occurs, row 1 + k * M + b how often test k says b in
        each; shape (1 + K * M, H * M). With H = 2 a case is easy or hard, and class h * M + a says
        that a is right and the case easy (h = 0) or hard.
    n_classes
        The number of possible answers, M.
    """

    parameters: FloatArray
    n_classes: int

    @classmethod
    def of(cls, levels: FloatArray, tests: FloatArray) -> Hidden:
        """Return the law with these `levels` and `tests`."""
        H, M = levels.shape
        rows = np.concatenate([levels.reshape(1, H * M), tests.reshape(-1, H * M)])
        return cls(read_only(rows), M)

    @property
    def levels(self) -> FloatArray:
        """P(level h and a is right); shape (H, M)."""
        return np.asarray(self.parameters[0].reshape(-1, self.n_classes))

    @property
    def tests(self) -> FloatArray:
        """P(test k says b | level h, a is right), ``[k, b, h, a]``; shape (K, M, H, M)."""
        M = self.n_classes
        return np.asarray(self.parameters[1:].reshape(-1, M, self.parameters.shape[1] // M, M))

    @cached_property
    def prior(self) -> FloatArray:
        """How often each class is right; shape (M,)."""
        return read_only(self.levels.sum(axis=0))

    @cached_property
    def confusion(self) -> FloatArray:
        """The chance that test k says b where a is right, ``[k, a, b]``; shape (K, M, M)."""
        weights = self.levels.sum(axis=1)  # difficulty does not depend on the right answer
        return read_only(np.einsum("h,kbha->kab", weights / weights.sum(), self.tests))

    @property
    def accuracies(self) -> FloatArray:
        """How often each test is right; shape (K,)."""
        return np.asarray(np.einsum("ha,kaha->k", self.levels, self.tests))

    def chances(self, codes: IntArray) -> FloatArray:
        """Return the chance of each level and answer given outputs; shape (R, H, M)."""
        design = Design(codes, self.n_classes)
        chances, _ = posteriors(design, self.parameters[:, None, :])
        return chances.reshape(len(codes), *self.levels.shape)

    def right(self, test: int, codes: IntArray, belief: FloatArray) -> FloatArray:
        """Return the chance that a test which was not run would be right; shape (R,).

        ``belief`` is the chance of each answer, maybe with labels; shape (R, M).
        """
        hidden = self.chances(codes)
        hidden /= np.maximum(hidden.sum(axis=1, keepdims=True), 1e-300)
        right = np.einsum("aha->ha", self.tests[test])
        return np.asarray(np.einsum("rha,ha,ra->r", hidden, right, belief))

    def cut(self, M: int) -> Hidden:
        """Return the law of the first ``M`` classes."""
        return Hidden.of(self.levels[:, :M], self.tests[:, :M, :, :M])

    def extended(self, M: int) -> Hidden:
        """Return the law with room for classes up to ``M`` that only labels have shown.

        They have no cases; in them every output is equally likely.
        """
        old = self.n_classes
        if old == M:
            return self
        (H, _), K = self.levels.shape, len(self.tests)
        levels, tests = np.zeros((H, M)), np.zeros((K, M, H, M))
        levels[:, :old] = self.levels
        tests[:, :old, :, :old] = self.tests
        tests[:, :, :, old:] = 1 / M
        return Hidden.of(levels, tests)

    def renamed(self, places: list[int | None]) -> Hidden:
        """Return the law for other classes: the place of each among those here, ``None`` if new.

        A new class is rare, and where it is right the tests say so more often than anything else:
        if all outputs were equally likely, nothing would ever tell several new classes apart.
        """
        M = len(places)
        new = np.array([c for c, place in enumerate(places) if place is None], dtype=int)
        there = np.array([c for c, place in enumerate(places) if place is not None], dtype=int)
        here = np.array([place for place in places if place is not None], dtype=int)
        (H, _), K = self.levels.shape, len(self.tests)
        levels, tests = np.full((H, M), UNSEEN / M), np.full((K, M, H, M), UNSEEN / M)
        levels[:, there] += self.levels[:, here]
        tests[:, new, :, new] += UNSEEN
        for h in range(H):
            tests[:, there[:, None], h, there] += self.tests[:, here[:, None], h, here]
        return Hidden.of(levels / levels.sum(), tests / tests.sum(axis=1, keepdims=True))
