import sys

import pytest

from stopwise import cli


@pytest.fixture
def main(monkeypatch, capsys):
    """Run the real entry point; return exit code, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["stopwise", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        written = capsys.readouterr()
        return exit_.value.code or 0, written.out, written.err

    return run
