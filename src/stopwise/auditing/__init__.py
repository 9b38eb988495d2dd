"""What a log of outputs without labels tells, and what it can never tell."""

from stopwise.auditing.advice import Advice, Certainty
from stopwise.auditing.assumptions import (
    Assumption,
    ErrsWithin,
    MissingAtRandom,
    NeverRight,
    Ordered,
    Prevalence,
    UnseenLabel,
)
from stopwise.auditing.facts import Facts
from stopwise.auditing.pipeline import audit
from stopwise.auditing.report import AuditReport

__all__ = [
    "Advice",
    "Assumption",
    "AuditReport",
    "Certainty",
    "ErrsWithin",
    "Facts",
    "MissingAtRandom",
    "NeverRight",
    "Ordered",
    "Prevalence",
    "UnseenLabel",
    "audit",
]
