"""``stopwise run`` answers a file of cases, and resumes after an interruption."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from stopwise.checks import stored_text
from stopwise.errors import InputError, StageError
from stopwise.files import check_target, write_text
from stopwise.runtime.concurrency import run_many
from stopwise.runtime.config import load_runtime
from stopwise.runtime.result import Result
from stopwise.runtime.runtime import Runtime


def run(
    config: Annotated[Path, typer.Argument(help="The cascade, described in TOML.")],
    input_: Annotated[
        Path, typer.Option("--input", help="The cases to answer: one JSON object or text per line.")
    ],
    output: Annotated[
        Path, typer.Option("--output", help="The file for the answers: one JSON object per line.")
    ],
    key: Annotated[
        str, typer.Option(help="The field with the key of a case (default: the line number).")
    ] = "key",
    field: Annotated[
        str, typer.Option(help="The field with the case itself (default: the whole line).")
    ] = "",
    concurrency: Annotated[int, typer.Option(help="How many cases to run at the same time.")] = 100,
) -> None:
    """Answer a file of cases with a cascade described in TOML; resumable by key.

    Answers that the output file holds already are kept; the same command goes on after an
    interruption. A case without an answer is written with its error and tried again next time.

    stopwise run triage.toml --input cases.jsonl --output answers.jsonl
    """
    check_target(output, "--output")
    cases = dict(_cases(input_, key, field))
    answered_keys = _answered_keys(output)
    open_cases = {name: case for name, case in cases.items() if name not in answered_keys}
    if answered_keys:
        typer.echo(f"{len(cases) - len(open_cases)} of {len(cases)} cases have answers", err=True)
    runtime = load_runtime(config)
    n_failed = asyncio.run(_run_all(runtime, open_cases, output, concurrency))
    typer.echo(
        f"answered {len(open_cases) - n_failed} cases, {n_failed} without an answer: {output}"
    )
    if n_failed:
        raise typer.Exit(1)


async def _run_all(
    runtime: Runtime, open_cases: dict[str, Any], output: Path, concurrency: int
) -> int:
    """Answer all cases and write each answer as soon as it is there; return how many failed."""
    async with runtime:
        with output.open("a", encoding="utf-8", buffering=1) as file:

            async def answer(case: Any, *, key: str) -> Result:
                try:
                    result = await runtime.run(case, key=key)
                except StageError as error:
                    _write(file, key, error)
                    raise
                _write(file, key, result)
                return result

            results = await run_many(
                answer,
                open_cases.values(),
                keys=open_cases.keys(),
                concurrency=concurrency,
                progress=True,
            )
    return sum(isinstance(result, StageError) for result in results)


def _cases(path: Path, key: str, field: str) -> Iterator[tuple[str, Any]]:
    """Return the cases of a file by name, or raise with the line that is wrong."""
    names: set[str] = set()
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                case = json.loads(line)
            except ValueError as error:
                case = line.rstrip("\n")
                if case.lstrip().startswith(("{", "[", '"')):
                    raise InputError(
                        f"{path} must have JSON or text in each line, line {number} is neither: "
                        f"{error}"
                    ) from None
            has_key = isinstance(case, dict) and key in case
            if not has_key and key != "key":
                raise InputError(f"the case in line {number} has no field {key!r}")
            name = str(case[key] if has_key else number)
            stored_text(f"the key in line {number}", name, InputError)
            if name in names:
                raise InputError(f"cases must have different keys, got {name!r} again in {number}")
            names.add(name)
            if field:
                if not isinstance(case, dict) or field not in case:
                    raise InputError(f"case {name!r} in line {number} has no field {field!r}")
                case = case[field]
            yield name, case


def _answered_keys(path: Path) -> set[str]:
    """Return the keys that have an answer; remove cases with an error, to try them again.

    A last line that an interruption cut short is removed too. Anything else was not written by this
    command; then the file is left alone.
    """
    if not path.is_file():
        return set()
    lines = path.read_text(encoding="utf-8").split("\n")  # a text may have other line separators
    if not lines[-1]:
        lines.pop()
    records = [_record_in(line) for line in lines]
    rule = "--output must hold answers or not exist"
    if None in records[:-1]:
        raise InputError(f"{rule}, {path} has line {records.index(None) + 1}")
    if records == [None]:
        raise InputError(f"{rule}, {path} holds something else")
    answers = [
        (line, str(record["key"]))
        for line, record in zip(lines, records, strict=True)
        if record is not None and "error" not in record
    ]
    if len(answers) < len(lines):
        write_text(path, "".join(f"{line}\n" for line, _ in answers))
    return {key for _, key in answers}


def _record_in(line: str) -> dict[str, Any] | None:
    """Return what this command wrote into a line, ``None`` if it did not."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    is_record = isinstance(record, dict) and "key" in record
    return record if is_record and ("answer" in record) != ("error" in record) else None


def _write(file: TextIO, name: str, result: Result | StageError) -> None:
    if isinstance(result, StageError):
        record: dict[str, Any] = {"key": name, "error": str(result)}
    else:
        record = {
            "key": name,
            "answer": result.answer,
            "stage": result.stage,
            "cost": result.cost,
            "outputs": result.outputs,
            "belief": result.belief,
            "is_fallback": result.is_fallback,
        }
    line = json.dumps(record, ensure_ascii=False, default=str)
    if any("\ud800" <= letter <= "\udfff" for letter in line):  # UTF-8 has no half of a pair
        line = json.dumps(record, default=str)
    file.write(f"{line}\n")
