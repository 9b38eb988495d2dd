"""Cascades as models of an OpenAI-compatible chat API, without streaming."""

from __future__ import annotations

import time
import uuid
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from stopwise.errors import SettingError
from stopwise.serve.api import Json, host_of, local_runtime
from stopwise.serve.host import runs_here
from stopwise.serve.messages import ChatRequest


async def complete(request: Request, chat: ChatRequest) -> Response:
    """Answer the last message with the cascade that the model names."""
    if chat.stream:
        raise SettingError("stream must be false")
    if not chat.messages:
        raise SettingError("messages must not be empty")
    runtime = local_runtime(request, chat.model)
    result = await runtime.run(_text(chat.messages[-1].content))
    message = {"role": "assistant", "content": str(result.answer)}
    return Json(
        {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": chat.model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            "stopwise": {
                "stage": runtime.cascade.names[result.stage],
                "cost": result.cost,
                "belief": result.belief,
            },
        }
    )


def _text(content: Any) -> Any:
    """Return the text of a message that comes in parts."""
    if not isinstance(content, list):
        return content
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    if len(parts) != len(content) or not all(isinstance(part, str) for part in parts):
        raise SettingError("content must be text")
    return "\n".join(str(part) for part in parts)


async def list_models(request: Request) -> Response:
    """The cascades whose stages the server runs, as models."""
    host = host_of(request)
    models = [
        {"id": name, "object": "model", "created": 0, "owned_by": "stopwise"}
        for name in host.names
        if runs_here(host.find(name))
    ]
    return Json({"object": "list", "data": models})
