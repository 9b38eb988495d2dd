"""stopwise: how far to go in a sequence of tests when nobody ever tells the right answer."""

from typing import TYPE_CHECKING, Any

from stopwise.cascade import Cascade
from stopwise.contextual import (
    ContextualPolicy,
    ContextualResolve,
    ContextualThompson,
    ContextualWeakDominance,
    Next,
    OutputConditional,
)
from stopwise.disagreement import sound_stage
from stopwise.pair_counts import PairCounts
from stopwise.patterns import OutputLaw, PatternCounts
from stopwise.policies import (
    ExploreThenCommit,
    FixedStage,
    Policy,
    Resolve,
    StrongDominance,
    Supervised,
    Thompson,
    WeakDominance,
    policy_from_state,
)
from stopwise.problem import ContextualInstance, ContextualRecording, Instance, Recording
from stopwise.simulation import (
    StoppingTrace,
    Sweep,
    Trace,
    simulate,
    simulate_stopping,
    sweep,
)
from stopwise.theory.bounds import PowerLaw

if TYPE_CHECKING:
    from stopwise.audit import AuditReport, audit

__version__ = "0.1.0"

__all__ = [
    "AuditReport",
    "Cascade",
    "ContextualInstance",
    "ContextualPolicy",
    "ContextualRecording",
    "ContextualResolve",
    "ContextualThompson",
    "ContextualWeakDominance",
    "ExploreThenCommit",
    "FixedStage",
    "Instance",
    "Next",
    "OutputConditional",
    "OutputLaw",
    "PairCounts",
    "PatternCounts",
    "Policy",
    "PowerLaw",
    "Recording",
    "Resolve",
    "StoppingTrace",
    "StrongDominance",
    "Supervised",
    "Sweep",
    "Thompson",
    "Trace",
    "WeakDominance",
    "audit",
    "policy_from_state",
    "simulate",
    "simulate_stopping",
    "sound_stage",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Load the audit when it is first asked for."""
    if name not in {"AuditReport", "audit"}:
        raise AttributeError(f"module 'stopwise' has no attribute {name!r}")
    from importlib import import_module

    module = import_module("stopwise.audit")
    return module if name == "audit" else module.AuditReport
