"""A cascade of fitted classifiers as one scikit-learn classifier, fitted without labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted, validate_data

from stopwise.cascade import Cascade
from stopwise.errors import SettingError
from stopwise.runtime.learning import policy_maker


class CascadeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Ask cheap classifiers first and dear ones only where that is expected to pay.

    The classifiers are fitted already. `fit` needs cases without labels: it runs all classifiers on
    them and learns from where they agree how far to go. Labels of some of these cases help a policy
    with beliefs; give them as ``y`` with ``unlabelled`` for the rest.

    Parameters
    ----------
    estimators
        Pairs of a name and a fitted classifier, cheapest first.
    costs
        What one prediction of each costs.
    mistake_cost
        What a wrong answer costs, in the same unit.
    policy
        ``"beliefs"``, ``"resolve"``, a policy, or what makes one from a cascade.
    unlabelled
        The value of ``y`` that stands for no label.
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        costs: Sequence[float],
        mistake_cost: float = 1.0,
        policy: Any = "beliefs",
        unlabelled: Any = None,
    ) -> None:
        self.estimators = estimators
        self.costs = costs
        self.mistake_cost = mistake_cost
        self.policy = policy
        self.unlabelled = unlabelled

    def fit(self, X: Any, y: Any = None) -> CascadeClassifier:
        """Learn how far to go from cases, most of them or all without labels."""
        validate_data(self, X, skip_check_array=True)  # the models check the rest themselves
        names, models = zip(*self.estimators, strict=True)
        self.cascade_ = Cascade(self.costs, self.mistake_cost, names)
        outputs = np.column_stack([np.asarray(model.predict(X)) for model in models])
        self.classes_ = np.unique(outputs)
        rows = [tuple(row) for row in outputs.tolist()]
        if not rows:
            raise SettingError("X must have one case or more, got 0 samples")
        policy = policy_maker(self.policy)(self.cascade_)
        labels = [None] * len(rows) if y is None else np.asarray(y, dtype=object).tolist()
        if len(labels) != len(rows):
            raise SettingError(f"y must have one entry per case, got {len(labels)} for {len(rows)}")
        learns = hasattr(policy, "conclude")  # policies without beliefs do not learn from labels
        has_label = [learns and label is not None and label != self.unlabelled for label in labels]
        unlabelled = Counter(row for row, has in zip(rows, has_label, strict=True) if not has)
        if unlabelled:
            policy.tell_many(unlabelled)
        for row, label in compress(zip(rows, labels, strict=True), has_label):
            policy.tell(row, label=label)
        self.policy_ = policy
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the answers."""
        answers = [self._answer(row) for row in self._outputs(X)]
        return np.array(answers, dtype=self.classes_.dtype)

    def predict_stages(self, X: Any) -> NDArray[np.int64]:
        """Return the index of the last classifier that each case is shown to.

        What a case costs is the sum of ``costs`` up to there.
        """
        return np.array([len(row) - 1 for row in self._outputs(X)], dtype=np.int64)

    def _outputs(self, X: Any) -> list[list[Any]]:
        """Return what each case is told, by as many classifiers as it is shown to."""
        check_is_fitted(self, "policy_")
        if getattr(X, "ndim", 2) == 1 and hasattr(self, "n_features_in_"):
            raise SettingError("X must have one row per case, got one dimension. Reshape your data")
        validate_data(self, X, skip_check_array=True, reset=False)
        (X,) = indexable(X)
        (_, first), *others = self.estimators
        outputs = [[output] for output in _predictions(first, X)]
        cases = list(range(len(outputs)))
        for _, model in others:
            cases = [case for case in cases if self._goes_on(outputs[case])]
            if not cases:
                break
            predictions = _predictions(model, _safe_indexing(X, cases))
            for case, output in zip(cases, predictions, strict=True):
                outputs[case].append(output)
        return outputs

    def _goes_on(self, outputs: list[Any]) -> bool:
        if hasattr(self.policy_, "next"):
            return bool(self.policy_.recommend(outputs).value != "stop")
        return len(outputs) <= int(self.policy_.recommend())

    def _answer(self, outputs: list[Any]) -> Any:
        if hasattr(self.policy_, "conclude"):
            return self.policy_.conclude(outputs)[0]
        return outputs[-1]


def _predictions(model: Any, X: Any) -> list[Any]:
    predictions: list[Any] = np.asarray(model.predict(X)).tolist()
    return predictions
