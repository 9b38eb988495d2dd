"""A cascade of classifiers: fewer dear predictions, about the same answers."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import check_estimator

import stopwise as sw
from stopwise.errors import SettingError
from stopwise.integrations.scikit_learn import CascadeClassifier


class Sign(ClassifierMixin, BaseEstimator):
    """A classifier that needs no fit: the sign of one column."""

    def __init__(self, column=0):
        self.column = column

    def predict(self, X):
        X = check_array(X)
        return (X[:, min(self.column, X.shape[1] - 1)] > 0).astype(int)


# Checks of what is learned from labels, which this classifier does not need.
OF_LABELS = dict.fromkeys(
    [
        "check_classifiers_classes",
        "check_classifiers_train",
        "check_classifiers_regression_target",
        "check_supervised_y_no_nan",
        "check_supervised_y_2d",
    ],
    "it is fitted without labels",
)


SIGNS = CascadeClassifier([("first", Sign(0)), ("second", Sign(1))], [0, 0.1], policy="resolve")


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_that_need_no_labels():
    checks = check_estimator(
        clone(SIGNS),
        expected_failed_checks=OF_LABELS,
        on_skip=None,
        on_fail=None,
    )
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []
    assert sum(check["status"] == "passed" for check in checks) >= 40


def test_features_are_remembered():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, -1.0], "b": [1.0, 1.0]})
    cascade = clone(SIGNS).fit(frame)
    assert cascade.feature_names_in_.tolist() == ["a", "b"]
    assert cascade.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names"):
        cascade.predict(frame[["b", "a"]])


@pytest.fixture(scope="module")
def world():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    train, rest = slice(0, 150), slice(150, None)
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X[train, :], y[train])
    linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], y[train])
    forest = RandomForestClassifier(50, random_state=0).fit(X[train], y[train])
    return [("stump", stump), ("linear", linear), ("forest", forest)], X[rest], y[rest]


@pytest.mark.parametrize("policy", ["resolve", "beliefs"])
def test_it_learns_without_labels_and_costs_less(world, policy):
    models, X, y = world
    cascade = CascadeClassifier(models, costs=[0.0, 0.05, 0.2], policy=policy).fit(X)
    answers = cascade.predict(X)
    assert set(answers) <= {0, 1}
    cost = np.cumsum([0, 0.05, 0.2])[cascade.predict_stages(X)].mean()
    assert cost < 0.25
    alone = [np.mean(model.predict(X) != y) + cost for (_, model), cost in
             zip(models, [0, 0.05, 0.25], strict=True)]  # fmt: skip
    assert np.mean(answers != y) + cost <= max(alone)


def test_a_few_labels_may_be_among_the_cases(world):
    models, X, y = world
    some = np.where(np.arange(len(y)) < 40, y, -1)
    cascade = CascadeClassifier(models, [0.0, 0.05, 0.2], policy="beliefs", unlabelled=-1)
    assert cascade.fit(X, some).policy_.n_labels == 40


def test_it_is_an_estimator_like_others(world):
    models, X, _ = world
    cascade = CascadeClassifier(models, [0, 1, 2], mistake_cost=50, policy=sw.Resolve)
    again = clone(cascade)
    assert again.get_params()["mistake_cost"] == 50
    assert again.set_params(mistake_cost=10).mistake_cost == 10
    with pytest.raises(NotFittedError):
        cascade.predict(X)


def test_lists_and_frames():
    pd = pytest.importorskip("pandas")
    first = DummyClassifier(strategy="constant", constant="a").fit([[0]], ["a"])
    second = DecisionTreeClassifier().fit([[0], [1]], ["a", "b"])
    models = [("first", first), ("second", second)]
    cascade = CascadeClassifier(models, [0, 0.1], policy="resolve").fit([[0], [1]] * 40)
    assert cascade.predict([[0], [1]]).tolist() == ["a", "b"]
    assert cascade.predict(pd.DataFrame({"x": [1, 0]}).to_numpy()).tolist() == ["b", "a"]


def test_labels_of_another_length_are_refused(world):
    models, X, y = world
    with pytest.raises(SettingError, match="y must have one entry per case"):
        CascadeClassifier(models, [0, 1, 2], policy="resolve").fit(X, y[:5])
