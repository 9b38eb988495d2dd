"""The price map of many tests; test_every_number checks the bands."""

import time

import numpy as np

from stopwise.auditing.price_map import price_map
from stopwise.cascade import Cascade


def test_thirty_tests_take_less_than_a_second():
    rng = np.random.default_rng(0)
    differences = rng.random((30, 30)) * 0.3
    np.fill_diagonal(differences, 0.0)
    start = time.process_time()
    price_map(differences, differences, rng.random(30), Cascade(rng.random(30).tolist(), 10))
    assert time.process_time() - start < 1
