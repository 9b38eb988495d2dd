"""Counting by bits gives what counting by rows gives, compiled or not."""

import sys
from collections import Counter

import numpy as np
import pytest

from stopwise.cascade import Cascade
from stopwise.reading.counting import count_patterns, is_countable, pair_counts
from stopwise.reading.packing import WordCounts


def counted(array):
    """The patterns of an array as the audit counts them."""
    found = count_patterns(array, Cascade([1.0] * array.shape[1]))
    rows = [tuple(found.classes[c] for c in row) for row in found.codes.tolist()]
    assert len(set(rows)) == len(rows)
    return Counter(dict(zip(rows, found.weights.tolist(), strict=True)))


def expected(array):
    return Counter(map(tuple, array.tolist()))


@pytest.fixture(params=["numba", "NumPy"])
def engine(request, monkeypatch):
    if request.param == "NumPy":
        monkeypatch.setitem(sys.modules, "stopwise.reading.kernel", None)
    else:
        pytest.importorskip("numba")


SHAPES = [(0, 2), (1, 1), (63, 3), (64, 2), (511, 3), (512, 3), (513, 2), (1_024, 4), (1_600, 5)]
SHAPES += [(1_777, 8), (900, 10), (500, 40)]


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
    monkeypatch.setattr("stopwise.reading.counting.BLOCK", 512)
    monkeypatch.setattr("stopwise.reading.packing.BUFFER", 150)
    monkeypatch.setattr("stopwise.reading.counting.CACHED", 192)
    rng = np.random.default_rng(0)
    array = np.asarray(rng.integers(0, 2, (2_222, 4)), dtype=np.uint8, order=order)
    assert counted(array) == expected(array)
    differ = (array[:, :, None] != array[:, None, :]).sum(axis=0)
    assert pair_counts(array).tolist() == differ.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("K", range(2, 9))
def test_zeros_and_ones_take_the_compiled_loop(monkeypatch, K, order):
    pytest.importorskip("numba")
    monkeypatch.setattr("stopwise.reading.counting.WordCounts", None)  # no other way
    monkeypatch.setattr("stopwise.reading.counting.BLOCK", 512)
    rng = np.random.default_rng(K)
    array = np.asarray(rng.integers(0, 2, (2_222, K)), dtype=np.uint8, order=order)
    assert counted(array) == expected(array)


@pytest.mark.usefixtures("engine")
def test_columns_may_lie_anywhere():
    """At odd distances, apart, backwards, not to be written on."""
    rng = np.random.default_rng(1)
    wide = np.asfortranarray(rng.integers(0, 2, (1_501, 6)), dtype=np.uint8)
    wide.setflags(write=False)
    for array in (wide, wide[3:], wide[:, ::2], wide[:, ::-1], wide[::-1], wide[::2, 1:4]):
        assert counted(array) == expected(array)


@pytest.mark.usefixtures("engine")
def test_sums_of_ones_do_not_run_over():
    """Ten thousand carries in one place of a vector."""
    array = np.ones((512 * 10_000 + 3, 2), dtype=np.uint8, order="F")
    array[::512, 0] = 0
    assert counted(array) == Counter({(0, 1): 10_001, (1, 1): 512 * 10_000 + 3 - 10_001})


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
@pytest.mark.parametrize("value", [2, 3, 128])
@pytest.mark.parametrize("place", [0, 200, 511, 1_023, 1_030])
def test_a_single_other_value_is_seen(place, value):
    """In the vectors of the compiled loop, and in the rows that fill none."""
    array = np.zeros((1_031, 3), dtype=np.uint8, order="F")
    array[place, 1] = value
    assert counted(array) == Counter({(0, 0, 0): 1_030, (0, value, 0): 1})


def test_what_does_not_fit_into_a_word_is_left_to_an_engine():
    rng = np.random.default_rng(3)
    assert count_patterns(rng.integers(0, 2, (9, 65)), Cascade([1.0] * 65)) is None
    assert count_patterns(np.array([[0, 0], [0, 65_536]]), Cascade([1, 2])) is None
    assert count_patterns(np.array([[-(2**63), 0], [2**63 - 1, 1]]), Cascade([1, 2])) is None


@pytest.mark.parametrize("sizes", [[2] * 20, [3] * 20, [2, 300, 5, 257], [256, 2, 65_536, 17]])
def test_words_hold_codes_of_any_width(sizes, monkeypatch):
    monkeypatch.setattr("stopwise.reading.packing.BUFFER", 64)
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
    assert found.codes.tolist() == [[0, 1], [1, 1]]
    assert found.weights.tolist() == [2, 1]
