"""Saved learners: from plain data back to a policy that goes on as if nothing had happened."""

from __future__ import annotations

from typing import Any

from stopwise.errors import InputError, StateError
from stopwise.policies.base import STATE_VERSION, Policy


def policy_from_state(state: Any) -> Policy:
    """Return the learner that ``policy.to_state()`` described, its generator included.

    >>> import json
    >>> from stopwise import Cascade, Resolve
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
    if not isinstance(state["policy"], str) or state["policy"] not in Policy.kinds:
        raise StateError(f"state must name one of {sorted(Policy.kinds)}, got {state['policy']!r}")
    try:
        return Policy.kinds[state["policy"]]._rebuilt(state)
    except StateError:
        raise
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise StateError(f"state of {state['policy']} cannot be read: {error!r}") from error
