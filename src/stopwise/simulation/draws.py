"""Random numbers from a key and a counter: any of them can be had without the others.

The generator is SplitMix64 with an increment of its own for each key (Steele, Lea and Flood, OOPSLA
2014). A source is an array of three words: a state, an odd increment, and how many numbers were
taken in turn. Its n-th number is a hash of state + n · increment.

Compiled code only: in plain Python these integers would not wrap around.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray

_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S12 = np.uint64(11), np.uint64(12)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
_ONE = np.uint64(1)
_UNIT = 2.0**-53
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def sources(seed: int, replication: int) -> Any:
    """Return two sources for one replication, one a row; not compiled."""
    words = np.random.SeedSequence([seed, replication]).generate_state(4, np.uint64)
    made = np.zeros((2, 3), dtype=np.uint64)
    made[:, :2] = words.reshape(2, 2)
    made[:, 1] |= _ONE
    return made


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
    """Return the n-th word of a source with this state and increment."""
    z = state + n * step
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


def pick(state: Any, step: Any, n: int, keep: Any, ends: Any) -> Any:
    """Draw from an `alias_table` with the n-th number of a source."""
    x = np.int64(word_at(state, step, np.uint64(n)) >> _S11) * _UNIT * len(keep)
    column = np.int64(x)
    place = np.uint64(column)  # an index without a sign need not be tested for being negative
    return ends[place, np.uint64(x - column < keep[place])]


def uniform(source: Any) -> float:
    """Return the next number of a source, uniform on (0, 1)."""
    source[2] += _ONE
    word = word_at(source[0], source[1], source[2])
    return (2.0 * np.int64(word >> _S12) + 1.0) * _UNIT


def normal(source: Any) -> float:
    """Draw a standard normal (Box and Muller, 1958)."""
    radius = math.sqrt(-2.0 * math.log(uniform(source)))
    return radius * math.cos(2.0 * math.pi * uniform(source))


def binomial(source: Any, n: int, p: float) -> int:
    """Draw the number of successes in ``n`` trials of chance ``p``."""
    if p >= 1:
        return n
    if p <= 0 or n == 0:
        return 0
    low = min(p, 1 - p)
    k = _by_inversion(source, n, low) if n * low < 10 else _by_rejection(source, n, low)
    return k if p <= 0.5 else n - k


def _by_inversion(source: Any, n: int, p: float) -> int:
    odds = p / (1 - p)
    none = math.exp(n * math.log1p(-p))
    while True:
        u, chance, k = uniform(source), none, 0
        while u > chance and k <= n:
            u -= chance
            k += 1
            chance *= odds * (n - k + 1) / k
        if k <= n:  # rounding may leave a remainder beyond the last value
            return k


def _by_rejection(source: Any, n: int, p: float) -> int:
    """Transformed rejection with squeeze (Hörmann's BTRS, 1993), for n p >= 10 and p <= 1/2."""
    odds = p / (1 - p)
    deviation = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    mode = int((n + 1) * p)
    h = (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
    h += _stirling_rest(mode) + _stirling_rest(n - mode)
    while True:
        u, v = uniform(source) - 0.5, uniform(source)
        us = 0.5 - abs(u)
        x = math.floor((2 * a / us + b) * u + n * p + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return int(x)
        if x < 0 or x > n:
            continue
        k = int(x)
        bound = h + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
        bound += (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
        bound -= _stirling_rest(k) + _stirling_rest(n - k)
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def _stirling_rest(k: int) -> float:
    """Return ln k! - ((k + 1/2) ln(k + 1) - (k + 1) + ln(2π) / 2)."""
    m = k + 1.0
    if k < 10:
        return math.lgamma(m) - ((k + 0.5) * math.log(m) - m + _HALF_LOG_2PI)
    return (1 / 12 - (1 / 360 - 1 / 1260 / (m * m)) / (m * m)) / m


def beta(source: Any, a: int, b: int) -> float:
    """Draw from Beta(a, b) with whole a, b >= 1 (Cheng's BB, 1978)."""
    if b == 1:
        return math.exp(math.log(uniform(source)) / a)
    if a == 1:
        return -math.expm1(math.log(uniform(source)) / b)
    low, high, total = float(min(a, b)), float(max(a, b)), float(a + b)
    rate = math.sqrt((total - 2) / (2 * low * high - total))
    slope = low + 1 / rate
    while True:
        u, v = uniform(source), uniform(source)
        x = rate * math.log(u / (1 - u))
        w = low * math.exp(x)
        z = u * u * v
        r = slope * x - math.log(4.0)
        s = low + r - w
        if s + 1 + math.log(5.0) >= 5 * z or s >= math.log(z):
            break
        if r + total * math.log(total / (high + w)) >= math.log(z):
            break
    share = w / (high + w)
    return share if a <= b else 1 - share
