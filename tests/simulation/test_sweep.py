import json
import sys

import numpy as np
import pytest

import stopwise as sw
from stopwise.problem.families import nested_errors, relaxed_errors
from stopwise.simulation import workers
from tests.policies.helpers import FACTORIES
from tests.simulation.test_interruption import Broken, Impatient

CASCADE = sw.Cascade(costs=[0, 0.1, 0.1])
WORLDS = {"nested": nested_errors(CASCADE), "relaxed": relaxed_errors(CASCADE)}
LEARNERS = {
    "resolve": sw.Resolve,
    "etc": FACTORIES["ExploreThenCommit"],
    "thompson": FACTORIES["Thompson"],
}
SETTINGS = {"horizon": 300, "replications": 3, "seed": 5, "checkpoints": 4}


def assert_same(one, other):
    assert list(one.traces) == list(other.traces)
    for names, trace in one.traces.items():
        np.testing.assert_array_equal(trace.stops, other[names].stops)


@pytest.fixture(scope="module")
def result():
    return sw.sweep(WORLDS, LEARNERS, **SETTINGS)


class TestSweep:
    def test_every_cell_is_what_simulate_returns(self, result):
        assert list(result.traces) == [(w, p) for w in WORLDS for p in LEARNERS]
        for (world, learner), trace in result.traces.items():
            alone = sw.simulate(WORLDS[world], LEARNERS[learner], **SETTINGS)
            np.testing.assert_array_equal(trace.stops, alone.stops)
            assert trace.policy == learner

    def test_errors_on_request(self):
        counted = sw.sweep(WORLDS, {"resolve": sw.Resolve}, count_errors=True, **SETTINGS)
        assert counted["nested", "resolve"].errors.shape == (3, 4)

    @pytest.mark.parametrize("bad", [{}, [], None, sw.Resolve])
    def test_names_are_needed(self, bad):
        with pytest.raises(sw.errors.SettingError, match="environments must be a mapping"):
            sw.sweep(bad, LEARNERS, **SETTINGS)
        with pytest.raises(sw.errors.SettingError, match="policies must be a mapping"):
            sw.sweep(WORLDS, bad, **SETTINGS)

    def test_names_are_strings(self):
        with pytest.raises(sw.errors.SettingError, match="policies must have strings as names"):
            sw.sweep(WORLDS, {1: sw.Resolve}, horizon=10)

    def test_everything_is_checked_before_anything_runs(self, monkeypatch):
        monkeypatch.setattr(workers, "_stream", None)
        with pytest.raises(sw.errors.SettingError, match="policy must be a policy"):
            sw.sweep(WORLDS, {**LEARNERS, "typo": 3}, **SETTINGS)

    def test_ctrl_c_keeps_the_cells_that_have_something(self, monkeypatch):
        monkeypatch.setattr(Impatient, "started", 0)
        monkeypatch.setattr(Impatient, "at", 5)
        partial = sw.sweep(WORLDS, {"impatient": Impatient}, **SETTINGS)
        done = {names: trace.n_replications for names, trace in partial.traces.items()}
        assert done == {("nested", "impatient"): 3, ("relaxed", "impatient"): 1}
        monkeypatch.setattr(Impatient, "started", 2)
        partial = sw.sweep(WORLDS, {"impatient": Impatient}, **SETTINGS)
        assert list(partial.traces) == [("nested", "impatient")]
        assert "relaxed" not in partial.table()
        monkeypatch.setattr(Impatient, "started", 4)
        with pytest.raises(KeyboardInterrupt):
            sw.sweep(WORLDS, {"impatient": Impatient}, **SETTINGS)

    def test_a_policy_that_fails_is_named_and_the_others_are_kept(self):
        learners = {"broken": Broken, "resolve": sw.Resolve}
        partly = sw.sweep(WORLDS, learners, **SETTINGS)
        assert list(partly.traces) == [(world, "resolve") for world in WORLDS]
        assert list(partly.failures) == [(world, "broken") for world in WORLDS]
        assert "broken failed: ZeroDivisionError('by design')" in partly.table()
        with pytest.raises(ZeroDivisionError) as caught:
            sw.sweep(WORLDS, {"broken": Broken}, **SETTINGS)
        assert "policy 'broken' in environment 'nested'" in caught.value.__notes__


