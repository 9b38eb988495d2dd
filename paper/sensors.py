"""The cascades of Section 7's real data: three linear SVMs, each with more of the attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

import numpy as np

from paper.datasets import Dataset, load_heart, load_pima
from stopwise.cascade import Cascade, IntArray
from stopwise.extras import load_extra
from stopwise.problem.recording import Recording

N_FOLDS = 5


@dataclass(frozen=True)
class Sensors:
    """How a data set becomes a cascade.

    Parameters
    ----------
    load
        Reads the data.
    names
        One name a test.
    adds
        For each test the attributes that it has on top of those before it.
    printed_costs
        What stopping at each stage costs in dollars, by the numbers of Section 7.
    weight
        λ of the figure, in mistakes a dollar. Section 7 prints none; it asks for a small one on
        PIMA, where test 3 is to be best, and for a large one on Heart, where test 1 is.
    """

    load: Callable[[], Dataset]
    names: tuple[str, ...]
    adds: tuple[tuple[str, ...], ...]
    printed_costs: tuple[float, ...]
    weight: float

    def cumulative_costs(self, *, turney: bool) -> tuple[float, ...]:
        """Return what stopping at each stage costs in dollars."""
        if not turney:
            return self.printed_costs
        data = self.load()
        return tuple(accumulate(data.price(added) for added in self.adds))

    def cascade(self, weight: float | None = None, *, turney: bool = False) -> Cascade:
        """Return the tests with prices λ · dollars: a mistake costs 1 / λ dollars."""
        weight = self.weight if weight is None else weight
        steps = np.diff(self.cumulative_costs(turney=turney), prepend=0.0)
        return Cascade(costs=steps, mistake_cost=1 / weight, names=self.names)

    def recording(self, weight: float | None = None, *, turney: bool = False) -> Recording:
        """Return the outputs of the classifiers at fold seed 0 with the true labels."""
        outputs, _ = out_of_fold(self, 0)
        return Recording(outputs, self.load().labels, self.cascade(weight, turney=turney))


PIMA = Sensors(
    load_pima,
    ("history", "+ insulin", "+ glucose"),
    (("preg", "pres", "skin", "mass", "pedi", "age"), ("insu",), ("plas",)),
    (6, 28, 46),  # "insulin test (cost $22)" is the price of the step
    weight=0.001,
)
HEART = Sensors(
    load_heart,
    ("basic", "+ exercise ECG", "+ imaging"),
    (
        ("age", "sex", "cp", "trestbps", "chol", "fbs", "restecg"),
        ("thalach", "exang", "oldpeak"),
        ("slope", "ca", "thal"),
    ),
    (27, 300, 601),
    weight=0.005,
)
DATA = {"PIMA": PIMA, "Heart": HEART}
TITLES = {"PIMA": "PIMA diabetes", "Heart": "Heart (Cleveland)"}
# Table 1's "patient history", taken to be the attributes that need no measurement.
HEART_HISTORY = Sensors(
    load_heart,
    ("history", "all"),
    (
        ("age", "sex", "cp"),
        (
            *("trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak"),
            *("slope", "ca", "thal"),
        ),
    ),
    (3, 601),
    weight=0.005,
)


@cache
def out_of_fold(sensors: Sensors, seed: int) -> tuple[IntArray, IntArray]:
    """Return the outputs of each test for rows it was not fitted to, and the fold of each row.

    Linear SVMs with C = 1 on standardised attributes, five stratified folds shuffled by ``seed``,
    the same for all tests.
    """
    load_extra("sklearn", extra="datasets", purpose="fitting classifiers")
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    data = sensors.load()
    outputs = np.zeros((len(data.labels), len(sensors.adds)), dtype=np.int64)
    fold = np.zeros(len(data.labels), dtype=np.int64)
    cut = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    for f, (train, test) in enumerate(cut.split(data.features, data.labels)):
        fold[test] = f
        attributes: tuple[str, ...] = ()
        for k, added in enumerate(sensors.adds):
            attributes += added
            columns = data.columns(attributes)
            model = make_pipeline(StandardScaler(), SVC(kernel="linear"))
            model.fit(data.features[np.ix_(train, columns)], data.labels[train])
            outputs[test, k] = model.predict(data.features[np.ix_(test, columns)])
    return outputs, fold
