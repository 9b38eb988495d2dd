import gc
import os
import sys

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from stopwise import cli

os.environ["MPLBACKEND"] = "Agg"

# "ci" draws the same examples in every run; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("explore", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection():
    """Look for no garbage while thousands of tests are found, nor among them ever after."""
    gc.disable()


def pytest_collection_finish():
    gc.enable()
    gc.freeze()


def pytest_ignore_collect(collection_path, config):
    """Leave files alone that have slow tests only, unless these are asked for."""
    is_slow = collection_path.name.endswith("_slow.py")
    return True if is_slow and config.option.markexpr == "not slow" else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Look for examples in the package alone: tests have none, and looking takes seconds."""
    nodes = yield
    return [node for node in nodes if not isinstance(node, DoctestModule)]


# Folders that share something slow: the paper's experiments, and compiled kernels.
TOGETHER = ("tests/paper/", "tests/simulation/")
# The command compiles most kernels, while others do without; then what takes longest.
FIRST = ("tests/cli/test_cli.py", "tests/auditing/", "tests/beliefs/", *reversed(TOGETHER), "")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Begin with what would leave other processes idle if it came last."""
    items.sort(key=lambda item: [item.nodeid.startswith(place) for place in FIRST].index(True))


def pytest_xdist_make_scheduler(config, log):
    """Keep the tests of a file in one process, and those that share what is slow."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::")[0]
            return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.fixture
def url(tmp_path):
    """The URL of a store in a file."""
    return f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def main(monkeypatch, capsys):
    """Run the real entry point; return exit code, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["stopwise", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        streams = capsys.readouterr()
        return exit_.value.code or 0, streams.out, streams.err

    return run
