"""Cascades described in TOML: read the file, check every key, make the runtime.

::

    name = "triage"
    mistake_cost = 200
    store = "sqlite:///triage.db"

    [normalise]
    choices = ["urgent", "routine"]

    [[stages]]
    call = "clinic.rules:triage"        # a function that Python can import, or beside the file
    cost = 0

    [[stages]]
    model = "large"                     # a chat model behind an OpenAI-compatible server
    base_url = "https://models.example/v1"
    api_key = "env:MODELS_KEY"          # secrets come from the environment or a file, never in text
    prompt = "Answer urgent or routine: {case}"
    cost = 12
    timeout = 30
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from stopwise.errors import InputError, MissingExtraError, SettingError
from stopwise.extras import load_extra
from stopwise.monitor import MonitorSettings
from stopwise.runtime import normalisers
from stopwise.runtime.caller import error_text
from stopwise.runtime.chat_model import by_tokens, chat
from stopwise.runtime.label_queue import LabelSettings
from stopwise.runtime.runtime import Runtime
from stopwise.runtime.stage import Stage
from stopwise.store import Worker
from stopwise.store.worker import Durability


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SettingError(f"it must be a list, got {value!r}")
    return value


def _as_table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SettingError(f"it must be a table, got {value!r}")
    return value


NORMALISERS: dict[str, Callable[[Any], normalisers.Normalise]] = {
    "choices": lambda words: normalisers.choices(*_as_list(words)),
    "numbers": normalisers.numbers,
    "json_fields": lambda names: normalisers.json_fields(*_as_list(names)),
    "text": lambda options: normalisers.text(**_as_table(options)),
}
STORES = ("memory", "sqlite", "postgresql", "postgres")
PLAIN = {
    "mistake_cost": (int, float),
    "policy": (str,),
    "store": (str,),
    "shadow": (int, float),
    "on_failure": (str,),
    "speculate": (int,),
    "seed": (int,),
}
CASCADE_KEYS = {"name", "normalise", "stages", "monitor", "labels", *PLAIN}
WORKER_KEYS = {"journals", "durability"}  # of a file with one cascade
CHAT_KEYS = {"model", "base_url", "api_key", "prompt", "options"}
PRICE_KEYS = {"prompt_price", "completion_price"}
STAGE_SETTINGS = {field.name for field in fields(Stage)} - {"call", "retry_if", "is_async"}
STAGE_KEYS = {"call", *CHAT_KEYS, *PRICE_KEYS, *STAGE_SETTINGS}


class Problems:
    """Everything that is wrong with a configuration, not only the first thing."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        """Note a problem."""
        self.texts.append(text)

    def keys(self, place: str, table: Mapping[str, Any], names: set[str]) -> None:
        """Note unknown keys."""
        for key in table:
            if key not in names:
                matches = get_close_matches(key, sorted(names), n=1)
                hint = f"; did you mean {matches[0]!r}?" if matches else ""
                self.add(f"{place} has an unknown key {key!r}{hint}")

    def attempt(self, place: str, make: Callable[[], Any]) -> Any:
        """Return what ``make`` returns; note the error if it fails."""
        try:
            return make()
        except (InputError, MissingExtraError, TypeError, OSError) as error:
            self.add(f"{place}: {error}")
            return None

    def raise_for(self, path: Path | str) -> None:
        """Raise `SettingError` with all problems of a file, if there are any."""
        if self.texts:
            raise SettingError(f"{path} cannot be used:\n- " + "\n- ".join(self.texts))


def read_toml(path: Path | str) -> dict[str, Any]:
    """Return the tables of a TOML file, or raise `SettingError` with the place of a mistake.

    Modules beside the file, where stages may be, can be imported from then on, after all others.
    """
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{path} is not TOML: {error}") from None
    except UnicodeDecodeError as error:
        raise SettingError(f"{path} must be UTF-8: {error}") from None
    except RecursionError:
        raise SettingError(f"{path} is nested too deeply") from None


def load_runtime(path: Path | str) -> Runtime:
    """Return the runtime that a TOML file describes, or raise with everything that is wrong."""
    problems = Problems()
    settings, worker_settings = _file_settings(path, problems)
    problems.raise_for(path)
    if worker_settings:
        settings["store"] = Worker(settings["store"], **worker_settings)
    return Runtime(**settings)


def check_config(path: Path | str) -> list[str]:
    """Return everything that is wrong with a TOML file; nothing is opened or called."""
    problems = Problems()
    settings, _ = _file_settings(path, problems)
    if not problems.texts:
        # The runtime checks the rest; it needs no store for that.
        problems.attempt("the file", lambda: Runtime(**{**settings, "store": "memory://"}))
    return problems.texts


def _file_settings(path: Path | str, problems: Problems) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `Runtime` for the cascade of a file, and those of its `Worker`."""
    table = read_toml(path)
    worker_settings: dict[str, Any] = {}
    for key in WORKER_KEYS & table.keys():
        value = table.pop(key)
        if not isinstance(value, str) or not value:
            problems.add(f"the file: {key} must be text, got {value!r}")
        elif key == "durability" and value not in get_args(Durability):
            rule = " or ".join(get_args(Durability))
            problems.add(f"the file: durability must be {rule}, got {value!r}")
        worker_settings["directory" if key == "journals" else key] = value
    if worker_settings and "store" not in table:
        problems.add("the file: journals and durability need a store")
    return cascade_settings(table, "the file", problems), worker_settings


