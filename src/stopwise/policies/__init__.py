"""Learners: where to stop, from disagreement alone. Nothing here ever imports the truth.

A name is loaded from its module when it is first used; `registry` lists the policies.
"""

from importlib import import_module
from typing import Any

from stopwise.policies.registry import POLICIES

_HOME = {name: entry.module for name, entry in POLICIES.items()} | {
    "ContextualPolicy": "contextual",
    "Decision": "stopping_policy",
    "Learner": "learner",
    "Policy": "base",
    "StoppingPolicy": "stopping_policy",
    "policy_from_state": "state",
}

__all__ = [*_HOME]  # noqa: PLE0604  # the keys are the names


def __getattr__(name: str) -> Any:
    """Load a name from its module at its first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'stopwise.policies' has no attribute {name!r}")
    return getattr(import_module(f"stopwise.policies.{_HOME[name]}"), name)
