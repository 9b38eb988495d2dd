"""The server: routes with their scopes, limits on what is sent, headers that browsers obey."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stopwise.errors import StopwiseError
from stopwise.serve import api, pages
from stopwise.serve.chat import complete, list_models
from stopwise.serve.hosting import Host
from stopwise.serve.metrics import metrics
from stopwise.serve.openapi import openapi
from stopwise.serve.problems import handle, problem
from stopwise.serve.streaming import stream

Handler = Callable[[Request], Awaitable[Response]]

# Those that are not listed are failures of the server and re-raised, to be logged.
HANDLERS: dict[Any, Any] = dict.fromkeys(
    (StopwiseError, msgspec.MsgspecError, HTTPException, Exception), handle
)
HEADERS = [
    (b"content-security-policy", b"default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


async def _metrics(request: Request) -> Response:
    """What Prometheus reads."""
    text = metrics(api.host_of(request))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


BASE = "/api/cascades"
ONE = f"{BASE}/{{name}}"
# Method, path, the scope a token needs, and the function that answers.
ROUTES: list[tuple[str, str, str, Handler]] = [
    ("GET", BASE, "read", api.list_cascades),
    ("POST", BASE, "admin", api.create_cascade),
    ("GET", ONE, "read", api.read_cascade),
    ("PATCH", ONE, "admin", api.change_prices),
    ("POST", f"{ONE}/ask", "tell", api.ask),
    ("POST", f"{ONE}/tell", "tell", api.tell),
    ("POST", f"{ONE}/tell-many", "tell", api.tell_many),
    ("POST", f"{ONE}/run", "tell", api.run),
    ("GET", f"{ONE}/labels", "tell", api.wanted_labels),
    ("POST", f"{ONE}/labels", "tell", api.add_label),
    ("GET", f"{ONE}/report", "read", api.report),
    ("GET", f"{ONE}/certificate", "read", api.certificate),
    ("GET", f"{ONE}/events", "read", api.events),
    ("GET", f"{ONE}/export", "admin", api.export),
    ("GET", f"{ONE}/live", "read", api.live),
    ("GET", f"{ONE}/stream", "read", stream),
    ("GET", f"{ONE}/history", "read", api.history),
    ("GET", f"{ONE}/what-if", "read", api.if_a_mistake_cost),
    ("POST", "/api/audit", "read", pages.audit_file),
    ("POST", "/v1/chat/completions", "tell", complete),
    ("GET", "/v1/models", "read", list_models),
    ("GET", "/metrics", "read", _metrics),
    ("GET", "/api/tokens", "admin", api.list_tokens),
    ("POST", "/api/tokens", "admin", api.create_token),
    ("DELETE", "/api/tokens/{token_id}", "admin", api.revoke_token),
]


@dataclass(frozen=True)
class Limits:
    """How much a client may send.

    Parameters
    ----------
    body_bytes, file_bytes
        The size of a body, and of a file to be audited.
    requests_per_second, burst
        For each client address, on the average and at once.
    """

    body_bytes: int = 1_000_000
    file_bytes: int = 50_000_000
    requests_per_second: float = 2000.0
    burst: int = 5000


def create_app(host: Host, *, needs_token: bool = False, limits: Limits | None = None) -> ASGIApp:
    """Return the application for some cascades.

    Parameters
    ----------
    host
        The cascades.
    needs_token
        Whether requests must bring a token; without, everybody who reaches the server may do all.
    limits
        How much a client may send.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await host.close()

    routes = [
        Route(path, _guarded(handler, scope, needs_token), methods=[method])
        for method, path, scope, handler in ROUTES
    ]
    document = openapi(ROUTES)

    async def describe(request: Request) -> Response:
        return api.answer(document)

    routes += [Route("/openapi.json", describe), Route("/audits/{key}", pages.audit_page)]
    routes += [Route("/static/{path:path}", pages.static)]
    routes += [
        Route(path, pages.index) for path in ("/", "/audit", "/cascade/{name}", "/label/{name}")
    ]
    routes += [Route("/healthz", _healthy), Route("/readyz", _ready)]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=HANDLERS)
    app.state.host = host
    app.state.audits = OrderedDict()
    return Guard(app, limits or Limits())


def _guarded(handler: Handler, scope: str, needs_token: bool) -> Handler:
    """Return a handler that refuses requests without a token of the scope."""
    if not needs_token:
        return handler

    async def guarded(request: Request) -> Response:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        grant = api.host_of(request).tokens.grant(token) if kind.lower() == "bearer" else None
        if grant is None:
            return problem(401, "A token is needed", "send Authorization: Bearer and a token")
        if not grant.allows(scope):
            detail = f"the token is for {grant.scope!r}, this needs {scope!r}"
            return problem(403, "The token does not allow this", detail)
        return await handler(request)

    return guarded


async def _healthy(request: Request) -> Response:
    return api.answer({"status": "alive"})


async def _ready(request: Request) -> Response:
    """Whether the store can be reached."""
    host = api.host_of(request)
    host.store.now()
    return api.answer({"status": "ready", "cascades": len(host.names)})


class Guard:
    """Limits on bodies and rates, and headers on every answer; plain ASGI, since it is on all."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self.limits = limits
        self._left: dict[str, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        size, most = 0, self._most_bytes(scope)

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                return {"type": "http.disconnect"}
            return message

        await self.app(scope, limited, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        most = self._most_bytes(scope)
        if lengths and (not lengths[0].isdigit() or int(lengths[0]) > most):
            limit = f"a body must have at most {most} bytes"
            return problem(413, "The body is too large", limit)
        if not self._has_room((scope.get("client") or ("",))[0]):
            return problem(429, "Too many requests", "try again in a second")
        return None

    def _most_bytes(self, scope: Scope) -> int:
        limits = self.limits
        return limits.file_bytes if scope["path"] == "/api/audit" else limits.body_bytes

    def _has_room(self, client: str) -> bool:
        now = time.monotonic()
        left, at = self._left.get(client, (float(self.limits.burst), now))
        left = min(left + (now - at) * self.limits.requests_per_second, self.limits.burst)
        if len(self._left) > 10_000:
            self._left.clear()
        self._left[client] = (max(left - 1, 0.0), now)
        return left >= 1


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *((name, value) for name, value in HEADERS if name not in present),
            ]
        await send(message)

    return sending
