from dataclasses import replace

import pytest

from paper import EXPERIMENTS, QUICK
from paper.runner import run_into, writable_directory


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    """Every experiment at quick scale: the directory and what is finished, by name."""
    directory = writable_directory(tmp_path_factory.mktemp("quick"))
    done = run_into(directory, list(EXPERIMENTS), replace(QUICK, n_jobs=1))
    return directory, {finished.name: finished for finished in done}
