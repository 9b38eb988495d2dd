"""The fast path for the busiest routes, ask and tell: they skip the router.

They use the same functions, guards, limits and error messages as the other routes. Only the router
and its layers are left out, which cost as much as the decision itself.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from stopwise.serve.problems import response_for

logger = logging.getLogger("stopwise.serve")


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
    """Call the function of ``POST /api/cascades/NAME/ACTION``; all other requests go to the app."""

    def __init__(
        self, app: ASGIApp, actions: Mapping[str, Callable[[Request], Awaitable[Response]]]
    ) -> None:
        self.app = app
        self._actions = actions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        base, _, last = scope.get("path", "").rpartition("/")
        folder, _, name = base.rpartition("/")
        action = self._actions.get(last) if folder == "/api/cascades" and name else None
        if action is None or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        scope["path_params"] = {"name": name}
        try:
            response = await action(WholeRequest(scope, receive))
        except ClientDisconnect:
            return
        except Exception as error:  # the client gets an answer in any case
            response = response_for(error)
            if response.status_code == 500:
                logger.exception("request failed", extra={"fields": {"path": scope["path"]}})
        await response(scope, receive, send)
