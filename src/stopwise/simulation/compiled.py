"""Compile with numba what runs in Python elsewhere: the same functions, never a second copy.

Little work is done in Python, since compiling takes seconds: the numbers are the same. numba is
imported when the first function is compiled, not before.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from stopwise.policies.pair_models import LOOPS

F = TypeVar("F", bound=Callable[..., Any])
_Scope = tuple[tuple[str, Any], ...]
_lock = Lock()
# Microseconds of Python, about, that each kernel works before it is compiled.
PATIENCE = 500_000
_worked: Counter[Any] = Counter()


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


def kernel(function: F, rule: Any, work: int) -> F:
    """Return ``function`` with ``rule`` for what it calls ``choose``: compiled, if that pays.

    ``work`` is for about how many microseconds of Python it is going to be called. Once all the
    work asked for is not little, it is compiled; the first call ever then takes some seconds.
    """
    with _lock:
        _worked[function, rule] += work
        make = _compiled if _worked[function, rule] > PATIENCE else _interpreted
        return cast("F", make(function, rule))


@cache
def _compiled(function: Any, rule: Any) -> Any:
    return compiled(function, {"choose": rule, **LOOPS})


@cache
def _interpreted(function: Any, rule: Any) -> Any:
    scope, _ = _scope(function, {"choose": rule, **LOOPS}, _copy)
    # As in machine code, numbers may overflow and be divided by zero.
    return np.errstate(all="ignore")(_copy(function, scope))


def compiled(function: F, substitutes: Mapping[str, Any]) -> F:
    """Return ``function``, compiled together with every stopwise function that it calls.

    The machine code is kept on disk for the next process. To see whether it is still good numba
    looks at the file of a function alone, so it is kept under a name with a digest of the files
    and names of all functions that it calls.

    ``function`` is a plain function without a closure, on numbers and arrays; ``substitutes`` are
    compiled where their names stand, whatever these mean in Python.
    """
    import numba

    scope, parts = _scope(function, substitutes, _part)
    names = sorted(f"{part.__module__}.{part.__qualname__}" for part in parts)
    files = sorted({part.__code__.co_filename for part in parts})
    content = [" ".join(names).encode(), *(Path(file).read_bytes() for file in files)]
    digest = hashlib.sha256(b"".join(content)).hexdigest()
    entry = _copy(function, scope)
    entry.__qualname__ = f"{function.__qualname__}_{digest[:16]}"
    jit = cast("Callable[..., Any]", numba.njit)
    return cast("F", jit(entry, nogil=True, error_model="numpy", cache=True))


def _scope(
    function: Any, substitutes: Mapping[str, Any], part: Callable[[Any, _Scope], Any]
) -> tuple[_Scope, frozenset[Any]]:
    """Return what stands for the functions called in ``function``, and all that are inside.

    ``part`` makes it of a function and what stands for the functions called there.
    """
    inner, parts = [], frozenset({function})
    for name in function.__code__.co_names:
        callee = substitutes.get(name, function.__globals__.get(name))
        ours = name in substitutes or (
            isinstance(callee, FunctionType)
            and callee.__module__.startswith(("stopwise.", function.__module__))
        )
        if ours and isinstance(callee, FunctionType):
            scope, held = _scope(callee, substitutes, part)
            inner.append((name, part(callee, scope)))
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
