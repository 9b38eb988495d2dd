"""A cascade as one model name of LiteLLM, through its interface for custom providers.

::

    import litellm
    from stopwise.integrations.litellm import CascadeProvider

    litellm.custom_provider_map = [
        {"provider": "stopwise", "custom_handler": CascadeProvider({"triage": runtime})}
    ]
    litellm.completion("stopwise/triage", messages=[{"role": "user", "content": "chest pain"}])

Versions 1.82.7 and 1.82.8 of LiteLLM were withdrawn because their packages had been tampered with;
they are refused here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from litellm import Choices, Message, ModelResponse
from litellm.llms.custom_llm import CustomLLM

from stopwise.checks import known_name
from stopwise.errors import MissingExtraError, SettingError
from stopwise.runtime.result import Result
from stopwise.runtime.runtime import Runtime

WITHDRAWN = ("1.82.7", "1.82.8")
if version("litellm") in WITHDRAWN:
    raise MissingExtraError(f"litellm {version('litellm')} was withdrawn: install another version")


class CascadeProvider(CustomLLM):
    """Answers chat completions with cascades; the case is the text of the last message.

    Parameters
    ----------
    runtimes
        Cascades by the model names under which they are called.
    """

    def __init__(self, runtimes: Mapping[str, Runtime]) -> None:
        super().__init__()
        self._runtimes = dict(runtimes)

    def completion(self, *args: Any, **arguments: Any) -> ModelResponse:
        """Answer from ordinary code."""
        runtime = self._runtime(arguments["model"])
        result = runtime.run_sync(_case(arguments["messages"]))
        return _response(arguments["model"], result, runtime)

    async def acompletion(self, *args: Any, **arguments: Any) -> ModelResponse:
        """Answer from asynchronous code."""
        runtime = self._runtime(arguments["model"])
        result = await runtime.run(_case(arguments["messages"]))
        return _response(arguments["model"], result, runtime)

    def _runtime(self, model: str) -> Runtime:
        name = known_name("model", model.rpartition("/")[2], self._runtimes, SettingError)
        return self._runtimes[name]


def _case(messages: Any) -> str:
    return str(messages[-1]["content"])


def _response(model: str, result: Result, runtime: Runtime) -> ModelResponse:
    message = Message(role="assistant", content=str(result.answer))
    response = ModelResponse(
        model=model,
        created=int(time.time()),
        choices=[Choices(index=0, finish_reason="stop", message=message)],
    )
    stage = runtime.cascade.names[result.stage]
    response._hidden_params["stopwise"] = {"stage": stage, "cost": result.cost}
    return response
