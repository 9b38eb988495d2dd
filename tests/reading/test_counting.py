"""Counting by words gives what counting by rows gives."""

from collections import Counter

import numpy as np
import pytest

from stopwise.cascade import Cascade
from stopwise.reading.counting import WordCounts
from stopwise.reading.counting import count_array as count_columns
from tests.reading.tables import patterns


def count_array(array):
    cascade = Cascade([1.0] * array.shape[1])
    return count_columns(array, cascade.names, cascade.names, cascade)


def by_row(array):
    return Counter(map(tuple, array.tolist()))


def assert_counts(array):
    assert patterns(count_array(array)) == by_row(array)


@pytest.mark.parametrize(("n", "K"), [(0, 2), (1, 1), (63, 3), (512, 3), (1_777, 8), (500, 40)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_each_row_is_counted_once(n, K, order):
    rng = np.random.default_rng(n + K)
    array = np.asarray(rng.random((n, K)) < rng.random(K), dtype=np.uint8, order=order)
    assert_counts(array)
    assert_counts(array.astype(bool))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("stopwise.reading.counting.BLOCK", 64)
    monkeypatch.setattr("stopwise.reading.counting.PENDING", 150)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_join(order):
    rng = np.random.default_rng(0)
    array = np.asarray(rng.integers(0, 2, (2_222, 4)), dtype=np.uint8, order=order)
    assert_counts(array)


def test_columns_may_lie_anywhere():
    """At odd distances, apart, backwards, not to be written on."""
    rng = np.random.default_rng(1)
    wide = np.asfortranarray(rng.integers(0, 2, (1_501, 6)), dtype=np.uint8)
    wide.setflags(write=False)
    for array in (wide, wide[3:], wide[:, ::2], wide[:, ::-1], wide[::-1], wide[::2, 1:4]):
        assert_counts(array)


WIDE = {
    "three values": (np.uint8, 0, 2),
    "negative": (np.int8, -1, 1),
    "all of a byte": (np.int8, -128, 127),
    "two bytes": (np.int16, -30_000, 30_000),
    "far from zero": (np.int64, 2**62, 2**62 + 9),
    "unsigned": (np.uint64, 2**64 - 5, 2**64 - 1),
}


@pytest.mark.parametrize("name", WIDE)
def test_numbers_of_every_size(name):
    dtype, low, high = WIDE[name]
    rng = np.random.default_rng(2)
    array = rng.integers(low, high, (400, 4), dtype=dtype, endpoint=True)
    array[0], array[-1] = low, high
    assert_counts(np.repeat(array, 2, axis=0))


def test_what_does_not_fit_into_a_word_is_left_to_an_engine():
    rng = np.random.default_rng(3)
    assert count_array(rng.integers(0, 2, (9, 65))) is None
    assert count_array(np.array([[0, 0], [0, 65_536]])) is None
    assert count_array(np.array([[-(2**63), 0], [2**63 - 1, 1]])) is None


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("sizes", [[2] * 20, [3] * 20, [2, 300, 5, 257], [256, 2, 65_536, 17]])
def test_words_hold_codes_of_any_width(sizes):
    rng = np.random.default_rng(4)
    rows = np.stack([rng.integers(0, size, 300) for size in sizes], axis=1)
    rows[200:] = rows[:100]
    assert WordCounts.fits(sizes)
    counts = WordCounts(sizes)
    for start in range(0, 300, 90):
        counts.add(list(rows[start : start + 90].T))
    codes, times = counts.patterns()
    assert dict(zip(map(tuple, codes.tolist()), times.tolist(), strict=True)) == by_row(rows)
