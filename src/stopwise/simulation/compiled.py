"""Compile with numba the functions that policies run in Python: one copy of each rule.

Compiling takes seconds, so a little work is done in Python instead, with the same numbers. numba is
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
# About how many microseconds each kernel works in Python before it is compiled.
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
    """Return ``function`` with ``rule`` in place of ``choose``, compiled if that pays.

    ``work`` is about how many microseconds the calls to come would take in Python. The function is
    compiled once the work of all requests exceeds `PATIENCE`; the first call ever then takes some
    seconds.
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

    The machine code is cached on disk for the next process. To decide whether it is out of date,
    numba looks only at the file of the function. So it is cached under a name with a digest of the
    files and names of all functions that it calls.

    ``function`` is a plain function without a closure, on numbers and arrays; ``substitutes`` are
    compiled in place of the functions of the same names.
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
    """Return the replacements of the functions that ``function`` calls, and all functions inside.

    ``part`` makes the replacement of a function, given the replacements of what it calls.
    """
    inner, parts = [], frozenset({function})
    for name in function.__code__.co_names:
        callee = substitutes.get(name, function.__globals__.get(name))
        if isinstance(callee, FunctionType) and (
            name in substitutes or callee.__module__.startswith(("stopwise.", function.__module__))
        ):
            scope, inner_parts = _scope(callee, substitutes, part)
            inner.append((name, part(callee, scope)))
            parts |= inner_parts
    return tuple(inner), parts


@cache
def _part(function: Any, scope: _Scope) -> Any:
    """Return a function that is compiled only inside others; made once in a process.

    It is inlined: otherwise every call would count references to every array.
    """
    from numba.extending import register_jitable

    return register_jitable(error_model="numpy", forceinline=True)(_copy(function, scope))


def _copy(function: Any, scope: _Scope) -> FunctionType:
    """Return ``function`` with other values for some of the names in it."""
    names = function.__globals__ | dict(scope)
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)
