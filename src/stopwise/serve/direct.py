"""The busiest routes, ask and tell, answered without a search through all of them.

They are the same functions behind the same guards, limits and error messages as in the app's list
of routes; only the router and its layers are left out, which cost as much as the decision itself.
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
    """A request whose body is read once and at once; it mostly comes in one piece."""

    async def body(self) -> bytes:
        """Return the body."""
        body, is_whole = b"", False
        while not is_whole:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            is_whole = not message.get("more_body", False)
        return body


class Direct:
    """Call the function of ``POST /api/cascades/NAME/ACTION`` at once; the rest goes to the app.

    Parameters
    ----------
    app
        What answers everything else.
    actions
        The functions by the last part of the path.
    """

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
            answered = await action(WholeRequest(scope, receive))
        except ClientDisconnect:
            return
        except Exception as error:  # whatever it is, the client gets an answer
            answered = response_for(error)
            if answered.status_code == 500:
                logger.exception("request failed", extra={"told": {"path": scope["path"]}})
        await answered(scope, receive, send)
