"""Call a stage: attempts, time-outs, waits, the circuit breaker and batches."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from stopwise.checks import finite_number
from stopwise.errors import SettingError, StageError
from stopwise.runtime.batcher import Batcher
from stopwise.runtime.circuit_breaker import CircuitBreaker
from stopwise.runtime.normalisers import Normalise
from stopwise.runtime.stage import Stage

RETRIED_STATUS = {408, 409, 425, 429}  # HTTP errors below 500 that another attempt may avoid
LONGEST_WAIT = 60.0  # seconds between two attempts, whatever a server asks for
NO_LIMIT = nullcontext()


class Outcome(NamedTuple):
    """The outcome of one call: an output, or ``None`` and the error if the call failed."""

    output: Hashable
    cost: float
    attempts: int
    error: BaseException | None = None


class UnavailableError(StageError):
    """The stage was not called, because it failed too often recently."""


@dataclass
class Caller:
    """One stage, ready to be called by many cases at once."""

    stage: Stage  # what to call and how often to try
    normalise: Normalise  # what counts as the same answer
    clock: Callable[[], float]  # a monotonic time in seconds
    # Called after 1, 2, 4, … calls of a stage whose calls differ in price.
    on_new_mean: Callable[[], None] | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rng: random.Random = field(default_factory=random.Random)  # draws the lengths of waits

    def __post_init__(self) -> None:
        self.breaker = CircuitBreaker(
            self.stage.breaker_failures, self.stage.breaker_cooldown, self.clock
        )
        # Semaphores and batches belong to the event loop that made them.
        self._limits: WeakKeyDictionary[Any, asyncio.Semaphore] = WeakKeyDictionary()
        self._batchers: WeakKeyDictionary[Any, Batcher] = WeakKeyDictionary()
        self._n_priced, self._total_cost = 0, 0.0
        self.failures: Counter[str] = Counter()  # cases without an output, by the kind of error
        stage = self.stage
        is_plain = stage.is_async and not (stage.batch or stage.timeout or stage.concurrency)
        self._attempt = stage.call if is_plain else self._within_limits

    async def __call__(self, case: Any) -> Outcome:
        """Return the output for a case, or say why there is none; errors are not raised."""
        breaker = self.breaker
        if breaker.n_in_a_row and not breaker.allows():
            message = f"stage {self.stage.name!r} failed too often and is not called for a while"
            self.failures[UnavailableError.__name__] += 1
            return Outcome(None, 0.0, 0, UnavailableError(message))
        attempts = 0
        try:
            while True:
                attempts += 1
                try:
                    answer = await self._attempt(case)
                    break
                except Exception as error:
                    last_error = self._last_error(error, attempts)
                    if last_error is not None:
                        breaker.failed()
                        self.failures[type(last_error).__name__] += 1
                        return Outcome(None, 0.0, attempts, last_error)
                    await self._wait(attempts, error)
        except BaseException:  # cancelled, maybe between attempts: the outcome is unknown
            breaker.abandoned()
            raise
        if breaker.n_in_a_row:
            breaker.succeeded()
        return self._outcome(answer, attempts)

    @property
    def price(self) -> float:
        """What a call costs: the fixed price, or the mean of the calls so far."""
        if not callable(self.stage.cost):
            return self.stage.cost
        return self._total_cost / self._n_priced if self._n_priced else 0.0

    def _last_error(self, error: Exception, attempts: int) -> Exception | None:
        """Return the error with which a call ends, ``None`` if another attempt is worth while."""
        if attempts > self.stage.retries:
            return error
        retry_if = self.stage.retry_if
        if retry_if is None:
            status = getattr(error, "status_code", None)
            is_final = isinstance(status, int) and status < 500 and status not in RETRIED_STATUS
            return error if is_final else None
        try:
            return None if retry_if(error) else error
        except Exception as second:
            return _caused(f"retry_if failed: {error_text(second)}", second)

    def _outcome(self, answer: Any, attempts: int) -> Outcome:
        """Return the outcome of an answer; one that cannot be used is a missing output."""
        cost, price = self.stage.cost, 0.0
        try:
            if callable(cost):
                price = finite_number("cost", cost(answer), SettingError, zero=True)
                self._add_price(price)
            else:
                price = cost
            output = self.normalise(answer)
            hash(output)
        except Exception as error:
            self.failures[type(error).__name__] += 1
            reason = _caused(f"the answer cannot be used: {error_text(error)}", error)
            return Outcome(None, price, attempts, reason)
        return Outcome(output, price, attempts)

    def _add_price(self, price: float) -> None:
        self._n_priced += 1
        self._total_cost += price
        if self.on_new_mean is not None and self._n_priced & (self._n_priced - 1) == 0:
            self.on_new_mean()

    async def _within_limits(self, case: Any) -> Any:
        return await (self._batcher().submit(case) if self.stage.batch else self._invoke(case))

    async def _invoke(self, argument: Any) -> Any:
        """Make one call, for a case or a batch of them, within the limits of the stage."""
        async with self._limit(), asyncio.timeout(self.stage.timeout):
            return await self._call(argument)

    async def _call(self, argument: Any) -> Any:
        call = self.stage.call
        if self.stage.is_async:
            return await call(argument)
        answer = call(argument) if self.stage.inline else await asyncio.to_thread(call, argument)
        # A plain function may return a coroutine: a lambda around an async client does.
        return await answer if asyncio.iscoroutine(answer) else answer

    async def _wait(self, attempts: int, error: Exception) -> None:
        longest = self.stage.backoff * 2 ** (attempts - 1)
        wait = max(longest * self.rng.uniform(0.5, 1.0), _retry_after(error))
        await self.sleep(min(wait, LONGEST_WAIT))

    def _limit(self) -> Any:
        if self.stage.concurrency is None:
            return NO_LIMIT
        loop = asyncio.get_running_loop()
        if loop not in self._limits:
            self._limits[loop] = asyncio.Semaphore(self.stage.concurrency)
        return self._limits[loop]

    def _batcher(self) -> Batcher:
        loop = asyncio.get_running_loop()
        if loop not in self._batchers:
            self._batchers[loop] = Batcher(self._invoke, self.stage.max_batch, self.stage.max_wait)
        return self._batchers[loop]


def _caused(message: str, cause: Exception) -> StageError:
    error = StageError(message)
    error.__cause__ = cause
    return error


def error_text(error: BaseException) -> str:
    """Return the type of an error and its message, which for a `KeyError` is only the key."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _retry_after(error: Exception) -> float:
    """Return the seconds for which a server asked to wait, 0 if it did not."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        return max(float(headers.get("retry-after")), 0.0)  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError):
        return 0.0
