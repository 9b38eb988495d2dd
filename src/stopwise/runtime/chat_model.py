"""Chat models as stages, through any client with OpenAI's interface."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stopwise.checks import finite_number
from stopwise.errors import SettingError, StageError


@dataclass(frozen=True)
class Reply:
    """The reply of a chat model and its use of tokens; ``str(reply)`` is the text."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str

    def __str__(self) -> str:
        return self.text


def chat(client: Any, model: Any, prompt: Any, **options: Any) -> Callable[[Any], Any]:
    """Return a stage that asks a chat model.

    The client's own retries are switched off: `Stage` alone decides how often a failing call is
    tried again.

    Parameters
    ----------
    client
        An object with ``chat.completions.create``, sync or async, such as ``openai.AsyncOpenAI``.
    model
        The name of the model.
    prompt
        A text in which ``{case}`` stands for the case, or a function from the case to a text or to
        a list of messages.
    options
        Further arguments of every call, such as ``temperature=0``.
    """
    if not isinstance(model, str) or not model:
        raise SettingError(f"model must be a name, got {model!r}")
    if not callable(prompt) and not (isinstance(prompt, str) and "{case}" in prompt):
        raise SettingError(f"prompt must be a function or a text with {{case}}, got {prompt!r}")
    if hasattr(client, "with_options"):
        client = client.with_options(max_retries=0)
    create = client.chat.completions.create
    is_async = inspect.iscoroutinefunction(inspect.unwrap(create))

    async def ask(case: Any) -> Reply:
        content = prompt(case) if callable(prompt) else prompt.replace("{case}", str(case))
        messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
        arguments = {"model": model, "messages": messages, **options}
        if is_async:
            return _reply(await create(**arguments))
        completion = await asyncio.to_thread(create, **arguments)
        return _reply(await completion if inspect.isawaitable(completion) else completion)

    ask.stage_name = model  # type: ignore[attr-defined]
    return ask


def by_tokens(prompt_price: float, completion_price: float) -> Callable[[Any], float]:
    """Return a function from a reply to its cost, by prices per 1,000 tokens.

    >>> by_tokens(0.5, 1.5)(Reply("ok", 2000, 100, "stop"))
    1.15
    """
    for name, price in (("prompt_price", prompt_price), ("completion_price", completion_price)):
        finite_number(name, price, SettingError, zero=True)

    def cost(reply: Any) -> float:
        total = reply.prompt_tokens * prompt_price + reply.completion_tokens * completion_price
        return float(total / 1000)

    return cost


def _reply(completion: Any) -> Reply:
    try:
        choice = completion.choices[0]
        usage = completion.usage
        return Reply(
            text=choice.message.content or "",
            prompt_tokens=int(getattr(usage, "prompt_tokens", 0) or 0),
            completion_tokens=int(getattr(usage, "completion_tokens", 0) or 0),
            finish_reason=str(choice.finish_reason or ""),
        )
    except (AttributeError, IndexError, TypeError) as error:
        raise StageError(f"a chat completion must have choices, got {completion!r}") from error
