"""What a contextual learner knows: a logistic model for each pair of stages, and the scale.

Everything is in `Model`, which functions change in place. They run in Python and are compiled as
they are, except those in `LOOPS`. In Python, NumPy handles all pairs of a large model at once; a
small model is kept in lists and its pairs are handled one by one, as in compiled code. The pair
(i, j), i < j, has the number j (j - 1) / 2 + i.
"""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from stopwise.policies.logistic import dot, learn, spread, step_sizes

# Scaled features are cut at so many standard deviations: one outlier must not change everything.
CUT = 10.0
# A pair of outputs that a case did not show.
UNSEEN = -1
# Up to so many numbers in ``inverse``, a model is faster in lists than in arrays.
MOST_LISTED = 250

# What a learner remembers, by the names of `Model`.
MEMORY = (
    "theta",
    "inverse",
    "seen",
    "centre",
    "scale",
    "squares",
    "held_contexts",
    "held_pairs",
    "counts",
)


class Model(NamedTuple):
    """One logistic model a pair, and what scales the features; all arrays, or all lists."""

    # For each pair the coefficients, (P, D), and the inverse information, (P, D, D).
    theta: Any
    inverse: Any
    seen: Any  # how many cases showed each pair; (P,)
    limits: Any  # for each pair the log odds of its price, C_j - C_i; (P,)
    # What features are shifted and divided by, and the sums of squares from which the scale comes;
    # (d,) each.
    centre: Any
    scale: Any
    squares: Any
    # The cases told before the scale was fixed; (warm-up, d) and (warm-up, P).
    held_contexts: Any
    held_pairs: Any
    counts: Any  # the cases told, and those in which a feature had to be cut; (2,)
    # Room for scaled features with the constant one, and for a step; (D,) each.
    x: Any
    direction: Any
    # Room for what a rule looks at, see `outlook`; (P,) each.
    spares: Any
    deviations: Any

    @property
    def n_rounds(self) -> int:
        """The number of cases told."""
        return int(self.counts[0])

    def to_state(self) -> dict[str, Any]:
        """Return what a learner remembers as plain data for JSON."""
        return {name: np.asarray(getattr(self, name)).tolist() for name in MEMORY}

    def copy(self) -> Model:
        """Return a model that can be changed without changing this one."""
        return deepcopy(self)

    def fill(self, memory: dict[str, Any]) -> None:
        """Take what `to_state` returned into the arrays of this model."""
        for name, values in memory.items():
            array = getattr(self, name)
            array[...] = np.array(values).reshape(array.shape)

    def for_python(self) -> Model:
        """Return a small model in lists, a large one with the numbers of all pairs side by side."""
        if self.inverse.size <= MOST_LISTED:
            return Model(*(values.tolist() for values in self))
        return Model(*map(np.asfortranarray, self))


def is_warm(model: Model) -> bool:
    """Return whether the scale of the features is fixed, so that the models have begun."""
    return bool(model.counts[0] >= len(model.held_contexts))


def absorb(model: Model, context: Any, pairs: Any) -> None:
    """Take in one case: its features, and for each of the first pairs 1, 0 or `UNSEEN`.

    The first cases are held until the scale of the features is known, then told to the models.
    """
    if is_warm(model):
        learn_case(model, context, pairs)
        return
    n = model.counts[0]
    model.counts[0] += 1
    for k in range(len(context)):  # Welford's running mean and sum of squares
        off = context[k] - model.centre[k]
        model.centre[k] += off / (n + 1)
        model.squares[k] += off * (context[k] - model.centre[k])
        model.held_contexts[n][k] = context[k]
    for p in range(len(pairs)):
        model.held_pairs[n][p] = pairs[p]
    if n + 1 == len(model.held_contexts):
        fix_scale(model)


def learn_case(model: Model, context: Any, pairs: Any) -> None:
    """Take in one case once the scale of the features is fixed."""
    model.counts[0] += 1
    model.counts[1] += scale_features(model, context)
    learn_pairs(model, pairs)


