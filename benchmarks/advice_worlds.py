"""Made-up logs on which the advice of an audit is tried, of sixteen kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.belief_worlds import of_kind
from benchmarks.bench_labels import World
from benchmarks.trained_cascades import trained
from stopwise.patterns import PatternTable

N_CASES = 3_000


def made_up(first_seed: int, n_seeds: int) -> Iterator[tuple[str, World]]:
    """Yield worlds of each kind, drawn anew by each seed."""
    for kind, make in KINDS.items():
        for seed in range(first_seed, first_seed + n_seeds):
            if isinstance(make, str):
                source = of_kind(make, 100 + seed)
                yield kind, World(source.outputs, source.labels, source.shares.tolist())
            else:
                yield kind, make(np.random.default_rng([seed, len(kind)]))


def trained_worlds() -> Iterator[tuple[str, World]]:
    """Yield real cascades: classifiers trained on ten public data sets."""
    for kind, source in trained():
        yield kind, World(source.outputs, source.labels, source.shares.tolist())


def independent(rng: np.random.Generator) -> World:
    K, M = int(rng.integers(3, 21)), int(rng.choice([2, 3, 5, 10, 30]))
    return _priced(rng, *_outputs(rng, np.sort(rng.uniform(0.03, 0.45, K))[::-1], M))


def odd_one_out(rng: np.random.Generator) -> World:
    """One test disagrees with all others: alone right or alone wrong."""
    labels, outputs = _outputs(rng, np.sort(rng.uniform(0.05, 0.3, 4))[::-1], 2)
    odd, is_right = int(rng.integers(0, 4)), bool(rng.integers(0, 2))
    if is_right:  # the others share their errors
        common = np.where(rng.random(len(labels)) < 0.25, 1 - labels, labels)
        same = rng.random(outputs.shape) < 0.9
        outputs = np.where(same, common[:, None], outputs)
        outputs[:, odd] = np.where(rng.random(len(labels)) < 0.05, 1 - labels, labels)
    else:
        outputs[:, odd] = np.where(rng.random(len(labels)) < 0.4, 1 - labels, labels)
    return _priced(rng, labels, outputs)


def two_tests(rng: np.random.Generator) -> World:
    rates = np.sort(rng.uniform(0.03, 0.4, 2))[::-1]
    return _priced(rng, *_outputs(rng, rates, int(rng.choice([2, 5]))))


def router(rng: np.random.Generator) -> World:
    """The last test runs by what the first said, or by a score that nobody wrote down."""
    labels, outputs = _outputs(rng, np.sort(rng.uniform(0.05, 0.4, 3))[::-1], 2)
    score = outputs[:, 0] if rng.integers(0, 2) else labels
    runs = rng.random(len(labels)) < np.where(score == 1, 0.9, 0.3)
    world = _priced(rng, labels, outputs)
    log_rows = outputs.astype(object)
    log_rows[~runs, -1] = None
    counts = Counter(map(tuple, log_rows.tolist()))
    world.histogram = PatternTable.from_rows(counts, counts.values(), world.histogram.cascade)
    return world


def specialists(rng: np.random.Generator) -> World:
    """There are two sorts of cases, and each test is good at one of them."""
    K, M = int(rng.integers(3, 7)), int(rng.choice([2, 4]))
    labels = rng.integers(0, M, N_CASES)
    sort = (rng.random(N_CASES) < rng.uniform(0.2, 0.5)).astype(int)
    good, bad = rng.uniform(0.03, 0.2, K), rng.uniform(0.2, 0.45, K)
    rates = rng.permuted(np.column_stack([good, bad]), axis=1)
    return _priced(rng, labels, _wrong_at(rng, labels, rates[:, sort].T, M))


def corrected(rng: np.random.Generator) -> World:
    """Each test keeps what is right, corrects some of the rest and spoils a little."""
    K, M = int(rng.integers(3, 6)), int(rng.choice([2, 3, 8]))
    labels = rng.integers(0, M, N_CASES)
    outputs = _wrong_at(rng, labels, np.full((N_CASES, K), rng.uniform(0.25, 0.45)), M)
    for k in range(1, K):
        mends, spoils = rng.random((2, N_CASES)) < rng.uniform(0, [[0.6], [0.03]])
        outputs[:, k] = np.where(mends, labels, outputs[:, k - 1])
        outputs[spoils, k] = (labels[spoils] + 1) % M
    return _priced(rng, labels, outputs)


def reviewer(rng: np.random.Generator) -> World:
    """Machines fall into the same traps; a person, who comes last, does not."""
    K, M = int(rng.integers(3, 6)), int(rng.choice([2, 5]))
    labels = rng.integers(0, M, N_CASES)
    outputs = _wrong_at(rng, labels, np.tile(rng.uniform(0.03, 0.15, K), (N_CASES, 1)), M)
    trap = (labels + rng.integers(1, M, N_CASES)) % M
    caught = (rng.random(N_CASES) < rng.uniform(0.1, 0.35))[:, None] & (
        rng.random((N_CASES, K - 1)) < 0.7
    )
    outputs[:, :-1] = np.where(caught, trap[:, None], outputs[:, :-1])
    return _priced(rng, labels, outputs)


def worse_last(rng: np.random.Generator) -> World:
    """The last, dearest test is worse than the one before."""
    rates = np.sort(rng.uniform(0.03, 0.35, int(rng.integers(3, 6))))[::-1]
    rates[-1] = min(rates[-2] + rng.uniform(0.05, 0.25), 0.45)
    return _priced(rng, *_outputs(rng, rates, int(rng.choice([2, 3, 10]))))


def rare(rng: np.random.Generator) -> World:
    """Few answers are positive; tests miss them and raise false alarms."""
    K = int(rng.integers(3, 6))
    labels = (rng.random(N_CASES) < rng.uniform(0.03, 0.1)).astype(int)
    rates = np.column_stack([rng.uniform(0.005, 0.08, K), rng.uniform(0.05, 0.5, K)])
    return _priced(rng, labels, _wrong_at(rng, labels, rates[:, labels].T, 2))


def confusable(rng: np.random.Generator) -> World:
    """Values come in pairs that every test confuses in the same cases."""
    K, M = int(rng.integers(3, 6)), int(rng.choice([4, 6, 10]))
    labels = rng.integers(0, M, N_CASES)
    outputs = _wrong_at(rng, labels, np.tile(rng.uniform(0.02, 0.2, K), (N_CASES, 1)), M)
    is_hard = (rng.random(N_CASES) < rng.uniform(0.15, 0.4))[:, None]
    is_wrong = is_hard & (rng.random((N_CASES, K)) < rng.uniform(0.1, 0.6, K))
    return _priced(rng, labels, np.where(is_wrong, labels[:, None] ^ 1, outputs))


def one_maker(rng: np.random.Generator) -> World:
    """Two of at least four tests share most errors, in any order of quality."""
    K, M = int(rng.integers(4, 8)), int(rng.choice([2, 2, 5]))
    labels, outputs = _outputs(rng, rng.uniform(0.05, 0.35, K), M)
    first, second = rng.choice(K, 2, replace=False)
    same = rng.random(N_CASES) < rng.uniform(0.5, 0.9)
    outputs[same, second] = outputs[same, first]
    return _priced(rng, labels, outputs)


def thresholds(rng: np.random.Generator) -> World:
    """Scores with noise in common and ever less of their own are cut at thresholds."""
    K = int(rng.integers(3, 7))
    labels = rng.integers(0, 2, N_CASES)
    common = rng.normal(2.0 * labels - 1, rng.uniform(0.2, 0.8))
    noise = rng.normal(0.0, np.sort(rng.uniform(0.3, 1.5, K))[::-1], (N_CASES, K))
    return _priced(rng, labels, (common[:, None] + noise > rng.normal(0, 0.2, K)).astype(int))


def _outputs(rng: np.random.Generator, rates: np.ndarray, M: int) -> tuple[np.ndarray, np.ndarray]:
    labels = rng.integers(0, M, N_CASES)
    return labels, _wrong_at(rng, labels, np.tile(rates, (N_CASES, 1)), M)


def _wrong_at(
    rng: np.random.Generator, labels: np.ndarray, rates: np.ndarray, M: int
) -> np.ndarray:
    """Return outputs that are wrong at the given rates, one for each case and test."""
    wrong = (labels[:, None] + rng.integers(1, M, rates.shape)) % M
    return np.where(rng.random(rates.shape) < rates, wrong, labels[:, None])


def _priced(rng: np.random.Generator, labels: np.ndarray, outputs: np.ndarray) -> World:
    return World(outputs, labels, np.cumsum(rng.uniform(0.2, 1.0, outputs.shape[1])).tolist())


KINDS: dict[str, Callable[[np.random.Generator], World] | str] = {
    "independent": independent,
    "harder classes": "asymmetric errors",
    "errors shared by all": "shared difficulty",
    "errors shared by two": "copies",
    "nested": "early exit",
    "odd one out": odd_one_out,
    "two tests": two_tests,
    "router": router,
    "specialists": specialists,
    "corrected": corrected,
    "reviewer": reviewer,
    "worse last test": worse_last,
    "rare positives": rare,
    "confusable values": confusable,
    "two of one maker": one_maker,
    "thresholds": thresholds,
}
