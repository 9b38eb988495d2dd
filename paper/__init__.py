"""The paper's tables and figures, computed again: one module each, with its claims as checks."""

from paper import (
    alternatives,
    contexts,
    fig_sd,
    fig_wd,
    heart,
    misprints,
    nonuniform,
    output_conditional,
    pima,
    table1,
    triage_tree,
)
from paper.experiment import FULL, QUICK, Claim, Experiment, Result, Scale, Verdict

_PAPER: tuple[Experiment, ...] = (
    table1,
    fig_sd,
    fig_wd,
    pima,
    heart,
    nonuniform,
    misprints,
    triage_tree,
    contexts,
)
_BEYOND: tuple[Experiment, ...] = (alternatives, output_conditional)
EXPERIMENTS: dict[str, Experiment] = {one.NAME: one for one in (*_PAPER, *_BEYOND)}
"""Every experiment by the name under which it is run, in the order of the report."""
BEYOND = frozenset(one.NAME for one in _BEYOND)
"""The experiments about what the paper does not have."""

__all__ = [
    "BEYOND",
    "EXPERIMENTS",
    "FULL",
    "QUICK",
    "Claim",
    "Experiment",
    "Result",
    "Scale",
    "Verdict",
]
