"""Optional packages: loaded in one place, which says how to install what is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from stopwise.errors import MissingExtraError


def load_extra(module: str, *, extra: str, purpose: str) -> Any:
    """Return an optional module, or raise `MissingExtraError` with the extra that brings it.

    >>> load_extra("nowhere", extra="audit", purpose="reading logs")
    Traceback (most recent call last):
        ...
    stopwise.errors.MissingExtraError: reading logs needs nowhere: pip install '.[audit]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{purpose} needs {module.partition('.')[0]}: pip install '.[{extra}]'"
        ) from error
