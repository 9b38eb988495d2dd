"""Counting by bits gives what counting by rows gives, compiled or not."""

import sys
from collections import Counter

import numpy as np
import pytest

from stopwise.audit.counting import count_patterns, is_countable, pair_counts, pattern_table
from stopwise.cascade import Cascade


def expected_table(array):
    counted = Counter(sum(int(bit) << k for k, bit in enumerate(row)) for row in array.tolist())
    return [counted[code] for code in range(1 << array.shape[1])]


@pytest.fixture(params=["numba", "NumPy"])
def engine(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setitem(sys.modules, "stopwise.audit.kernel", None)
    else:
        pytest.importorskip("numba")


SHAPES = [(0, 2), (1, 1), (63, 3), (64, 3), (1_000, 5), (777, 8), (900, 10)]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("n", "K"), SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_table_counts_each_row_once(n, K, order):
    rng = np.random.default_rng(n + K)
    array = np.asarray(rng.random((n, K)) < rng.random(K), dtype=np.uint8, order=order)
    assert pattern_table(array).tolist() == expected_table(array)
    assert pattern_table(array.astype(bool)).tolist() == expected_table(array)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_join(monkeypatch, order):
    monkeypatch.setattr("stopwise.audit.counting.BLOCK", 128)
    monkeypatch.setattr("stopwise.audit.counting.CACHED", 192)
    rng = np.random.default_rng(0)
    array = np.asarray(rng.integers(0, 2, (1_111, 4)), dtype=np.uint8, order=order)
    assert pattern_table(array).tolist() == expected_table(array)
    differ = (array[:, :, None] != array[:, None, :]).sum(axis=0)
    assert pair_counts(array).tolist() == differ.tolist()


def test_many_words_join():
    """More than one block of the compiled loop, the last one short."""
    rng = np.random.default_rng(1)
    array = np.asfortranarray(rng.integers(0, 2, (64 * 1024 * 2 + 64 * 5 + 3, 3)), dtype=np.uint8)
    codes = array @ np.array([1, 2, 4])
    assert pattern_table(array).tolist() == np.bincount(codes, minlength=8).tolist()


def test_lanes_do_not_run_over():
    array = np.zeros((3 * 2**17 + 5, 2), dtype=np.uint8, order="F")
    array[:, 1] = 1
    assert pair_counts(array)[0, 1] == len(array)


@pytest.mark.parametrize("K", [1, 2, 7, 20])
def test_pairs(K):
    array = np.random.default_rng(K).integers(0, 2, (999, K)).astype(np.uint8)
    differ = (array[:, :, None] != array[:, None, :]).sum(axis=0)
    assert pair_counts(array).tolist() == differ.tolist()


def test_only_zeros_and_ones_in_bytes_are_counted_here():
    assert is_countable(np.array([[0, 1]], dtype=np.uint8))
    assert is_countable(np.array([[False, True]]))
    assert not is_countable(np.array([[0, 2]], dtype=np.uint8))
    assert not is_countable(np.array([[0, -1]], dtype=np.int8))
    assert not is_countable(np.array([[0.0, 1.0]]))
    assert not is_countable(np.zeros((3, 17), dtype=np.uint8))
    assert not is_countable(np.zeros((0, 2), dtype=np.uint8))


def test_the_histogram_of_an_array():
    array = np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8)
    found = count_patterns(array, Cascade([1, 2]))
    assert found.patterns.tolist() == [[0, 1], [1, 1]]
    assert found.counts.tolist() == [2, 1]
