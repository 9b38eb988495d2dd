"""A cascade of classifiers: fewer dear predictions, about the same answers."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import stopwise as sw
from stopwise.errors import SettingError
from stopwise.integrations.scikit_learn import CascadeClassifier


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
    assert cascade.cost_ < 0.25
    alone = [np.mean(model.predict(X) != y) + cost for (_, model), cost in
             zip(models, [0, 0.05, 0.25], strict=True)]  # fmt: skip
    assert np.mean(answers != y) + cascade.cost_ <= max(alone)


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


def test_lists_and_frames(world):
    pd = pytest.importorskip("pandas")
    first = DummyClassifier(strategy="constant", constant="a").fit([[0]], ["a"])
    second = DecisionTreeClassifier().fit([[0], [1]], ["a", "b"])
    models = [("first", first), ("second", second)]
    cascade = CascadeClassifier(models, [0, 0.1], policy="resolve").fit([[0], [1]] * 40)
    assert cascade.predict([[0], [1]]).tolist() == ["a", "b"]
    assert cascade.predict(pd.DataFrame({"x": [1, 0]}).to_numpy()).tolist() == ["b", "a"]


def test_labels_of_another_length_are_refused(world):
    models, X, y = world
    with pytest.raises(SettingError, match="y must have one entry a case"):
        CascadeClassifier(models, [0, 1, 2], policy="resolve").fit(X, y[:5])
