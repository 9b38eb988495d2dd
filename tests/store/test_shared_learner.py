"""A hundred workers explore hardly more than one learner."""

import numpy as np
import pytest

import stopwise as sw
from stopwise.runtime.learning import Learning
from stopwise.store import SharedLearner, Worker, WorkerSettings, open_store
from tests.faults import unavailable
from tests.store.child_jobs import Notes, learn

CASCADE = sw.Cascade(costs=[0.0, 0.1, 0.2])
ERROR_RATES = np.array([0.3, 0.12, 0.1])
GAPS = ERROR_RATES + CASCADE.cumulative_costs - min(ERROR_RATES + CASCADE.cumulative_costs)


def world(n, seed):
    """Cases whose right answers stay right from test to test."""
    rng = np.random.default_rng(seed)
    label, draw = rng.random(n) < 0.5, rng.random(n)
    rows = np.stack([label ^ (draw < rate) for rate in ERROR_RATES], axis=1)
    return [tuple(row) for row in rows.astype(int).tolist()]


def regret_of_one(cases):
    learner, total = sw.Resolve(CASCADE), 0.0
    for outputs in cases:
        stage = learner.ask()
        total += GAPS[stage]
        learner.tell(outputs[: stage + 1])
    return total


def regret_of_many(cases, n_workers, seed, *, seconds_a_case):
    """The same cases, each met by a random worker, on a simulated clock."""
    now = [1e6]
    store = open_store()
    workers = [Worker(store, clock=lambda: now[0], timer=lambda: now[0]) for _ in range(n_workers)]
    learners = [SharedLearner(worker.open("c"), lambda: sw.Resolve(CASCADE)) for worker in workers]
    total = 0.0
    who = np.random.default_rng(seed).integers(n_workers, size=len(cases))
    for outputs, k in zip(cases, who, strict=True):
        now[0] += seconds_a_case
        stage = learners[k].ask()
        total += GAPS[stage]
        learners[k].tell(outputs[: stage + 1])
    assert sum(learners[0].shared.totals().values()) <= len(cases)
    return total


@pytest.mark.parametrize(
    ("n_cases", "n_worlds", "seconds_a_case"),
    [
        (2000, 1, 1e-5),
        pytest.param(8000, 2, 1e-5, marks=pytest.mark.slow),
        pytest.param(8000, 2, 1e-3, marks=pytest.mark.slow),
    ],
)
def test_a_hundred_workers_have_less_than_twice_the_regret_of_one(
    n_cases, n_worlds, seconds_a_case
):
    worlds = [world(n_cases, seed) for seed in range(n_worlds)]
    one = sum(regret_of_one(cases) for cases in worlds)
    many = sum(
        regret_of_many(cases, 100, seed, seconds_a_case=seconds_a_case)
        for seed, cases in enumerate(worlds)
    )
    assert many <= 2 * one


def test_exploring_waits_for_knowledge_or_does_without(monkeypatch):
    now = [0.0]
    store = open_store()
    settings = WorkerSettings(fresh_seconds=0.01)
    with (
        Worker(store, timer=lambda: now[0], settings=settings) as first,
        Worker(store, timer=lambda: now[0], settings=settings) as second,
    ):
        make = lambda: sw.Resolve(CASCADE)  # noqa: E731
        a, b = (SharedLearner(worker.open("c"), make) for worker in (first, second))
        assert a.ask() == 2  # nothing is known: all is to be explored
        for _ in range(200):
            a.tell((0, 0, 0)[: a.ask() + 1])
        a.sync()
        now[0] += 0.5
        assert b.ask(wait=False) == b._learner.recommend()
        assert b.shared.is_due
        assert b.ask() == 0
        assert b.shared.totals() == a.shared.totals()

        monkeypatch.setattr(store, "changes", unavailable)
        now[0] += 0.5
        assert not b.sync()
        assert b.ask() == 0


def test_a_runtime_explores_at_low_traffic_too(monkeypatch):
    """One case a second: what was read for a case that wanted to explore serves the next one."""
    now = [0.0]
    with Worker(open_store(), timer=lambda: now[0]) as worker:
        learning = Learning(worker, "c", CASCADE, sw.Resolve, is_shared=True)
        monkeypatch.setattr(learning.policy, "ask", lambda: 2)
        monkeypatch.setattr(learning.policy, "recommend", lambda: 0)
        stages = []
        for _ in range(6):
            now[0] += 1.0
            stages.append(learning.stopping_rule().stage)
            if len(stages) != 4:
                learning.sync()
    assert stages == [0, 2, 2, 2, 0, 2], "nothing was read after the fourth case"


@pytest.mark.slow
def test_real_processes_have_less_than_twice_the_regret_of_one(url, tmp_path, children):
    """A hundred processes on one SQLite store, 200 cases each as fast as they come."""
    cases = world(20_000, 7)
    all_notes = [tmp_path / f"regret-{k}" for k in range(100)]
    pids = [
        children.start(
            learn,
            url=url,
            directory=tmp_path / "journals",
            notes=notes,
            cases=cases[200 * k : 200 * (k + 1)],
            costs=[0.0, 0.1, 0.2],
            gaps=GAPS.tolist(),
        )
        for k, notes in enumerate(all_notes)
    ]
    for pid in pids:
        children.wait(pid, seconds=120)
    many = sum(Notes(notes).count for notes in all_notes) / 1e6
    with open_store(url) as store:
        assert sum(sum(row.counts.values()) for row in store.rows("c")) == 20_000
    one = np.mean([regret_of_one(world(20_000, seed)) for seed in range(5)])
    assert many <= 2 * one
