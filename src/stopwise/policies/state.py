"""Saved learners: from plain data back to a policy that goes on as if nothing had happened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from stopwise.errors import InputError, StateError

STATE_VERSION = 1


class Saved(ABC):
    """A learner that can be saved as plain data under the name of its class."""

    kinds: ClassVar[dict[str, type[Saved]]] = {}
    """Every class of learners by its name: what a saved state can name."""

    def __init_subclass__(cls, *, is_base: bool = False) -> None:
        if not is_base:
            Saved.kinds[cls.__name__] = cls

    @abstractmethod
    def to_state(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; `policy_from_state` goes on from there."""

    @classmethod
    @abstractmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        """Return the learner that a state describes; what is amiss may raise anything sensible."""


def policy_from_state(state: Any) -> Any:
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
    if not isinstance(state["policy"], str) or state["policy"] not in Saved.kinds:
        raise StateError(f"state must name one of {sorted(Saved.kinds)}, got {state['policy']!r}")
    try:
        return Saved.kinds[state["policy"]]._rebuilt(state)
    except StateError:
        raise
    except (InputError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise StateError(f"state of {state['policy']} cannot be read: {error!r}") from error
