"""A circuit breaker: a stage that keeps failing is not called for a while, then tried once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class CircuitBreaker:
    """Opens after ``failures`` in a row; after ``cooldown`` seconds it lets one probe through.

    >>> now = 0.0
    >>> breaker = CircuitBreaker(failures=2, cooldown=10, clock=lambda: now)
    >>> breaker.failed(); breaker.failed(); breaker.allows()
    False
    >>> now = 10.0
    >>> breaker.allows(), breaker.allows()
    (True, False)
    """

    failures: int  # failures in a row after which calls are no longer made
    cooldown: float  # seconds until one call is tried again; the breaker closes if it succeeds
    clock: Callable[[], float]  # a monotonic time in seconds

    def __post_init__(self) -> None:
        self.n_in_a_row = 0  # failures since a call last gave an answer
        self._opened_at: float | None = None
        self._is_probing = False

    def allows(self) -> bool:
        """Whether a call may be made now; in the half-open state one probe at a time."""
        if self._opened_at is None:
            return True
        if self._is_probing or self.clock() - self._opened_at < self.cooldown:
            return False
        self._is_probing = True
        return True

    def succeeded(self) -> None:
        """Note a call that gave an answer."""
        self.n_in_a_row, self._opened_at, self._is_probing = 0, None, False

    def failed(self) -> None:
        """Note a call that failed after all its retries."""
        self.n_in_a_row += 1
        self._is_probing = False
        if self._opened_at is not None or self.n_in_a_row >= self.failures:
            self._opened_at = self.clock()

    def abandoned(self) -> None:
        """Note a call that was cancelled before it ended."""
        self._is_probing = False
