"""Checks of contexts and of saved models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from stopwise.checks import LARGEST_FEATURE
from stopwise.errors import ContextError, StateError
from stopwise.policies.pair_models import CUT, UNSEEN

# The largest feature, and the largest one if no scale is learned.
LARGEST = LARGEST_FEATURE
LARGEST_UNSCALED = 1e3

_WHOLE = {"seen", "held_pairs", "counts"}
_MOST = 2**53  # cases; beyond this counts are not exact as floats
_RANGES: dict[str, tuple[float, float]] = {
    "theta": (-LARGEST, LARGEST),
    "inverse": (-LARGEST, LARGEST),
    "seen": (0, _MOST),
    "centre": (-LARGEST, LARGEST),
    "scale": (5e-324, 2 * LARGEST),  # no 0
    "squares": (0, 1e300),
    "held_contexts": (-LARGEST, LARGEST),
    "held_pairs": (UNSEEN, 1),
    "counts": (0, _MOST),
}
# How far rounding may add up, as a share of the values at the start.
_SLACK = 1e-9


def check_context(context: Any, n_features: int, largest: float = LARGEST) -> list[float]:
    """Return the features of a case as floats, or raise `ContextError`."""
    if isinstance(context, np.ndarray) and context.ndim != 1:
        raise ContextError(
            f"context must be a vector of {n_features} numbers, got shape {context.shape}"
        )
    if isinstance(context, (str, bytes, dict, set)) or not isinstance(context, Iterable):
        raise ContextError(f"context must be a vector of {n_features} numbers, got {context!r}")
    values = context.tolist() if isinstance(context, np.ndarray) else list(context)
    if len(values) != n_features:
        raise ContextError(f"context must have {n_features} features, got {len(values)}")
    for k, value in enumerate(values):
        if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
            raise ContextError(f"context must be numbers, got {value!r} at feature {k + 1}")
        if not -largest <= value <= largest:
            rule = (
                f"at most {largest:g} in size if warm_up is 0: scale it, or let warm_up do so"
                if -LARGEST <= value <= LARGEST
                else f"finite, at most {LARGEST:g} in size"
            )
            raise ContextError(
                f"context must be {rule}, got {_short_repr(value)} at feature {k + 1}"
            )
    return [float(value) for value in values]


def _short_repr(value: Any) -> str:
    # repr would refuse a number of thousands of digits, or fill the page with it.
    return "a larger number" if isinstance(value, int) and abs(value) > LARGEST else repr(value)


def checked_memory(name: str, values: Any, like: Any) -> Any:
    """Return saved lists if they have the shape of ``like`` and hold numbers of its kind."""
    if isinstance(like, list):
        if not isinstance(values, list) or len(values) != len(like):
            raise StateError(f"{name} must have {len(like)} entries, got {values!r}")
        return [checked_memory(name, *both) for both in zip(values, like, strict=True)]
    if isinstance(values, bool) or not isinstance(values, (int, float)):
        raise StateError(f"{name} must hold numbers, got {values!r}")
    low, high = _RANGES[name]
    if not low <= values <= high or (name in _WHOLE and not isinstance(values, int)):
        kind = "whole numbers" if name in _WHOLE else "numbers"
        raise StateError(
            f"{name} must hold {kind} in {low:g} to {high:g}, got {_short_repr(values)}"
        )
    return values if name in _WHOLE else float(values)


def check_memory(memory: dict[str, Any], warm_up: int, regularisation: float) -> None:
    """Raise `StateError` if no cases can lead to these numbers together."""
    n_rounds, n_cut = memory["counts"]
    most = n_rounds if n_rounds >= warm_up else 0
    if n_cut > most or max(memory["seen"], default=0) > most:
        raise StateError(
            f"model must have learned from at most {most} cases, got seen {memory['seen']} "
            f"and {n_cut} that were cut"
        )
    for p, seen in enumerate(memory["seen"]):
        theta, inverse = np.array(memory["theta"][p]), np.array(memory["inverse"][p])
        # A step is at most H⁻¹x, and no |x|² is larger than this.
        largest = len(theta) * CUT**2
        if not np.all(np.abs(theta) <= (1 + _SLACK) * seen * math.sqrt(largest) / regularisation):
            raise StateError(f"theta must be what {seen} cases can lead to, got {theta.tolist()}")
        # H lies between λI and λI + Σ|x|²/4, up to rounding.
        slack = _SLACK / regularisation
        least = 1 / (regularisation + seen * largest / 4)
        eigenvalues = np.linalg.eigvalsh(inverse)
        if (
            np.abs(inverse - inverse.T).max() > slack
            or eigenvalues[0] < least - slack
            or eigenvalues[-1] > 1 / regularisation + slack
        ):
            raise StateError(
                f"inverse must be symmetric, between {least:g} and {1 / regularisation:g}, "
                f"got {inverse.tolist()}"
            )
