"""Choose the next test by looking one test ahead, where there are too many states for more.

Stop, or go on as the rule of the chain would where the tests were run in order so far, or run any
one test and stop after it: whichever is believed to cost least. At each step the chain's rule is
among the choices, and another is taken only if it is believed to cost less; so under the model's
beliefs this is never worse than the chain's rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stopwise.beliefs.model import LatentClasses
from stopwise.beliefs.prediction import next_joint
from stopwise.beliefs.skipping_rule import STOP
from stopwise.beliefs.stopping_rule import Answer
from stopwise.cascade import TOLERANCE, FloatArray, IntArray
from stopwise.patterns import MISSING


class Choice(NamedTuple):
    """What to do next: a test to run or -1 to stop, the answer and its chance to be wrong."""

    test: int
    answer: int
    error: float


def look_ahead(
    model: LatentClasses,
    seen: IntArray,
    costs: FloatArray,
    *,
    answer: Answer = "last",
    chain: tuple[int, float] | None = None,
) -> Choice:
    """Return what to do after the outputs ``seen``.

    Parameters
    ----------
    model
        The beliefs.
    seen
        What each test gave, -1 where it was not run; shape (K,).
    costs
        The price of each test in units of one mistake; shape (K,).
    answer
        As for `skipping_rule`.
    chain
        If the tests were run in order so far: what the rule of the chain does, a test or -1, and
        what it is believed to cost from here on.
    """
    belief = model.posterior(seen[None])[0]
    tests_run = np.flatnonzero(seen != MISSING)
    last = int(tests_run[-1]) if len(tests_run) else -1
    code = int(np.argmax(belief)) if answer == "believed" else int(seen[last])
    error = 1 - float(belief[code]) if len(tests_run) else np.inf
    choice, least = STOP, error
    if chain is not None:
        choice, least = chain[0], min(chain[1], error)
    for j in np.flatnonzero(seen == MISSING).tolist():
        joint = next_joint(model, j, seen[None])[0]
        if answer == "believed":
            right = float(joint.max(axis=0).sum())
        elif j > last:
            right = float(np.trace(joint))
        else:
            continue  # an earlier test does not change the answer
        if costs[j] + 1 - right < least - TOLERANCE:
            choice, least = j, float(costs[j]) + 1 - right
    return Choice(choice, code, min(error, 1.0))
