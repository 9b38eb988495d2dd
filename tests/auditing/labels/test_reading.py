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
    told = frame.assign(label=labels)[::7]
    told[["visit", "label"]].to_csv(tmp_path / "ids.csv", index=False)
    told[["a", "b", "c", "label"]].to_csv(tmp_path / "outputs.csv", index=False)
    found = [
        read_labels(source, "label", log, histogram, LabelSpace()).cases
        for source in (tmp_path / "ids.csv", tmp_path / "outputs.csv", told)
    ]
    assert sorted(found[0]) == sorted(found[1]) == sorted(found[2])
    assert sum(n for *_, n in found[0]) == len(told)


def test_labels_that_do_not_fit():
    frame = pd.DataFrame({"a": [0, 1, 1], "b": [0, 1, 0], "c": [1, 1, 0], "visit": [1, 2, 3]})
    log = open_log(frame, CASCADE, case_id="visit")
    histogram = log.table()

    def refused(match, **columns):
        with pytest.raises(LogError, match=match):
            read_labels(pd.DataFrame(columns), "label", log, histogram, LabelSpace())

    refused("column 'label', got visit", visit=[1])
    refused("tests' columns or the case id 'visit'", nr=[1], label=[0])
    refused("some 'visit' are not in it", visit=[9], label=[0])
    refused("got none", visit=[1], label=pd.Series([None], dtype="Int64"))
    odd = pd.DataFrame({"a": [0], "b": [1], "c": [0], "label": [0]})
    with pytest.raises(LogError, match="must be one of the log"):
        sw.audit(frame[["a", "b", "c"]], CASCADE, labels=odd)


def refused(labels, match, **settings):
    log = pd.DataFrame({"id": range(6), "a": list("xyxyxz"), "b": list("xxyyxz")})
    log = settings.pop("log", log)
    cascade = Cascade([1, 1], mistake_cost=10, names=["a", "b"])
    with pytest.raises(LogError, match=match):
        sw.audit(log, cascade, case_id="id", labels=labels, **settings)


def test_labels_that_cannot_be_are_refused():
    typo = pd.DataFrame({"id": [1, 2], "label": ["x", "yy"]})
    refused(typo, r"a value that some test gives, got 'yy'; the log has 'x', 'y', 'z'")
    never = pd.DataFrame({"id": [1, 2], "label": ["x", "z"]})
    refused(never, r"got 'z', which never is", assumptions=[NeverRight("z")])
    twice = pd.DataFrame({"id": [5, 5, 5, 1], "label": ["x", "x", "y", "x"]})
    refused(twice, r"a case must have one label, got 3 for 5")
    refused(twice.assign(a="x", b="y"), r"a case must have one label, got 3 for 5")
    log = pd.DataFrame({"id": [1, 1, 2, 3], "a": list("xyxy"), "b": list("xxyy")})
    labels = pd.DataFrame({"id": [1, 2], "label": ["x", "y"]})
    refused(labels, r"a case id must name one case, some 'id' of labels name several", log=log)


def test_a_label_no_test_gives_is_fine_where_it_may_be():
    log = pd.DataFrame({"id": range(6), "a": list("xyxyxz"), "b": list("xxyyxz")})
    cascade = Cascade([1, 1], mistake_cost=10, names=["a", "b"])
    labels = pd.DataFrame({"id": [1, 2, 3], "label": ["x", "new", None]})
    report = sw.audit(log, cascade, case_id="id", labels=labels, assumptions=[UnseenLabel()])
    assert report.facts.labels.n_labels == 2


def test_labels_that_values_chose_speak_for_these_values_alone():
    """Random cases are pooled with those that agree alike; cases chosen by output are not."""
    labels, outputs = draw(np.random.default_rng(4), 3_000, (0.3, 0.2))
    log = pd.DataFrame(outputs, columns=["a", "b"]).assign(label=labels)
    cascade = Cascade([1, 1], mistake_cost=10, names=["a", "b"])
    apart = log[(log.a != log.b)]
    drawn = sw.audit(log, cascade, labels=apart[:60]).facts.labels
    chosen = sw.audit(log, cascade, labels=apart[apart.a == 1][:60]).facts.labels
    assert drawn.interval(0, 1).width < 0.6 * chosen.interval(0, 1).width
    truth = (log.a != log.label).mean() - (log.b != log.label).mean()
    assert truth in drawn.interval(0, 1)
    assert truth in chosen.interval(0, 1)
