"""What an audit is asked for: one price list, settings that make sense, one line where not."""

import json

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import ErrsWithin, NeverRight, Ordered
from stopwise.errors import InputError, LogError
from tests.auditing.worlds import draw

NAMES = ["a", "b", "c"]
CASCADE = sw.Cascade([1, 2, 4], mistake_cost=25, names=NAMES)


def log_of(n=2_000):
    _, outputs = draw(np.random.default_rng(3), n, (0.25, 0.15, 0.05))
    return pd.DataFrame(outputs, columns=NAMES)


def counted(frame, cascade, **limits):
    counts = sw.PatternCounts(cascade, **limits)
    for row in frame.itertuples(index=False, name=None):
        counts.add(row)
    return counts


@pytest.mark.parametrize("kind", ["histogram", "pattern counts"])
def test_the_cascade_of_the_audit_is_the_only_one(kind):
    """What was counted at other prices, under other names, is audited like the log itself."""
    frame, dear = log_of(), sw.Cascade([1, 2, 4], mistake_cost=1_000, names=NAMES)
    cheap = sw.Cascade([5, 0, 1], mistake_cost=10, names=["x", "y", "z"])
    source = counted(frame, cheap)
    if kind == "histogram":
        source = sw.audit(source, cheap).facts.table
    report = sw.audit(source, dear, assumptions=[ErrsWithin("c", 0.2)])
    expected = sw.audit(frame, dear, assumptions=[ErrsWithin("c", 0.2)])
    assert report.cascade == report.facts.table.cascade == dear
    data, expected_data = json.loads(report.to_json()), json.loads(expected.to_json())
    assert {**data, "source": ""} == {**expected_data, "source": ""}
    assert report.summary().replace("a pattern table", "a table in memory") == expected.summary()


def test_a_histogram_of_other_tests_is_refused():
    frame = log_of(100)
    fewer = sw.Cascade([1, 2], names=["a", "b"])
    for source in (counted(frame, CASCADE), sw.audit(frame, CASCADE).facts.table):
        with pytest.raises(LogError, match="must be those of 2 tests, got those of 3"):
            sw.audit(source, fewer)


def test_counts_that_left_patterns_out_are_refused():
    with pytest.raises(LogError, match="must hold every pattern"):
        sw.audit(counted(log_of(100), CASCADE, max_patterns=2), CASCADE)


BAD = {
    "a list for a cascade": (
        {"cascade": [1, 2, 4]},
        r"cascade must be a Cascade .*, got \[1, 2, 4\]",
    ),
    "confidence as text": ({"confidence": "0.9"}, r"confidence must lie in \(0, 1\), got '0.9'"),
    "confidence of 1": ({"confidence": 1}, r"confidence must lie in \(0, 1\), got 1"),
    "seed as text": ({"seed": "x"}, r"seed must be a whole number >= 0, got 'x'"),
    "negative seed": ({"seed": -1, "n_planned": 5}, r"seed must be a whole number >= 0, got -1"),
    "one assumption": (
        {"assumptions": Ordered()},
        r"assumptions must be a list, got Ordered\(\)",
    ),
    "no assumption": ({"assumptions": ["ordered"]}, r"such as Ordered\(\), got 'ordered'"),
    "a class": ({"assumptions": [Ordered]}, "such as Ordered"),
    "one test": ({"cascade": sw.Cascade([1], names=["a"])}, "at least two tests"),
    "a negative plan": ({"n_planned": -1}, "n_planned must be a whole number >= 0, got -1"),
    "an output that is not there": (
        {"assumptions": [NeverRight("abstain")]},
        "never right must be in the log, got 'abstain'",
    ),
    "a contradiction": ({"assumptions": [ErrsWithin(name, 0.0) for name in "ac"]}, "at once"),
    "one column": ({"tests": "abc"}, "tests must be a list of columns, got 'abc'"),
}


@pytest.mark.parametrize("what", BAD)
def test_settings_that_make_no_sense_are_refused(what):
    settings, message = BAD[what]
    with pytest.raises(InputError, match=message):
        sw.audit(log_of(50), **{"cascade": CASCADE, **settings})


def test_what_labels_contradict_is_said_with_the_names_of_the_tests():
    frame = log_of(300)
    labels = frame.assign(label=frame.a)  # so the first test is never wrong
    message = "at once that .*; and that by the labels, the error rate of 'a' is 0 to 0"
    with pytest.raises(InputError, match=message):
        sw.audit(frame, CASCADE, labels=labels, assumptions=[Ordered()])


def test_what_python_is_given_by_mistake_is_refused_by_its_name(tmp_path):
    frame = log_of(50)
    with pytest.raises(InputError, match=r"labels must be a file or a table .* got list"):
        sw.audit(frame, CASCADE, labels=[1, 0])
    with pytest.raises(InputError, match="the log must come first"):
        sw.audit(CASCADE, frame)
    with pytest.raises(InputError, match=r"path must end in .html or .htm, got .*x.csv"):
        sw.audit(frame, CASCADE).save(tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())
