"""``stopwise check`` says what is wrong with a configuration before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stopwise.runtime.config import check_config


def check(config: Annotated[Path, typer.Argument(help="The cascade, described in TOML.")]) -> None:
    """Say what is wrong with the description of a cascade in TOML.

    Functions are imported and secrets looked up, but nothing is called and no store is opened.

    stopwise check triage.toml
    """
    problems = check_config(config)
    for problem in problems:
        typer.echo(f"- {problem}", err=True)
    if problems:
        raise typer.Exit(2)
    typer.echo(f"{config} is fine")
