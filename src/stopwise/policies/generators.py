"""Random generators that a learner keeps: from a seed, to plain data and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from stopwise.errors import SettingError, StateError


def generator_of(seed: int | np.random.Generator) -> np.random.Generator:
    """Return a generator from a seed or a generator; one that JSON cannot hold seeds a PCG64."""
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise SettingError(f"seed must be a seed or a generator, got {seed!r}") from error
    if not isinstance(rng.bit_generator, np.random.PCG64):
        rng = np.random.default_rng(rng.integers(2**63))
    return rng


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return a generator as plain data for JSON."""
    return dict(rng.bit_generator.state)


def generator_from_state(state: Any) -> np.random.Generator:
    """Return the generator that `generator_state` described."""
    bits: Any = np.random.PCG64()
    try:
        bits.state = state
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise StateError(f"generator cannot be read: {error}") from error
    return np.random.Generator(bits)
