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

_ALL: tuple[Experiment, ...] = (
    table1,
    fig_sd,
    fig_wd,
    pima,
    heart,
    nonuniform,
    misprints,
    alternatives,
    triage_tree,
    contexts,
    output_conditional,
)
EXPERIMENTS: dict[str, Experiment] = {experiment.NAME: experiment for experiment in _ALL}
"""Every experiment by the name under which it is run, in the order of the report."""

__all__ = ["EXPERIMENTS", "FULL", "QUICK", "Claim", "Experiment", "Result", "Scale", "Verdict"]
