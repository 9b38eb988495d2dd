"""A server that speaks as OpenAI's does, with models that are fast, slow, wrong or broken.

For trying a cascade of chat models without a network: each model is a function from the text of a
message to an answer, with a latency and faults. Nothing here is clever; it is what tests and
examples talk to.

    python -m examples.fake_chat_server        # serves until Ctrl-C, and prints its address
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

FAULTS = ("429", "500", "hang", "cut", "refusal", "odd")


@dataclass
class FakeModel:
    """A model: what it answers, how long it takes, and how often each fault occurs.

    Faults are ``429`` and ``500`` (HTTP errors), ``hang`` (no answer at all), ``cut`` (a body that
    ends half-way), ``refusal`` and ``odd`` (texts that are no answer).
    """

    answer: Callable[[str], str]
    latency: float = 0.0
    faults: dict[str, float] = field(default_factory=dict)

    def fault(self, rng: random.Random) -> str:
        """Draw what goes wrong this time; empty if nothing does."""
        chance = rng.random()
        for name, share in self.faults.items():
            chance -= share
            if chance < 0:
                return name
        return ""


class FakeChatServer:
    """Serves some models on the loopback interface and counts the requests for each."""

    def __init__(self, models: dict[str, FakeModel], *, seed: int = 0) -> None:
        self.models = models
        self.calls: Counter[str] = Counter()
        self.url = ""
        self._rng = random.Random(seed)

    @asynccontextmanager
    async def running(self, port: int = 0) -> AsyncIterator[FakeChatServer]:
        """Serve on a free port while the block runs."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Cancelled where a request is under way as the loop ends, which Python 3.11 would report.
        ends = (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError)
        try:
            with suppress(*ends):
                while await self._one_request(reader, writer):
                    pass
        finally:
            writer.close()

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lengths = [line for line in head.splitlines() if line.lower().startswith("content-length:")]
        body = await reader.readexactly(int(lengths[0].split(":")[1]) if lengths else 0)
        if not head.startswith("POST /v1/chat/completions"):
            models = {"object": "list", "data": [{"id": name} for name in self.models]}
            return await _send(writer, 200, models)
        request = json.loads(body)
        name = request.get("model", "")
        self.calls[name] += 1
        if name not in self.models:
            return await _send(writer, 404, {"error": {"message": f"no model {name!r}"}})
        return await self._answer(writer, name, str(request["messages"][-1]["content"]))

    async def _answer(self, writer: asyncio.StreamWriter, name: str, text: str) -> bool:
        model = self.models[name]
        fault = model.fault(self._rng)
        await asyncio.sleep(3600 if fault == "hang" else model.latency)
        if fault in ("429", "500"):
            return await _send(writer, int(fault), {"error": {"message": "try again later"}})
        content = {
            "refusal": "I'm sorry, but I can't help with that.",
            "odd": '```json\n{"maybe": [1, 2',
        }.get(fault, model.answer(text))
        completion = {
            "id": f"chatcmpl-{sum(self.calls.values())}",
            "object": "chat.completion",
            "created": 0,
            "model": name,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": content},
                }
            ],
            "usage": {
                "prompt_tokens": len(text.split()),
                "completion_tokens": len(content.split()),
                "total_tokens": len(text.split()) + len(content.split()),
            },
        }
        return await _send(writer, 200, completion, is_cut=fault == "cut")


async def _send(
    writer: asyncio.StreamWriter, status: int, value: object, *, is_cut: bool = False
) -> bool:
    """Send JSON; return whether the connection may go on."""
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status} -\r\ncontent-type: application/json\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + (body[: len(body) // 2] if is_cut else body))
    await writer.drain()
    return not is_cut


async def main() -> None:
    """Serve two models until interrupted."""
    models = {
        "small": FakeModel(lambda text: "urgent" if "pain" in text else "routine", 0.02),
        "large": FakeModel(lambda text: "urgent" if "chest" in text else "routine", 0.2),
    }
    async with FakeChatServer(models).running() as server:
        print(f"{server.url} serves {', '.join(models)}; Ctrl-C ends it", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
