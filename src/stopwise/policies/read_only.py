"""Attributes that are set once."""

from __future__ import annotations

from typing import Any


class ReadOnly:
    """An attribute that is set once, in ``__init__``: a setting that others are derived from."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __set__(self, instance: Any, value: Any) -> None:
        if self.name in instance.__dict__:
            raise AttributeError(
                f"{self.name} of a {type(instance).__name__} is read-only: make a new policy"
            )
        instance.__dict__[self.name] = value
