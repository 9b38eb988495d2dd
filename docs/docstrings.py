"""Docstrings of the package as Markdown."""

from __future__ import annotations

import inspect
import re

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def sections(thing: object) -> dict[str, str]:
    """Return the parts of a docstring: "" before the first heading, then one for each heading."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    parts = SECTION.split(text)
    found = {"": parts[0].strip("\n")}
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        listed, rest = _listed(body) if heading == "Parameters" else (body, "")
        found[heading] = listed.strip("\n")
        found[""] += "\n\n" + rest.strip("\n") if rest.strip() else ""
    return found


def _listed(body: str) -> tuple[str, str]:
    """Part the list of parameters from what follows it: an example has no entry below its line."""
    lines = body.strip("\n").splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line and not line.startswith(" ") and not following.startswith("    "):
            return "\n".join(lines[:number]), "\n".join(lines[number:])
        if line.startswith(">>>"):
            return "\n".join(lines[:number]), "\n".join(lines[number:])
    return body, ""


def meanings(thing: object) -> dict[str, str]:
    """Return what the docstring of a class or function says about each parameter, as Markdown.

    Parameters that are listed together share a text.
    """
    found: dict[str, str] = {}
    names: list[str] = []
    for line in sections(thing).get("Parameters", "").splitlines():
        if line and not line.startswith(" "):
            names = [name.strip(" *") for name in line.split(":")[0].split(",")]
            found.update(dict.fromkeys(names, ""))
        elif line.strip():
            found.update({name: f"{found[name]} {line.strip()}".strip() for name in names})
    return {name: inline(text) for name, text in found.items()}


def inline(text: str) -> str:
    """Return a sentence of a docstring as Markdown: code is marked by one backtick."""
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def paragraphs(text: str) -> str:
    """Return the body of a docstring as Markdown, with examples and formulas as blocks."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        if not block.strip():
            continue
        if block.startswith(">>>"):
            blocks.append(f"```pycon\n{block}\n```")
        elif all(line.startswith("    ") for line in block.splitlines()):
            blocks.append(f"```text\n{inspect.cleandoc(block)}\n```")
        else:
            blocks.append(re.sub(r"::$", ":", inline(block)))
    return re.sub(r"\n```\n\n```pycon\n", "\n", "\n\n".join(blocks))


def cell(text: str) -> str:
    """Return a text that may stand in a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table; nothing for no rows."""
    if not rows:
        return ""
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def documented(thing: object) -> str:
    """Return a whole docstring as Markdown: text, a table of the parameters, other sections."""
    found = sections(thing)
    text, *examples = re.split(r"^(?=>>> )", found.pop(""), maxsplit=1, flags=re.MULTILINE)
    found.pop("Parameters", None)
    rows = [(f"`{name}`", meaning) for name, meaning in meanings(thing).items()]
    parts = [paragraphs(text), table(("parameter", "meaning"), rows)]
    parts += [f"*{heading}*\n\n{paragraphs(body)}" for heading, body in found.items()]
    parts += [paragraphs(example) for example in examples]
    return "\n\n".join(part for part in parts if part) + "\n"


def signature(name: str, thing: object) -> str:
    """Return how a thing is called, one argument a line where that is long; "" if it is not."""
    try:
        found = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    arguments = []
    for parameter in found.parameters.values():
        is_first = not any(argument.startswith("*") for argument in arguments)
        if parameter.kind is parameter.KEYWORD_ONLY and is_first:
            arguments.append("*")
        arguments.append(_argument(parameter))
    returned = _annotation(found.return_annotation)
    returns = "" if returned in ("", "None") else f" -> {returned}"
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= 80:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){returns}"


def _argument(parameter: inspect.Parameter) -> str:
    """Return a parameter with its type and default."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind, default = _annotation(parameter.annotation), parameter.default
    shown = f"{stars}{parameter.name}" + (f": {kind}" if kind else "")
    if default is parameter.empty:
        return shown
    value = getattr(default, "__name__", repr(default))
    value = "..." if value.startswith("<") else value
    return f"{shown} = {value}" if kind else f"{shown}={value}"


def _annotation(annotation: object) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.replace("'", "").replace('"', "") if "Literal" not in text else text
