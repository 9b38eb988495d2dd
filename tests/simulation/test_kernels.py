import os
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import stopwise as sw
from paper import random_instances as worlds
from stopwise.policies import posterior_chances
from stopwise.policies.compiled_rule import CompiledRule, declared_rule, pair_tables
from stopwise.problem.contextual_instance import ContextualCases
from stopwise.problem.families import relaxed_errors
from stopwise.simulation import compiled, compiled_play, draws
from stopwise.simulation.compiled_play import CompiledPlay
from stopwise.simulation.world import World
from tests.policies.helpers import CHAIN, FACTORIES
from tests.simulation.oracle import play_rounds

COMPILED = sorted(
    name for name, make in FACTORIES.items() if declared_rule(make(CHAIN)) is not None
)
DECIDING = [name for name in COMPILED if name != "Thompson"]
pytestmark = pytest.mark.usefixtures("compiled_at_once")
# False-alarm rate of every statistical test here.
ALARM = 1e-6


def three_valued(rng, n_stages):
    return worlds.random_instance(rng, sw.Cascade(costs=rng.random(n_stages) * 0.2), n_classes=3)


LAWS = [
    worlds.random_ordered,
    worlds.random_strong,
    worlds.random_weak,
    worlds.random_neither,
    three_valued,
]


def drawn_world(rng, *, grown=False):
    """A random law; often with prices in eighths, so that ties and prices of 0 occur."""
    if grown:
        make = (worlds.random_strong_tree, worlds.random_weak_tree)[rng.integers(2)]
        instance = make(rng, worlds.random_tree(rng, int(rng.integers(3, 8))))
    else:
        instance = LAWS[rng.integers(len(LAWS))](rng, int(rng.integers(2, 7)))
    if rng.random() < 0.4:
        prices = np.round(np.array(instance.cascade.prices) * 8) / 8
        parents = instance.cascade.parents
        instance = instance.with_cascade(sw.Cascade(costs=prices, parents=parents))
    return World(instance, labelled=True)


def compiled_play_of(policy, seed=0, **settings):
    return CompiledPlay(declared_rule(policy), np.random.default_rng(seed), **settings)


@cache
def compiled_pick():
    return compiled.compiled(draws.pick, {})


def rows_of_key(world, seed, n):
    """The rows that a replication draws in its first n rounds."""
    rows, pick = world.rows(counts_errors=False), compiled_pick()
    state, step = draws.row_key(np.random.default_rng(seed))
    return np.array([pick(state, step, t, rows.keep, rows.ends) for t in range(n)], dtype=np.int64)


class TestTheSameStages:
    @pytest.mark.parametrize("grown", [False, True], ids=["chains", "trees"])
    @pytest.mark.parametrize("name", DECIDING)
    def test_as_asking_and_telling_at_every_checkpoint(self, name, grown):
        rng = np.random.default_rng(sum(map(ord, name)))
        for horizon in [1, 7, *[600 if grown else 1200] * (12 if grown else 30), 2000]:
            world = drawn_world(rng, grown=grown)
            truth, policy = world.instance, FACTORIES[name](world.cascade)
            play = compiled_play_of(policy, jumps=False)
            rows = rows_of_key(world, 0, horizon)
            stages = np.array(play_rounds(policy, truth.labels[rows], truth.outputs[rows]))
            wrong = (~truth.is_right)[rows, stages]
            start = 0
            for n in filter(None, (horizon // 2, horizon - horizon // 2)):
                ends = np.unique(np.geomspace(1, n, 5).astype(int))
                played = play.play(world, ends)
                for end, stops, n_wrong in zip(ends, played.stops, played.wrong, strict=True):
                    part = slice(start, start + end)
                    expected = np.bincount(stages[part], minlength=world.cascade.n_stages)
                    np.testing.assert_array_equal(stops, expected)
                    assert n_wrong == wrong[part].sum()
                np.testing.assert_allclose(played.regret, played.stops @ truth.gaps)
                start += n

    @pytest.mark.parametrize("name", DECIDING)
    def test_in_given_cases_going_on_from_what_a_policy_knows(self, name):
        rng = np.random.default_rng(4)
        truth = worlds.random_weak(rng, 4)
        policy = FACTORIES[name](truth.cascade)
        rows = rng.choice(len(truth.probabilities), size=900, p=truth.probabilities)
        labels, outputs = truth.labels[rows], truth.outputs[rows]
        play_rounds(policy, labels[:300], outputs[:300])
        before = policy.to_state()
        play = compiled_play_of(policy)
        cases = ContextualCases(np.zeros((900, 0)), labels, outputs, np.zeros((900, 4)))
        stages = []
        for part in (slice(300, 500), slice(500, None)):
            stages += play.stages(ContextualCases(*(column[part] for column in cases))).tolist()
        assert policy.to_state() == before
        assert stages == play_rounds(policy, labels[300:], outputs[300:])


class TestReplications:
    ENDS = np.array([100, 3000])
    WORLD = World(relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25])), labelled=True)

    def play(self, name, seed):
        policy = FACTORIES[name](self.WORLD.cascade)
        return compiled_play_of(policy, seed).play(self.WORLD, self.ENDS)

    @pytest.mark.parametrize("name", COMPILED)
    def test_depend_on_the_seed_alone_and_run_side_by_side(self, name):
        def wrong(seed):
            return self.play(name, seed).wrong.tolist()

        alone = [wrong(seed) for seed in range(3)]
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(wrong, range(3))) == alone
        assert len(set(map(tuple, alone))) == 3

    def test_long_calls_are_cut_without_a_trace(self, monkeypatch):
        whole = self.play("Thompson", 5)
        monkeypatch.setattr(compiled_play, "LONGEST_CALL", 70)
        cut = self.play("Thompson", 5)
        np.testing.assert_array_equal(cut.stops, whole.stops)
        np.testing.assert_array_equal(cut.wrong, whole.wrong)


