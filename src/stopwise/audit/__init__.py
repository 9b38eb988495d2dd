"""What a log of outputs without labels tells, and what it can never tell.

The package is the function: ``stopwise.audit(log, cascade)``, see `stopwise.audit.run.audit`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from stopwise.audit.bounds.assumptions import Assumption, ErrsWithin, Ordered, Prevalence
from stopwise.audit.histogram import Histogram
from stopwise.audit.report import AuditReport
from stopwise.audit.run import audit

__all__ = [
    "Assumption",
    "AuditReport",
    "ErrsWithin",
    "Histogram",
    "Ordered",
    "Prevalence",
    "audit",
]


class _CallableModule(ModuleType):
    """Importing a part of the package binds its name in `stopwise`: it has to stay callable."""

    def __call__(self, *args: Any, **kwargs: Any) -> AuditReport:
        return audit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