class TestReport:
    def test_table(self, result):
        lines = result.table().splitlines()
        assert lines[0] == "nested: best stage 2 of 3, weak dominance holds (ratio 2.00)"
        assert lines[1].split("  ")[0] == "policy"
        assert [line.split()[0] for line in lines[2:5]] == list(LEARNERS)
        assert lines[5] == ""

    def test_table_of_one_replication_and_of_many_stages(self):
        cascade = sw.Cascade(costs=[0, *[0.01] * 9])
        world = nested_errors(cascade, [0.3] * 10)
        last = {"last": lambda c: sw.FixedStage(c, stage=9)}
        table = sw.sweep({"long": world}, last, horizon=100, replications=1).table()
        assert table.splitlines()[2].split() == ["last", "9.000", "±", "?", "10", "(100.0%)"]

    def test_summary_is_plain_data(self, result):
        nested, relaxed = json.loads(json.dumps(result.summary(), allow_nan=False))
        assert nested["environment"] == "nested"
        assert nested["best_stage"] == 1
        assert nested["is_weakly_dominant"] is True
        assert [p["policy"] for p in relaxed["policies"]] == list(LEARNERS)
        first, trace = nested["policies"][0], result["nested", "resolve"]
        assert first["mean_regret"] == pytest.approx(trace.mean_regret()[-1])
        assert first["half_width"] == pytest.approx(trace.half_width()[-1])
        assert first["stop_shares"] == pytest.approx(trace.stop_shares().tolist())

    def test_summary_has_null_for_what_is_not_finite(self):
        last = nested_errors(sw.Cascade([0, 0.1]), [0.4, 0.1])
        (truth,) = sw.sweep(
            {"last": last}, {"resolve": sw.Resolve}, horizon=5, replications=1
        ).summary()
        assert truth["dominance_ratio"] is None
        assert truth["policies"][0]["half_width"] is None


class TestWorkers:
    def test_short_work_starts_no_workers_and_long_work_does(self, result, monkeypatch):
        sizes = []
        monkeypatch.setattr(
            workers, "_workers", lambda *_, **__: (lambda parts: map(spy, parts), 2)
        )

        def spy(part):
            sizes.append(len(part.replications))
            return workers._play(part)

        assert_same(sw.sweep(WORLDS, LEARNERS, n_jobs=2, **SETTINGS), result)
        assert sizes == []
        monkeypatch.setattr(workers, "SECONDS_OF_PROCESSES", 0)
        assert_same(sw.sweep(WORLDS, LEARNERS, n_jobs=2, **SETTINGS), result)
        assert sum(sizes) == 18

    @pytest.mark.parametrize("backend", ["threading", "sequential", "multiprocessing"])
    def test_joblib_decides_by_default(self, result, backend):
        import joblib

        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert_same(sw.sweep(WORLDS, LEARNERS, **SETTINGS), result)

    def test_joblib_is_only_needed_for_many(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "joblib", None)
        one = {"policies": {"resolve": sw.Resolve}, "environments": WORLDS}
        assert len(sw.sweep(**one, **SETTINGS).traces) == 2
        with pytest.raises(sw.errors.MissingExtraError, match=r"pip install '\.\[sim\]'"):
            sw.sweep(**one, n_jobs=2, **SETTINGS)

    def test_a_dask_cluster_of_two_processes_gives_the_same_numbers(self, result):
        import joblib
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                silence_logs=50,
            ) as cluster,
            Client(cluster, timeout=30) as client,
        ):
            client.wait_for_workers(2, timeout=30)
            with joblib.parallel_config(backend="dask"):
                assert workers._workers(None, is_compiled=False)[1] == 2  # so none is played here
                spread = sw.sweep(WORLDS, LEARNERS, **SETTINGS)
        assert_same(spread, result)
