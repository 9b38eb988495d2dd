"""Many cases as one integer: what a learner adds up while its decision is in force."""

from __future__ import annotations

import sys

from stopwise.outputs import Outputs

# A tally is one integer with 64 bits for each number: how many cases, then for b = 1, 2, … and
# a < b how many of them had outputs a and b disagree. Adding integers adds all lanes at once.
_LANE = 64
_ONE_OR_NONE = (bytes(_LANE // 8), (1).to_bytes(_LANE // 8, "little"))


def tally_word(outputs: Outputs) -> int:
    """Return the tally of one complete case."""
    lanes = [True]
    for b, y in enumerate(outputs):
        lanes += [bool(x != y) for x in outputs[:b]]
    return int.from_bytes(b"".join([_ONE_OR_NONE[lane] for lane in lanes]), "little")


def tally_totals(tally: int, length: int) -> tuple[int, list[list[int]]]:
    """Return the number of cases in a tally and how many disagreed, for `PairCounts.add_totals`."""
    n_lanes = 1 + length * (length - 1) // 2
    lanes = memoryview(tally.to_bytes(n_lanes * _LANE // 8, sys.byteorder)).cast("Q").tolist()
    if sys.byteorder == "big":
        lanes.reverse()
    starts = [1 + b * (b - 1) // 2 for b in range(length)]
    return lanes[0], [lanes[start : start + b] for b, start in enumerate(starts)]
