import contextlib
import io
import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import stopwise as sw
from stopwise.problem.families import relaxed_errors

CASCADE = sw.Cascade(costs=[0, 10, 10], mistake_cost=100, names=["a", "b", "c"])
WORLD = relaxed_errors(CASCADE)
SUFFIXES = [".npz", ".parquet"]


@pytest.fixture(scope="module")
def trace():
    return sw.simulate(
        WORLD, sw.Resolve, horizon=5_000, replications=6, seed=2, checkpoints=9, count_errors=True
    )


# A trace with each of the arrays that it need not have, and without any.
KINDS = {
    "errors": lambda trace: trace,
    "plain": lambda trace: replace(trace, errors=None, n_asked=9),
    "contexts": lambda trace: replace(trace, errors=None, given_regret=trace.regret - 0.1),
    "any order": lambda trace: replace(trace, given_regret=trace.regret, given_runs=trace.stops),
}


def assert_same(one, other):
    for name in ("rounds", "stops", "gaps", "errors", "given_regret", "given_runs"):
        assert (getattr(one, name) is None) == (getattr(other, name) is None)
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("cascade", "policy", "seed", "n_asked"):
        assert getattr(one, name) == getattr(other, name)


class TestValue:
    def test_arrays_are_read_only(self, trace):
        for array in (trace.rounds, trace.stops, trace.gaps, trace.errors):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0

    def test_repr(self, trace):
        assert repr(trace).startswith("Trace(Resolve, 6 replications of 5000 rounds, mean regret ")

    @pytest.mark.parametrize("level", [0.5, 0.95])
    def test_the_interval_is_students(self, trace, level):
        low, high = trace.interval(level)
        final = trace.regret[:, -1]
        expected = stats.t.interval(level, 5, final.mean(), stats.sem(final))
        np.testing.assert_allclose((low[-1], high[-1]), expected)
        np.testing.assert_allclose((low + high) / 2, trace.mean_regret(), atol=1e-9)

    @pytest.mark.parametrize("level", [0, 1, -0.1, 95])
    def test_a_level_is_a_probability(self, trace, level):
        with pytest.raises(sw.errors.InputError, match=r"level must lie in \(0, 1\)"):
            trace.interval(level)

    def test_one_replication_says_nothing_of_the_mean(self, trace):
        alone = replace(trace, stops=trace.stops[:1], errors=None)
        assert np.all(np.isinf(alone.half_width()))
        assert not np.any(np.isnan(alone.interval()))

    def test_shares_add_up(self, trace):
        np.testing.assert_allclose(trace.stop_shares().sum(), 1)
        np.testing.assert_allclose(trace.stop_shares(), trace.stops[:, -1].mean(axis=0) / 5000)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"rounds": np.arange(9)}, "rounds must be a vector that increases"),
            ({"stops": np.zeros((0, 9, 3), int)}, "stops must have shape"),
            ({"stops": np.zeros((2, 9, 2), int)}, r"stops must be counts of shape \(R, 9, 3\)"),
            ({"stops": np.zeros((6, 9, 3), int)}, "stops must add up to the rounds"),
            ({"gaps": np.zeros(2)}, "gaps must be finite, one per stage"),
            ({"gaps": np.array([0, np.nan, 1])}, "gaps must be finite, one per stage"),
            ({"errors": np.zeros((5, 9), int)}, "errors must be finite, of shape"),
            ({"given_regret": np.zeros(3)}, "given_regret must be finite, of shape"),
            ({"given_regret": np.full((6, 9), np.nan)}, "given_regret must be finite, of shape"),
            ({"given_runs": np.zeros((6, 9, 2), int)}, "given_runs must be finite, of shape"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, trace, change, message):
        with pytest.raises(sw.errors.InputError, match=message):
            replace(trace, **change)

    def test_a_frame_has_a_row_for_each_replication_and_checkpoint(self, trace):
        frame = trace.to_frame()
        assert len(frame) == 6 * 9
        assert list(frame.columns) == [
            *("policy", "replication", "round", "regret"),
            *("stopped_1", "stopped_2", "stopped_3", "errors"),
        ]
        last = frame[frame["round"] == 5_000]
        np.testing.assert_allclose(last["regret"], trace.regret[:, -1])
        assert last["stopped_2"].tolist() == trace.stops[:, -1, 1].tolist()

    @pytest.mark.parametrize(
        ("module", "method", "extra"),
        [("pandas", "to_frame", "frames"), ("matplotlib.pyplot", "plot", "plot")],
    )
    def test_a_missing_package_is_named_with_its_extra(
        self, trace, monkeypatch, module, method, extra
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(sw.errors.MissingExtraError, match=rf"pip install '\.\[{extra}\]"):
            getattr(trace, method)()


class TestFiles:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    @pytest.mark.parametrize("kind", KINDS)
    def test_round_trip(self, trace, tmp_path, suffix, kind):
        saved = KINDS[kind](trace)
        saved.save(tmp_path / f"t{suffix}")
        assert_same(sw.Trace.load(str(tmp_path / f"t{suffix}")), saved)
        assert [path.name for path in tmp_path.iterdir()] == [f"t{suffix}"]

    def test_parquet_is_the_table(self, trace, tmp_path):
        import pandas as pd

        trace.save(tmp_path / "t.parquet")
        table = pd.read_parquet(tmp_path / "t.parquet")
        pd.testing.assert_frame_equal(table, trace.to_frame().drop(columns="policy"))

    @pytest.mark.parametrize("name", ["t", "t.csv", "t.npz.txt"])
    def test_another_suffix_is_refused(self, trace, tmp_path, name):
        for action in (trace.save, sw.Trace.load):
            with pytest.raises(sw.errors.InputError, match=r"path must end in \.npz or \.parquet"):
                action(tmp_path / name)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_damaged_files_are_refused(self, trace, tmp_path, suffix):
        path = tmp_path / f"t{suffix}"
        with pytest.raises(FileNotFoundError):
            sw.Trace.load(path)
        trace.save(path)
        whole = path.read_bytes()
        for damaged in (b"", b"hello", whole[: len(whole) // 2], whole[: -len(whole) // 3]):
            path.write_bytes(damaged)
            with pytest.raises(sw.errors.StateError, match="cannot be read from"):
                sw.Trace.load(path)

    def test_flipped_bytes_never_give_another_error(self, trace, tmp_path):
        path = tmp_path / "t.npz"
        trace.save(path)
        whole = path.read_bytes()
        for place in range(0, len(whole), 37):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            with contextlib.suppress(sw.errors.StateError):
                assert_same(sw.Trace.load(path), trace)  # a byte that does not matter

    def test_foreign_files_are_refused(self, tmp_path):
        import pandas as pd

        path = tmp_path / "t.npz"
        np.savez(path, a=np.arange(3))
        with pytest.raises(sw.errors.StateError, match="about"):
            sw.Trace.load(path)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("readme.txt", "hello")
        pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "t.parquet")
        for suffix in SUFFIXES:
            with pytest.raises(sw.errors.StateError):
                sw.Trace.load(tmp_path / f"t{suffix}")

    def test_pickles_are_never_opened(self, tmp_path):
        class Trap:
            def __reduce__(self):
                return Path.touch, (tmp_path / "sprung",)

        path = tmp_path / "t.npz"
        np.savez(path, about=np.array([Trap()], dtype=object), allow_pickle=True)
        with pytest.raises(sw.errors.StateError, match="pickle"):
            sw.Trace.load(path)
        assert not (tmp_path / "sprung").exists()

    @pytest.mark.parametrize(
        ("kind", "change", "message"),
        [
            ("errors", {"version": 2}, "must have version 1"),
            ("errors", {"kind": "policy"}, "must have version 1"),
            ("errors", {"cascade": {}}, "a cascade must have"),
            ("errors", {"gaps": [0.0]}, "gaps must be finite, one per stage"),
            ("errors", {"gaps": "abc"}, "cannot be read from"),
            ("errors", {"seed": None}, "cannot be read from"),
            ("errors", {"stops": lambda stops: stops + 1}, "add up"),
            ("errors", {"stops": lambda stops: stops.astype(float)}, "whole numbers"),
            ("errors", {"errors": None}, "must hold errors, got none"),
            ("contexts", {"given_regret": None}, "must hold given_regret"),
            ("any order", {"given_runs": None}, "must hold given_runs"),
        ],
    )
    def test_files_with_other_content_are_refused(self, trace, tmp_path, kind, change, message):
        path = tmp_path / "t.npz"
        KINDS[kind](trace).save(path)
        with np.load(path) as file:
            arrays = dict(file)
        about = json.loads(str(arrays.pop("about")))
        for name, value in change.items():
            if name not in arrays:
                about[name] = value
            elif value is None:
                del arrays[name]
            else:
                arrays[name] = value(arrays[name])
        np.savez(path, about=np.array(json.dumps(about)), **arrays)
        with pytest.raises(sw.errors.StateError, match=message):
            sw.Trace.load(path)

    def test_parquet_needs_an_extra(self, trace, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(sw.errors.MissingExtraError, match=r"pip install '\.\[frames\]'"):
            trace.save(tmp_path / "t.parquet")
        assert not list(tmp_path.iterdir())


class TestPlot:
    def test_mean_and_band_with_labels(self, trace):
        figure = Figure()
        ax = figure.subplots()
        assert trace.plot(ax) is ax
        (line,) = ax.lines
        np.testing.assert_array_equal(line.get_xdata(), trace.rounds)
        np.testing.assert_allclose(line.get_ydata(), trace.mean_regret())
        assert len(ax.collections) == 1
        assert ax.get_xlabel() == "rounds"
        assert ax.get_ylabel() == "regret (in mistakes)"
        assert ax.get_xscale() == "log"
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Resolve"]
        figure.savefig(io.BytesIO())

    def test_a_second_trace_joins_the_first(self, trace):
        ax = Figure().subplots()
        trace.plot(ax)
        large = replace(trace, gaps=trace.gaps * 100, policy="other")
        large.plot(ax)
        assert len(ax.get_legend().get_texts()) == 2
        assert ax.get_ylim()[0] == 0
        assert ax.get_ylim()[1] > large.mean_regret().max()

    def test_a_figure_of_its_own(self, trace):
        import matplotlib.pyplot as plt

        alone = replace(trace, stops=trace.stops[:1], errors=None)
        ax = alone.plot()
        assert not ax.collections  # one replication has no band
        plt.close(ax.figure)
