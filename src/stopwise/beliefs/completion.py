"""What the tests of a log would have said in the cases where they did not run.

A gap is filled from the cases that show the same: they stand for the case with the gap if nothing
but the outputs shown decided which tests ran, as it is with a router or a stopping rule.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from stopwise.cascade import FloatArray, IntArray, read_only
from stopwise.patterns import MISSING, PatternTable, row_numbers


def completed_disagreement(table: PatternTable) -> FloatArray:
    """Return the share in which each pair of tests differs, over cases with and without gaps.

    Among cases that show both, the share is biased where outputs decided which tests ran. Here it
    is the nearest value that the completed shares allow; see `nearest`. Shape (K, K); NaN where no
    case shows both.

    >>> from stopwise.cascade import Cascade
    >>> rows = [["no", "no"], ["no", "yes"], ["no", None], ["yes", "no"], ["yes", "yes"]]
    >>> table = PatternTable.from_rows(rows, [9, 1, 90, 50, 50], Cascade(costs=[0.1, 0.1]))
    >>> table.disagreement[0, 1].round(2), completed_disagreement(table)[0, 1].round(2)
    (np.float64(0.46), np.float64(0.3))
    """
    if table.is_complete:
        return table.disagreement
    shares = completed_shares(table)
    K, result = table.n_stages, table.disagreement.copy()
    for i in range(K):
        for j in range(i + 1, K):
            plain = float(table.disagreement[i, j])
            result[i, j] = result[j, i] = nearest(plain, *completed_range(table, shares, i, j))
    return read_only(result)


def nearest(plain: float, low: float, high: float) -> float:
    """Return the value in ``low`` to ``high`` next to the share where both tests ran.

    A range without width is the completed share. It is wide where gaps stay open, and then nothing
    speaks against the share where both ran if that is possible.
    """
    return float(np.clip(plain, low, high))


def completed_shares(table: PatternTable) -> FloatArray:
    """Return the share of each pattern if gaps depend on nothing but the outputs shown; (R,).

    The cases of an incomplete pattern are given to the complete patterns that show the same, in
    proportion to what these have by then; the fullest patterns go first. For a log in which only
    the first tests ran this is P(s) = Π_k P(s_k | s_1 … s_k-1), each factor estimated where test k
    ran. A pattern that no complete one continues stays as it is.
    """
    shares = table.probabilities.copy()
    n_shown = table.shown.sum(axis=1)
    complete = np.flatnonzero(n_shown == table.codes.shape[1])
    rest = set(range(len(shares))) - set(complete.tolist())
    incomplete = sorted(rest, key=lambda r: -int(n_shown[r]))
    completions = _completions(table, complete, incomplete)
    for r in incomplete:
        rows = completions[r]
        if len(rows):
            shares[rows] *= 1 + shares[r] / shares[rows].sum()
            shares[r] = 0.0
    return np.asarray(shares / shares[shares > 0].sum())


def completed_range(table: PatternTable, shares: FloatArray, i: int, j: int) -> tuple[float, float]:
    """Return what P(Y^i ≠ Y^j) can be if patterns have these shares and open gaps are anything."""
    rows = np.flatnonzero(shares)
    first, second, shares = table.codes[rows, i], table.codes[rows, j], shares[rows]
    seen = (first != MISSING) & (second != MISSING)
    low = float(shares[seen & (first != second)].sum())
    return low, min(low + float(shares[~seen].sum()), 1.0)


def _completions(
    table: PatternTable, complete: IntArray, incomplete: list[int]
) -> dict[int, IntArray]:
    """Return for each incomplete row the complete rows that show the same where it does."""
    same_gaps: dict[bytes, list[int]] = defaultdict(list)
    for r in incomplete:
        same_gaps[table.shown[r].tobytes()].append(r)
    completions = {}
    for rows in same_gaps.values():
        outputs = table.codes[:, table.shown[rows[0]]]
        numbers = row_numbers(outputs[np.append(complete, rows)])
        keys, targets = numbers[: len(complete)], numbers[len(complete) :]
        order = np.argsort(keys, kind="stable")
        first, last = (np.searchsorted(keys[order], targets, side) for side in ("left", "right"))
        for r, i, j in zip(rows, first.tolist(), last.tolist(), strict=True):
            completions[r] = complete[order[i:j]]
    return completions
