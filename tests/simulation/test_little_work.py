"""Little work is done in Python: the same, number by number, as in machine code."""

import math
from collections import Counter

import numpy as np
import pytest

from stopwise.policies.compiled_rule import declared_rule
from stopwise.simulation import compiled, kernels
from stopwise.simulation.contextual_play import compiled_stages
from tests.policies.contextual_helpers import FACTORIES as CONTEXTUAL
from tests.policies.contextual_helpers import nested_world
from tests.policies.helpers import FACTORIES
from tests.simulation.test_kernels import COMPILED, compiled_play_of, drawn_world, last_stage


def assert_same(known):
    for machine, python in zip(*known, strict=True):
        np.testing.assert_array_equal(machine, python)


@pytest.mark.parametrize("grown", [False, True], ids=["chains", "trees"])
@pytest.mark.parametrize("name", COMPILED)
def test_what_is_played_and_known_is_the_same(name, grown, monkeypatch):
    rng = np.random.default_rng(5)
    for _ in range(2):
        world = drawn_world(rng, grown=grown)
        known = []
        for patience in (0, math.inf):
            monkeypatch.setattr(compiled, "PATIENCE", patience)
            play = compiled_play_of(FACTORIES[name](world.cascade))
            played = play.play(world, np.array([50, 700]))
            known.append([*played[:3], *play._tables, play._rng.random()])
        assert_same(known)


@pytest.mark.parametrize("make", CONTEXTUAL.values(), ids=CONTEXTUAL)
def test_with_contexts_too(make, monkeypatch):
    world = nested_world(3, 2, seed=1)
    cases = world.draw(400, np.random.default_rng(2))
    known = []
    for patience in (0, math.inf):
        monkeypatch.setattr(compiled, "PATIENCE", patience)
        policy = make(world.cascade, 2)
        stages = compiled_stages(policy, declared_rule(policy), cases)
        known.append([stages, *policy._model, policy._rng.random() if policy.draws else 0])
    assert_same(known)


def test_a_kernel_is_compiled_once_there_was_more_to_do(monkeypatch):
    monkeypatch.setattr(compiled, "PATIENCE", 100)
    monkeypatch.setattr(compiled, "_worked", Counter())
    made = [compiled.kernel(kernels.play, last_stage, work) for work in (60, 40, 1, 0)]
    assert [hasattr(each, "py_func") for each in made] == [False, False, True, True]
