"""The application: routes with their scopes, and the check of tokens."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp

from stopwise.serve import admin, api, audit_trail, messages, pages, views
from stopwise.serve.api import of_cascade
from stopwise.serve.chat_api import complete, list_models
from stopwise.serve.fast_path import FastPath
from stopwise.serve.host import Host
from stopwise.serve.metrics import metrics
from stopwise.serve.middleware import Limits, RequestGuard
from stopwise.serve.openapi import Endpoint, openapi
from stopwise.serve.problems import ProblemError

Handler = Callable[[Request], Awaitable[Response]]


async def _metrics(request: Request) -> Response:
    """What Prometheus reads."""
    text = await asyncio.to_thread(metrics, api.host_of(request))
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


BASE = "/api/cascades"
ONE = f"{BASE}/{{name}}"
# In the order in which the router tries them, the busiest first.
ROUTES = [
    Endpoint("POST", f"{ONE}/ask", "tell", api.ask, body=messages.Ask),
    Endpoint("POST", f"{ONE}/tell", "tell", api.tell, body=messages.Tell),
    Endpoint("POST", f"{ONE}/tell-many", "tell", api.tell_many, body=messages.TellMany),
    Endpoint("POST", f"{ONE}/run", "tell", api.run, body=messages.Run),
    Endpoint("POST", "/v1/chat/completions", "tell", complete, body=messages.ChatRequest),
    Endpoint("GET", "/v1/models", "read", list_models),
    Endpoint("GET", BASE, "read", api.list_cascades),
    Endpoint("POST", BASE, "admin", admin.create_cascade, body=messages.NewCascade),
    Endpoint("GET", ONE, "read", of_cascade(views.read_cascade)),
    Endpoint("PATCH", ONE, "admin", admin.change, body=messages.Change),
    Endpoint("POST", f"{ONE}/stages", "admin", admin.add_stage, body=messages.NewStage),
    Endpoint("DELETE", f"{ONE}/stages/{{stage}}", "admin", admin.remove_stage),
    Endpoint("GET", f"{ONE}/labels", "tell", api.wanted_labels, query=messages.WantedLabels),
    Endpoint("POST", f"{ONE}/labels", "tell", api.add_label, body=messages.NewLabel),
    Endpoint("GET", f"{ONE}/report", "read", pages.report, query=messages.ReportFormat),
    Endpoint("GET", f"{ONE}/certificate", "read", of_cascade(views.certificate)),
    Endpoint("GET", f"{ONE}/events", "read", of_cascade(views.events)),
    Endpoint("GET", f"{ONE}/export", "admin", of_cascade(views.export)),
    Endpoint("GET", f"{ONE}/live", "read", of_cascade(views.live)),
    Endpoint("GET", f"{ONE}/stream", "read", api.stream),
    Endpoint("GET", f"{ONE}/history", "read", of_cascade(views.history)),
    Endpoint(
        "GET", f"{ONE}/what-if", "read", of_cascade(views.if_a_mistake_cost), query=messages.WhatIf
    ),
    Endpoint("POST", "/api/audit", "read", pages.audit_file, query=messages.AuditFile),
    Endpoint("GET", "/metrics", "read", _metrics),
    Endpoint("GET", "/api/tokens", "admin", admin.list_tokens),
    Endpoint("POST", "/api/tokens", "admin", admin.create_token, body=messages.NewToken),
    Endpoint("DELETE", "/api/tokens/{token_id}", "admin", admin.revoke_token),
    Endpoint("GET", "/api/trail", "admin", admin.read_trail),
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
    async def lifespan(app: Any) -> AsyncIterator[dict[str, Any]]:
        _end_streams_on_signals(host)
        sync_task = asyncio.create_task(host.sync_for_ever())
        yield {"host": host, "audits": OrderedDict()}
        sync_task.cancel()
        with suppress(asyncio.CancelledError):
            await sync_task
        await host.close()

    document = openapi(ROUTES)

    async def describe(request: Request) -> Response:
        return api.Json(document)

    handlers = [_handler(endpoint, needs_token) for endpoint in ROUTES]
    routes = [
        *(
            Route(_pattern(endpoint.path), handler, methods=[endpoint.method])
            for endpoint, handler in zip(ROUTES, handlers, strict=True)
        ),
        Route("/openapi.json", describe),
        Route("/audits/{key}", pages.audit_page),
        Mount("/static", pages.StaticFiles(directory=pages.STATIC)),
        Route("/healthz", _healthy),
        Route("/readyz", _ready),
        *(Route(path, pages.index) for path in ("/", "/audit", "/cascade/{name}", "/label/{name}")),
    ]
    ask, tell, *_ = handlers
    return RequestGuard(
        FastPath(Router(routes, lifespan=lifespan), {"ask": ask, "tell": tell}),
        limits or Limits(),
        is_local=not needs_token,
        log_requests=log_requests,
    )


def _pattern(path: str) -> str:
    """Return the pattern of a path for the router; a stage may be called openai/large."""
    return path.replace("{stage}", "{stage:path}")


def _handler(endpoint: Endpoint, needs_token: bool) -> Handler:
    """Return what answers a request: it checks the token, reads messages and records changes."""
    _, _, scope, answer, body, query = endpoint
    is_change = scope == "admin" and endpoint.method != "GET"

    async def handle(request: Request) -> Response:
        who = await _token_id(request, scope) if needs_token else "local"
        message: Any = None
        if body is not None:
            message = await api.body_of(request, body)
            response = await answer(request, message)
        elif query is not None:
            response = await answer(request, api.query_of(request, query))
        else:
            response = await answer(request)
        if is_change:
            await asyncio.to_thread(
                audit_trail.write,
                api.host_of(request).store,
                request.path_params.get("name", ""),
                who=who,
                did=f"{endpoint.method} {request.url.path}",
                asked=msgspec.to_builtins(message),
                request_id=request.scope["request_id"],
            )
        return response

    return handle


async def _token_id(request: Request, scope: str) -> str:
    """Return the id of the token of a request, which has to allow the scope."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        raise ProblemError(401, "A token is needed", "send Authorization: Bearer and a token")
    tokens = api.host_of(request).tokens
    grant = tokens.cached(token) or await asyncio.to_thread(tokens.grant, token)
    if grant is None:
        raise ProblemError(401, "The token is not valid", "it is unknown, revoked or expired")
    request.scope["who"] = grant.token_id
    if not grant.allows(scope):
        detail = f"the token is for {grant.scope!r}, this needs {scope!r}"
        raise ProblemError(403, "The token does not allow this", detail)
    return grant.token_id


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
        if callable(previous):
            signal.signal(number, partial(_stop, host, previous))


def _stop(host: Host, previous: Callable[..., Any], number: int, frame: FrameType | None) -> None:
    host.is_closing = True
    previous(number, frame)
