"""The fast path for the busiest routes, ask and tell: they skip the router.

They use the same functions, guards, limits and error messages as the other routes. Only the router
is left out, which costs as much as the decision itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send


class WholeRequest(Request):
    """A request whose body is read once; it usually arrives in one message."""

    async def body(self) -> bytes:
        """Return the body."""
        body, is_complete = b"", False
        while not is_complete:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            is_complete = not message.get("more_body", False)
        return body


class FastPath:
    """Call the function of ``POST /api/cascades/NAME/ACTION``; the router gets other requests."""

    def __init__(
        self, router: ASGIApp, actions: Mapping[str, Callable[[Request], Awaitable[Response]]]
    ) -> None:
        self.router = router
        self._actions = actions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        base, _, last = scope.get("path", "").rpartition("/")
        folder, _, name = base.rpartition("/")
        action = self._actions.get(last) if folder == "/api/cascades" and name else None
        if action is None or scope["method"] != "POST":
            scope["app"] = self  # with this the router raises for a path that it does not know
            await self.router(scope, receive, send)
            return
        scope["path_params"] = {"name": name}
        response = await action(WholeRequest(scope, receive))
        await response(scope, receive, send)
