"""The command line: one file per command, loaded when it is called; parse, call, print."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    try:
        from stopwise.cli.commands import run

        run()
    except KeyboardInterrupt:  # while modules are being loaded; later the command handles it
        raise SystemExit(INTERRUPTED) from None
    except ImportError as error:  # the command is installed even where its extra is not
        if error.name not in {"typer", "rich", "click"}:
            raise
        message = "stopwise: the command line needs typer: pip install '.[cli]'"
        print(message, file=sys.stderr)
        raise SystemExit(2) from None
