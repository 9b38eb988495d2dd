"""Compile with numba what runs in Python elsewhere: the same functions, never a second copy.

numba is imported when the first function is compiled, not before.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
_lock = Lock()


def can_compile() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def warn_if_slow() -> bool:
    """Return whether numba is installed, and warn if it is not."""
    if can_compile():
        return True
    warnings.warn(
        "numba is not installed, so simulations are slower and draw other numbers from the same "
        "seed: pip install 'stopwise[sim]'",
        stacklevel=5,
    )
    return False


def kernel(function: F, placeholder: Any, rule: Any) -> F:
    """Return ``function`` compiled with ``rule`` in place of ``placeholder``.

    The first call ever takes some seconds.
    """
    with _lock:
        return cast("F", _kernel(function, placeholder, rule))


@cache
def _kernel(function: Any, placeholder: Any, rule: Any) -> Any:
    return compiled(function, {placeholder: rule})


def compiled(function: F, substitutes: Mapping[Any, Any]) -> F:
    """Return ``function``, compiled together with every stopwise function that it calls.

    The machine code is kept on disk for the next process. To see whether it is still good numba
    looks at the file of ``function`` alone, so it is kept under a name with a digest of all files
    and of the names of all functions in it.

    Parameters
    ----------
    function
        A plain function without a closure, on numbers and arrays.
    substitutes
        What to compile in place of a function that numba cannot compile.
    """
    import numba

    jit = cast("Callable[..., Any]", numba.njit)
    calls = _calls(function, substitutes)
    files = sorted({part.__code__.co_filename for part in calls})
    names = " ".join(f"{part.__module__}.{part.__qualname__}" for part in calls).encode()
    digest = hashlib.sha256(b"".join([names, *(Path(f).read_bytes() for f in files)])).hexdigest()
    built: dict[Any, Any] = {}
    for part, callees in calls.items():
        scope = part.__globals__ | {name: built[callee] for name, callee in callees.items()}
        copy = FunctionType(part.__code__, scope, part.__name__, part.__defaults__)
        copy.__qualname__ = f"{part.__qualname__}_{digest[:16]}"
        built[part] = jit(copy, nogil=True, error_model="numpy", cache=part is function)
    return cast("F", built[function])


def _calls(function: Any, substitutes: Mapping[Any, Any]) -> dict[Any, dict[str, Any]]:
    """Return what calls what, by the name it is called by; who is called comes first."""
    calls: dict[Any, dict[str, Any]] = {}
    callees = {
        name: substitutes.get(value, value)
        for name in function.__code__.co_names
        if isinstance(value := function.__globals__.get(name), FunctionType)
        and (value.__module__ == function.__module__ or value.__module__.startswith("stopwise."))
    }
    for callee in callees.values():
        calls |= _calls(callee, substitutes)
    calls[function] = callees
    return calls
