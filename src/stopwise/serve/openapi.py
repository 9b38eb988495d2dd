"""The OpenAPI document, made from the routes and the typed messages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from stopwise import __version__
from stopwise.serve import admin, api, messages, pages
from stopwise.serve.chat_api import ChatRequest, complete

# The message in the body of a request, by the function that answers.
BODIES: dict[Callable[..., Awaitable[Any]], type] = {
    admin.create_cascade: messages.NewCascade,
    admin.change: messages.Change,
    admin.add_stage: messages.NewStage,
    api.ask: messages.Ask,
    api.tell: messages.Tell,
    api.tell_many: messages.TellMany,
    api.run: messages.Run,
    api.add_label: messages.NewLabel,
    admin.create_token: messages.NewToken,
    complete: ChatRequest,
}
CREATED = {admin.create_cascade, admin.add_stage, admin.create_token}
QUERIES: dict[Callable[..., Awaitable[Any]], dict[str, Any]] = {
    api.wanted_labels: {
        "n": {"type": "integer", "minimum": 0, "default": 20},
        "outputs": {"type": "string", "enum": ["true", "false"]},
    },
    api.if_a_mistake_cost: {"mistake_cost": {"type": "number", "exclusiveMinimum": 0}},
    pages.audit_file: {
        "costs": {"type": "string"},
        "mistake_cost": {"type": "string"},
        "tests": {"type": "string"},
        "name": {"type": "string"},
    },
    pages.report: {"format": {"type": "string", "enum": ["json", "html"]}},
}
PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
MEDIA = {"/metrics": "text/plain", "/stream": "text/event-stream"}


def openapi(routes: list[tuple[str, str, str, Callable[..., Any]]]) -> dict[str, Any]:
    """Return the document for routes of the form (method, path, scope, function)."""
    bodies = list(BODIES.values())
    schemas, components = msgspec.json.schema_components(
        bodies, ref_template="#/components/schemas/{name}"
    )
    body_of = dict(zip(bodies, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for method, path, scope, handler in routes:
        paths.setdefault(path, {})[method.lower()] = _operation(path, scope, handler, body_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "stopwise",
            "version": __version__,
            "description": "How far to go in a sequence of tests when nobody says what is right.",
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(
    path: str, scope: str, handler: Callable[..., Any], body_of: dict[type, Any]
) -> dict[str, Any]:
    media = next((m for end, m in MEDIA.items() if path.endswith(end)), "application/json")
    status = "201" if handler in CREATED else "204" if handler is admin.revoke_token else "200"
    content: dict[str, Any] = {} if status == "204" else {"content": {media: {}}}
    reference = {"$ref": "#/components/schemas/Problem"}
    problem = {"content": {"application/problem+json": {"schema": reference}}}
    operation: dict[str, Any] = {
        "operationId": handler.__name__.strip("_"),
        "summary": (handler.__doc__ or "").strip().splitlines()[0],
        "description": f"Needs the scope {scope!r} where tokens are asked for.",
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)}", path)
        ]
        + [
            {"name": name, "in": "query", "required": False, "schema": schema}
            for name, schema in QUERIES.get(handler, {}).items()
        ],
        "responses": {
            status: {"description": "Done", **content},
            "default": {"description": "Refused", **problem},
        },
    }
    if handler in BODIES:
        schema = body_of[BODIES[handler]]
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return operation
