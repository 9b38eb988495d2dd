"""Contexts, batches and saved models as they come in: read, checked, and told what is amiss."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from stopwise.contextual.model import UNSEEN
from stopwise.errors import ContextError, StateError

# Squares of larger features would overflow; without a learned scale far smaller ones are too large.
LARGEST = 1e100
LARGEST_UNSCALED = 1e3

# What a learner remembers, by the names of `Model`, and the lists that count cases.
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
_WHOLE = {"seen", "held_pairs", "counts"}


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
            raise ContextError(f"context must be {rule}, got {_shown(value)} at feature {k + 1}")
    return [float(value) for value in values]


def _shown(value: Any) -> str:
    # A number of thousands of digits would be refused by repr, or fill the page.
    return "a larger number" if isinstance(value, int) and abs(value) > LARGEST else repr(value)


def case_parts(case: Any) -> tuple[Any, Any]:
    """Return outputs and context of a case that is told in a batch, or raise `ContextError`."""
    if not isinstance(case, (tuple, list)) or len(case) != 2:
        raise ContextError(f"a case must be a pair (outputs, context), got {case!r}")
    return case[0], case[1]


def copied(values: Any) -> Any:
    """Return lists of lists as new lists."""
    return [copied(value) for value in values] if isinstance(values, list) else values


def checked_memory(name: str, values: Any, like: Any) -> Any:
    """Return saved lists if they have the shape of ``like`` and hold numbers of its kind."""
    if isinstance(like, list):
        if not isinstance(values, list) or len(values) != len(like):
            raise StateError(f"{name} must have {len(like)} entries, got {values!r}")
        return [checked_memory(name, *both) for both in zip(values, like, strict=True)]
    if isinstance(values, bool) or not isinstance(values, (int, float)):
        raise StateError(f"{name} must hold numbers, got {values!r}")
    if not math.isfinite(values) or (name in _WHOLE and not isinstance(values, int)):
        raise StateError(f"{name} must hold finite numbers, counts whole ones, got {values!r}")
    if (name in {"seen", "counts"} and values < 0) or (name == "scale" and values <= 0):
        raise StateError(f"{name} must hold no negative numbers, a scale no 0, got {values!r}")
    if name == "held_pairs" and values not in (UNSEEN, 0, 1):
        raise StateError(f"held_pairs must hold {UNSEEN}, 0 or 1, got {values!r}")
    return values if name in _WHOLE else float(values)
