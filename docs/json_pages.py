"""The JSON that users meet, described from the code that writes it."""

from __future__ import annotations

import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Hashable
from enum import Enum
from typing import Any

from docstrings import inline, meanings, sections, table
from reference_pages import schema_table

import stopwise as sw
from stopwise.auditing.advice import Advice
from stopwise.auditing.facts import Facts


def audit_schema() -> dict[str, Any]:
    """Return the JSON schema of `AuditReport.to_json`, from the types of its facts and advice."""
    definitions: dict[str, Any] = {}
    facts = _object(Facts, definitions, without=("table",))
    number_lists = {
        "type": "array",
        "items": {"type": "array", "items": {"type": ["number", "null"]}},
    }
    top = {
        "version": {"type": "integer", "description": "The version of this format."},
        "source": {"type": ["string", "null"], "description": "The name of the log."},
        "cascade": {"$ref": "#/$defs/Cascade"},
        "advice": _schema(Advice, definitions),
        **facts["properties"],
        "log": {"$ref": "#/$defs/Log", "description": "The table that all else was computed from."},
        **{
            name: {**_schema(kind, definitions), "description": _description(Facts, name)}
            for name, kind in {
                "worst_regrets": list[float],
                "minimax_stage": int,
                "guarantee": float,
                "is_known": bool,
                "possible_stages": list[int],
            }.items()
        },
        "planned_cases": {"description": "The cases that a plan drew, where one was asked for."},
    }
    definitions["Cascade"] = _like(sw.Cascade([1.0]).to_state(), sw.Cascade)
    definitions["Log"] = {
        "type": "object",
        "properties": {
            "n_cases": {"type": "integer", "description": "How many cases the log has."},
            "n_blank": {
                "type": "integer",
                "description": "Cases without any output, which are left out.",
            },
            "n_patterns": {"type": "integer", "description": "How many different rows it has."},
            "classes": {"type": "array", "description": "The values that tests give."},
            "patterns": {"type": "array", "description": "The different rows; null for a gap."},
            "counts": {
                "type": "array",
                "items": {"type": "number"},
                "description": "How often each row comes.",
            },
            "disagreement": {
                **number_lists,
                "description": "How often two tests differ, of cases that have both.",
            },
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An audit",
        "type": "object",
        "properties": top,
        "required": list(top),
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def _description(kind: type, name: str) -> str:
    return inline(inspect.cleandoc(getattr(kind, name).__doc__ or ""))


def _object(
    kind: type, definitions: dict[str, Any], without: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the schema of a dataclass; those of its fields go into ``definitions``."""
    hints, texts = typing.get_type_hints(kind), meanings(kind)
    names = [f.name for f in dataclasses.fields(kind) if f.name not in without]
    properties = {}
    for name in names:
        properties[name] = {**_schema(hints[name], definitions)}
        if texts.get(name):
            properties[name]["description"] = texts[name]
    first = sections(kind)[""].split("\n\n")[0].replace("\n", " ")
    return {"type": "object", "description": first, "properties": properties, "required": names}


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type as `AuditReport.to_dict` writes it."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(part, definitions) for part in arguments]}
    if origin in (tuple, list):
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is not None:  # an array of NumPy, of one dimension or two
        return {"type": "array"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if kind.__name__ not in definitions:
            definitions[kind.__name__] = {}  # a type may hold itself
            definitions[kind.__name__] = _object(kind, definitions)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if kind is Hashable or kind is Any:
        return {}
    plain = {bool: "boolean", int: "integer", str: "string", type(None): "null"}
    if kind is float:
        return {"type": ["number", "null"]}
    return {"type": plain[kind]} if kind in plain else {}


def _like(sample: Any, kind: object = None) -> dict[str, Any]:
    """Return a schema that fits a sample; meanings from the parameters of a class."""
    texts = meanings(kind) if kind is not None else {}
    if isinstance(sample, dict):
        properties = {key: _like(value) for key, value in sample.items()}
        for key in set(properties) & set(texts):
            properties[key]["description"] = texts[key]
        return {"type": "object", "properties": properties, "required": list(sample)}
    if isinstance(sample, (list, tuple)):
        return {"type": "array", "items": _like(sample[-1]) if sample else {}}
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": names[type(sample)]} if type(sample) in names else {}


STATE = {
    "policy": "The name of the class.",
    "version": "The version of this format. Version 1 is read too.",
    "cascade": "The tests and their prices, as in an audit.",
    "settings": "The settings of the learner, by name.",
    "statistics": "What was told: counts, by the kind of table.",
    "start": "Of a worker made by `fork()`: the statistics it started with.",
}
ANSWER = {
    "key": ("text", "The name of the case, or the number of its line."),
    "answer": ("any", "What the cascade answered. A line has an answer or an error."),
    "error": ("text", "Why there is no answer. The case is tried again by the next run."),
    "stage": ("whole number", "Which stage the answer comes from."),
    "cost": ("number", "What the case cost, in the unit of the stages' costs."),
    "outputs": ("list", "What each stage said, null where it gave nothing."),
    "belief": ("number or null", "The chance that the answer is right, where one is believed."),
    "is_fallback": ("true or false", "Whether another stage answered than was wanted."),
}


def json_formats() -> str:
    """Return a page with the keys of all JSON that users meet."""
    schema = audit_schema()
    state = sw.Resolve(sw.Cascade(costs=[1, 8], mistake_cost=400)).to_state()
    tables = "\n".join(f"### `{name}`\n\n{keys(part)}" for name, part in schema["$defs"].items())
    return f"""# JSON formats

Stages count from 0. What is not a finite number is `null`.

## An audit

`stopwise audit … --json` prints it and `report.to_json()` returns it. Its [JSON
schema](audit.schema.json) is made from the same types. Costs and regrets are in mistakes per case.

{keys(schema)}
{tables}
## The state of a learner

`policy.to_state()` returns it and `sw.policy_from_state(state)` reads it. Unknown keys, impossible
counts and absurd sizes are refused. Some learners add keys of their own, such as the state of
their random generator.

{table(("key", "meaning"), [(f"`{k}`", v) for k, v in STATE.items()])}
```json
{json.dumps(state, indent=2)}
```

## The answers of `stopwise run`

One object a line.

{table(("key", "type", "meaning"), [(f"`{k}`", *v) for k, v in ANSWER.items()])}
## The HTTP API

Its bodies are on [a page of their own](http.md).
"""


def keys(schema: dict[str, Any]) -> str:
    """Return the keys of what is written: all of them are always there."""
    return schema_table({k: v for k, v in schema.items() if k != "required"})
