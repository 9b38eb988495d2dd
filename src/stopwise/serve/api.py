"""The HTTP API for asking, telling and labelling: one function a route."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import cache, wraps
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from stopwise.runtime.result import Result
from stopwise.runtime.runtime import Runtime
from stopwise.serve import messages, views
from stopwise.serve.host import Host, ToldCase, runs_here
from stopwise.serve.problems import BROKEN_RULE, ProblemError, broken_rule, unreadable
from stopwise.store import KeyedTell, case_text

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decoder = cache(msgspec.json.Decoder)
STREAM_SECONDS = 1.0  # between two messages of a stream


class Json(Response):
    """An answer in JSON."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return _encode(content)

    def init_headers(self, headers: Any = None) -> None:
        """Set the only two headers."""
        length = b"%d" % len(self.body)
        self.raw_headers = [(b"content-length", length), (b"content-type", b"application/json")]


async def body_of(request: Request, kind: Any) -> Any:
    """Return the body of a request as a typed message."""
    body = await request.body() or b"{}"
    try:
        return _decoder(kind).decode(body)
    except msgspec.DecodeError as error:
        raise unreadable(error, body) from None


def query_of(request: Request, kind: Any) -> Any:
    """Return the query of a request as a typed message."""
    query = dict(request.query_params)
    try:
        return msgspec.convert(query, kind, strict=False)
    except msgspec.ValidationError as error:
        raise broken_rule(error, query) from None


def host_of(request: Request) -> Host:
    """Return the cascades of this server."""
    host: Host = request.scope["state"]["host"]
    return host


def runtime_of(request: Request) -> Runtime:
    """Return the cascade that the path names."""
    return host_of(request).find(request.path_params["name"])


def of_cascade(function: Callable[..., Any]) -> Callable[..., Awaitable[Response]]:
    """Return a handler that calls a function of the cascade that the path names, in a thread."""

    @wraps(function)
    async def handler(request: Request, *message: Any) -> Response:
        return Json(await asyncio.to_thread(function, runtime_of(request), *message))

    return handler


async def list_cascades(request: Request) -> Response:
    """All cascades, with their stages and prices."""
    host = host_of(request)
    cascades = await asyncio.to_thread(
        lambda: [views.read_cascade(host.find(name)) for name in host.names]
    )
    return Json({"cascades": cascades})


async def ask(request: Request, message: messages.Ask) -> Response:
    """The stage up to which to run a case, before it or after some outputs."""
    runtime, outputs = runtime_of(request), message.outputs
    _check_length(runtime, outputs)
    if message.n > 1:
        return Json({"stages": [runtime.ask(outputs) for _ in range(message.n)]})
    stage = runtime.ask(outputs)
    return Json({"stage": stage, "stop": bool(outputs) and stage < len(outputs)})


async def tell(request: Request, case: messages.Tell) -> Response:
    """Count the outputs of a case."""
    (outcome,) = await host_of(request).tell([_told_case(runtime_of(request), case)])
    if outcome == "conflict":
        raise ProblemError(
            409,
            "The key belongs to another case",
            f"got {case.key!r} with other outputs"
            + (", and it was counted in an earlier epoch" if case.amend else ""),
        )
    return Json({"outcome": outcome})


async def tell_many(request: Request, message: messages.TellMany) -> Response:
    """Count many cases, or none if a rule is broken; those with keys may be sent again."""
    runtime = runtime_of(request)
    cases = [_told_case(runtime, case) for case in message.cases]
    return Json({"outcomes": await host_of(request).tell(cases)})


def _told_case(runtime: Runtime, case: messages.Tell) -> ToldCase:
    """Return a case to be counted, or raise before others are counted with it."""
    _check_length(runtime, case.outputs)
    outputs, keyed = tuple(case.outputs), None
    if case.key is not None:
        keyed = KeyedTell(runtime.name, case.key, case_text(outputs), amends=case.amend)
    elif case.amend:
        raise ProblemError(422, BROKEN_RULE, "amend needs a key", name="amend")
    return ToldCase(runtime, outputs, case.is_random, keyed)


def _check_length(runtime: Runtime, outputs: Sequence[Any]) -> None:
    n_stages, n = runtime.cascade.n_stages, len(outputs)
    if n > n_stages:
        detail = f"outputs must be those of the first {n_stages} stages or fewer, got {n}"
        raise ProblemError(422, BROKEN_RULE, detail, name="outputs")


async def run(request: Request, message: messages.Run) -> Response:
    """Answer a case with the stages that the server runs."""
    runtime = local_runtime(request, request.path_params["name"])
    return Json(result_view(await runtime.run(message.case, key=message.key), runtime))


def local_runtime(request: Request, name: str) -> Runtime:
    """Return a cascade whose stages the server runs, or refuse."""
    runtime = host_of(request).find(name)
    if not runs_here(runtime):
        raise ProblemError(
            409,
            "The server does not run this cascade",
            f"{name!r} runs elsewhere: ask how far to go, and tell the outputs",
        )
    return runtime


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


@of_cascade
def wanted_labels(runtime: Runtime, query: messages.WantedLabels) -> dict[str, Any]:
    """Cases whose labels would help most; without their outputs, so that labels are blind."""
    cases = [
        {
            "key": case.key,
            "case": case.case,
            **({"outputs": list(case.outputs)} if query.outputs else {}),
        }
        for case in runtime.labels.wanted(min(query.n, 1000))
    ]
    return {"cases": cases, "n_labels": runtime.labels.n_labels}


@of_cascade
def add_label(runtime: Runtime, new: messages.NewLabel) -> dict[str, Any]:
    """Add the right answer of a case that was kept."""
    runtime.labels.add(new.key, new.label)
    return {"n_labels": runtime.labels.n_labels}


async def stream(request: Request) -> StreamingResponse:
    """The live view of a cascade every second, until the client disconnects."""
    host, name = host_of(request), runtime_of(request).name

    async def events() -> AsyncIterator[bytes]:
        while not host.is_closing and not await request.is_disconnected():
            view = await asyncio.to_thread(views.live, host.find(name))
            yield b"data: " + _encode(view) + b"\n\n"
            await host.wait(STREAM_SECONDS)

    return StreamingResponse(events(), media_type="text/event-stream")
