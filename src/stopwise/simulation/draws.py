"""Rows drawn from a key and a counter: the row of round t can be had without those before it.

The generator is SplitMix64 with an increment of its own for each key (Steele, Lea and Flood, OOPSLA
2014): the n-th number is a hash of state + n · increment. It takes a third of the time of NumPy's
generator, which draws everything else.

Numbers are NumPy's, never Python's, so that words wrap around in the interpreter as in machine
code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stopwise.cascade import FloatArray

_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


def row_key(rng: np.random.Generator) -> Any:
    """Return a key, a state and an odd increment; not compiled."""
    key = rng.integers(2**64, size=2, dtype=np.uint64)
    key[1] |= np.uint64(1)
    return key


def alias_table(chances: FloatArray) -> tuple[FloatArray, Any]:
    """Return the table from which `pick` draws with the given chances (Walker, Vose); not compiled.

    Column i is kept with chance ``keep[i]``; ``ends[i]`` holds what to return if not, and if so.
    """
    n = len(chances)
    keep = np.ones(n)
    ends = np.repeat(np.arange(n, dtype=np.uint64), 2).reshape(n, 2)
    share = (chances * (n / chances.sum())).tolist()
    small = [i for i in range(n) if share[i] < 1]
    large = [i for i in range(n) if share[i] >= 1]
    while small and large:
        i, j = small.pop(), large[-1]
        keep[i], ends[i, 0] = share[i], j
        share[j] -= 1 - share[i]
        if share[j] < 1:
            small.append(large.pop())
    return keep, ends


def word_at(state: Any, step: Any, n: Any) -> Any:
    """Return the n-th word of the key with this state and increment."""
    z = state + n * step
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


def pick(state: Any, step: Any, n: int, keep: Any, ends: Any) -> Any:
    """Draw from an `alias_table` with the n-th number of a key."""
    x = np.int64(word_at(state, step, np.uint64(n)) >> _S11) * 2.0**-53 * len(keep)
    column = np.int64(x)
    place = np.uint64(column)  # an index without a sign need not be tested for being negative
    return ends[place, np.uint64(x - column < keep[place])]
