"""What learners meet in real life: frames, nulls, spellings, odd integers, threads, long texts."""

import json
import math
import sys
import tracemalloc
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import CascadeError, OutputsError, OutputsWarning, SettingError, StateError
from stopwise.pattern_counts import PatternCounts
from tests.policies.helpers import CHAIN, FACTORIES, LONG, draw_cases, play, twin

LEARNERS = FACTORIES | {"OutputConditional": sw.OutputConditional}
every = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


def tell(policy, outputs):
    policy.tell(outputs, **({"label": 1} if policy.needs_label else {}))


# Containers and nulls


@every
def test_frames_are_refused(make):
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    policy = make(CHAIN)
    frame = pandas.DataFrame({"quick": [0, 1], "slow": [1, 1]})
    for bad in (frame, arrow.table(frame), arrow.RecordBatch.from_pandas(frame)):
        with pytest.raises(OutputsError, match="one output a test, got a"):
            tell(policy, bad)
        with pytest.raises(OutputsError):
            policy.tell_many([bad])
    assert policy.n_rounds == 0


@every
def test_nulls_of_pandas_and_arrow_are_missing_outputs(make):
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    one, other = make(CHAIN), make(CHAIN)
    for null in (pandas.NA, pandas.NaT, arrow.scalar(None), arrow.scalar(None, arrow.int64())):
        tell(one, [0, null, 1])
        tell(other, [0, None, 1])
    tell(one, arrow.array([0, None, 1]))
    tell(one, pandas.Series([0, None, 1], dtype="Int64"))
    for _ in range(2):
        tell(other, [0, None, 1])
    assert one.to_state() == other.to_state()


ALIKE = {
    "number": ("1", 1),
    "case": ("Refund", "refund"),
    "blank": ("yes", "yes "),
    "accent": (unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")),
    "zero width": ("spam", "spam\u200b"),
}


@every
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_outputs_that_look_alike_are_warned_of_once(make, pair):
    policy = make(CHAIN)
    with pytest.warns(OutputsWarning, match="look alike"):
        tell(policy, pair)
    for _ in range(3):
        tell(policy, pair[::-1])
    assert policy.n_rounds == 4


@every
def test_outputs_that_differ_are_not_warned_of(make):
    policy = make(CHAIN)
    for outputs in ([1, True, 1.0], [np.int64(1), np.float64(1)], ["a", "b", 10**5000]):
        tell(policy, outputs)


@every
def test_scalars_of_numpy_are_compared_as_plain_values(make):
    """NumPy compares one with a tuple item by item, and with no number that a float cannot hold."""
    policy = make(CHAIN)
    tell(policy, [np.float32(0.5), 10**400])
    tell(policy, [np.int64(1), 1])
    assert policy.n_rounds == 2
    json.dumps(policy.to_state())


# Totals


def test_totals_are_plain_integers():
    """300 cases in bytes were 44, and JSON failed a week later."""
    policy = sw.Resolve(CHAIN)
    for _ in range(3):
        policy.tell_totals(np.int8(1), np.int8(100), [[], np.array([40], dtype=np.int8)])
    assert policy.n_rounds == 300
    assert policy.counts.disagreed[1][0] == 120
    assert json.loads(json.dumps(policy.to_state())) == policy.to_state()


@pytest.mark.parametrize(
    "totals",
    [
        (1, 10.0, [[], [4]]),
        (1, 10, [[], [4.0]]),
        (1, 10, [[], [float("nan")]]),
        (1, 10, [[], [True]]),
        (1, 10, [[], [11]]),
        (1, 2**60, [[], [4]]),
        (2, 10, [[], [1], [8, 1]]),  # two tests that nearly agree cannot differ so from a third
        (True, 10, [[], [4]]),
        *((1, 5, rows) for rows in (None, 3, [None, [0]], [[], 0], "ab")),
    ],
)
def test_totals_that_cannot_be_are_refused(totals):
    policy = sw.Resolve(CHAIN)
    with pytest.raises(OutputsError):
        policy.tell_totals(*totals)
    assert policy.n_rounds == 0


@pytest.mark.parametrize("kind", [sw.StrongDominance, sw.Supervised])
def test_totals_say_too_little_for_some(kind):
    with pytest.raises(OutputsError, match=f"{kind.__name__} cannot be told disagreement alone"):
        kind(CHAIN).tell_totals(1, 10, [[], [4]])


@every
def test_more_cases_than_can_be_counted_are_refused(make):
    policy = make(CHAIN)
    case = ((0,), 1) if policy.needs_label else (0,)
    with pytest.raises(OutputsError, match="must add up to at most"):
        policy.tell_many({case: 2**63})
    assert policy.n_rounds == 0


# States


def test_absurd_sizes_are_refused_before_they_take_memory():
    state = sw.ContextualResolve(CHAIN, 2).to_state()
    state["settings"]["n_features"] = 10**5
    with pytest.raises(StateError, match="n_features"):
        sw.policy_from_state(state)
    with pytest.raises(SettingError, match="n_features"):
        sw.ContextualResolve(CHAIN, 10**5)
    with pytest.raises(CascadeError, match="at most 1000 stages"):
        sw.Resolve(sw.Cascade([0.1] * 1_001))


@every
def test_a_damaged_start_is_refused(make):
    policy = make(CHAIN).fork()
    tell(policy, [0, 1])
    state = policy.to_state()
    assert sw.policy_from_state(state).to_state() == state
    state["statistics"], state["start"] = state["start"], state["statistics"]
    with pytest.raises(StateError):
        sw.policy_from_state(state)


# Threads


@every
def test_threads_neither_lose_nor_invent_cases(make):
    policy, alone = make(LONG), make(LONG)
    cases, told = draw_cases(5, 300, 0), []

    def work():
        for case in cases:
            stage = policy.ask(*[case.outputs[:1]] * isinstance(policy, sw.StoppingPolicy))
            outputs = case.outputs[: stage + 1]
            told.append(outputs)
            tell(policy, outputs)

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(work) for _ in range(4)]:
                done.result()
    finally:
        sys.setswitchinterval(switch)
    assert policy.n_rounds == 1_200
    assert twin(policy).to_state() == policy.to_state()
    for outputs in told:
        tell(alone, outputs)
    main = next(iter(policy.to_state()["statistics"]))  # what depends on no order
    assert policy.to_state()["statistics"][main] == alone.to_state()["statistics"][main]


