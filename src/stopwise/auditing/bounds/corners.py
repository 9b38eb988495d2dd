"""What each pattern may contribute to the error rates, one contribution for each right answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stopwise.auditing.assumptions import LabelSpace
from stopwise.cascade import FloatArray, IntArray
from stopwise.errors import SettingError
from stopwise.patterns import PatternTable


@dataclass(frozen=True, eq=False)
class Corners:
    """The polytope before assumptions: a weighted sum of small hulls.

    ``vectors`` are the distinct ℓ(s, y), shape (V, axes): losses of the tests, then whether the
    label is each of the values whose share is bounded. ``choices`` gives for each group of patterns
    the vectors it may have (padded by repeating one), ``weights`` its share.
    """

    vectors: FloatArray
    choices: IntArray
    weights: FloatArray

    def furthest(self, w: FloatArray) -> FloatArray:
        """Return the point of the polytope furthest in the direction ``w``."""
        scores = (self.vectors @ w)[self.choices]
        best = np.take_along_axis(self.choices, scores.argmax(axis=1)[:, None], axis=1)[:, 0]
        mass = np.bincount(best, weights=self.weights, minlength=len(self.vectors))
        return np.asarray(mass @ self.vectors)

    @classmethod
    def of(cls, law: PatternTable, space: LabelSpace, bounded: tuple[int, ...]) -> Corners:
        """Collect the possible contributions of each pattern; group patterns with the same ones.

        ``bounded`` are the codes of the values whose share some assumption bounds.
        """
        possible = space.possible(law.classes)
        if not possible and not space.unseen:
            raise SettingError(
                "at least one value must be allowed as the right answer, got NeverRight for all"
            )
        groups: dict[tuple[int, ...], float] = {}
        for row, share in zip(law.codes.tolist(), law.probabilities.tolist(), strict=True):
            key = _choices(row, possible, bounded, space.unseen)
            groups[key] = groups.get(key, 0.0) + share
        for k in range(law.n_stages):  # a missing output is right or wrong, whatever else is
            missing = float(law.probabilities[law.codes[:, k] < 0].sum())
            if missing:
                groups[0, 1 << k] = groups.get((0, 1 << k), 0.0) + missing
        masks = sorted({mask for key in groups for mask in key})
        place = {mask: v for v, mask in enumerate(masks)}
        widest = max(map(len, groups))
        choices = [
            [place[m] for m in key] + [place[key[0]]] * (widest - len(key)) for key in groups
        ]
        axes = np.arange(law.n_stages + len(bounded))
        bits = (np.array(masks, dtype=object)[:, None] >> axes) & 1
        return cls(
            vectors=bits.astype(np.float64),
            choices=np.array(choices, dtype=np.int64),
            weights=np.array(list(groups.values())),
        )


def _choices(
    row: list[int], possible: list[int], bounded: tuple[int, ...], unseen: bool
) -> tuple[int, ...]:
    """Return the distinct ℓ(s, y) of one pattern as bit masks, smallest first.

    Values of the label that the pattern does not show and no assumption bounds give the same one.
    """
    relevant = {y for y in row if y >= 0} | set(bounded)
    masks = {_losses(row, y, bounded) for y in possible if y in relevant}
    if unseen or any(y not in relevant for y in possible):
        masks.add(_losses(row, None, bounded))
    return tuple(sorted(masks))


def _losses(row: list[int], label: int | None, bounded: tuple[int, ...]) -> int:
    mask = 0
    for k, output in enumerate(row):
        if output >= 0 and output != label:
            mask |= 1 << k
    if label in bounded:
        mask |= 1 << (len(row) + bounded.index(label))
    return mask
