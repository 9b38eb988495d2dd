"""Worlds and policies by name, for a command line and for tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import known_name
from stopwise.errors import SettingError
from stopwise.policies import (
    ExploreThenCommit,
    FixedStage,
    Policy,
    Resolve,
    StrongDominance,
    Supervised,
    Thompson,
    WeakDominance,
)
from stopwise.problem.families import (
    complement,
    dominance_sweep,
    indistinguishable_pair,
    nested_errors,
    relaxed_errors,
    split_optimum,
)
from stopwise.problem.instance import Instance

COSTS = (0.0, 0.1, 0.1)
ON_CASCADE = ("costs", "mistake_cost", "parents")


@dataclass(frozen=True)
class Family:
    """A family of instances: what it is, and the function that makes its members by name."""

    about: str
    takes: tuple[str, ...]
    make: Callable[..., dict[str, Instance]]


def _synthetic(**settings: Any) -> dict[str, Instance]:
    cascade, rest = _priced(settings)
    return {"synthetic": nested_errors(cascade, **rest)}


def _relaxed(**settings: Any) -> dict[str, Instance]:
    cascade, rest = _priced(settings)
    return {"relaxed": relaxed_errors(cascade, **rest)}


def _priced(settings: dict[str, Any]) -> tuple[Cascade, dict[str, Any]]:
    """Return the cascade of some settings, and those that are not about it."""
    given = {"costs": COSTS} | {k: v for k, v in settings.items() if k in ON_CASCADE}
    return Cascade(**given), {k: v for k, v in settings.items() if k not in ON_CASCADE}


def _sweep(ratio: Sequence[float] = (0.8, 1.0, 1.2), **settings: Any) -> dict[str, Instance]:
    return {f"ratio {r:g}": dominance_sweep(r, **settings) for r in ratio}


def _indistinguishable(epsilon: float = 0.01) -> dict[str, Instance]:
    return dict(zip(("theta", "theta'"), indistinguishable_pair(epsilon), strict=True))


def _split() -> dict[str, Instance]:
    return {"split": split_optimum()}


def _complement(
    costs: Sequence[float] = (0.0, 0.5), mistake_cost: float = 1.0, prevalence: float = 0.5
) -> dict[str, Instance]:
    return {"complement": complement(Cascade(costs, mistake_cost), prevalence=prevalence)}


_PRICED = ("costs", "mistake_cost", "prevalence")
FAMILIES = {
    "synthetic": Family(
        "a right answer stays right (strong dominance), Section 7",
        (*_PRICED, "parents", "error_rates"),
        _synthetic,
    ),
    "relaxed": Family(
        "a right answer may be spoilt by a later test, Section 7",
        (*_PRICED, "parents", "error_rates", "slip"),
        _relaxed,
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
    "complement": Family("two tests that always disagree", _PRICED, _complement),
}

# By name, what makes the policy from a cascade, the horizon and what was given after a colon.
_Maker = Callable[[Cascade, int, str], Policy]
POLICIES: dict[str, _Maker] = {
    "weak-dominance": lambda cascade, horizon, given: WeakDominance(cascade),
    "resolve": lambda cascade, horizon, given: Resolve(cascade),
    "strong-dominance": lambda cascade, horizon, given: StrongDominance(cascade),
    "thompson": lambda cascade, horizon, given: Thompson(cascade, seed=0),
    "supervised": lambda cascade, horizon, given: Supervised(cascade),
    "explore-then-commit": lambda cascade, horizon, given: ExploreThenCommit(
        cascade, rounds=_whole(given or str(math.isqrt(horizon - 1) + 1))
    ),
    "fixed-stage": lambda cascade, horizon, given: _fixed(cascade, _whole(given or "1")),
}
WITH_NUMBER = ("explore-then-commit", "fixed-stage")


def named_environments(family: str, **settings: Any) -> dict[str, Instance]:
    """Return the members of a family by name; ``settings`` must be those that it takes.

    >>> list(named_environments("sweep", ratio=[0.8, 1.2]))
    ['ratio 0.8', 'ratio 1.2']
    """
    found = FAMILIES[known_name("family", family, FAMILIES, SettingError)]
    for name in settings:
        if name not in found.takes:
            takes = ", ".join(found.takes) or "nothing"
            raise SettingError(f"family {family!r} takes {takes}, got {name}")
    return found.make(**settings)


def named_policy(name: str, horizon: int) -> Callable[[Cascade], Policy]:
    """Return what makes the policy called ``name``, as in ``resolve`` or ``fixed-stage:2``.

    >>> named_policy("fixed-stage:2", horizon=1000)(Cascade(costs=[0, 0.1])).ask()
    1
    """
    base, _, given = name.partition(":")
    make = POLICIES[known_name("policy", base, POLICIES, SettingError)]
    if given and base not in WITH_NUMBER:
        raise SettingError(f"policy {base!r} takes nothing after a colon, got {name!r}")
    return lambda cascade: make(cascade, horizon, given)


def _fixed(cascade: Cascade, number: int) -> Policy:
    if number > cascade.n_stages:
        raise SettingError(
            f"policy fixed-stage must name one of the {cascade.n_stages} stages, got {number}"
        )
    return FixedStage(cascade, stage=number - 1)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SettingError(f"policy must have a whole number >= 1 after the colon, got {text!r}")
    return int(text)