class TestChancesOfThompson:
    def test_are_those_of_the_posterior_however_far_the_price_is(self):
        rng = np.random.default_rng(0)
        policy = sw.Thompson(sw.Cascade(costs=[0, 0.001, 0.3, 0.6, 0.9]), seed=0)
        tables = declared_rule(policy).tables
        learn = compiled.compiled(posterior_chances.choose_by_chances, {})
        for n in range(3000):
            outputs = (rng.random(5) < (0.9 if n % 1000 < 500 else 0.02)).astype(int)
            for j in range(5):
                tables.sums[j, :j] += outputs[:j] != outputs[j]
                tables.seen[j, : j + 1] += 1
            learn(tables, n, rng)
        fresh = posterior_chances.chances_of_acceptance(tables)
        np.testing.assert_allclose(tables.memory[0], fresh[0], atol=1e-10)
        known = np.tril(tables.memory[2] == fresh[2], -1)
        np.testing.assert_allclose(tables.memory[1][known], fresh[1][known], rtol=1e-8)
        assert fresh[2].max() > 1  # some terms would have underflowed


class TestWhichPolicies:
    def test_declare_a_rule(self):
        cascade = sw.Cascade(costs=[0, 0.1, 0.1])
        have = {n for n in FACTORIES if declared_rule(FACTORIES[n](cascade)) is not None}
        assert have == set(COMPILED)

    def test_a_subclass_may_have_another_rule(self):
        class Other(sw.WeakDominance):
            def _decide(self):
                return 0, 1

        assert declared_rule(Other(sw.Cascade(costs=[0, 0.1, 0.1]))) is None

    def test_a_policy_of_ones_own_may_declare_one(self):
        world = World(worlds.random_weak(np.random.default_rng(2), 3))
        policy = Deepest(world.cascade)
        played = compiled_play_of(policy).play(world, np.array([50]))
        assert played.stops.tolist() == [[0, 0, 50]]

    def test_on_a_tree_a_rule_of_ones_own_is_shown_its_path_alone(self):
        cascade = sw.Cascade(costs=[0, 0.1, 0.1, 0.1], parents=[None, 0, 0, 2])
        world = World(worlds.random_weak_tree(np.random.default_rng(2), cascade))
        play = compiled_play_of(Deepest(cascade))
        assert play.play(world, np.array([50])).stops.tolist() == [[0, 0, 0, 50]]
        path = [0, 2, 3]
        expected = np.zeros((4, 4))
        expected[np.ix_(path, path)] = 50
        np.testing.assert_array_equal(play._tables.seen, np.tril(expected))

    def test_without_numba_one_line_says_so_and_all_works(self, monkeypatch):
        monkeypatch.setattr(compiled, "can_compile", lambda: False)
        instance = worlds.random_weak(np.random.default_rng(2), 3)
        message = r"^numba is not installed.* other numbers from the same seed.*'\.\[sim\]'$"
        with pytest.warns(UserWarning, match=message):
            trace = sw.simulate(instance, sw.WeakDominance, horizon=500, replications=2)
        assert trace.stops[:, -1].sum() == 1000
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sw.simulate(instance, lambda c: sw.FixedStage(c, stage=0), horizon=500, replications=1)


def last_stage(tables, n_rounds, rng):
    return deepest(tables.prices), 10


def deepest(prices):
    return len(prices) - 1


class Deepest(sw.FixedStage):
    def __init__(self, cascade):
        super().__init__(cascade, stage=0)

    def compiled_rule(self):
        return CompiledRule(last_stage, pair_tables(self, []), 0)


class TestDraws:
    """False-alarm rate `ALARM` each."""

    @pytest.mark.parametrize("n", [1, 2, 9, 300])
    def test_alias_table_has_the_given_chances(self, n):
        chances = np.random.default_rng(n).dirichlet(np.full(n, 0.4))
        keep, ends = draws.alias_table(chances)
        ends = ends.astype(int)
        back = np.bincount(ends[:, 1], keep / n, n) + np.bincount(ends[:, 0], (1 - keep) / n, n)
        np.testing.assert_allclose(back, chances, atol=1e-12)

    def test_rows_come_with_their_chances(self):
        instance = worlds.random_ordered(np.random.default_rng(3), 4)
        rows = rows_of_key(World(instance), 7, 20_000)
        counts = np.bincount(rows, minlength=len(instance.probabilities))
        likely = instance.probabilities * 20_000 > 5
        counts = np.append(counts[likely], counts[~likely].sum() + 1e-9)
        expected = np.append(instance.probabilities[likely], instance.probabilities[~likely].sum())
        expected = expected * counts.sum() / expected.sum() + 1e-12
        assert stats.chisquare(counts, expected, sum_check=False).pvalue > ALARM


# Prints how many versions were compiled and how many came from disk. Little work loads no numba.
SCRIPT = """
import sys
import stopwise as sw
from stopwise.problem.families import nested_errors
world = nested_errors(sw.Cascade(costs=[0, 0.1]), [0.3, 0.1])
sw.simulate(world, sw.WeakDominance, horizon=100, replications=1)
assert "numba" not in sys.modules
from stopwise.simulation import compiled
compiled.PATIENCE = 0
sw.simulate(world, sw.WeakDominance, horizon=100, replications=1)
from stopwise.policies.compiled_rule import declared_rule
from stopwise.simulation import kernels
rule = declared_rule(sw.WeakDominance(world.cascade))
stats = compiled.kernel(kernels.play, rule.choose, 1).stats
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
