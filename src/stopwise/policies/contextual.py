"""Ask and tell with a context: what every contextual policy does beside its rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar, Self

import numpy as np

from stopwise.cascade import Cascade, FloatArray
from stopwise.checks import finite_number, whole_number
from stopwise.errors import CascadeError, ContextError, InputError, SettingError, StateError
from stopwise.outputs import Outputs, check_outputs
from stopwise.policies.context_checks import (
    LARGEST,
    LARGEST_UNSCALED,
    MEMORY,
    case_parts,
    check_context,
    check_memory,
    checked_memory,
    copied,
)
from stopwise.policies.contextual_rules import optimistic_stage
from stopwise.policies.logistic import chance, dot, log_odds
from stopwise.policies.optimism import price_rows
from stopwise.policies.pair_models import UNSEEN, Model, absorb, is_warm, scale_features
from stopwise.policies.state import STATE_VERSION, Saved

# Below this rounding would eat up what is learned.
LEAST_REGULARISATION = 1e-6


class ContextualPolicy(Saved, is_base=True):
    """A learner that says where to stop a case of which some features are known beforehand.

    It models P(Y^i ≠ Y^j | x) as σ(θ_ij·x) for each pair of stages, and learns θ_ij online from the
    cases that showed both; memory and work a round do not grow. Features are shifted and scaled by
    the mean and standard deviation of the first ``warm_up`` cases, fixed from then on; until then
    every case goes to the last stage. What is learned depends on the order of the cases, if ever
    so little, so there is no `merge`.

    Parameters
    ----------
    cascade
        The tests and their prices; a chain.
    n_features
        The length of a context, the constant feature not counted.
    exploration
        How many squared standard deviations a bound is away, per ln t; more goes deep for longer.
    regularisation
        λ: how strongly coefficients are drawn to 0, in units of one case at p = 1/2 times 4; at
        least 1e-6.
    intercept
        Whether to add a constant feature. Without it features are not shifted, only divided.
    warm_up
        The number of cases from which the scale of the features is learned, 2 or more; 0 does not
        scale them, and refuses any beyond 1000. Scaled or not they are cut at ±10.
    """

    settings: ClassVar[tuple[str, ...]] = (
        "n_features",
        "exploration",
        "regularisation",
        "intercept",
        "warm_up",
    )
    """The parameters after the cascade, each kept as an attribute of the same name."""

    def __init__(
        self,
        cascade: Cascade,
        n_features: int,
        *,
        exploration: float = 0.5,
        regularisation: float = 1.0,
        intercept: bool = True,
        warm_up: int = 50,
    ) -> None:
        if not isinstance(cascade, Cascade):
            raise CascadeError(f"cascade must be a Cascade, got {cascade!r}")
        if not cascade.is_chain:
            raise CascadeError(f"{type(self).__name__} needs a chain, got a tree: {cascade!r}")
        if not isinstance(intercept, (bool, np.bool_)):
            raise SettingError(f"intercept must be True or False, got {intercept!r}")
        self.cascade = cascade
        self.intercept = bool(intercept)
        least = 0 if self.intercept else 1
        self.n_features = whole_number("n_features", n_features, SettingError, least=least)
        self.exploration = finite_number("exploration", exploration, SettingError, zero=False)
        self.regularisation = finite_number(
            "regularisation", regularisation, SettingError, zero=False
        )
        if self.regularisation < LEAST_REGULARISATION:
            raise SettingError(
                f"regularisation must be >= {LEAST_REGULARISATION:g}, got {regularisation!r}"
            )
        self.warm_up = whole_number("warm_up", warm_up, SettingError, least=0)
        if self.warm_up == 1:
            raise SettingError("warm_up must be 0 or at least 2: one case has no scale, got 1")
        self._model = self._new_model()

    def __repr__(self) -> str:
        given = "".join(f", {name}={getattr(self, name)!r}" for name in self.settings)
        return f"{type(self).__name__}({self.cascade!r}{given})"

    def ask(self, context: Any) -> int:
        """Return the stage at which to stop a case with these features."""
        return self._choose(self._checked_context(context))

    def tell(self, outputs: Outputs, context: Any) -> None:
        """Take in the outputs of the tests that were run on one case, ``None`` where one failed."""
        told = check_outputs(outputs, self.cascade)[1]
        features = self._checked_context(context)
        absorb(self._model, features, self._pairs(told))

    def ask_many(self, contexts: Iterable[Any]) -> list[int]:
        """Return the stages for cases that start now, before any of them is told."""
        return [self._choose(context) for context in self._checked_contexts(contexts)]

    def tell_many(self, batch: Iterable[Any]) -> None:
        """Take in many cases, pairs (outputs, context), in their order.

        All or nothing: if one of them is refused none is taken.
        """
        if isinstance(batch, (str, bytes)) or not isinstance(batch, Iterable):
            raise ContextError(f"batch must be pairs (outputs, context), got {batch!r}")
        checked = []
        for number, case in enumerate(batch, start=1):
            try:
                outputs, context = case_parts(case)
                told = check_outputs(outputs, self.cascade)[1]
                checked.append((self._checked_context(context), self._pairs(told)))
            except InputError as error:
                raise type(error)(f"{error}; it is case {number} of the batch") from None
        for features, pairs in checked:
            absorb(self._model, features, pairs)

    def recommend(self, context: Any) -> int:
        """Return the stage that looks best for this context, with no regard for what is unknown.

        The last one before anything is known.
        """
        features = self._checked_context(context)
        return optimistic_stage(self._model, self.cascade.n_stages, features, 0.0)

    def disagreement(self, context: Any) -> FloatArray:
        """Return P(Y^i ≠ Y^j | context) as estimated now; shape (K, K), 1/2 before the warm-up."""
        features, K = self._checked_context(context), self.cascade.n_stages
        table = np.full((K, K), 0.5)
        np.fill_diagonal(table, 0.0)
        if is_warm(self._model):
            scale_features(self._model, features)
            for j in range(K):
                for i in range(j):
                    theta = self._model.theta[j * (j - 1) // 2 + i]
                    table[i, j] = table[j, i] = chance(dot(theta, self._model.x))
        return table

    def reseed(self, seed: int | np.random.Generator) -> None:
        """Replace the generator of a policy that draws; others have none."""
        return

    @property
    def n_rounds(self) -> int:
        """The number of cases told."""
        return int(self._model.counts[0])

    @property
    def n_cut(self) -> int:
        """The cases with a feature beyond ten deviations, which was cut there.

        Many mean that features have drifted since the warm-up, or should be transformed.
        """
        return int(self._model.counts[1])

    def to_state(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; `policy_from_state` goes on from there."""
        model = self._model._asdict()
        return {
            "policy": type(self).__name__,
            "version": STATE_VERSION,
            "cascade": self.cascade.to_state(),
            "settings": {name: getattr(self, name) for name in self.settings},
            "model": {name: copied(model[name]) for name in MEMORY},
            **self._extra_state(),
        }

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        policy = cls(Cascade.from_state(state["cascade"]), **cls._settings_from(state))
        fresh = policy._model._asdict()
        if set(state["model"]) != set(MEMORY):
            raise StateError(f"model must have {list(MEMORY)}, got {list(state['model'])}")
        memory = {name: checked_memory(name, state["model"][name], fresh[name]) for name in MEMORY}
        check_memory(memory, policy.warm_up, policy.regularisation)
        policy._model = policy._model._replace(**memory)
        policy._restore_extra(state)
        return policy

    @classmethod
    def _settings_from(cls, state: dict[str, Any]) -> dict[str, Any]:
        return dict(state["settings"])

    def _extra_state(self) -> dict[str, Any]:
        """Return what is not in the model: the state of a generator, say."""
        return {}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        """Take back what `_extra_state` gave."""
        return

    @abstractmethod
    def _choose(self, context: list[float]) -> int:
        """Return the stage for a context that was checked."""

    def _new_model(self) -> Model:
        K, d = self.cascade.n_stages, self.n_features
        P, D = K * (K - 1) // 2, d + int(self.intercept)
        prices = price_rows(self.cascade)
        diagonal = [[float(a == b) / self.regularisation for b in range(D)] for a in range(D)]
        return Model(
            theta=[[0.0] * D for _ in range(P)],
            inverse=[copied(diagonal) for _ in range(P)],
            seen=[0] * P,
            limits=[log_odds(prices[j][i]) for j in range(K) for i in range(j)],
            centre=[0.0] * d,
            scale=[1.0] * d,
            squares=[0.0] * d,
            held_contexts=[[0.0] * d for _ in range(self.warm_up)],
            held_pairs=[[UNSEEN] * P for _ in range(self.warm_up)],
            counts=[0, 0],
            x=[1.0] * D,
            direction=[0.0] * D,
        )

    def _pairs(self, told: tuple[Hashable, ...]) -> list[int]:
        """Return for each pair 1 if it disagreed, 0 if it agreed, `UNSEEN` if one is missing."""
        K = self.cascade.n_stages
        shown = [*told, *[None] * (K - len(told))]
        return [
            UNSEEN if shown[i] is None or shown[j] is None else int(shown[i] != shown[j])
            for j in range(K)
            for i in range(j)
        ]

    def _checked_context(self, context: Any) -> list[float]:
        return check_context(context, self.n_features, self._largest)

    @property
    def _largest(self) -> float:
        """The largest size of a feature that is taken."""
        return LARGEST if self.warm_up else LARGEST_UNSCALED

    def _checked_contexts(self, contexts: Any) -> list[list[float]]:
        if isinstance(contexts, (str, bytes)) or not isinstance(contexts, Iterable):
            raise ContextError(f"contexts must be a sequence of contexts, got {contexts!r}")
        checked = []
        for number, context in enumerate(contexts, start=1):
            try:
                checked.append(self._checked_context(context))
            except ContextError as error:
                raise ContextError(f"{error}; it is context {number}") from None
        return checked
