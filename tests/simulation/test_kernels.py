import os
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import stopwise as sw
from stopwise.policies import thompson
from stopwise.problem.families import relaxed_errors
from stopwise.problem.random_instances import (
    random_instance,
    random_neither,
    random_ordered,
    random_strong,
    random_strong_tree,
    random_tree,
    random_weak,
    random_weak_tree,
)
from stopwise.simulation import compiled_play, draws
from stopwise.simulation.compiled import compiled
from stopwise.simulation.compiled_play import kernel_for
from stopwise.simulation.oracle import play_rounds
from stopwise.simulation.world import World
from tests.policies.helpers import FACTORIES

COMPILED = sorted(
    name
    for name in FACTORIES
    if name.split("-")[0] not in ("ExploreThenCommit", "FixedStage") and "literal" not in name
)
DECIDING = [name for name in COMPILED if name != "Thompson"]
# False-alarm rate of every statistical test here.
ALARM = 1e-6


def three_valued(rng, n_stages):
    return random_instance(rng, sw.Cascade(costs=rng.random(n_stages) * 0.2), n_classes=3)


LAWS = [random_ordered, random_strong, random_weak, random_neither, three_valued]


def drawn_world(rng, *, grown=False):
    """A random law; often with prices in eighths, so that ties and prices of 0 occur."""
    if grown:
        make = (random_strong_tree, random_weak_tree)[rng.integers(2)]
        instance = make(rng, random_tree(rng, int(rng.integers(3, 8))))
    else:
        instance = LAWS[rng.integers(len(LAWS))](rng, int(rng.integers(2, 7)))
    if rng.random() < 0.4:
        prices = np.round(np.array(instance.cascade.prices) * 8) / 8
        parents = instance.cascade.parents
        instance = instance.with_cascade(sw.Cascade(costs=prices, parents=parents))
    return World(instance, labelled=True)


def stages_given(world, policy, rows):
    stages = np.full(len(rows), -1)
    kernel = kernel_for(world, policy)
    played = kernel.play(np.array([len(rows)]), draws.sources(0, 0), rows, stages, False)
    return stages.tolist(), played


class TestTheSameStages:
    @pytest.mark.parametrize("grown", [False, True], ids=["chains", "trees"])
    @pytest.mark.parametrize("name", DECIDING)
    def test_as_asking_and_telling(self, name, grown):
        rng = np.random.default_rng(sum(map(ord, name)))
        for horizon in [1, 7, *[600 if grown else 1200] * (12 if grown else 30), 2000]:
            world = drawn_world(rng, grown=grown)
            truth, policy = world.instance, FACTORIES[name](world.cascade)
            rows = rng.choice(len(truth.probabilities), size=horizon, p=truth.probabilities)
            stages, played = stages_given(world, policy, rows)
            expected = play_rounds(policy, truth.labels[rows], truth.outputs[rows])
            assert stages == expected
            K = world.cascade.n_stages
            np.testing.assert_array_equal(played.stops[-1], np.bincount(expected, minlength=K))
            assert played.wrong[-1] == (~truth.is_right)[rows, expected].sum()

    @pytest.mark.parametrize("name", DECIDING)
    def test_going_on_from_what_a_policy_knows(self, name):
        rng = np.random.default_rng(4)
        world = World(random_weak(rng, 4), labelled=True)
        truth, policy = world.instance, FACTORIES[name](world.cascade)
        rows = rng.choice(len(truth.probabilities), size=900, p=truth.probabilities)
        play_rounds(policy, truth.labels[rows[:300]], truth.outputs[rows[:300]])
        before = policy.to_state()
        kernel = kernel_for(world, policy)
        stages = np.full(900, -1)
        kernel.play(np.array([600]), draws.sources(0, 0), rows, stages, False)
        assert policy.to_state() == before
        expected = play_rounds(policy, truth.labels[rows[300:]], truth.outputs[rows[300:]])
        assert stages[300:].tolist() == expected

    @pytest.mark.parametrize("name", DECIDING)
    def test_at_every_checkpoint(self, name):
        rng = np.random.default_rng(9)
        world = World(random_weak(rng, 3), labelled=True)
        kernel = kernel_for(world, FACTORIES[name](world.cascade))
        ends = np.array([1, 10, 500, 501, 2000])
        rows = rng.choice(len(world.instance.labels), size=2000, p=world.instance.probabilities)
        stages = np.zeros(2000, dtype=np.int64)
        played = kernel.play(ends, draws.sources(0, 0), rows, stages, False)
        wrong = (~world.instance.is_right)[rows, stages]
        for end, stops, n_wrong in zip(ends, played.stops, played.wrong, strict=True):
            np.testing.assert_array_equal(stops, np.bincount(stages[:end], minlength=3))
            assert n_wrong == wrong[:end].sum()


