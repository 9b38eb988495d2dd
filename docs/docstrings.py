"""Docstrings of the package as Markdown."""

from __future__ import annotations

import inspect
import re

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def sections(thing: object) -> dict[str, str]:
    """Return the parts of a docstring: "" before the first heading, then one for each heading."""
    text = inspect.cleandoc(getattr(thing, "__doc__", None) or "")
    parts = SECTION.split(text)
    text_by_heading = {"": parts[0].strip("\n")}
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        text, rest = _split_parameters(body) if heading == "Parameters" else (body, "")
        text_by_heading[heading] = text.strip("\n")
        text_by_heading[""] += "\n\n" + rest.strip("\n") if rest.strip() else ""
    return text_by_heading


def _split_parameters(body: str) -> tuple[str, str]:
    """Split the list of parameters from the text after it, which has nothing below its line."""
    lines = body.strip("\n").splitlines()
    for number, line in enumerate(lines):
        next_line = lines[number + 1] if number + 1 < len(lines) else ""
        is_text = line and not line.startswith(" ") and not next_line.startswith("    ")
        if is_text or line.startswith(">>>"):
            return "\n".join(lines[:number]), "\n".join(lines[number:])
    return body, ""


def meanings(thing: object) -> dict[str, str]:
    """Return what the docstring of a class or function says about each parameter, as Markdown.

    Parameters that are listed together share a text.
    """
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in sections(thing).get("Parameters", "").splitlines():
        if line and not line.startswith(" "):
            names = [name.strip(" *") for name in line.split(":")[0].split(",")]
            texts.update(dict.fromkeys(names, ""))
        elif line.strip():
            texts.update({name: f"{texts[name]} {line.strip()}".strip() for name in names})
    return {name: inline(text) for name, text in texts.items()}


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
    others = sections(thing)
    text, *examples = re.split(r"^(?=>>> )", others.pop(""), maxsplit=1, flags=re.MULTILINE)
    others.pop("Parameters", None)
    rows = [(f"`{name}`", meaning) for name, meaning in meanings(thing).items()]
    parts = [paragraphs(text), table(("parameter", "meaning"), rows)]
    parts += [f"*{heading}*\n\n{paragraphs(body)}" for heading, body in others.items()]
    parts += [paragraphs(example) for example in examples]
    return "\n\n".join(part for part in parts if part) + "\n"


def signature(name: str, thing: object) -> str:
    """Return how a thing is called, one argument a line where that is long; "" if it is not."""
    try:
        call = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    arguments = []
    for parameter in call.parameters.values():
        is_first = not any(argument.startswith("*") for argument in arguments)
        if parameter.kind is parameter.KEYWORD_ONLY and is_first:
            arguments.append("*")
        arguments.append(_argument(parameter))
    kind = _annotation(call.return_annotation)
    returns = "" if kind in ("", "None") else f" -> {kind}"
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= 80:
        return line
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + f"){returns}"


def _argument(parameter: inspect.Parameter) -> str:
    """Return a parameter with its type and default."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind, default = _annotation(parameter.annotation), parameter.default
    text = f"{stars}{parameter.name}" + (f": {kind}" if kind else "")
    if default is parameter.empty:
        return text
    value = getattr(default, "__name__", repr(default))
    value = "..." if value.startswith("<") else value
    return f"{text} = {value}" if kind else f"{text}={value}"


def _annotation(annotation: object) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text.replace("'", "").replace('"', "") if "Literal" not in text else text
