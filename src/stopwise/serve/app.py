"""The application: routes with their scopes, and the check of tokens."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from types import FrameType
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from stopwise.errors import StopwiseError
from stopwise.serve import admin, api, audit_trail, pages
from stopwise.serve.chat_api import complete, list_models
from stopwise.serve.fast_path import FastPath
from stopwise.serve.host import Host
from stopwise.serve.metrics import metrics
from stopwise.serve.middleware import Limits, RequestGuard
from stopwise.serve.openapi import openapi
from stopwise.serve.problems import handle, problem

Handler = Callable[[Request], Awaitable[Response]]

# Starlette re-raises an `Exception` that is none of the others, so that it is logged.
HANDLERS: dict[Any, Any] = dict.fromkeys(
    (
        StopwiseError,
        msgspec.MsgspecError,
        UnicodeDecodeError,
        RecursionError,
        HTTPException,
        Exception,
    ),
    handle,
)


async def _metrics(request: Request) -> Response:
    """What Prometheus reads."""
    text = await asyncio.to_thread(metrics, api.host_of(request))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


BASE = "/api/cascades"
ONE = f"{BASE}/{{name}}"
# Method, path, the scope a token needs, and the function that answers; the busiest first.
ROUTES: list[tuple[str, str, str, Handler]] = [
    ("POST", f"{ONE}/ask", "tell", api.ask),
    ("POST", f"{ONE}/tell", "tell", api.tell),
    ("POST", f"{ONE}/tell-many", "tell", api.tell_many),
    ("POST", f"{ONE}/run", "tell", api.run),
    ("POST", "/v1/chat/completions", "tell", complete),
    ("GET", "/v1/models", "read", list_models),
    ("GET", BASE, "read", api.list_cascades),
    ("POST", BASE, "admin", admin.create_cascade),
    ("GET", ONE, "read", api.read_cascade),
    ("PATCH", ONE, "admin", admin.change),
    ("POST", f"{ONE}/stages", "admin", admin.add_stage),
    ("DELETE", f"{ONE}/stages/{{stage}}", "admin", admin.remove_stage),
    ("GET", f"{ONE}/labels", "tell", api.wanted_labels),
    ("POST", f"{ONE}/labels", "tell", api.add_label),
    ("GET", f"{ONE}/report", "read", pages.report),
    ("GET", f"{ONE}/certificate", "read", api.certificate),
    ("GET", f"{ONE}/events", "read", api.events),
    ("GET", f"{ONE}/export", "admin", api.export),
    ("GET", f"{ONE}/live", "read", api.live),
    ("GET", f"{ONE}/stream", "read", api.stream),
    ("GET", f"{ONE}/history", "read", api.history),
    ("GET", f"{ONE}/what-if", "read", api.if_a_mistake_cost),
    ("POST", "/api/audit", "read", pages.audit_file),
    ("GET", "/metrics", "read", _metrics),
    ("GET", "/api/tokens", "admin", admin.list_tokens),
    ("POST", "/api/tokens", "admin", admin.create_token),
    ("DELETE", "/api/tokens/{token_id}", "admin", admin.revoke_token),
    ("GET", "/api/trail", "admin", admin.read_trail),
]


def create_app(
    host: Host,
    *,
    needs_token: bool = False,
    limits: Limits | None = None,
    log_requests: bool = False,
) -> ASGIApp:
    """Return the application for the cascades of a host.

    Unless it ``needs_token``, everybody who can reach the server may do anything.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        _end_streams_on_signals(host)
        sync_task = asyncio.create_task(host.sync_for_ever())
        yield {"host": host, "audits": OrderedDict()}
        sync_task.cancel()
        with suppress(asyncio.CancelledError):
            await sync_task
        await host.close()

    routes = [
        Route(path, _guard(handler, scope, needs_token), methods=[method])
        for method, path, scope, handler in ROUTES
    ]
    document = openapi(ROUTES)

    async def describe(request: Request) -> Response:
        return api.Json(document)

    routes += [
        Route("/openapi.json", describe),
        Route("/audits/{key}", pages.audit_page),
        Route("/static/{path:path}", pages.static),
        Route("/healthz", _healthy),
        Route("/readyz", _ready),
        *(Route(path, pages.index) for path in ("/", "/audit", "/cascade/{name}", "/label/{name}")),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=HANDLERS)
    actions = {
        path.rpartition("/")[2]: _guard(handler, scope, needs_token)
        for _, path, scope, handler in ROUTES[:2]
    }
    return RequestGuard(
        FastPath(app, actions),
        limits or Limits(),
        is_local=not needs_token,
        log_requests=log_requests,
    )


def _guard(handler: Handler, scope: str, needs_token: bool) -> Handler:
    """Return a handler that requires a token of the scope, and records changes."""
    if not needs_token and scope != "admin":
        return handler

    async def guarded(request: Request) -> Response:
        host, who = api.host_of(request), "local"
        if needs_token:
            kind, _, token = request.headers.get("authorization", "").partition(" ")
            if kind.lower() != "bearer":
                return problem(401, "A token is needed", "send Authorization: Bearer and a token")
            tokens = host.tokens
            grant = tokens.cached(token) or await asyncio.to_thread(tokens.grant, token)
            if grant is None:
                return problem(401, "The token is not valid", "it is unknown, revoked or expired")
            who = request.scope["who"] = grant.token_id
            if not grant.allows(scope):
                detail = f"the token is for {grant.scope!r}, this needs {scope!r}"
                return problem(403, "The token does not allow this", detail)
        response = await handler(request)
        if scope == "admin" and request.method != "GET" and response.status_code < 400:
            await audit_trail.record(request, host.store, who)
        return response

    return guarded


async def _healthy(request: Request) -> Response:
    return api.Json({"status": "alive"})


async def _ready(request: Request) -> Response:
    """Whether the store can be reached."""
    host = api.host_of(request)
    await asyncio.to_thread(host.store.now)
    return api.Json({"status": "ready", "cascades": len(host.names)})


def _end_streams_on_signals(host: Host) -> None:
    """End streams at once on a signal to stop, since the server waits for them."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        previous = signal.getsignal(number)
        if not callable(previous):
            continue

        def stop(
            number: int,
            frame: FrameType | None,
            previous: Callable[[int, FrameType | None], Any] = previous,
        ) -> None:
            host.is_closing = True
            previous(number, frame)

        signal.signal(number, stop)
