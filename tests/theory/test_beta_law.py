"""The beta law against SciPy's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc, stdtr

from stopwise.theory.beta_law import beta_cdf, student_cdf

sizes = st.floats(0.5, 1_000)


@given(st.floats(0, 1), sizes, sizes)
def test_the_function_is_that_of_scipy(x, a, b):
    assert beta_cdf(x, a, b) == pytest.approx(betainc(a, b, x), rel=1e-9, abs=1e-200)


@given(st.integers(1, 10_000), sizes, sizes)
def test_it_is_that_of_scipy_around_the_mean(place, a, b):
    spread = math.sqrt(a * b / (a + b + 1)) / (a + b)
    x = min(max(a / (a + b) + (place / 1_000 - 5) * spread, 0.0), 1.0)
    assert beta_cdf(x, a, b) == pytest.approx(betainc(a, b, x), rel=1e-9)


@given(st.floats(-40, -1e-3), st.integers(1, 500))
def test_student_s_law_is_that_of_scipy(t, freedom):
    assert student_cdf(t, freedom) == pytest.approx(stdtr(freedom, t), rel=1e-9, abs=1e-200)
