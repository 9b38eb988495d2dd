"""The HTTP API for administration: cascades, prices, stages, tokens, the audit trail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from stopwise.cascade import Cascade
from stopwise.runtime.runtime import Runtime
from stopwise.runtime.stage import Stage
from stopwise.serve import audit_trail, messages
from stopwise.serve.api import Json, host_of
from stopwise.serve.host import runs_elsewhere, runs_here
from stopwise.serve.problems import BROKEN_RULE, ProblemError
from stopwise.serve.views import read_cascade


async def create_cascade(request: Request, new: messages.NewCascade) -> Response:
    """Add a cascade whose stages run elsewhere."""
    cascade = Cascade(new.costs, new.mistake_cost, new.names)
    runtime = await asyncio.to_thread(host_of(request).create, new.name, cascade, new.policy)
    return Json(await asyncio.to_thread(read_cascade, runtime), 201)


async def change(request: Request, new: messages.Change) -> Response:
    """Change prices, freeze or thaw learning, or trust a stage again; what was seen stays."""

    def work(runtime: Runtime) -> None:
        stage = None if new.trust is None else runtime.engine.stages.index(new.trust)
        _check_prices(runtime.cascade, new)
        if new.costs is not None:
            runtime.set_costs(new.costs)
        if new.mistake_cost is not None:
            runtime.set_mistake_cost(new.mistake_cost)
        if stage is not None:
            runtime.trust(stage)
        if new.is_frozen is not None:
            runtime.freeze(frozen=new.is_frozen)

    return Json(await _apply(request, work))


def _check_prices(now: Cascade, new: messages.Change) -> None:
    """Raise before anything is changed if the new prices break a rule together."""
    costs = now.prices if new.costs is None else new.costs
    if len(costs) != now.n_stages:
        detail = f"costs must have one price for each of {now.n_stages} stages, got {len(costs)}"
        raise ProblemError(422, BROKEN_RULE, detail, name="costs")
    Cascade(costs, new.mistake_cost or now.mistake_cost, now.names)


async def add_stage(request: Request, new: messages.NewStage) -> Response:
    """Add a stage that runs elsewhere, at the end or before another one."""
    stage = Stage(runs_elsewhere, cost=new.cost, name=new.name)

    def work(runtime: Runtime) -> None:
        _check_runs_elsewhere(runtime)
        if new.name in runtime.cascade.names:
            raise ProblemError(409, "The stage exists already", f"got {new.name!r}", name="name")
        runtime.add_stage(stage, before=new.before)

    return Json(await _apply(request, work), 201)


async def remove_stage(request: Request) -> Response:
    """Remove a stage; counts of the other stages stay."""

    def work(runtime: Runtime) -> None:
        _check_runs_elsewhere(runtime)
        runtime.remove_stage(request.path_params["stage"])

    return Json(await _apply(request, work))


async def _apply(request: Request, work: Callable[[Runtime], None]) -> dict[str, Any]:
    """Change the cascade that the path names; return its new view."""
    host, name = host_of(request), request.path_params["name"]
    return await asyncio.to_thread(lambda: read_cascade(host.change(name, work)))


def _check_runs_elsewhere(runtime: Runtime) -> None:
    if runs_here(runtime):
        raise ProblemError(
            409,
            "The server runs these stages",
            f"the stages of {runtime.name!r} are changed in the configuration",
        )


async def read_trail(request: Request) -> Response:
    """Who changed what, oldest first."""
    return Json({"changes": await asyncio.to_thread(audit_trail.read, host_of(request).store)})


async def list_tokens(request: Request) -> Response:
    """What each token allows; never the tokens themselves."""
    grants = await asyncio.to_thread(host_of(request).tokens.grants)
    return Json({"tokens": [msgspec.to_builtins(grant) for grant in grants]})


async def create_token(request: Request, new: messages.NewToken) -> Response:
    """Make a token; this is the only time that it is shown."""
    create = host_of(request).tokens.create
    token = await asyncio.to_thread(create, new.scope, note=new.note, days=new.days)
    return Json({"token": token}, 201)


async def revoke_token(request: Request) -> Response:
    """Revoke a token."""
    token_id = request.path_params["token_id"]
    if not await asyncio.to_thread(host_of(request).tokens.revoke, token_id):
        raise ProblemError(404, "There is no such token", f"got {token_id!r}")
    return Response(status_code=204)
