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

from stopwise.policies.pair_models import LOOPS

F = TypeVar("F", bound=Callable[..., Any])
_Scope = tuple[tuple[str, Any], ...]
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
        "seed: pip install '.[sim]'",
        stacklevel=5,
    )
    return False


def kernel(function: F, rule: Any) -> F:
    """Return ``function`` compiled with ``rule`` for what it calls ``choose``.

    The first call ever takes some seconds.
    """
    with _lock:
        return cast("F", _kernel(function, rule))


@cache
def _kernel(function: Any, rule: Any) -> Any:
    return compiled(function, {"choose": rule, **LOOPS})


def compiled(function: F, substitutes: Mapping[str, Any]) -> F:
    """Return ``function``, compiled together with every stopwise function that it calls.

    The machine code is kept on disk for the next process. To see whether it is still good numba
    looks at the file of a function alone, so it is kept under a name with a digest of the files
    and names of all functions that it calls.

    ``function`` is a plain function without a closure, on numbers and arrays; ``substitutes`` are
    compiled where their names stand, whatever these mean in Python.
    """
    import numba

    scope, parts = _scope(function, dict(substitutes))
    names = sorted(f"{part.__module__}.{part.__qualname__}" for part in parts)
    files = sorted({part.__code__.co_filename for part in parts})
    content = [" ".join(names).encode(), *(Path(file).read_bytes() for file in files)]
    digest = hashlib.sha256(b"".join(content)).hexdigest()
    entry = _copy(function, scope)
    entry.__qualname__ = f"{function.__qualname__}_{digest[:16]}"
    jit = cast("Callable[..., Any]", numba.njit)
    return cast("F", jit(entry, nogil=True, error_model="numpy", cache=True))


def _scope(function: Any, substitutes: dict[str, Any]) -> tuple[_Scope, frozenset[Any]]:
    """Return what numba takes for the functions called in ``function``, and all that are inside."""
    inner, parts = [], frozenset({function})
    for name in function.__code__.co_names:
        callee = substitutes.get(name, function.__globals__.get(name))
        ours = name in substitutes or (
            isinstance(callee, FunctionType)
            and callee.__module__.startswith(("stopwise.", function.__module__))
        )
        if ours and isinstance(callee, FunctionType):
            scope, held = _scope(callee, substitutes)
            inner.append((name, _part(callee, scope)))
            parts |= held
    return tuple(inner), parts


@cache
def _part(function: Any, scope: _Scope) -> Any:
    """Return a function that is compiled only inside others: once in a process.

    Inlined, or every call would count references to every array.
    """
    from numba.extending import register_jitable

    return register_jitable(error_model="numpy", forceinline=True)(_copy(function, scope))


def _copy(function: Any, scope: _Scope) -> FunctionType:
    """Return ``function`` with other values for some of the names in it."""
    names = function.__globals__ | dict(scope)
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)
