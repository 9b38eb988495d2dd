"""Server-sent events: the dashboard is told what has changed, as long as it listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from stopwise.serve.api import named
from stopwise.serve.views import live_view

SECONDS = 1.0
_encode = msgspec.json.Encoder(enc_hook=str).encode


async def stream(request: Request) -> StreamingResponse:
    """Send the live view of a cascade every second, until the client is gone."""
    runtime = named(request)

    async def events() -> AsyncIterator[bytes]:
        while not await request.is_disconnected():
            view = await asyncio.to_thread(live_view, runtime)
            yield b"data: " + _encode(view) + b"\n\n"
            await asyncio.sleep(SECONDS)

    return StreamingResponse(events(), media_type="text/event-stream")
