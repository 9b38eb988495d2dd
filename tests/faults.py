"""Faults to inject."""

from stopwise.errors import StoreUnavailableError


def unavailable(*args: object, **settings: object) -> None:
    """A method of a store that cannot be reached."""
    raise StoreUnavailableError("the store is away")
