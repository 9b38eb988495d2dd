"""Errors as problem+json: the rule that was broken, the value and the place."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
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


class ProblemError(StopwiseError):
    """A request that is refused, with its HTTP status."""

    def __init__(self, status: int, title: str, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.more = more


def problem(status: int, title: str, detail: str, **more: Any) -> Response:
    """Return a response of the type application/problem+json."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    return Response(_encoder.encode(body), status, media_type="application/problem+json")


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


def broken_rule(error: msgspec.ValidationError, body: bytes) -> ProblemError:
    """Return the problem of a body that breaks a rule: its name, the rule and the value.

    >>> class Ask(msgspec.Struct):
    ...     outputs: list[str]
    >>> body = b'{"outputs": ["urgent", 3]}'
    >>> try:
    ...     msgspec.json.decode(body, type=Ask)
    ... except msgspec.ValidationError as error:
    ...     print(broken_rule(error, body))
    outputs[1]: Expected `str`, got `int`; the value is 3
    """
    rule, _, place = str(error).partition(" - at `$")
    name = place.strip(".`") or "body"
    value = msgspec.json.decode(body)
    for step in re.findall(r"[^.`\[\]]+", place):
        value = value[int(step)] if isinstance(value, list) else value[step]
    text = _encoder.encode(value).decode()
    text = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} …"
    detail = f"{name}: {rule}; the value is {text}"
    return ProblemError(422, BROKEN_RULE, detail, name=name, value=text)


def response_for(error: Exception) -> Response:
    """Return the response for an error."""
    if isinstance(error, ProblemError):
        return problem(error.status, error.title, str(error), **error.more)
    if isinstance(error, HTTPException):
        return problem(error.status_code, error.detail, "see /openapi.json for all routes")
    for kind, status, title in KINDS:
        if isinstance(error, kind):
            return problem(status, title, str(error))
    return problem(500, "The server has failed", "the reason is in the server's log")


async def handle(request: Request, error: Exception) -> Response:
    """Answer a request whose handler raised; registered for every exception."""
    return response_for(error)