# Memory


def most_memory(count, n):
    """The most bytes in use while ``n`` cases of three texts of 30 kB each are counted."""
    tracemalloc.start()
    for k in range(n):
        text = f"{k:06d}" * 5_000
        count((text, text + "a", text + "b"))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


@every
def test_long_texts_take_no_memory(make):
    policy = make(CHAIN)
    assert most_memory(lambda case: tell(policy, case), 600) < 8_000_000  # 54 MB of text
    assert policy.n_rounds == 600


def test_tables_of_long_texts_are_bounded_too():
    policy, counts = sw.BeliefStopping(CHAIN), PatternCounts(CHAIN)
    for count in (policy.tell, counts.add):
        assert most_memory(count, 400) < 16_000_000  # 36 MB of text
    assert (len(counts.table), counts.n_other) == (111, 289)
    assert sum(policy._counts.n_other) == 289
    assert twin(policy).to_state() == policy.to_state()


@pytest.mark.parametrize("costs", [[0, 1e154, 1e154], [1e307] * 3])
def test_absurd_prices_are_refused(costs):
    with pytest.raises(CascadeError, match="costs / mistake_cost must"):
        sw.Cascade(costs)


@pytest.mark.parametrize(
    "costs", [[0, 1e99, 1e99], [0, 1e-308, 1e-308], [5e-324, 0, 1e99], [5, 0, 1, 1e6]]
)
@pytest.mark.parametrize("name", FACTORIES)
def test_the_most_extreme_prices_are_played(name, costs):
    policy = FACTORIES[name](sw.Cascade(costs))
    stages = play(policy, draw_cases(len(costs), 300, 1))
    assert set(stages) <= set(range(len(costs)))


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [nested(5_000), 10**5_000], ids=["deep", "long"])
@pytest.mark.parametrize("place", ["policy", "version", "cascade", "settings", "statistics"])
def test_what_cannot_even_be_shown_is_refused(place, value):
    state = sw.OutputConditional(CHAIN).to_state()
    with pytest.raises(StateError):
        sw.policy_from_state({**state, place: value})
    if place in ("cascade", "statistics"):
        inner = next(iter(state[place]))
        with pytest.raises(StateError):
            sw.policy_from_state({**state, place: {**state[place], inner: value}})


def test_outputs_of_any_size_are_saved_or_refused():
    policy = sw.OutputConditional(CHAIN)
    with pytest.raises(OutputsError, match="finite numbers"):
        policy.tell([math.inf, 1, 1])
    assert policy.n_rounds == 0
    counts = PatternCounts(CHAIN)
    counts.add([10**400, 2, 1])
    assert counts.to_table().classes == (1, 2, 10**400)
