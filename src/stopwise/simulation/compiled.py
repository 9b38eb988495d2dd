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
_Built = tuple[Any, frozenset[Any]]
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
    and names of all functions that it calls. What two kernels share is compiled once.

    ``function`` is a plain function without a closure, on numbers and arrays; ``substitutes`` are
    compiled where their names stand, whatever these mean in Python.
    """
    return cast("F", _built(function, dict(substitutes), {})[0])


def _built(function: Any, substitutes: dict[str, Any], built: dict[Any, _Built]) -> _Built:
    """Return ``function`` compiled, and all functions in it; keep callees in ``built``."""
    if function in built:
        return built[function]
    callees = {
        name: value
        for name in function.__code__.co_names
        if isinstance(value := (function.__globals__ | substitutes).get(name), FunctionType)
        and (name in substitutes or value.__module__.startswith(("stopwise.", function.__module__)))
    }
    inner = {name: _built(callee, substitutes, built) for name, callee in callees.items()}
    parts = frozenset({function}).union(*(held for _, held in inner.values()))
    scope = tuple((name, jitted) for name, (jitted, _) in inner.items())
    built[function] = _jitted(function, scope, parts), parts
    return built[function]


@cache
def _jitted(function: Any, scope: tuple[tuple[str, Any], ...], parts: frozenset[Any]) -> Any:
    import numba

    names = sorted(f"{part.__module__}.{part.__qualname__}" for part in parts)
    files = sorted({part.__code__.co_filename for part in parts})
    content = [" ".join(names).encode(), *(Path(file).read_bytes() for file in files)]
    digest = hashlib.sha256(b"".join(content)).hexdigest()
    copy = FunctionType(
        function.__code__,
        function.__globals__ | dict(scope),
        function.__name__,
        function.__defaults__,
    )
    copy.__qualname__ = f"{function.__qualname__}_{digest[:16]}"
    jit = cast("Callable[..., Any]", numba.njit)
    return jit(copy, nogil=True, error_model="numpy", cache=True)
