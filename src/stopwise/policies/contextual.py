"""Ask and tell with a context: the base of policies that look at features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

import numpy as np

from stopwise.cascade import Cascade, FloatArray
from stopwise.checks import finite_number, whole_number
from stopwise.errors import ContextError, SettingError, StateError
from stopwise.outputs import Outputs
from stopwise.policies.compiled_rule import ContextualRule, price_rows
from stopwise.policies.context_checks import (
    LARGEST,
    LARGEST_UNSCALED,
    check_context,
    check_memory,
    checked_memory,
)
from stopwise.policies.contextual_rules import BOUND, contextual_stage
from stopwise.policies.learner import Learner
from stopwise.policies.logistic import chances, log_odds
from stopwise.policies.pair_models import (
    MEMORY,
    UNSEEN,
    Model,
    absorb,
    is_warm,
    scale_features,
)

# Below this, rounding errors would be larger than what is learned.
LEAST_REGULARISATION = 1e-6
# A model of all pairs takes 8 bytes a number at least.
MOST_NUMBERS = 20_000_000


class ContextualPolicy(Learner):
    """A learner that says where to stop a case of which some features are known beforehand.

    It models P(Y^i ≠ Y^j | x) as σ(θ_ij·x) for each pair of stages, and learns θ_ij online from the
    cases that showed both. Memory and work per round do not grow. Features are standardised by the
    mean and standard deviation of the first ``warm_up`` cases, fixed from then on. Until then every
    case goes to the last stage. What is learned depends slightly on the order of the cases, so
    there is no `merge`.

    Parameters
    ----------
    cascade
        The tests and their prices; a chain.
    n_features
        The length of a context, the constant feature not counted.
    exploration
        How many squared standard deviations a bound is away, per ln t; more goes deep for longer.
    regularisation
        λ: how strongly coefficients are shrunk to 0, in units of one case at p = 1/2 times 4; at
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
    needs_chain = True
    needs_context = True
    merge_refusal = "what a model learns depends on the order of the cases"

    def __init__(
        self,
        cascade: Cascade,
        n_features: int,
        *,
        exploration: float = 0.25,
        regularisation: float = 1.0,
        intercept: bool = True,
        warm_up: int = 50,
    ) -> None:
        super().__init__(cascade)
        if not isinstance(intercept, (bool, np.bool_)):
            raise SettingError(f"intercept must be True or False, got {intercept!r}")
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
        self._check_size()
        self._later, self._earlier = np.tril_indices(cascade.n_stages, -1)
        self._stored["model"] = self._new_model().for_python()

    def ask(self, context: Any) -> int:
        """Return the stage at which to stop a case with these features."""
        features = self._checked_context(context)
        with self._lock:
            return self._choose(features)

    def tell(
        self, outputs: Outputs, context: Any, *, stage: int | None = None, label: Any = None
    ) -> None:
        """Take in the outputs of the tests that were run on one case, ``None`` where one failed."""
        case = self._checked(outputs, context=context, stage=stage, label=label)
        with self._lock:
            self._take(case, 1)

    def ask_many(self, contexts: Iterable[Any]) -> list[int]:
        """Return the stages for cases that start now, before any of them is told."""
        rows = self._checked_contexts(contexts)
        with self._lock:
            return [self._choose(features) for features in rows]

    def recommend(self, context: Any) -> int:
        """Return the stage that looks best for this context, without regard to uncertainty.

        Before anything is known it is the last stage.
        """
        features = self._checked_context(context)
        with self._lock:
            return contextual_stage(BOUND, self._model, self.cascade.n_stages, features, 0.0, None)

    def disagreement(self, context: Any) -> FloatArray:
        """Return P(Y^i ≠ Y^j | context) as estimated now; shape (K, K), 1/2 before the warm-up."""
        features, K = self._checked_context(context), self.cascade.n_stages
        table = np.full((K, K), 0.5)
        np.fill_diagonal(table, 0.0)
        with self._lock:
            if is_warm(self._model):
                scale_features(self._model, features)
                later, earlier = self._later, self._earlier
                z = np.asarray(self._model.theta) @ np.asarray(self._model.x)
                table[earlier, later] = chances(z)
                table[later, earlier] = table[earlier, later]
        return table

    @property
    def n_cut(self) -> int:
        """The cases with a feature beyond ten deviations, which was cut there.

        Many mean that features have drifted since the warm-up, or should be transformed.
        """
        return int(self._model.counts[1])

    @property
    def _model(self) -> Model:
        model: Model = self._stored["model"]
        return model

    def _case_names(self) -> tuple[str, ...]:
        return ("outputs", "context")

    def _checked(
        self, outputs: Any, *, context: Any, stage: int | None = None, label: Any = None
    ) -> tuple[list[float], Any]:
        """Return the features of a case and which pairs disagreed, or raise."""
        _, outputs = self._checked_outputs(outputs, stage, label)
        return self._checked_context(context), self._pairs(outputs)

    def _take(self, case: tuple[list[float], Any], times: int) -> None:
        for _ in range(times):
            absorb(self._model, *case)

    def _read_statistic(self, name: str, saved: Any) -> Model:
        fresh = self._new_model()
        if set(saved) != set(MEMORY):
            raise StateError(f"model must have {list(MEMORY)}, got {list(saved)}")
        like = fresh.to_state()
        memory = {part: checked_memory(part, saved[part], like[part]) for part in MEMORY}
        check_memory(memory, self.warm_up, self.regularisation)
        fresh.fill(memory)
        return fresh.for_python()

    def _check_size(self) -> None:
        """Refuse a model of absurd size before it takes the memory."""
        K, D = self.cascade.n_stages, self.n_features + int(self.intercept)
        numbers = K * (K - 1) // 2 * D * D + self.warm_up * (self.n_features + K * K)
        if numbers > MOST_NUMBERS:
            raise SettingError(
                f"n_features and warm_up must keep the model below {MOST_NUMBERS:.0e} numbers, "
                f"got n_features={self.n_features} and warm_up={self.warm_up} for {K} stages"
            )

    @abstractmethod
    def compiled_rule(self) -> ContextualRule:
        """Return the rule, as it is played here and as simulations compile it."""

    def _choose(self, context: list[float]) -> int:
        """Return the stage for a context that was checked."""
        choose, kind = self.compiled_rule()
        n_stages = self.cascade.n_stages
        return choose(kind, self._model, n_stages, context, self.exploration, self._rng)

    def _new_model(self) -> Model:
        K, d = self.cascade.n_stages, self.n_features
        P, D = K * (K - 1) // 2, d + int(self.intercept)
        prices = price_rows(self.cascade)
        return Model(
            theta=np.zeros((P, D)),
            inverse=np.repeat(np.eye(D)[None] / self.regularisation, P, axis=0),
            seen=np.zeros(P, dtype=np.int64),
            limits=np.array([log_odds(prices[j][i]) for j in range(K) for i in range(j)]),
            centre=np.zeros(d),
            scale=np.ones(d),
            squares=np.zeros(d),
            held_contexts=np.zeros((self.warm_up, d)),
            held_pairs=np.full((self.warm_up, P), UNSEEN, dtype=np.int8),
            counts=np.zeros(2, dtype=np.int64),
            x=np.ones(D),
            direction=np.zeros(D),
            spares=np.zeros(P),
            deviations=np.zeros(P),
        )

    def _pairs(self, outputs: tuple[Hashable, ...]) -> Any:
        """Return for each pair of tests that were run 1 if it disagreed, 0 if not, or `UNSEEN`."""
        first: dict[Hashable, int] = {None: UNSEEN}
        codes = [first.setdefault(y, len(first)) for y in outputs]
        if type(self._model.x) is list:
            both = ((codes[i], codes[j]) for j in range(len(codes)) for i in range(j))
            return [UNSEEN if a < 0 or b < 0 else int(a != b) for a, b in both]
        n_pairs = len(codes) * (len(codes) - 1) // 2
        array = np.array(codes, dtype=np.int64)
        earlier, later = array.take(self._earlier[:n_pairs]), array.take(self._later[:n_pairs])
        pairs = (earlier != later).view(np.int8)
        if min(codes) < 0:
            pairs[(earlier < 0) | (later < 0)] = UNSEEN
        return pairs

    def _checked_context(self, context: Any) -> list[float]:
        return check_context(context, self.n_features, self._largest)

    @property
    def _largest(self) -> float:
        """The largest size of a feature that is accepted."""
        return LARGEST if self.warm_up else LARGEST_UNSCALED

    def _checked_contexts(self, contexts: Any) -> list[list[float]]:
        if isinstance(contexts, (str, bytes)) or not isinstance(contexts, Iterable):
            raise ContextError(f"contexts must be a sequence of contexts, got {contexts!r}")
        rows = []
        for number, context in enumerate(contexts, start=1):
            try:
                rows.append(self._checked_context(context))
            except ContextError as error:
                raise ContextError(f"{error}; it is context {number}") from None
        return rows
