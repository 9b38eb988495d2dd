"""What a model expects of tests that have not been run."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.model import LatentClasses
from stopwise.cascade import FloatArray, IntArray


def next_law(model: LatentClasses, test: int, codes: IntArray) -> FloatArray:
    """Return the chance of each output of ``test`` after the outputs in ``codes``; shape (R, M)."""
    tests = model.hidden.tests[test]
    return np.asarray(np.einsum("rha,bha->rb", _hidden(model, codes), tests, optimize=True))


def next_joint(model: LatentClasses, test: int, codes: IntArray) -> FloatArray:
    """Return the chance of each right answer and output of ``test``; shape (R, M, M)."""
    tests = model.hidden.tests[test]
    return np.asarray(np.einsum("rha,bha->rab", _hidden(model, codes), tests, optimize=True))


def pattern_law(model: LatentClasses) -> FloatArray:
    """Return the chance of each complete pattern; shape (M,) * K."""
    joint = model.hidden.levels.reshape(1, -1)
    M = model.hidden.n_classes
    for test in model.hidden.tests:
        joint = (joint[:, None, :] * test.reshape(M, -1)[None]).reshape(-1, joint.shape[1])
    return np.asarray(joint.sum(axis=1).reshape((M,) * len(model.hidden.tests)))


def _hidden(model: LatentClasses, codes: IntArray) -> FloatArray:
    """Return the chance of each level and answer, labels included; shape (R, H, M)."""
    chances = model.hidden.chances(codes)
    if model.update is None:
        return chances
    chances /= np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(chances * model.posterior(codes)[:, None, :])
