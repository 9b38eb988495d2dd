"""Saved learners: from plain data back to a policy that goes on as if nothing had happened."""

from __future__ import annotations

from typing import Any

from stopwise.errors import InputError, StateError
from stopwise.policies.base import STATE_VERSION, Policy
from stopwise.policies.explore_then_commit import ExploreThenCommit
from stopwise.policies.fixed_stage import FixedStage
from stopwise.policies.resolve import Resolve
from stopwise.policies.strong_dominance import StrongDominance
from stopwise.policies.supervised import Supervised
from stopwise.policies.thompson import Thompson
from stopwise.policies.weak_dominance import WeakDominance

POLICIES: dict[str, type[Policy]] = {
    cls.__name__: cls
    for cls in (
        ExploreThenCommit,
        FixedStage,
        Resolve,
        StrongDominance,
        Supervised,
        Thompson,
        WeakDominance,
    )
}


def policy_from_state(state: Any) -> Policy:
    """Return the learner that ``policy.to_state()`` described, its generator included.

    >>> import json
    >>> from stopwise.cascade import Cascade
    >>> policy = Resolve(Cascade(costs=[0.0, 0.3]))
    >>> policy.tell([0, 1])
    >>> saved = json.dumps(policy.to_state())
    >>> policy_from_state(json.loads(saved)).n_rounds
    1
    """
    if not isinstance(state, dict) or "policy" not in state:
        raise StateError(f"state must be a dict that to_state() made, got {type(state).__name__}")
    if state.get("version") != STATE_VERSION:
        raise StateError(f"state must have version {STATE_VERSION}, got {state.get('version')!r}")
    if not isinstance(state["policy"], str) or state["policy"] not in POLICIES:
        raise StateError(f"state must name one of {sorted(POLICIES)}, got {state['policy']!r}")
    try:
        return POLICIES[state["policy"]]._rebuilt(state)
    except StateError:
        raise
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"state of {state['policy']} cannot be read: {error!r}") from error
