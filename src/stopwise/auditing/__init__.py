"""What a log of outputs without labels tells, and what it can never tell."""

from stopwise.auditing.bounds.assumptions import Assumption, ErrsWithin, Ordered, Prevalence
from stopwise.auditing.report import AuditReport
from stopwise.auditing.run import audit
from stopwise.patterns import PatternTable

__all__ = [
    "Assumption",
    "AuditReport",
    "ErrsWithin",
    "Ordered",
    "PatternTable",
    "Prevalence",
    "audit",
]
