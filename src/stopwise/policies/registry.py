"""Every policy of the package, by class name: its module and how it is drawn in figures.

To add a policy, write its file and add its entry here. Public names, saved states, names on the
command line, colours and the contract tests follow. Nothing is imported before it is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from stopwise.errors import StateError

Dashes = str | tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Entry:
    """Where a policy lives and how figures draw it."""

    module: str  # the module in `stopwise.policies`
    # The line in figures. Colours are those of Okabe and Ito, with darker relatives for policies
    # that look at features; dashes tell lines apart in grey.
    colour: str
    dashes: Dashes


POLICIES: dict[str, Entry] = {
    "WeakDominance": Entry("weak_dominance", "#0072B2", "-"),
    "Resolve": Entry("resolve", "#D55E00", "-"),
    "StrongDominance": Entry("strong_dominance", "#009E73", "--"),
    "Thompson": Entry("thompson", "#CC79A7", "-."),
    "Supervised": Entry("supervised", "#000000", ":"),
    "ExploreThenCommit": Entry("explore_then_commit", "#E69F00", "--"),
    "FixedStage": Entry("fixed_stage", "#7F7F7F", "-"),
    "OutputConditional": Entry("output_conditional", "#332288", "-"),
    "BeliefStopping": Entry("belief_stopping", "#117733", "-"),
    "ContextualWeakDominance": Entry("contextual_weak_dominance", "#1B2A6B", (0, (6, 2))),
    "ContextualResolve": Entry("contextual_resolve", "#7A1F1F", (0, (6, 2))),
    "ContextualThompson": Entry("contextual_thompson", "#7B3294", (0, (4, 1, 1, 1))),
}


def policy_class(name: Any) -> Any:
    """Return the class of the policy called ``name``, or raise `StateError`."""
    if not isinstance(name, str) or name not in POLICIES:
        raise StateError(f"state must name one of {sorted(POLICIES)}, got {name!r}")
    return getattr(import_module(f"stopwise.policies.{POLICIES[name].module}"), name)


def command_line_name(name: str) -> str:
    """Return the name of a policy on the command line.

    >>> command_line_name("WeakDominance")
    'weak-dominance'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
