"""Values as plain data for JSON."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from stopwise.auditing.assumptions import Assumption


def plain(value: Any, *, without: tuple[str, ...] = ()) -> Any:
    """Return a value as JSON types; numbers that are not finite become ``None``.

    A dataclass becomes a dictionary of its fields, except those in ``without``; an assumption also
    gets its ``kind``.
    """
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        kind = {"kind": type(value).__name__} if isinstance(value, Assumption) else {}
        names = [part.name for part in fields(value) if part.name not in without]
        return {**kind, **{name: plain(getattr(value, name)) for name in names}}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)
