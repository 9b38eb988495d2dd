"""The HTTP API: one function a route; parse, call, answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from stopwise.runtime.result import Result
from stopwise.runtime.runtime import Runtime
from stopwise.serve import requests as given
from stopwise.serve.hosting import Host
from stopwise.serve.problems import ProblemError
from stopwise.serve.views import cascade_view, history_view, live_view, what_if

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decoders = {
    kind: msgspec.json.Decoder(kind)
    for kind in (
        given.Ask,
        given.NewCascade,
        given.NewLabel,
        given.NewPrices,
        given.NewToken,
        given.Run,
        given.Tell,
        given.TellMany,
    )
}


def answer(told: Any, status: int = 200) -> Response:
    """Return JSON."""
    return Response(_encode(told), status, media_type="application/json")


async def body_of(request: Request, kind: Any) -> Any:
    """Return the body of a request as a typed message."""
    return _decoders[kind].decode(await request.body() or b"{}")


def host_of(request: Request) -> Host:
    """Return the cascades of this server."""
    host: Host = request.app.state.host
    return host


def named(request: Request) -> Runtime:
    """Return the cascade that the path names."""
    return host_of(request).find(request.path_params["name"])


async def list_cascades(request: Request) -> Response:
    """All cascades, with their stages and prices."""
    host = host_of(request)
    return answer({"cascades": [cascade_view(host.find(name)) for name in host.names]})


async def create_cascade(request: Request) -> Response:
    """Add a cascade whose stages run elsewhere."""
    new = await body_of(request, given.NewCascade)
    runtime = await asyncio.to_thread(
        host_of(request).create,
        new.name,
        costs=new.costs,
        mistake_cost=new.mistake_cost,
        names=new.names,
        policy=new.policy,
    )
    return answer(cascade_view(runtime), 201)


async def read_cascade(request: Request) -> Response:
    """One cascade, with its stages and prices."""
    return answer(cascade_view(named(request)))


async def change_prices(request: Request) -> Response:
    """Change what stages or mistakes cost; what was seen stays."""
    runtime, new = named(request), await body_of(request, given.NewPrices)
    if new.costs is not None:
        runtime.set_costs(new.costs)
    if new.mistake_cost is not None:
        runtime.set_mistake_cost(new.mistake_cost)
    return answer(cascade_view(runtime))


async def ask(request: Request) -> Response:
    """Say up to which stage to run a case, before it or after some outputs."""
    runtime, asked = named(request), await body_of(request, given.Ask)
    if asked.n > 1:
        return answer({"stages": [runtime.ask(asked.outputs) for _ in range(asked.n)]})
    stage = runtime.ask(asked.outputs)
    return answer({"stage": stage, "stop": bool(asked.outputs) and stage < len(asked.outputs)})


async def tell(request: Request) -> Response:
    """Count what the stages said of a case."""
    runtime, told = named(request), await body_of(request, given.Tell)
    if told.key is None:
        runtime.tell(told.outputs, is_random=told.is_random)
        return answer({"outcome": "counted"})
    (outcome,) = await _tell_keyed(request, runtime, [told])
    if outcome == "conflict":
        raise ProblemError(
            409, "The key belongs to another case", f"got {told.key!r} with other outputs"
        )
    return answer({"outcome": outcome})


async def tell_many(request: Request) -> Response:
    """Count many cases; those with keys may be sent again."""
    runtime, told = named(request), await body_of(request, given.TellMany)
    keyed = [case for case in told.cases if case.key is not None]
    for case in told.cases:
        if case.key is None:
            runtime.tell(case.outputs, is_random=case.is_random)
    outcomes = iter(await _tell_keyed(request, runtime, keyed) if keyed else [])
    found = [next(outcomes) if case.key is not None else "counted" for case in told.cases]
    return answer({"outcomes": found})


async def _tell_keyed(request: Request, runtime: Runtime, cases: Sequence[given.Tell]) -> list[str]:
    n_stages = runtime.cascade.n_stages
    for case in cases:
        if len(case.outputs) > n_stages:
            raise ProblemError(
                422,
                "The request breaks a rule",
                f"outputs must be those of the first 1 to {n_stages} tests, "
                f"got {len(case.outputs)} for key {case.key!r}",
            )
    tells = [(str(case.key), tuple(case.outputs)) for case in cases]
    return await asyncio.to_thread(host_of(request).tell_keyed, runtime, tells)


async def run(request: Request) -> Response:
    """Answer a case with the stages that the server runs."""
    runtime, asked = named(request), await body_of(request, given.Run)
    return answer(result_view(await runtime.run(asked.case, key=asked.key), runtime))


def result_view(result: Result, runtime: Runtime) -> dict[str, Any]:
    """Return a result as JSON."""
    return {
        "answer": result.answer,
        "stage": result.stage,
        "stage_name": runtime.cascade.names[result.stage],
        "cost": result.cost,
        "outputs": list(result.outputs),
        "belief": result.belief,
        "key": result.key,
        "is_fallback": result.is_fallback,
        "failures": [failure._asdict() for failure in result.failures],
        "seconds": result.seconds,
    }


async def wanted_labels(request: Request) -> Response:
    """Cases whose labels would help most, blind: without what the stages said."""
    runtime = named(request)
    try:
        n = int(request.query_params.get("n", "20"))
    except ValueError:
        raise ProblemError(422, "The request breaks a rule", "n must be a whole number") from None
    shows = request.query_params.get("outputs") == "true"
    cases = [
        {"key": case.key, "case": case.case, **({"outputs": list(case.outputs)} if shows else {})}
        for case in runtime.labels.wanted(min(n, 1000))
    ]
    return answer({"cases": cases, "n_labels": runtime.labels.n_labels})


async def add_label(request: Request) -> Response:
    """Take in the right answer of a case that was kept."""
    runtime, new = named(request), await body_of(request, given.NewLabel)
    await asyncio.to_thread(runtime.labels.add, new.key, new.label)
    return answer({"n_labels": runtime.labels.n_labels})


async def report(request: Request) -> Response:
    """The audit of what was seen: JSON, or the page with ``?format=html``."""
    runtime = named(request)
    found = await asyncio.to_thread(runtime.report)
    if request.query_params.get("format") == "html":
        return Response(await asyncio.to_thread(found.to_html), media_type="text/html")
    return Response(found.to_json(), media_type="application/json")


async def certificate(request: Request) -> Response:
    """What the choice of stage rests on, for policies that can prove it."""
    policy = named(request).learning.policy
    if not hasattr(policy, "certificate"):
        raise ProblemError(
            404, "There is no certificate", f"{type(policy).__name__} decides by belief, not proof"
        )
    return answer({"text": str(policy.certificate())})


async def events(request: Request) -> Response:
    """Changes by the owner and alarms, oldest first."""
    store, name = host_of(request).store, named(request).name
    found = [
        {"kind": record.kind, "at": record.at, **record.body}
        for kind in ("event", "alarm")
        for record in store.records(kind, name)
    ]
    return answer({"events": sorted(found, key=lambda event: event["at"])})


async def export(request: Request) -> Response:
    """All cases of the current epoch with their counts."""
    return answer({"cases": host_of(request).export(named(request))})


async def live(request: Request) -> Response:
    """What the dashboard shows of a cascade at this moment."""
    return answer(live_view(named(request)))


async def history(request: Request) -> Response:
    """Cases by stage and their cost over time."""
    return answer(await asyncio.to_thread(history_view, named(request)))


async def if_a_mistake_cost(request: Request) -> Response:
    """The best single stage at another price of a mistake."""
    try:
        price = float(request.query_params.get("mistake_cost", ""))
    except ValueError:
        price = 0.0
    if not 0 < price < float("inf"):
        raise ProblemError(422, "The request breaks a rule", "mistake_cost must be a number > 0")
    return answer(await asyncio.to_thread(what_if, named(request), price))


async def list_tokens(request: Request) -> Response:
    """What each token allows; never the tokens themselves."""
    grants = host_of(request).tokens.listed()
    return answer({"tokens": [msgspec.to_builtins(grant) for grant in grants]})


async def create_token(request: Request) -> Response:
    """Make a token; this is the only time that it is shown."""
    new = await body_of(request, given.NewToken)
    token = host_of(request).tokens.create(new.scope, note=new.note, days=new.days)
    return answer({"token": token}, 201)


async def revoke_token(request: Request) -> Response:
    """Make a token worthless."""
    if not host_of(request).tokens.revoke(request.path_params["token_id"]):
        raise ProblemError(404, "There is no such token", request.path_params["token_id"])
    return Response(status_code=204)
