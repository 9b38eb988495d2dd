"""Saved learners: from plain data back to a policy that goes on where it was.

A state of version 2 is a dict with the name of the policy, the version, its cascade and settings,
its ``statistics`` by name, and for some policies more (a ``generator``; the ``start`` of a fork).
"""

from __future__ import annotations

from typing import Any

from stopwise.errors import InputError, StateError
from stopwise.policies.registry import POLICIES, policy_class

STATE_VERSION = 2


def policy_from_state(state: Any, *, classes: tuple[type, ...] = ()) -> Any:
    """Return the learner that ``policy.to_state()`` described, its generator included.

    Parameters
    ----------
    state
        What ``to_state()`` returned, of this version or of version 1.
    classes
        Policies of your own that the state may name.

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
    version, name = state.get("version"), state["policy"]
    try:
        if type(version) is not int or not 1 <= version <= STATE_VERSION:
            raise StateError(f"state must have version 1 to {STATE_VERSION}, got {version!r}")
        others = {cls.__name__: cls for cls in classes}
        is_other = isinstance(name, str) and name in others
        kind: Any = others[name] if is_other else policy_class(name)
        return kind._rebuilt(_from_version_1(state) if version == 1 else state)
    except StateError:
        raise
    except RecursionError:
        raise StateError("state cannot be read: it is nested too deeply") from None
    except (InputError, AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        subject = name if isinstance(name, str) else "a policy"
        raise StateError(f"state of {subject} cannot be read: {error!r}") from error


def _from_version_1(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state of version 1, with statistics in three keys, as one of version 2."""
    rest = {key: value for key, value in state.items() if key not in ("counts", "further", "model")}
    module = POLICIES[state["policy"]].module if state["policy"] in POLICIES else ""
    if "model" in state:
        statistics = {"model": state["model"]}
    elif module == "output_conditional":
        statistics = {"prefixes": state["counts"]}
    else:
        statistics = {"pairs": state["counts"], **state["further"]}
    if module == "thompson":  # the seed was written and never read
        rest["settings"] = {k: v for k, v in state["settings"].items() if k != "seed"}
    return {**rest, "version": STATE_VERSION, "statistics": statistics}
