"""stopwise: how far to go in a sequence of tests when nobody ever tells the right answer.

Every public name is loaded from its module when it is first used, so that importing the package
costs next to nothing. The imports for type checkers and `_HOME` list the same names; a test
compares them. Policies are those of the registry.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stopwise.policies.registry import POLICIES

if TYPE_CHECKING:
    from stopwise.auditing.pipeline import audit as audit
    from stopwise.auditing.report import AuditReport as AuditReport
    from stopwise.beliefs.model import LatentClasses as LatentClasses
    from stopwise.cascade import Cascade as Cascade
    from stopwise.client import Client as Client
    from stopwise.counts import PairCounts as PairCounts
    from stopwise.disagreement import sound_stage as sound_stage
    from stopwise.pattern_counts import PatternCounts as PatternCounts
    from stopwise.patterns import PatternTable as PatternTable
    from stopwise.policies.base import Policy as Policy
    from stopwise.policies.belief_stopping import BeliefStopping as BeliefStopping
    from stopwise.policies.contextual import ContextualPolicy as ContextualPolicy
    from stopwise.policies.contextual_resolve import ContextualResolve as ContextualResolve
    from stopwise.policies.contextual_thompson import ContextualThompson as ContextualThompson
    from stopwise.policies.contextual_weak_dominance import (
        ContextualWeakDominance as ContextualWeakDominance,
    )
    from stopwise.policies.explore_then_commit import ExploreThenCommit as ExploreThenCommit
    from stopwise.policies.fixed_stage import FixedStage as FixedStage
    from stopwise.policies.label_buying import LabelBuying as LabelBuying
    from stopwise.policies.learner import Learner as Learner
    from stopwise.policies.output_conditional import OutputConditional as OutputConditional
    from stopwise.policies.resolve import Resolve as Resolve
    from stopwise.policies.state import policy_from_state as policy_from_state
    from stopwise.policies.stopping_policy import Decision as Decision
    from stopwise.policies.stopping_policy import StoppingPolicy as StoppingPolicy
    from stopwise.policies.strong_dominance import StrongDominance as StrongDominance
    from stopwise.policies.supervised import Supervised as Supervised
    from stopwise.policies.thompson import Thompson as Thompson
    from stopwise.policies.weak_dominance import WeakDominance as WeakDominance
    from stopwise.problem.contextual_instance import ContextualInstance as ContextualInstance
    from stopwise.problem.contextual_recording import ContextualRecording as ContextualRecording
    from stopwise.problem.instance import Instance as Instance
    from stopwise.problem.recording import Recording as Recording
    from stopwise.runtime.runtime import Runtime as Runtime
    from stopwise.simulation.simulator import simulate as simulate
    from stopwise.simulation.sweep import Sweep as Sweep
    from stopwise.simulation.sweep import sweep as sweep
    from stopwise.simulation.trace import Trace as Trace
    from stopwise.theory.bounds import PowerLaw as PowerLaw

__version__ = "0.1.0"

_HOME = {
    "AuditReport": "auditing.report",
    "Cascade": "cascade",
    "Client": "client",
    "ContextualInstance": "problem.contextual_instance",
    "ContextualPolicy": "policies.contextual",
    "ContextualRecording": "problem.contextual_recording",
    "Decision": "policies.stopping_policy",
    "Instance": "problem.instance",
    "LabelBuying": "policies.label_buying",
    "LatentClasses": "beliefs.model",
    "Learner": "policies.learner",
    "PairCounts": "counts",
    "PatternCounts": "pattern_counts",
    "PatternTable": "patterns",
    "Policy": "policies.base",
    "PowerLaw": "theory.bounds",
    "Recording": "problem.recording",
    "Runtime": "runtime.runtime",
    "StoppingPolicy": "policies.stopping_policy",
    "Sweep": "simulation.sweep",
    "Trace": "simulation.trace",
    "audit": "auditing.pipeline",
    "policy_from_state": "policies.state",
    "simulate": "simulation.simulator",
    "sound_stage": "disagreement",
    "sweep": "simulation.sweep",
} | {name: f"policies.{entry.module}" for name, entry in POLICIES.items()}

__all__ = [*_HOME]  # noqa: PLE0604  # the keys are the names


def __getattr__(name: str) -> Any:
    """Load a public name from its module at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'stopwise' has no attribute {name!r}")
    value = getattr(import_module(f"stopwise.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
