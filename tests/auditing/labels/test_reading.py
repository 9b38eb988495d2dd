"""Labels in a table: by case or by outputs, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import NeverRight, UnseenLabel
from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.labels.label_files import read_labels
from stopwise.cascade import Cascade
from stopwise.errors import LogError
from stopwise.reading import open_log
from tests.auditing.worlds import draw

CASCADE = Cascade([1, 2, 3], mistake_cost=30, names=["a", "b", "c"])


def test_labels_by_case_and_by_outputs_are_the_same(tmp_path):
    rng = np.random.default_rng(6)
    labels, outputs = draw(rng, 300, [0.4, 0.3, 0.1])
    frame = pd.DataFrame(outputs, columns=["a", "b", "c"]).assign(visit=range(1_000, 1_300))
    log = open_log(frame, CASCADE, case_id="visit")
    histogram = log.table()
    sample = frame.assign(label=labels)[::7]
    sample[["visit", "label"]].to_csv(tmp_path / "ids.csv", index=False)
    sample[["a", "b", "c", "label"]].to_csv(tmp_path / "outputs.csv", index=False)
    by_id, by_outputs, in_memory = (
        sorted(read_labels(source, "label", log, histogram, LabelSpace()).cases)
        for source in (tmp_path / "ids.csv", tmp_path / "outputs.csv", sample)
    )
    assert by_id == by_outputs == in_memory
    assert sum(n for *_, n in by_id) == len(sample)


SMALL = pd.DataFrame({"id": range(6), "a": list("xyxyxz"), "b": list("xxyyxz")})
TWO = Cascade([1, 1], mistake_cost=10, names=["a", "b"])
TWICE = {"id": [5, 5, 5, 1], "label": list("xxyx")}
REFUSED = {
    "no label column": ({"id": [1]}, "column 'label', got id"),
    "no ids": ({"nr": [1], "label": ["x"]}, "tests' columns or the case id 'id'"),
    "another id": ({"id": [9], "label": ["x"]}, "some 'id' are not in it"),
    "no label": ({"id": [1], "label": pd.Series([None], dtype="string")}, "got none"),
    "other outputs": ({"a": ["z"], "b": ["x"], "label": ["x"]}, "must be one of the log"),
    "a slip": (
        {"id": [1, 2], "label": ["x", "yy"]},
        "a value that some test gives, got 'yy'; the log has 'x', 'y', 'z'",
    ),
    "never right": ({"id": [1, 2], "label": ["x", "z"]}, "a value that is never right, got 'z'"),
    "twice": (TWICE, "a case must have one label, got 3 for 5"),
    "twice with outputs": (
        {**TWICE, "a": list("xxxx"), "b": list("yyyy")},
        "a case must have one label, got 3 for 5",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_labels_that_cannot_be_are_refused(what):
    labels, message = REFUSED[what]
    assumptions = [NeverRight("z")] if what == "never right" else []
    with pytest.raises(LogError, match=message):
        sw.audit(SMALL, TWO, case_id="id", labels=pd.DataFrame(labels), assumptions=assumptions)


def test_a_label_no_test_gives_is_fine_where_it_may_be():
    labels = pd.DataFrame({"id": [1, 2, 3], "label": ["x", "new", None]})
    report = sw.audit(SMALL, TWO, case_id="id", labels=labels, assumptions=[UnseenLabel()])
    assert report.facts.labels.n_labels == 2


def test_labels_that_values_chose_speak_for_these_values_alone():
    """Random cases are pooled with those that agree alike; cases chosen by output are not."""
    labels, outputs = draw(np.random.default_rng(4), 3_000, (0.3, 0.2))
    log = pd.DataFrame(outputs, columns=["a", "b"]).assign(label=labels)
    disputed = log[log.a != log.b]
    pooled, separate = (
        sw.audit(log, TWO, labels=labels[:60]).facts.labels.interval(0, 1)
        for labels in (disputed, disputed[disputed.a == 1])
    )
    assert pooled.width < 0.6 * separate.width
    truth = (log.a != log.label).mean() - (log.b != log.label).mean()
    assert truth in pooled
    assert truth in separate
