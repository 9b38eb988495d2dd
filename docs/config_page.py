"""The keys of configuration files, described from the code that reads them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import typing
from collections.abc import Callable
from typing import Any

from docstrings import meanings, table

from stopwise.monitor import MonitorSettings
from stopwise.runtime import LabelSettings, Runtime, Stage, chat, config
from stopwise.serve.server_settings import ServerSettings
from stopwise.store import Worker

# What only a file has: the meanings of its keys, where no class has them as parameters.
CALLS = {
    "call": "A function that Python can import, as `package.module:function`. Instead of `model`.",
    "model": "The name of a chat model behind an OpenAI-compatible server. Instead of `call`.",
    "base_url": "The address of that server.",
    "api_key": "Its key, as `env:NAME` or `file:PATH`; never in the text.",
    "prompt": "A text in which `{case}` stands for the case.",
    "options": meanings(chat)["options"],
    "prompt_price": "The price of 1,000 tokens of the prompt. Instead of `cost`.",
    "completion_price": "The price of 1,000 tokens of the answer. Instead of `cost`.",
}
CALL_TYPES = {"options": "table", "prompt_price": "number", "completion_price": "number"}
NORMALISER_TYPES = {
    "choices": ("list of texts", "Answers are one of these words, alone or in a longer text."),
    "numbers": ("number", "Answers are numbers, equal if they round to the same multiple of this."),
    "json_fields": ("list of texts", "Answers are JSON objects, compared by these fields."),
    "text": (
        "table",
        "Short texts; keys `casefold` (default true), `punctuation` (default false).",
    ),
}
EXAMPLE = """\
name = "triage"
mistake_cost = 200
store = "sqlite:///triage.db"

[normalise]
choices = ["urgent", "routine"]

[labels]
keep = 500

[[stages]]
call = "clinic.rules:triage"
cost = 0

[[stages]]
model = "large"
base_url = "https://models.example/v1"
api_key = "env:MODELS_KEY"
prompt = "Answer urgent or routine: {case}"
cost = 12
timeout = 30
"""


def configuration() -> str:
    """Return a page with every key of a configuration file: type, default, meaning."""
    cascade = dict.fromkeys(["name", *sorted(config.PLAIN)], "")
    fields = [f.name for f in dataclasses.fields(ServerSettings) if f.name != "cascades"]
    monitor = [f.name for f in dataclasses.fields(MonitorSettings)]
    labels = [f.name for f in dataclasses.fields(LabelSettings) if f.name != "buy_label"]
    calls = [(f"`{key}`", CALL_TYPES.get(key, "text"), "", text) for key, text in CALLS.items()]
    normalisers = [(f"`{key}`", *NORMALISER_TYPES[key]) for key in config.NORMALISERS]
    worker = meanings(Worker)
    workers = [
        ("`journals`", "text", "none", worker["directory"]),
        ("`durability`", "text", '`"process"`', worker["durability"]),
    ]
    heads = ("key", "type", "default", "meaning")
    return f"""# Configuration

`stopwise run` and `stopwise check` read a file that describes one cascade; `stopwise serve` reads
one that describes a server and its cascades. Both are TOML. An unknown key is an error, and all
errors are reported together. `stopwise check triage.toml` does nothing but check.

```toml
{EXAMPLE}```

## A cascade

In the file of a server these keys stand under `[cascades.NAME]`, where the table gives the name.

{table(heads, settings_rows(Runtime, cascade))}
The file of one cascade may have two more, with a `store`; a server has its own.

{table(heads, workers)}
## `[normalise]`

What counts as the same answer: one of these keys. Without it answers are compared as they are.

{table(("key", "type", "meaning"), normalisers)}
## `[[stages]]`

One table for each stage, cheapest first. Each has either a `call` or a `model`.

{table(heads, [*calls, *settings_rows(Stage, config.STAGE_SETTINGS)])}
## `[monitor]`

{table(heads, settings_rows(MonitorSettings, monitor))}
## `[labels]`

{table(heads, settings_rows(LabelSettings, labels))}
## A server

Keys at the top of the file of `stopwise serve`; [the service](../service.md) has an example.

{table(heads, settings_rows(ServerSettings, fields))}"""


def settings_rows(kind: Callable[..., Any], keys: typing.Iterable[str]) -> list[tuple[str, ...]]:
    """Return a row for each key, from the signature and the docstring of what it sets."""
    parameters, texts = inspect.signature(kind).parameters, meanings(kind)
    rows = []
    for key in parameters:
        if key not in set(keys):
            continue
        default = parameters[key].default
        is_required = default is inspect.Parameter.empty
        default_text = (
            "required" if is_required else "none" if default is None else f"`{_toml(default)}`"
        )
        kinds = config.PLAIN.get(key) if kind is Runtime else None
        if default is None and not kinds:
            name = "whole number" if "int" in str(parameters[key].annotation) else "number"
        else:
            name = _kind(kinds[-1] if kinds else str if is_required else type(default))
        # A key may be explained with another one.
        elsewhere = (f"See `{other}`." for other, text in texts.items() if f"`{key}`" in text)
        meaning = texts.get(key) or next(elsewhere, "")
        if rows and meaning == rows[-1][-1]:
            meaning = f"See {rows[-1][0]}."
        rows.append((f"`{key}`", name, default_text, meaning))
    return rows


def _kind(kind: type) -> str:
    return {bool: "true or false", int: "whole number", float: "number", str: "text"}[kind]


def _toml(value: object) -> str:
    return json.dumps(value) if not isinstance(value, float) else f"{value:g}"
