"""Worlds and policies by name, for a command line and for tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import known_name
from stopwise.errors import SettingError
from stopwise.policies.base import Policy
from stopwise.policies.registry import POLICIES, command_line_name, policy_class
from stopwise.problem import families
from stopwise.problem.instance import Instance

ON_CASCADE = ("costs", "mistake_cost", "parents")


@dataclass(frozen=True)
class Family:
    """A family of instances."""

    about: str  # what it is, in a few words
    takes: tuple[str, ...]  # the names of its settings
    make: Callable[..., dict[str, Instance]]  # its members by name, from the settings


def _on_cascade(
    name: str, make: Callable[..., Instance], costs: Sequence[float] = (0.0, 0.1, 0.1)
) -> Callable[..., dict[str, Instance]]:
    """Return the maker of a family whose one member is built on a cascade, by default at costs."""

    def members(**settings: Any) -> dict[str, Instance]:
        cascade_settings = {k: settings.pop(k) for k in ON_CASCADE if k in settings}
        return {name: make(Cascade(**{"costs": costs, **cascade_settings}), **settings)}

    return members


def _sweep(ratio: Sequence[float] = (0.8, 1.0, 1.2), **settings: Any) -> dict[str, Instance]:
    return {f"ratio {r:g}": families.dominance_sweep(r, **settings) for r in ratio}


def _indistinguishable(epsilon: float = 0.01) -> dict[str, Instance]:
    return dict(zip(("theta", "theta'"), families.indistinguishable_pair(epsilon), strict=True))


def _split() -> dict[str, Instance]:
    return {"split": families.split_optimum()}


_PRICED = ("costs", "mistake_cost", "prevalence")
FAMILIES = {
    "synthetic": Family(
        "a right answer stays right (strong dominance), Section 7",
        (*_PRICED, "parents", "error_rates"),
        _on_cascade("synthetic", families.nested_errors),
    ),
    "relaxed": Family(
        "a right answer may be spoilt by a later test, Section 7",
        (*_PRICED, "parents", "error_rates", "slip"),
        _on_cascade("relaxed", families.relaxed_errors),
    ),
    "sweep": Family(
        "relaxed, with costs that give each dominance ratio",
        ("ratio", "total_cost", "error_rates", "slip"),
        _sweep,
    ),
    "indistinguishable": Family(
        "Theorem 3: two laws that look alike, two best stages", ("epsilon",), _indistinguishable
    ),
    "split": Family("stages 1 and 3 are best, stage 2 is not", (), _split),
    "complement": Family(
        "two tests that always disagree",
        _PRICED,
        _on_cascade("complement", families.complement, (0.0, 0.5)),
    ),
}

# The policies that a command can name: those that need nothing but a cascade.
NAMED_POLICIES: dict[str, type[Policy]] = {
    command_line_name(name): policy_class(name)
    for name in POLICIES
    if issubclass(policy_class(name), Policy)
}
WITH_NUMBER = tuple(name for name, kind in NAMED_POLICIES.items() if kind.takes_number)


def named_environments(family: str, **settings: Any) -> dict[str, Instance]:
    """Return the members of a family by name; ``settings`` must be those that it takes.

    >>> list(named_environments("sweep", ratio=[0.8, 1.2]))
    ['ratio 0.8', 'ratio 1.2']
    """
    entry = FAMILIES[known_name("family", family, FAMILIES, SettingError)]
    for name in settings:
        if name not in entry.takes:
            takes = ", ".join(entry.takes) or "nothing"
            raise SettingError(f"family {family!r} takes {takes}, got {name}")
    return entry.make(**settings)


def named_policy(name: str, horizon: int) -> Callable[[Cascade], Policy]:
    """Return what makes the policy called ``name``, as in ``resolve`` or ``fixed-stage:2``.

    >>> named_policy("fixed-stage:2", horizon=1000)(Cascade(costs=[0, 0.1])).ask()
    1
    """
    base, _, suffix = name.partition(":")
    kind = NAMED_POLICIES[known_name("policy", base, NAMED_POLICIES, SettingError)]
    if suffix and base not in WITH_NUMBER:
        raise SettingError(f"policy {base!r} takes nothing after a colon, got {name!r}")
    number = _whole(suffix) if suffix else None
    return lambda cascade: kind.with_defaults(cascade, horizon=horizon, number=number)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SettingError(f"policy must have a whole number >= 1 after the colon, got {text!r}")
    return int(text)
