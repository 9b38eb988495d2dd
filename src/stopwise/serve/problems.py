"""Errors as problem+json: the rule that was broken, the value and the place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from stopwise.errors import (
    InputError,
    JournalFullError,
    StageError,
    StopwiseError,
    StoreUnavailableError,
)

_encoder = msgspec.json.Encoder()
BROKEN_RULE = "The request breaks a rule"
MAX_SHOWN = 100  # characters of a value that a message repeats


class Problem(msgspec.Struct, kw_only=True):
    """Why a request was refused, with the name and the value of a field that breaks a rule."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    name: str | msgspec.UnsetType = msgspec.UNSET
    value: str | msgspec.UnsetType = msgspec.UNSET


class ProblemError(StopwiseError):
    """A request that is refused, with its HTTP status."""

    def __init__(self, status: int, title: str, detail: str, **field: str) -> None:
        super().__init__(detail)
        self.problem = Problem(title=title, status=status, detail=detail, **field)


# The first kind that fits decides status and title.
KINDS: list[tuple[type[Exception], int, str]] = [
    (msgspec.ValidationError, 422, BROKEN_RULE),
    (msgspec.DecodeError, 400, "The body is not JSON"),
    (UnicodeDecodeError, 400, "The body is not UTF-8"),
    (RecursionError, 400, "The body is nested too deeply"),
    (JournalFullError, 507, "There is no room to count the case"),
    (StoreUnavailableError, 503, "The store cannot be reached"),
    (StageError, 502, "No stage gave an answer"),
    (InputError, 422, BROKEN_RULE),
]


def broken_rule(error: msgspec.ValidationError, value: Any) -> ProblemError:
    """Return the problem of a body or query that breaks a rule: its name, the rule and the value.

    >>> class Ask(msgspec.Struct):
    ...     outputs: list[str]
    >>> body = {"outputs": ["urgent", 3]}
    >>> try:
    ...     msgspec.convert(body, type=Ask)
    ... except msgspec.ValidationError as error:
    ...     print(broken_rule(error, body))
    outputs[1]: Expected `str`, got `int`; the value is 3
    """
    rule, _, place = str(error).partition(" - at `$")
    name = place.strip(".`") or "body"
    for step in re.findall(r"[^.`\[\]]+", place):
        value = value[int(step)] if isinstance(value, list) else value[step]
    return _broken(name, rule, _encoder.encode(value).decode())


def _broken(name: str, rule: str, text: str) -> ProblemError:
    text = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} …"
    detail = f"{name}: {rule}; the value is {text}"
    return ProblemError(422, BROKEN_RULE, detail, name=name, value=text)


def unreadable(error: msgspec.DecodeError, body: bytes) -> Exception:
    """Return the problem of a body that breaks a rule or is no JSON, with its name and value."""
    try:
        value = json.loads(body, parse_float=_float_or_text)
    except ValueError as malformed:
        is_rule = isinstance(error, msgspec.ValidationError)
        return msgspec.DecodeError(f"JSON is malformed: {malformed}") if is_rule else error
    for place, text in _texts(value, ""):
        if any("\ud800" <= letter <= "\udfff" for letter in text):  # JSON allows it, UTF-8 does not
            name = place.encode(errors="backslashreplace").decode().strip(".") or "body"
            return _broken(name, "Expected no half of a surrogate pair", json.dumps(text))
    return broken_rule(error, value) if isinstance(error, msgspec.ValidationError) else error


def _float_or_text(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Return all texts in a value with their places."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from _texts(item, f"{place}[{k}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield place, key
            yield from _texts(item, f"{place}.{key}")


def response_for(error: Exception) -> Response:
    """Return the response for an error, of the type application/problem+json."""
    problem = _problem(error)
    body = _encoder.encode(problem)
    return Response(body, problem.status, media_type="application/problem+json")


def _problem(error: Exception) -> Problem:
    if isinstance(error, ProblemError):
        return error.problem
    if isinstance(error, HTTPException):
        detail = "see /openapi.json for all routes"
        return Problem(title=error.detail, status=error.status_code, detail=detail)
    for kind, status, title in KINDS:
        if isinstance(error, kind):
            return Problem(title=title, status=status, detail=str(error))
    detail = "the reason is in the server's log"
    return Problem(title="The server has failed", status=500, detail=detail)