def fix_scale(model: Model) -> None:
    """Fix the scale by the cases of the warm-up, and learn from them.

    Without a constant feature a shift would change the model. Then features are only divided, by
    their root mean square.
    """
    shifts = len(model.x) > len(model.scale)
    for k in range(len(model.scale)):
        variance = model.squares[k] / len(model.held_contexts)
        if not shifts:
            variance += model.centre[k] ** 2
            model.centre[k] = 0.0
        deviation = math.sqrt(variance)
        # A feature that varies only by rounding is constant: it is scaled by its size.
        size = abs(model.centre[k])
        varies = deviation > 1e-9 * size
        model.scale[k] = deviation if varies else (size if size > 0 else 1.0)
    for n in range(len(model.held_contexts)):
        model.counts[1] += scale_features(model, model.held_contexts[n])
        learn_pairs(model, model.held_pairs[n])


def outlook(model: Model, context: Any, bonus: float) -> tuple[Any, Any]:
    """Return for each pair the log odds of its price less θ̂·x, and sqrt(bonus · xᵀ H⁻¹ x).

    The second number is how far θ·x may be off.
    """
    if type(model.x) is list:
        return outlook_by_pair(model, context, bonus)
    scale_features(model, context)
    x = model.x
    spares = model.limits - x @ model.theta.T
    spreads = np.maximum(x @ (x @ model.inverse.T), 0.0)
    return spares.tolist(), np.sqrt(bonus * spreads).tolist()


def outlook_by_pair(model: Model, context: Any, bonus: float) -> tuple[Any, Any]:
    """Same as `outlook`, pair by pair."""
    scale_features(model, context)
    for p in range(len(model.limits)):
        model.spares[p] = model.limits[p] - dot(model.theta[p], model.x)
        model.deviations[p] = math.sqrt(bonus * spread(model.inverse[p], model.x))
    return model.spares, model.deviations


def scale_features(model: Model, context: Any) -> int:
    """Put the scaled features into ``model.x``; return 1 if one of them had to be cut, else 0."""
    if type(model.x) is list:
        return scale_by_feature(model, context)
    scales = zip(context, model.centre.tolist(), model.scale.tolist(), strict=True)
    values = [(value - centre) / scale for value, centre, scale in scales]
    was_cut = max(values, default=0.0) > CUT or min(values, default=0.0) < -CUT
    if was_cut:
        values = [max(min(value, CUT), -CUT) for value in values]
    model.x[len(model.x) - len(values) :] = values  # after the constant feature, if there is one
    return int(was_cut)


def scale_by_feature(model: Model, context: Any) -> int:
    """Same as `scale_features`, feature by feature."""
    was_cut = 0
    first = len(model.x) - len(context)
    for k in range(len(context)):
        value = (context[k] - model.centre[k]) / model.scale[k]
        if abs(value) > CUT:
            value = CUT if value > 0 else -CUT
            was_cut = 1
        model.x[first + k] = value
    return was_cut


def learn_pairs(model: Model, pairs: Any) -> None:
    """Update the model of every pair that was seen, by the features in ``model.x``; see `learn`."""
    if type(model.x) is list:
        learn_by_pair(model, pairs)
        return
    place: Any = np.flatnonzero(pairs != UNSEEN)
    if not len(place):
        return
    if len(place) == len(pairs):
        place = slice(len(pairs))
    x, theta, inverse = model.x, model.theta.T[:, place], model.inverse.T[:, :, place]
    direction = x @ inverse
    q = np.maximum(x @ direction, 0.0)
    s, variance = step_sizes(x @ theta, q, pairs[place])
    root = np.sqrt(variance / (1 + variance * q)) * direction
    theta += s * direction
    inverse -= root[:, None] * root
    if type(place) is not slice:  # not views but copies
        model.theta.T[:, place], model.inverse.T[:, :, place] = theta, inverse
    model.seen[place] += 1


def learn_by_pair(model: Model, pairs: Any) -> None:
    """Same as `learn_pairs`, pair by pair."""
    for p in range(len(pairs)):
        if pairs[p] != UNSEEN:
            model.seen[p] += 1
            learn(model.theta[p], model.inverse[p], model.x, model.direction, pairs[p])


LOOPS = {
    "outlook": outlook_by_pair,
    "scale_features": scale_by_feature,
    "learn_pairs": learn_by_pair,
}
"""The loops to compile instead of functions over all pairs, by the names of these functions."""