class TestReplications:
    ENDS = np.array([100, 3000])

    def kernel(self, name):
        world = World(relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25])), labelled=True)
        return kernel_for(world, FACTORIES[name](world.cascade))

    @pytest.mark.parametrize("jumps", [True, False])
    @pytest.mark.parametrize("name", COMPILED)
    def test_depend_on_seed_and_number_alone(self, name, jumps):
        kernel = self.kernel(name)

        def wrong(number, seed=5):
            (played,) = kernel.replications(self.ENDS, seed, [number], jumps=jumps)
            return played.wrong.tolist()

        together = [
            p.wrong.tolist() for p in kernel.replications(self.ENDS, 5, range(3), jumps=jumps)
        ]
        assert [wrong(2), wrong(1), wrong(0)] == together[::-1]
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(wrong, range(3))) == together
        assert len({*map(tuple, together), tuple(wrong(0, seed=6))}) == 4

    def test_long_calls_are_cut_without_a_trace(self, monkeypatch):
        kernel = self.kernel("Thompson")
        whole = next(kernel.replications(self.ENDS, 5, [0]))
        monkeypatch.setattr(compiled_play, "LONGEST_CALL", 70)
        cut = next(kernel.replications(self.ENDS, 5, [0]))
        np.testing.assert_array_equal(cut.stops, whole.stops)
        np.testing.assert_array_equal(cut.wrong, whole.wrong)


class TestWhichPolicies:
    def test_have_a_kernel(self):
        world = World(random_weak(np.random.default_rng(2), 3), labelled=True)
        have = {n for n in FACTORIES if kernel_for(world, FACTORIES[n](world.cascade)) is not None}
        assert have == set(COMPILED)

    def test_a_subclass_may_have_another_rule(self):
        class Other(sw.WeakDominance):
            def _decide(self):
                return 0, 1

        world = World(random_weak(np.random.default_rng(2), 3))
        assert kernel_for(world, Other(world.cascade)) is None

    def test_without_numba_one_line_says_so_and_all_works(self, monkeypatch):
        monkeypatch.setattr(compiled_play, "can_compile", lambda: False)
        instance = random_weak(np.random.default_rng(2), 3)
        with pytest.warns(UserWarning, match=r"^numba is not installed.*stopwise\[sim\]'$"):
            trace = sw.simulate(instance, sw.WeakDominance, horizon=500, replications=2)
        assert trace.stops[:, -1].sum() == 1000
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sw.simulate(instance, lambda c: sw.FixedStage(c, stage=0), horizon=500, replications=1)


