"""Counting by bits gives what counting by rows gives, compiled or not."""

import sys
from collections import Counter

import numpy as np
import pytest

from stopwise.audit.counting import count_patterns, is_countable, pair_counts
from stopwise.audit.packing import WordCounts
from stopwise.cascade import Cascade


def counted(array):
    """The patterns of an array as the audit counts them."""
    found = count_patterns(array, Cascade([1.0] * array.shape[1]))
    rows = [tuple(found.classes[c] for c in row) for row in found.patterns.tolist()]
    assert len(set(rows)) == len(rows)
    return Counter(dict(zip(rows, found.counts.tolist(), strict=True)))


def expected(array):
    return Counter(map(tuple, array.tolist()))


@pytest.fixture(params=["numba", "NumPy"])
def engine(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setitem(sys.modules, "stopwise.audit.kernel", None)
    else:
        pytest.importorskip("numba")


SHAPES = [(0, 2), (1, 1), (63, 3), (64, 2), (64, 3), (1_000, 5), (777, 8), (900, 10), (500, 40)]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("n", "K"), SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_each_row_is_counted_once(n, K, order):
    rng = np.random.default_rng(n + K)
    array = np.asarray(rng.random((n, K)) < rng.random(K), dtype=np.uint8, order=order)
    assert counted(array) == expected(array)
    assert counted(array.astype(bool)) == expected(array)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_join(monkeypatch, order):
    monkeypatch.setattr("stopwise.audit.counting.BLOCK", 128)
    monkeypatch.setattr("stopwise.audit.packing.BUFFER", 150)
    monkeypatch.setattr("stopwise.audit.counting.CACHED", 192)
    rng = np.random.default_rng(0)
    array = np.asarray(rng.integers(0, 2, (1_111, 4)), dtype=np.uint8, order=order)
    assert counted(array) == expected(array)
    differ = (array[:, :, None] != array[:, None, :]).sum(axis=0)
    assert pair_counts(array).tolist() == differ.tolist()


def test_many_words_join():
    """More than one block of the compiled loop, the last one short."""
    rng = np.random.default_rng(1)
    array = np.asfortranarray(rng.integers(0, 2, (64 * 1024 * 2 + 64 * 5 + 3, 3)), dtype=np.uint8)
    assert counted(array) == expected(array)


WIDE = {
    "three values": (np.uint8, 0, 2),
    "negative": (np.int8, -1, 1),
    "all of a byte": (np.int8, -128, 127),
    "two bytes": (np.int16, -30_000, 30_000),
    "far from zero": (np.int64, 2**62, 2**62 + 9),
    "unsigned": (np.uint64, 2**64 - 5, 2**64 - 1),
}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", WIDE)
def test_other_numbers_are_counted_too(name):
    dtype, low, high = WIDE[name]
    rng = np.random.default_rng(2)
    array = rng.integers(low, high, (400, 4), dtype=dtype, endpoint=True)
    array[0], array[-1] = low, high
    assert counted(np.repeat(array, 2, axis=0)) == expected(np.repeat(array, 2, axis=0))


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("place", [0, 70])
def test_a_single_two_is_seen(place):
    """In the words of the compiled loop, and in the rows that fill no word."""
    array = np.zeros((71, 3), dtype=np.uint8, order="F")
    array[place, 1] = 2
    assert counted(array) == Counter({(0, 0, 0): 70, (0, 2, 0): 1})


def test_what_does_not_fit_into_a_word_is_left_to_an_engine():
    rng = np.random.default_rng(3)
    assert count_patterns(rng.integers(0, 2, (9, 65)), Cascade([1.0] * 65)) is None
    assert count_patterns(np.array([[0, 0], [0, 65_536]]), Cascade([1, 2])) is None
    assert count_patterns(np.array([[-(2**63), 0], [2**63 - 1, 1]]), Cascade([1, 2])) is None


@pytest.mark.parametrize("sizes", [[2] * 20, [3] * 20, [2, 300, 5, 257], [256, 2, 65_536, 17]])
def test_words_hold_codes_of_any_width(sizes, monkeypatch):
    monkeypatch.setattr("stopwise.audit.packing.BUFFER", 64)
    rng = np.random.default_rng(4)
    rows = np.stack([rng.integers(0, size, 300) for size in sizes], axis=1)
    rows[200:] = rows[:100]
    assert WordCounts.fits(sizes)
    counts = WordCounts(sizes)
    for start in range(0, 300, 90):
        counts.add(list(rows[start : start + 90].T))
    codes, times = counts.patterns()
    assert Counter(dict(zip(map(tuple, codes.tolist()), times.tolist(), strict=True))) == expected(
        rows
    )


def test_lanes_do_not_run_over():
    array = np.zeros((3 * 2**17 + 5, 2), dtype=np.uint8, order="F")
    array[:, 1] = 1
    assert pair_counts(array)[0, 1] == len(array)


@pytest.mark.parametrize("K", [1, 2, 7, 20])
def test_pairs(K):
    array = np.random.default_rng(K).integers(0, 2, (999, K)).astype(np.uint8)
    differ = (array[:, :, None] != array[:, None, :]).sum(axis=0)
    assert pair_counts(array).tolist() == differ.tolist()


def test_only_whole_numbers_need_no_engine():
    assert is_countable(np.array([[0, 1]], dtype=np.uint8))
    assert is_countable(np.array([[False, True]]))
    assert not is_countable(np.array([[0.0, 1.0]]))
    assert not is_countable(np.array([["a", "b"]]))


def test_the_histogram_of_an_array():
    array = np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8)
    found = count_patterns(array, Cascade([1, 2]))
    assert found.patterns.tolist() == [[0, 1], [1, 1]]
    assert found.counts.tolist() == [2, 1]
