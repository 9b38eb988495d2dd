"""The reference of the site: public names, commands, the HTTP API; written from the code."""

from __future__ import annotations

import inspect
import json
import os
import re
import typing
from importlib import import_module
from typing import Any

from docstrings import documented, inline, paragraphs, sections, signature, table

MODULES = (
    "stopwise",
    "stopwise.runtime",
    "stopwise.auditing",
    "stopwise.beliefs",
    "stopwise.monitor",
    "stopwise.store",
    "stopwise.integrations.scikit_learn",
    "stopwise.integrations.litellm",
)
COMMANDS = ("audit", "run", "check", "serve", "simulate", "store")


def public_names() -> str:
    """Return a page with every public name, each once: its signature and its docstring."""
    parts = ["# Public names\n"]
    things: list[object] = []
    # LiteLLM asks a server for prices when it is imported, unless it is told not to.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    for name in MODULES:
        module = import_module(name)
        parts.append(f"## `{name}`\n\n{paragraphs(sections(module)[''])}\n")
        for public in sorted(_public(module), key=str.lower):
            thing = getattr(module, public)
            if not any(thing is other for other in things):
                things.append(thing)
                parts.append(described(public, thing))
    return "\n".join(parts)


def _public(module: Any) -> list[str]:
    """Return the public names of a module; without a list of them, its own classes."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    members = vars(module).items()
    own_names = [n for n, v in members if getattr(v, "__module__", "") == module.__name__]
    return [name for name in own_names if name[0].isupper()]


def described(name: str, thing: object) -> str:
    """Return a heading, how it is called, the docstring, and for a class its methods."""
    if not callable(thing):
        return f"### `{name}`\n\n`{thing!r}`\n"
    call = signature(name, thing)
    parts = [f"### `{name}`\n"]
    if call:
        parts.append(f"```python\n{call}\n```\n")
    parts.append(documented(thing))
    if inspect.isclass(thing):
        methods, properties = _members(thing)
        parts.append(table(("method", "what it does"), methods))
        parts.append(table(("property", "what it is"), properties))
    return "\n".join(part for part in parts if part)


def _members(kind: type) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the documented public methods and properties of a class and of its bases here."""
    methods, properties = {}, {}
    for base in reversed(kind.__mro__):
        if not base.__module__.startswith("stopwise"):
            continue
        for name, member in vars(base).items():
            value: Any = getattr(member, "__func__", None) or getattr(member, "func", member)
            if name.startswith("_") or not getattr(value, "__doc__", None):
                continue
            text = inline(re.split(r"\n\s*\n", inspect.cleandoc(value.__doc__))[0])
            if inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod)):
                names = [n for n in inspect.signature(value).parameters if n not in ("self", "cls")]
                methods[name] = (f"`{name}({', '.join(names)})`", text)
            elif isinstance(member, property) or hasattr(member, "func"):
                properties[name] = (f"`{name}`", text)
    return [methods[n] for n in sorted(methods)], [properties[n] for n in sorted(properties)]


def commands() -> str:
    """Return a page with every command: how it is called, its arguments and options."""
    modules = {name: import_module(f"stopwise.cli.{name}") for name in COMMANDS}
    parts = [_command(name, getattr(module, name)) for name, module in modules.items()]
    return "\n".join(["# Command line\n", "Every command has `--help`.\n", *parts])


def _command(name: str, command: Any) -> str:
    """Return the docstring of a command and its options, group by group."""
    parts = [f"## `stopwise {name}`\n"]
    text = inspect.cleandoc(command.__doc__ or "").replace("\b\n", "").replace("\f", "")
    for block in re.split(r"\n\s*\n", text):
        is_example = block.strip().startswith("stopwise ")
        parts.append(f"```sh\n{inspect.cleandoc(block)}\n```\n" if is_example else f"{block}\n")
    groups: dict[str, list[tuple[str, ...]]] = {}
    defaults = inspect.signature(command).parameters
    for key, hint in typing.get_type_hints(command, include_extras=True).items():
        if key == "return":
            continue
        kind, info = typing.get_args(hint)
        is_argument = type(info).__name__ == "ArgumentInfo"
        group = info.rich_help_panel or ("Arguments" if is_argument else "Options")
        flags = [n for n in (info.default, *(info.param_decls or ())) if str(n).startswith("-")]
        default_name = info.metavar or key.upper() if is_argument else f"--{key.replace('_', '-')}"
        names = ", ".join(f"`{n}`" for n in flags or [default_name])
        groups.setdefault(group, []).append(
            (names, _option_kind(kind, defaults[key].default), inline(info.help or ""))
        )
    for group, rows in groups.items():
        parts.append(f"**{group}**\n\n{table(('', 'type', 'meaning'), rows)}")
    return "\n".join(parts)


def _option_kind(kind: Any, default: Any) -> str:
    """Return the type of an option, and its default where it has one to show."""
    words = {"Path": "path", "str": "text", "int": "whole number", "float": "number"}
    match = re.search(r"\b(Path|str|int|float)\b", str(kind))
    name = "flag" if kind is bool else words[match[0]] if match else "one of a few words"
    if "list[" in str(kind):
        name += ", may be repeated"
    if default is inspect.Parameter.empty:
        return f"{name}, required"
    if kind is bool or default is None or default in ((), [], ""):
        return name
    return f"{name}, default {getattr(default, 'value', default)}"


def http_api() -> str:
    """Return a page with every path of the HTTP API, from its OpenAPI description."""
    from stopwise.serve.app import ROUTES
    from stopwise.serve.openapi import openapi

    document = openapi(ROUTES)
    rows = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            rows.append((method.upper(), f"`{path}`", operation["summary"]))
    parts = [
        "# HTTP API\n",
        "A running server describes itself at `/openapi.json`. Try it: [curl](../service.md).\n",
        table(("method", "path", "what it does"), rows),
        "## Bodies\n",
    ]
    for name, schema in document["components"]["schemas"].items():
        parts.append(f"### `{name}`\n\n{schema_table(schema)}")
    return "\n".join(parts)


def schema_table(schema: dict[str, Any]) -> str:
    """Return the keys of a JSON schema of an object as a table."""
    if "properties" not in schema:
        return f"```json\n{json.dumps(schema, indent=2)}\n```\n"
    required = schema.get("required", [])
    rows = []
    for key, part in schema["properties"].items():
        value = part.get("default")
        default = (
            "required" if key in required else "" if value is None else f"`{json.dumps(value)}`"
        )
        text = part.get("description", "")
        if text and rows and text == rows[-1][-1]:
            text = f"See {rows[-1][0]}."
        rows.append((f"`{key}`", schema_kind(part), default, text))
    heads = ("key", "type", "default", "meaning")
    for column in (3, 2):
        if not any(row[column] for row in rows):
            rows = [row[:column] + row[column + 1 :] for row in rows]
            heads = heads[:column] + heads[column + 1 :]
    text = schema.get("description", "")
    return (f"{inline(text)}\n\n" if text else "") + table(heads, rows)


def schema_kind(schema: dict[str, Any]) -> str:
    """Return the type that a JSON schema describes, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(schema_kind(part) for part in schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{json.dumps(v)}`" for v in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if schema.get("type") == "array" and "items" in schema:
        return f"list of {schema_kind(schema['items'])}"
    kind = schema.get("type", "anything")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