class TestDraws:
    """Against SciPy's laws; false-alarm rate `ALARM` each."""

    N = 40_000

    def draw(self, call, *given):
        # What is compiled has to live in stopwise, so the loop around it is compiled here.
        import numba

        function = compiled(call, {})

        @numba.njit
        def loop(source, out, given):
            for k in range(len(out)):
                out[k] = function(source, *given)

        out = np.zeros(self.N)
        loop(draws.sources(1, 2)[1], out, given)
        return out

    @pytest.mark.parametrize(
        ("n", "p"),
        [(1, 0.3), (7, 0.5), (40, 0.2), (60, 0.9), (10**9, 3e-9), (500, 0.4), (10**9, 0.3)],
    )
    def test_binomial(self, n, p):
        drawn = self.draw(draws.binomial, n, p)
        law = stats.binom(n, p)
        edges = np.unique(law.ppf(np.linspace(0.02, 0.98, 40)))
        chances = np.diff(law.cdf(np.concatenate([[-1], edges, [n]])))
        counts = np.bincount(np.searchsorted(edges, drawn), minlength=len(chances))
        keep = chances * self.N > 5
        counts = np.append(counts[keep], counts[~keep].sum())
        chances = np.append(chances[keep], chances[~keep].sum())
        counts, chances = counts[chances > 0], chances[chances > 0]
        assert stats.chisquare(counts, chances * self.N).pvalue > ALARM
        assert drawn.min() >= 0
        assert drawn.max() <= n

    @pytest.mark.parametrize(("n", "p", "value"), [(5, 0.0, 0), (5, 1.0, 5), (0, 0.4, 0)])
    def test_certain_binomial(self, n, p, value):
        assert set(self.draw(draws.binomial, n, p)) == {value}

    @pytest.mark.parametrize(
        ("a", "b"), [(1, 1), (1, 9), (9, 1), (2, 2), (3, 40), (400, 2), (5000, 9000)]
    )
    def test_beta(self, a, b):
        assert stats.kstest(self.draw(draws.beta, a, b), stats.beta(a, b).cdf).pvalue > ALARM

    def test_uniform(self):
        drawn = self.draw(draws.uniform)
        assert stats.kstest(drawn, "uniform").pvalue > ALARM
        assert stats.kstest(drawn[1:] - drawn[:-1], stats.triang(0.5, -1, 2).cdf).pvalue > ALARM

    @pytest.mark.parametrize("n", [1, 2, 9, 300])
    def test_alias_table_has_the_given_chances(self, n):
        chances = np.random.default_rng(n).dirichlet(np.full(n, 0.4))
        keep, ends = draws.alias_table(chances)
        ends = ends.astype(int)
        back = np.bincount(ends[:, 1], keep / n, n) + np.bincount(ends[:, 0], (1 - keep) / n, n)
        np.testing.assert_allclose(back, chances, atol=1e-12)

    def test_rows_come_with_their_chances(self):
        instance = random_ordered(np.random.default_rng(3), 4)
        world = World(instance, labelled=True)
        kernel = kernel_for(world, sw.WeakDominance(world.cascade))
        pick = compiled(draws.pick, {})
        state, step = draws.sources(0, 7)[0, :2]
        drawn = [pick(state, step, n, kernel.rows.keep, kernel.rows.ends) for n in range(20_000)]
        counts = np.bincount(drawn, minlength=len(instance.probabilities))
        likely = instance.probabilities * 20_000 > 5
        counts = np.append(counts[likely], counts[~likely].sum() + 1e-9)
        expected = np.append(instance.probabilities[likely], instance.probabilities[~likely].sum())
        expected = expected * counts.sum() / expected.sum() + 1e-12
        assert stats.chisquare(counts, expected, sum_check=False).pvalue > ALARM

    def test_drawn_is_what_thompson_draws_with(self):
        rng = np.random.default_rng(0)
        assert thompson.drawn(rng, 3, 4) == np.random.default_rng(0).beta(3, 4)


# Prints how many versions were compiled and how many came from disk.
SCRIPT = """
import sys
import stopwise as sw
assert "numba" not in sys.modules
from stopwise.problem.families import nested_errors
world = nested_errors(sw.Cascade(costs=[0, 0.1]), [0.3, 0.1])
sw.simulate(world, sw.WeakDominance, horizon=100, replications=1)
from stopwise.simulation.compiled_play import kernel
stats = kernel(is_chain=True).stats
print(sum(stats.cache_misses.values()), sum(stats.cache_hits.values()))
"""


def run_script(path):
    command, environment = [sys.executable, "-c", SCRIPT], {**os.environ, "PYTHONPATH": str(path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_another_process_does_not_compile():
    package = Path(sw.__file__).parents[1]
    run_script(package)  # in case this is the first use ever
    assert run_script(package) == ["0", "1"]


@pytest.mark.slow
def test_compiled_again_if_a_rule_changes(tmp_path):
    package = Path(sw.__file__).parent
    shutil.copytree(package, tmp_path / "stopwise", ignore=shutil.ignore_patterns("__pycache__"))
    assert run_script(tmp_path) == ["1", "0"]
    assert run_script(tmp_path) == ["0", "1"]
    rule = tmp_path / "stopwise" / "policies" / "optimism.py"
    rule.write_text(rule.read_text().replace("HAIR = 1 - 1e-12", "HAIR = 1 - 1e-11"))
    assert run_script(tmp_path) == ["1", "0"]
