"""Thompson sampling on a chain without beta draws: the same law from one uniform per stage.

A draw p_ij ~ Beta(a, b) is at most the price x with probability I_x(a, b), the regularised
incomplete beta function, and all draws of a round are independent: stage i is accepted with
probability Π_{j > i} I_x(a_ij, b_ij). One more case changes a or b by 1, for which

    I_x(a + 1, b) = I_x(a, b) - T / a,    I_x(a, b + 1) = I_x(a, b) + T / b,

with T = x^a (1 - x)^b / B(a, b), which is multiplied by x (a + b) / a or (1 - x) (a + b) / b.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray
from stopwise.policies.compiled_rule import Tables

# T is kept as T · UNIT^n, so that it neither underflows nor is lost; it matters where n = 0.
UNIT = 2.0**512
HALF_UNIT = 2.0**256
# The memory has for each pair: I, T, n, and how many of the cases so far disagreed. On the
# diagonal of n: the number of cases that it includes.
CHANCE, TERM, UNITS, KNOWN = 0, 1, 2, 3


def chances_of_acceptance(tables: Tables) -> FloatArray:
    """Return the memory of `choose_by_chances` for what the tables hold."""
    from scipy.special import betainc, betaln

    K = len(tables.prices)
    memory = np.zeros((4, K, K))
    for j in range(K):
        for i in range(j):
            x = float(tables.prices[j, i])
            d, n = int(tables.sums[j, i]), int(tables.seen[j, i])
            memory[CHANCE, j, i] = float(x >= 1)
            if 0 < x < 1:
                a, b = 1.0 + d, 1.0 + n - d
                memory[CHANCE, j, i] = betainc(a, b, x)
                log_term = a * math.log(x) + b * math.log1p(-x) - float(betaln(a, b))
                memory[UNITS, j, i] = units = max(0, round(-log_term / math.log(UNIT)))
                memory[TERM, j, i] = math.exp(log_term + units * math.log(UNIT))
            memory[KNOWN, j, i] = d
        memory[UNITS, j, j] = tables.seen[j, j]
    return memory


def choose_by_chances(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    """Return the first stage that is accepted, the last if none is, for one round."""
    learn(tables.prices, tables.seen, tables.sums, tables.memory)
    return accepted_stage(tables.memory, rng), 1


def accepted_stage(memory: Any, rng: Any) -> int:
    """Draw the first stage that is accepted."""
    last: int = memory.shape[1] - 1
    for i in range(last):
        j, chance, u = last, 1.0, rng.random()
        while j > i and chance > u:
            chance *= memory[CHANCE, j, i]
            j -= 1
        if chance > u:
            return i
    return last


def learn(prices: Any, seen: Any, sums: Any, memory: Any) -> None:
    """Bring the chances of all pairs up to date."""
    for j in range(1, len(prices)):
        new = int(seen[j, j] - memory[UNITS, j, j])
        if new == 0:
            return  # no case went this far or further
        memory[UNITS, j, j] = seen[j, j]
        for i in range(j):
            x, d = prices[j, i], memory[KNOWN, j, i]
            disagreed = sums[j, i] - d
            a, b = 1.0 + d, 1.0 + (seen[j, i] - new) - d
            chance, term, units = memory[CHANCE, j, i], memory[TERM, j, i], memory[UNITS, j, i]
            for case in range(new):
                if case < disagreed:
                    step, factor = -term / a, x * (a + b) / a
                    a += 1
                else:
                    step, factor = term / b, (1 - x) * (a + b) / b
                    b += 1
                if units == 0:
                    chance += step
                term *= factor
                if term < 1 / HALF_UNIT:
                    term, units = term * UNIT, units + 1
                elif units > 0 and term > HALF_UNIT:
                    term, units = term / UNIT, units - 1
            memory[CHANCE, j, i], memory[TERM, j, i], memory[UNITS, j, i] = chance, term, units
            memory[KNOWN, j, i] = sums[j, i]
