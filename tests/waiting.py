"""Wait for what another thread or process is about to do."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Return once a condition holds, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition does not hold"
        time.sleep(0.01)
