"""Checks of single keys of the JSON report."""

import math

import numpy as np
import pytest

from tests.auditing.again.counted import camps


def leaves(value, path=""):
    """All paths to a number, a text or nothing at all; [] stands for the places of a list."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, f"{path}[]")
    else:
        yield path


def collect(value, path):
    """What stands at a path, a list for each []; ``None`` where a part of the report is."""
    if not path or value is None:
        return value
    if path.startswith("[]"):
        return [collect(part, path[2:].removeprefix(".")) for part in value]
    cut = min(x for x in (path.find("."), path.find("[]"), len(path)) if x >= 0)
    return collect(value[path[:cut]], path[cut:].removeprefix("."))


def plain(value):
    """As JSON has it: lists, and ``None`` for what is no finite number."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def assert_same(value, expected, where):
    """Equal in shape, texts and whole numbers; fractions to eight digits."""
    if isinstance(expected, dict):
        assert isinstance(value, dict), where
        assert value.keys() == expected.keys(), where
        for key in expected:
            assert_same(value[key], expected[key], f"{where}, {key}")
    elif isinstance(expected, list):
        assert isinstance(value, list), where
        assert len(value) == len(expected), (where, value, expected)
        for n, (x, y) in enumerate(zip(value, expected, strict=True)):
            assert_same(x, y, f"{where}, place {n}")
    elif isinstance(expected, float):
        assert value == pytest.approx(expected, rel=1e-7, abs=1e-8), where
    else:
        assert value == expected, where
        assert isinstance(value, bool) == isinstance(expected, bool), where


def check_expected(key, a, value, expected):
    """Check that a key holds what ``expected`` says; a log may lack a part of the report."""
    parts = {"missing": not a.complete, "labels": a.log.labels, "plan": a.log.n_planned}
    is_there = parts.get(key.split(".")[0], True)
    assert_same(value, plain(expected(a)) if is_there else None, "")


def each_pair(f):
    return lambda a: [f(a, i, j) for i, j in a.pairs]


def nearly(expected):
    """A check of what was added up on a grid."""

    def check(a, value, _report):
        assert value == pytest.approx(expected(a), abs=1e-4)

    return check


def check_forecast(a, value, _report):
    """At the forecast the finding is settled, shortly before it is not."""

    def finding(more):
        return a.finding((a.n + more) / a.n)[0]

    if a.finding()[0] != "undecided":
        assert value == 0
    elif value is None:
        assert finding(1e12) == "undecided"
    else:
        assert finding(value) != "undecided"
        assert finding(0.99 * value - 3) == "undecided"


def check_pair_forecasts(a, value, _report):
    for (i, j), more in zip(a.pairs, value, strict=True):

        def settled(cases, pair=(i, j)):
            return a.settled(*pair, (a.n + cases) / a.n) != 0

        if a.settled(i, j):
            assert more == 0
        elif more is None:
            assert not settled(1e12)
        else:
            assert settled(more)
            assert not settled(0.99 * more - 3)


def check_planned(a, value, report):
    """The right number of different cases of each agreement, each with its own outputs."""
    if not a.log.n_planned:
        assert value == []
        return
    cases = report["planned_cases"]
    assert len({case["case"] for case in cases}) == len(cases)
    counts = {}
    for case in cases:
        row = a.log.rows[case["case"] - 1]
        assert case["outputs"] == list(row)
        counts[camps(row)] = counts.get(camps(row), 0) + 1
    assert counts == {key: n for key, (_, n) in a.plan.items() if n}
