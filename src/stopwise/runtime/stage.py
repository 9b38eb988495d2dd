"""A stage of a running cascade: what to call, its cost, time-out, retries and limits."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stopwise.checks import finite_number, whole_number
from stopwise.errors import SettingError

Call = Callable[[Any], Any]


@dataclass(frozen=True)
class Stage:
    """One test of a running cascade.

    Parameters
    ----------
    call
        A function of the case, sync or async, or an object with ``predict`` such as a scikit-learn
        estimator or pipeline, which is called with batches.
    cost
        What one call costs, in the unit of ``mistake_cost``; or a function of what the call
        returned, for prices by token. Decisions then use the running mean, totals the true cost.
    name
        The name shown to people; that of the function by default.
    timeout
        Seconds for one attempt; ``None`` for no limit. An attempt in a thread is abandoned, not
        ended.
    retries
        Further attempts after a failure. The first waits for ``backoff`` seconds, the next twice
        as long, and so on; each wait is shortened at random by up to half.
    retry_if
        Which exceptions are worth another attempt; by default all but HTTP errors that say the
        request itself is wrong (an attribute ``status_code`` below 500 other than 408, 409, 425
        and 429).
    batch
        Whether ``call`` takes a list of cases and returns one answer for each.
    max_batch, max_wait
        How many cases go into one batch, and for how many seconds the first of them waits.
    concurrency
        How many calls may be under way at once; ``None`` for no limit.
    inline
        Whether a sync function is so fast that it may run in the event loop. By default it runs in
        a thread, so that a slow one holds up nobody else.
    breaker_failures, breaker_cooldown
        After this many failures in a row, the stage is not called for this many seconds; then one
        call is tried.

    >>> Stage(len, cost=0.1).name
    'len'
    """

    call: Any
    cost: float | Callable[[Any], float] = 0.0
    name: str = ""
    timeout: float | None = None
    retries: int = 0
    backoff: float = 0.5
    retry_if: Callable[[BaseException], bool] | None = None
    batch: bool = False
    max_batch: int = 64
    max_wait: float = 0.002
    concurrency: int | None = None
    inline: bool = False
    breaker_failures: int = 5
    breaker_cooldown: float = 30.0
    is_async: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        call, batch = self.call, self.batch
        if not callable(call):
            if not callable(getattr(call, "predict", None)):
                raise SettingError(f"a stage must be a function or have predict(), got {call!r}")
            call, batch = call.predict, True
        name = self.name or _name_of(self.call)
        place = f"of stage {name!r}"
        cost = self.cost
        if not callable(cost):
            cost = finite_number(f"cost {place}", cost, SettingError, zero=True)
        if self.timeout is not None:
            finite_number(f"timeout {place}", self.timeout, SettingError, zero=False)
        whole_number(f"retries {place}", self.retries, SettingError, least=0)
        finite_number(f"backoff {place}", self.backoff, SettingError, zero=True)
        whole_number(f"max_batch {place}", self.max_batch, SettingError, least=1)
        finite_number(f"max_wait {place}", self.max_wait, SettingError, zero=True)
        if self.concurrency is not None:
            whole_number(f"concurrency {place}", self.concurrency, SettingError, least=1)
        whole_number(f"breaker_failures {place}", self.breaker_failures, SettingError, least=1)
        finite_number(f"breaker_cooldown {place}", self.breaker_cooldown, SettingError, zero=True)
        for attribute, value in {"call": call, "batch": batch, "name": name, "cost": cost}.items():
            object.__setattr__(self, attribute, value)
        object.__setattr__(self, "is_async", _is_async(call))


def _name_of(call: Any) -> str:
    name = getattr(call, "stage_name", "") or getattr(call, "__name__", "")
    owner = getattr(call, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):  # forest.predict is called after forest
        name = type(owner).__name__
    return str(name or type(call).__name__)


def _is_async(call: Any) -> bool:
    function = call if inspect.isroutine(call) else type(call).__call__
    return inspect.iscoroutinefunction(function)
