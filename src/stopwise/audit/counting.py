"""Counting patterns of 0 and 1 in memory: bits packed 64 cases to a word, counted by popcount."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.audit.histogram import Histogram
from stopwise.cascade import Cascade

# Beyond this many binary tests there are more patterns than a table should have cells.
MAX_BITS = 16


def is_countable(array: NDArray[Any]) -> bool:
    """Whether an array can be counted here: bytes or booleans, all 0 or 1, few enough columns."""
    if array.shape[1] > MAX_BITS or not array.size:
        return False
    if array.dtype == np.bool_:
        return True
    return array.dtype in (np.uint8, np.int8) and bool(array.max() <= 1 and array.min() >= 0)


def count_patterns(array: NDArray[Any], cascade: Cascade) -> Histogram:
    """Return the pattern histogram of an array of 0 and 1; shape (n, K)."""
    K = array.shape[1]
    table = np.zeros(1 << K, dtype=np.int64)
    for start in range(0, len(array), 1 << 20):
        block = array[start : start + (1 << 20)]
        codes = np.zeros(len(block), dtype=np.int64)
        for k in range(K):
            codes |= block[:, k].astype(np.int64) << k
        table += np.bincount(codes, minlength=1 << K)
    seen = np.flatnonzero(table)
    rows = (seen[:, None] >> np.arange(K)) & 1
    return Histogram.from_rows(rows.tolist(), table[seen].tolist(), cascade)
