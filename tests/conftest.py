import os
import sys

import pytest
from hypothesis import settings

from stopwise import cli

os.environ["MPLBACKEND"] = "Agg"

# "ci" draws the same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(config, items):
    """Keep what is slow to set up in one process of ``--dist loadgroup``.

    The tests of a file stay together, and so do all that compile most of the kernels.
    """
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        compiles = "quick" in getattr(item, "fixturenames", ()) or "simulation" in item.path.parts
        item.add_marker(pytest.mark.xdist_group("kernels" if compiles else item.path.stem))


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
