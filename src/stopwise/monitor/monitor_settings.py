"""The settings of a monitor."""

from __future__ import annotations

from dataclasses import dataclass

from stopwise.checks import finite_number, whole_number
from stopwise.errors import SettingError

DAY = 86_400.0


@dataclass(frozen=True)
class MonitorSettings:
    """How sensitive a monitor is.

    Parameters
    ----------
    false_alarms_per_year
        The largest expected number of false alarms about changes, over all shares together.
    bucket_seconds, bucket_cases
        A bucket ends when it is this old and has a case, or when it has this many cases and at
        least a twentieth of all. At its end the monitor looks for changes.
    stale_after
        Seconds without a case that compares the last stage with an earlier one.
    daily_budget
        What the cascade may cost in 24 hours, in the unit of its costs; ``None`` for no limit.
    """

    false_alarms_per_year: float = 0.1
    bucket_seconds: float = 60.0
    bucket_cases: int = 10
    stale_after: float = 7 * DAY
    daily_budget: float | None = None

    def __post_init__(self) -> None:
        for name in ("false_alarms_per_year", "bucket_seconds", "stale_after"):
            finite_number(name, getattr(self, name), SettingError, zero=False)
        whole_number("bucket_cases", self.bucket_cases, SettingError, least=1)
        if self.daily_budget is not None:
            finite_number("daily_budget", self.daily_budget, SettingError, zero=False)
