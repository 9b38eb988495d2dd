"""Every exception that stopwise raises on purpose.

::

    StopwiseError
    ├── InputError (also a ValueError)      something given by the caller breaks a rule
    │   ├── CascadeError                    costs, names or parents of a cascade
    │   ├── AssumptionError                 assumptions of an audit that contradict each other
    │   ├── ContextError                    features of a case told to a learner
    │   ├── InstanceError                   a joint law, its patterns or its outcomes
    │   ├── LogError                        a log that cannot be read or audited
    │   ├── OutputsError                    outputs told to a learner
    │   ├── PolicyError                     a policy that breaks its contract
    │   ├── SettingError                    a parameter of a policy or a formula
    │   └── StateError                      a saved state that cannot be read back
    ├── StoreError                          a store or a journal that cannot do what was asked
    │   ├── FencedError                     another process has taken over this worker
    │   ├── JournalError                    a journal that cannot be written or read
    │   │   └── JournalFullError            no room for another tell
    │   ├── SchemaError                     a store of a newer or an unknown schema
    │   └── StoreUnavailableError           the database cannot be reached or is busy
    ├── StageError                          a stage of a running cascade, or its answer
    └── MissingExtraError (also an ImportError)   an optional package is not installed

    OutputsWarning (a UserWarning)          outputs may not mean what they seem
    StoreWarning (a UserWarning)            a database with a bug that may matter here
"""

from __future__ import annotations


class StopwiseError(Exception):
    """The root: catch this to catch everything that stopwise raises on purpose."""


class InputError(StopwiseError, ValueError):
    """Something given by the caller breaks a rule; the message names rule, value and place."""


class CascadeError(InputError):
    """Costs, names or parents that do not make a cascade."""


class AssumptionError(InputError):
    """Assumptions of an audit that cannot hold together, given the log; the message names them."""


class ContextError(InputError):
    """Features of a case that are missing, too many, or no finite numbers."""


class InstanceError(InputError):
    """A joint law, a table of patterns or a table of outcomes that is not one."""


class LogError(InputError):
    """A log that cannot be read, or in which there is nothing to audit."""


class OutputsError(InputError):
    """Outputs that no stage of the cascade can have produced."""


class PolicyError(InputError):
    """A policy returned what no policy may return; the message names it."""


class SettingError(InputError):
    """A parameter outside its range."""


class StateError(InputError):
    """A saved state that is damaged, of another kind, or of a version this release cannot read."""


class StoreError(StopwiseError):
    """A store or a journal that cannot do what was asked."""


class FencedError(StoreError):
    """Another process has taken over this worker: what it folds is refused until it enters anew."""


class JournalError(StoreError):
    """A journal that cannot be written or read; the message names the file."""


class JournalFullError(JournalError):
    """The journal, or the disk under it, has no room: the tell was refused and not counted."""


class SchemaError(StoreError):
    """A store of a schema that this release does not know; nothing was changed."""


class StoreUnavailableError(StoreError):
    """The database cannot be reached or stays busy; the same call may succeed later."""


class MissingExtraError(StopwiseError, ImportError):
    """An optional package is not installed; the message says which extra brings it."""


class StageError(StopwiseError):
    """A stage of a running cascade failed, or its answer cannot be used; the message names it."""


class OutputsWarning(UserWarning):
    """Outputs that may not mean what they seem: answers that look alike, a ``None`` at the end."""


class StoreWarning(UserWarning):
    """A database that several processes write and whose version has a bug that may matter then."""
