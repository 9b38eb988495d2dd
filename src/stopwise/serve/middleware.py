"""ASGI middleware for every request: limits, origins, headers, ids, errors, logs and tracing."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stopwise.extras import load_extra
from stopwise.serve.problems import ProblemError, response_for
from stopwise.serve.server_settings import is_loopback

logger = logging.getLogger("stopwise.serve")

# JSON is not a page: nothing in it can run or link. Responses to POST are not cached.
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


class RequestGuard:
    """Refuse requests that are too large, too frequent or from another site; answer every error.

    With ``is_local`` only requests for a loopback name are answered. Without tokens, a page of
    another site must not reach the server through its own name that resolves to this machine.
    Server errors are logged even without ``log_requests``.
    """

    def __init__(
        self, app: ASGIApp, limits: Limits, *, is_local: bool, log_requests: bool = False
    ) -> None:
        self.app = app
        self.limits = limits
        self._is_local = is_local
        self._log_requests = log_requests
        # For each client, how many requests it may still send, and when that was computed.
        self._allowances: dict[str, tuple[float, float]] = {}
        self._prefix = secrets.token_hex(4).encode()
        self._number = count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_headers = dict(scope["headers"])
        request_id = request_headers.get(b"x-request-id")
        if request_id is None or not _REQUEST_ID.fullmatch(request_id):
            request_id = b"%b-%x" % (self._prefix, next(self._number))
        scope["request_id"] = request_id.decode()
        is_file = scope["path"] == "/api/audit"
        max_bytes = self.limits.file_bytes if is_file else self.limits.body_bytes
        start = time.perf_counter()
        status = size = 0
        failure: Exception | None = None
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
            if size > max_bytes:
                raise _too_large(max_bytes)
            return message

        try:
            self._check(scope, request_headers, max_bytes)
            await self.app(scope, limited, sending)
        except ClientDisconnect:
            return
        except Exception as error:  # the client gets an answer in any case
            failure = error
            await response_for(error)(scope, receive, sending)
        finally:
            if self._log_requests or status >= 500:
                _log(scope, status, time.perf_counter() - start, failure)

    def _check(self, scope: Scope, headers: dict[bytes, bytes], max_bytes: int) -> None:
        """Raise `ProblemError` for a request that is not to be answered."""
        length = headers.get(b"content-length")
        if length is not None and (not length.isdigit() or int(length) > max_bytes):
            raise _too_large(max_bytes)
        host = headers.get(b"host", b"")
        if self._is_local and not _is_local_name(host):
            raise ProblemError(
                403, "The name is not local", "without tokens, only loopback names are served"
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.partition(b"://")[2] != host:
            raise ProblemError(
                403, "The page is from elsewhere", "other sites may not use this server"
            )
        if not self._is_within_rate((scope.get("client") or ("",))[0]):
            raise ProblemError(429, "Too many requests", "try again in a second")

    def _is_within_rate(self, client: str) -> bool:
        now = time.monotonic()
        n, at = self._allowances.get(client, (float(self.limits.burst), now))
        n = min(n + (now - at) * self.limits.requests_per_second, self.limits.burst)
        if len(self._allowances) > 10_000:
            self._allowances.clear()
        self._allowances[client] = (max(n - 1, 0.0), now)
        return n >= 1


@lru_cache(100)
def _is_local_name(host: bytes) -> bool:
    try:
        return is_loopback(urlsplit(f"//{host.decode('latin-1')}").hostname or "")
    except ValueError:  # such as a bracket that is not closed
        return False


def _too_large(max_bytes: int) -> ProblemError:
    detail = f"a body must have at most {max_bytes} bytes"
    return ProblemError(413, "The body is too large", detail)


def _log(scope: Scope, status: int, seconds: float, failure: Exception | None) -> None:
    fields = {
        "request_id": scope["request_id"],
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "ms": round(1000 * seconds, 2),
        "client": (scope.get("client") or ("",))[0],
        "who": scope.get("who", ""),
    }
    level = logging.ERROR if status >= 500 or not status else logging.INFO
    exc_info = failure if status == 500 else None
    logger.log(level, "request", exc_info=exc_info, extra={"fields": fields})


class Tracing:
    """Run each request in an OpenTelemetry span that continues the caller's.

    OpenTelemetry's own settings decide where spans go: start the server with
    ``opentelemetry-instrument``, or set a provider before.
    """

    def __init__(self, app: ASGIApp) -> None:
        propagate, trace = (
            load_extra(f"opentelemetry.{name}", extra="telemetry", purpose="telemetry")
            for name in ("propagate", "trace")
        )
        self.app = app
        self._extract = propagate.extract
        self._tracer = trace.get_tracer("stopwise")
        self._kind = trace.SpanKind.SERVER

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request within a span."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        attributes = {"http.request.method": scope["method"], "url.path": scope["path"]}
        with self._tracer.start_as_current_span(
            scope["method"], self._extract(headers), self._kind, attributes
        ) as span:

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    span.set_attribute("stopwise.request_id", scope.get("request_id", ""))
                await send(message)

            await self.app(scope, receive, sending)
