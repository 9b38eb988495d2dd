"""Spans of OpenTelemetry, one a request, where the package is installed and the settings ask."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stopwise.extras import load_extra


class Traced:
    """Put each request into a span that goes on from the caller's.

    Where spans go is a matter of OpenTelemetry's own settings: start the server by
    ``opentelemetry-instrument``, or set a provider before.

    Parameters
    ----------
    app
        What answers.
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
        given = {"http.request.method": scope["method"], "url.path": scope["path"]}
        with self._tracer.start_as_current_span(
            scope["method"], self._extract(headers), self._kind, given
        ) as span:

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    span.set_attribute("stopwise.request_id", scope.get("request_id", ""))
                await send(message)

            await self.app(scope, receive, sending)
