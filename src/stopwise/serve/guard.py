"""What every request passes: limits, checks of where it comes from, headers, ids, logs."""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stopwise.serve.problems import ProblemError, problem
from stopwise.serve.settings import is_loopback

logger = logging.getLogger("stopwise.serve")

# JSON is no page: nothing in it can run or link. What answers a POST is not kept by anybody.
JSON_HEADERS = [(b"x-content-type-options", b"nosniff")]
HEADERS = [
    *JSON_HEADERS,
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True)
class Limits:
    """How much a client may send."""

    # The size of a body, and of a file to be audited.
    body_bytes: int = 1_000_000
    file_bytes: int = 50_000_000
    # For each client address, on the average and at once.
    requests_per_second: float = 10_000.0
    burst: int = 20_000


class Guard:
    """Refuse what is too large, too frequent or from another site; plain ASGI, since it is on all.

    Parameters
    ----------
    app
        What answers.
    limits
        How much a client may send.
    is_local
        Whether to answer only requests for a loopback name: without tokens, a page elsewhere must
        not reach the server by a name of its own that leads here.
    log_requests
        Whether to log every request; those that fail in the server are logged anyway.
    """

    def __init__(
        self, app: ASGIApp, limits: Limits, *, is_local: bool, log_requests: bool = False
    ) -> None:
        self.app = app
        self.limits = limits
        self._is_local = is_local
        self._logs = log_requests
        self._left: dict[str, tuple[float, float]] = {}
        self._prefix = secrets.token_hex(4).encode()
        self._number = count(1)
        self._good_hosts: set[bytes] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = dict(scope["headers"])
        request_id = given.get(b"x-request-id")
        if request_id is None or not _REQUEST_ID.fullmatch(request_id):
            request_id = b"%b-%x" % (self._prefix, next(self._number))
        scope["request_id"] = request_id.decode()
        most = self.limits.body_bytes
        if scope["path"] == "/api/audit":
            most = self.limits.file_bytes
        started = time.perf_counter()
        status = size = 0
        is_post = scope["method"] == "POST"

        def sending(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message["headers"]
                if is_post and (b"content-type", b"application/json") in headers:
                    headers += JSON_HEADERS
                else:
                    present = {name for name, _ in headers}
                    headers += [pair for pair in HEADERS if pair[0] not in present]
                headers.append((b"x-request-id", request_id))
            return send(message)

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise ProblemError(*_too_large(most))
            return message

        is_chunked = b"content-length" not in given or b"transfer-encoding" in given
        refused = self._refusal(scope, given, most)
        try:
            if refused is not None:
                await refused(scope, receive, sending)
            else:
                await self.app(scope, limited if is_chunked else receive, sending)
        finally:
            if self._logs or status >= 500:
                seconds = time.perf_counter() - started
                _log(scope, status, seconds)

    def _refusal(self, scope: Scope, given: dict[bytes, bytes], most: int) -> Response | None:
        length = given.get(b"content-length")
        if length is not None and (not length.isdigit() or int(length) > most):
            return problem(*_too_large(most))
        host = given.get(b"host", b"")
        if self._is_local and host not in self._good_hosts:
            name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
            if not is_loopback(name):
                return problem(
                    403, "The name is not local", "without tokens, only loopback names are served"
                )
            if len(self._good_hosts) < 100:
                self._good_hosts.add(host)
        origin = given.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            return problem(403, "The page is from elsewhere", "other sites may not use this server")
        if not self._has_room((scope.get("client") or ("",))[0]):
            return problem(429, "Too many requests", "try again in a second")
        return None

    def _has_room(self, client: str) -> bool:
        now = time.monotonic()
        left, at = self._left.get(client, (float(self.limits.burst), now))
        left = min(left + (now - at) * self.limits.requests_per_second, self.limits.burst)
        if len(self._left) > 10_000:
            self._left.clear()
        self._left[client] = (max(left - 1, 0.0), now)
        return left >= 1


def _too_large(most: int) -> tuple[int, str, str]:
    return 413, "The body is too large", f"a body must have at most {most} bytes"


def _log(scope: Scope, status: int, seconds: float) -> None:
    told = {
        "request_id": scope["request_id"],
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "ms": round(1000 * seconds, 2),
        "client": (scope.get("client") or ("",))[0],
        "who": scope.get("who", ""),
    }
    level = logging.ERROR if status >= 500 or not status else logging.INFO
    logger.log(level, "request", extra={"told": told})


class JsonLines(logging.Formatter):
    """Log records as JSON, one a line.

    >>> record = logging.LogRecord("stopwise", logging.INFO, "", 0, "started", (), None)
    >>> json.loads(JsonLines().format(record))["message"]
    'started'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        told = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "told", {}),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)
