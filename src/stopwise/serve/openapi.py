"""The OpenAPI document, made from the routes and the typed messages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response

from stopwise import __version__
from stopwise.serve import admin
from stopwise.serve.problems import Problem

REFERENCE = "#/components/schemas/{name}"


class Endpoint(NamedTuple):
    """A route of the API, with what the OpenAPI document says of it."""

    method: str
    path: str
    scope: str  # that a token needs
    handler: Callable[..., Awaitable[Response]]
    body: type | None = None  # the message that the handler receives, from the body
    query: type | None = None  # or from the query


CREATED = {admin.create_cascade, admin.add_stage, admin.create_token}
MEDIA = {"/metrics": "text/plain", "/stream": "text/event-stream"}


def openapi(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document that describes some endpoints."""
    bodies = [endpoint.body for endpoint in endpoints if endpoint.body is not None]
    _, schemas = msgspec.json.schema_components([*bodies, Problem], ref_template=REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "stopwise",
            "version": __version__,
            "description": "How far to go in a sequence of tests when nobody says what is right.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    path, handler = endpoint.path, endpoint.handler
    media = next((m for end, m in MEDIA.items() if path.endswith(end)), "application/json")
    status = "201" if handler in CREATED else "204" if handler is admin.revoke_token else "200"
    content: dict[str, Any] = {} if status == "204" else {"content": {media: {}}}
    problem = {"content": {"application/problem+json": {"schema": _reference("Problem")}}}
    operation: dict[str, Any] = {
        "operationId": handler.__name__.strip("_"),
        "summary": (handler.__doc__ or "").strip().splitlines()[0],
        "description": f"Needs the scope {endpoint.scope!r} where tokens are asked for.",
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in re.findall(r"{(\w+)}", path)
        ]
        + _query_parameters(endpoint.query),
        "responses": {
            status: {"description": "Done", **content},
            "default": {"description": "Refused", **problem},
        },
    }
    if endpoint.body is not None:
        schema = _reference(endpoint.body.__name__)
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return operation


def _query_parameters(query: type | None) -> list[dict[str, Any]]:
    if query is None:
        return []
    (schema,) = msgspec.json.schema(query)["$defs"].values()
    return [
        {"name": name, "in": "query", "required": name in schema["required"], "schema": part}
        for name, part in schema["properties"].items()
    ]


def _reference(name: str) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=name)}