def cascade_settings(table: Mapping[str, Any], place: str, problems: Problems) -> dict[str, Any]:
    """Return the arguments of `Runtime` for a cascade described in TOML."""
    problems.keys(place, table, CASCADE_KEYS)
    settings: dict[str, Any] = {}
    name = table.get("name")
    if not isinstance(name, str) or not name:
        problems.add(f"{place} must have a name for the cascade, got {name!r}")
    settings["name"] = name
    for key, kinds in PLAIN.items():
        if key in table:
            if isinstance(table[key], bool) or not isinstance(table[key], kinds):
                types = " or ".join(kind.__name__ for kind in kinds)
                problems.add(f"{place}: {key} must be {types}, got {table[key]!r}")
            settings[key] = table[key]
    if isinstance(table.get("store"), str):
        settings["store"] = problems.attempt(f"{place}: store", lambda: store_url(table["store"]))
    if "normalise" in table:
        settings["normalise"] = _normaliser(table["normalise"], place, problems)
    for key, kind in (("monitor", MonitorSettings), ("labels", LabelSettings)):
        if key in table and not isinstance(table[key], dict):
            problems.add(f"{place}: {key} must be a table, got {table[key]!r}")
        elif key in table:
            names = {field.name for field in fields(kind)} - {"buy_label"}
            problems.keys(f"[{key}]", table[key], names)
            arguments = {k: v for k, v in table[key].items() if k in names}
            settings[key] = problems.attempt(f"[{key}]", partial(kind, **arguments))
    stages = table.get("stages")
    if not isinstance(stages, list) or not stages:
        problems.add(f"{place} must have one [[stages]] or more")
        stages = []
    settings["stages"] = [_stage(s, f"stage {k}", problems) for k, s in enumerate(stages, start=1)]
    return settings


def secret(text: str) -> str:
    """Return the secret that ``env:NAME`` or ``file:PATH`` refers to; refuse anything else."""
    kind, _, place = text.partition(":")
    if kind == "env" and place:
        if place not in os.environ:
            raise SettingError(f"the environment has no variable {place}")
        return os.environ[place]
    if kind == "file" and place:
        return Path(place).read_text(encoding="utf-8").strip()
    raise SettingError("a secret must be given as env:NAME or file:PATH, not in the text")


def store_url(url: str) -> str:
    """Return the URL of a store; one with a password must be in the environment or a file."""
    if url.startswith(("env:", "file:")):
        url = secret(url)
    elif urlsplit(url).password:
        raise SettingError("a URL with a password must be given as env:NAME or file:PATH")
    if url.partition("://")[0] not in STORES:
        raise SettingError(f"it must begin with one of {', '.join(STORES)} and ://")
    return url


def _normaliser(table: Any, place: str, problems: Problems) -> Any:
    if not isinstance(table, dict) or len(table) != 1:
        kinds = ", ".join(NORMALISERS)
        problems.add(f"{place}: normalise must have one of {kinds}, got {table!r}")
        return None
    ((kind, argument),) = table.items()
    problems.keys("[normalise]", table, set(NORMALISERS))
    if kind not in NORMALISERS:
        return None
    return problems.attempt(f"[normalise] {kind}", lambda: NORMALISERS[kind](argument))


def _stage(table: Any, place: str, problems: Problems) -> Stage | None:
    if not isinstance(table, dict):
        problems.add(f"{place} must be a table, got {table!r}")
        return None
    problems.keys(place, table, STAGE_KEYS)
    if ("call" in table) == ("model" in table):
        problems.add(f"{place} must have either a call or a model")
        return None
    settings = {key: value for key, value in table.items() if key in STAGE_SETTINGS}
    if "call" in table:
        call = problems.attempt(place, lambda: _import(table["call"]))
    else:
        call = problems.attempt(place, lambda: _chat_model(table))
        if PRICE_KEYS & table.keys():
            if "cost" in table:
                problems.add(f"{place} must have either a cost or prices by token")
            prices = table.get("prompt_price", 0), table.get("completion_price", 0)
            settings["cost"] = problems.attempt(place, lambda: by_tokens(*prices))
    if call is None:
        return None
    stage: Stage | None = problems.attempt(place, lambda: Stage(call, **settings))
    return stage


def _import(name: Any) -> Any:
    module, _, attribute = str(name).partition(":")
    if not module or not attribute:
        raise SettingError(f"call must look like package.module:function, got {name!r}")
    try:
        target: Any = import_module(module)
        for part in attribute.split("."):
            target = getattr(target, part)
    except Exception as error:  # loading a module may raise anything
        raise SettingError(f"call {name!r} cannot be imported: {error_text(error)}") from None
    return target


def _chat_model(table: Mapping[str, Any]) -> Any:
    for key in ("model", "base_url", "prompt"):
        if not isinstance(table.get(key), str):
            raise SettingError(f"a chat model must have {key} as text, got {table.get(key)!r}")
    options = table.get("options", {})
    if not isinstance(options, dict):
        raise SettingError(f"options must be a table, got {options!r}")
    key = secret(str(table["api_key"])) if "api_key" in table else "none"
    openai = load_extra("openai", extra="chat", purpose="a chat model")
    client = openai.AsyncOpenAI(base_url=table["base_url"], api_key=key)
    return chat(client, table["model"], table["prompt"], **options)
