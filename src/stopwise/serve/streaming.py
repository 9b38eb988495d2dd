"""Server-sent events: the dashboard is told what has changed, as long as it listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from stopwise.serve.api import host_of, named
from stopwise.serve.views import live_view

SECONDS = 1.0
_encode = msgspec.json.Encoder(enc_hook=str).encode


async def stream(request: Request) -> StreamingResponse:
    """Send the live view of a cascade every second, until the client is gone."""
    host, name = host_of(request), named(request).name

    async def events() -> AsyncIterator[bytes]:
        while not host.is_closing and not await request.is_disconnected():
            view = await asyncio.to_thread(live_view, host.find(name))
            yield b"data: " + _encode(view) + b"\n\n"
            await host.wait(SECONDS)

    return StreamingResponse(events(), media_type="text/event-stream")
