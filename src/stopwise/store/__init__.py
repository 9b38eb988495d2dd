"""Learning that survives the process and is shared by many: journal, SQLite, PostgreSQL."""

from stopwise.store.case_encoding import Case, Counts, add_counts, case_text, read_case, tellable
from stopwise.store.protocol import (
    CascadeRecord,
    Changes,
    Cursor,
    KeyedTell,
    Lease,
    Outcome,
    Record,
    Row,
    StageChange,
    Store,
    StoreInfo,
    WorkerRecord,
    totals,
)
from stopwise.store.remote_counts import Staleness, Update
from stopwise.store.shared_counts import SharedCounts
from stopwise.store.shared_learner import SharedLearner
from stopwise.store.urls import open_store
from stopwise.store.worker import Worker
from stopwise.store.worker_settings import WorkerSettings

__all__ = [
    "CascadeRecord",
    "Case",
    "Changes",
    "Counts",
    "Cursor",
    "KeyedTell",
    "Lease",
    "Outcome",
    "Record",
    "Row",
    "SharedCounts",
    "SharedLearner",
    "StageChange",
    "Staleness",
    "Store",
    "StoreInfo",
    "Update",
    "Worker",
    "WorkerRecord",
    "WorkerSettings",
    "add_counts",
    "case_text",
    "open_store",
    "read_case",
    "tellable",
    "totals",
]
