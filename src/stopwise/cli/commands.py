"""The commands by name, and how a user's mistakes are reported."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from stopwise import __version__
from stopwise.cli.printing import say
from stopwise.errors import StopwiseError

COMMANDS = {
    "audit": "Say where to stop from a log of outputs without labels, how sure that is, and why.",
    "run": "Answer a file of cases with a cascade described in TOML; resumable by key.",
    "check": "Say what is wrong with the description of a cascade in TOML.",
    "serve": "Serve cascades over HTTP, with a dashboard.",
    "simulate": "Play policies where the truth is known; print regret and where they stopped.",
    "store": "Look at a store, mend it, shrink it, or move it.",
}
"""Every command with its line of help; the command itself is ``stopwise.cli.<name>.<name>``."""


class LazyGroup(TyperGroup):
    """A group that imports a command when it is called, not when it is listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return what the help needs of a command."""
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, short_help=COMMANDS[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is called."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load(name), rest


def load(name: str) -> Any:
    """Return a command with its options."""
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name)(getattr(import_module(f"stopwise.cli.{name}"), name))
    return get_command(single)


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # loading Rich takes longer than all else that the list needs
)


def run() -> None:
    """Run the command line; what the user got wrong is one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in {"strict", "surrogateescape"}:
            stream.reconfigure(errors="replace")  # a letter that cannot be shown is no error
    try:
        app(prog_name="stopwise")
    except (StopwiseError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.strerror:  # raised by the system, with a number
            text = ": ".join(str(part) for part in (error.filename, error.strerror) if part)
        say(f"stopwise: {text}", error=True)
        raise SystemExit(2) from None


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"stopwise {__version__}")
        raise typer.Exit


_VersionFlag = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
]


@app.callback()
def _root(version: _VersionFlag = False) -> None:
    """How far to go in a sequence of tests when nobody ever tells the right answer."""
