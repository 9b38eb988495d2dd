"""Values that may be errors of the log are reported: one of them can make two classes three."""

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import NeverRight
from stopwise.auditing.words.wording import box
from tests.auditing.worlds import draw

NAMES = ["a", "b", "c"]
CASCADE = sw.Cascade([1, 2, 4], mistake_cost=25, names=NAMES)
START = "These values may be typing errors"


def log_with(*values, n=2_000, n_classes=2, words=("0", "1", "2", "3")):
    _, outputs = draw(np.random.default_rng(2), n, (0.3, 0.2, 0.1), n_classes=n_classes)
    frame = pd.DataFrame(np.array(words, dtype=object)[outputs], columns=NAMES)
    for row, value in enumerate(values):
        frame.loc[row, "b"] = value
    return frame


def odd_line(report):
    return [text for text in box(report).warnings if text.startswith(START)]


@pytest.mark.parametrize("value", ['"1', "None", "na", "<NA>", "l"])
def test_a_value_that_makes_two_classes_three(value):
    report = sw.audit(log_with(value), CASCADE)
    assert report.facts.odd_values == (value,)
    assert odd_line(report) == [f"{START} or gaps, but count as answers: '{value}' (1 case)."]
    assert START in report.to_html()
    assert report.to_dict()["odd_values"] == [value]


def test_nothing_is_odd_about_labels():
    assert sw.audit(log_with(), CASCADE).facts.odd_values == ()
    assert odd_line(sw.audit(log_with(), CASCADE)) == []
    three = log_with("3", n_classes=3)  # as rare, but one more of several
    assert sw.audit(three, CASCADE).facts.odd_values == ()
    numbers = log_with(words=(-1, 1, 2, 3))
    assert sw.audit(numbers, CASCADE).facts.odd_values == ()


def test_a_rare_value_like_another_and_a_word_for_a_gap():
    words = ("cat", "dog", "none", "ox")
    report = sw.audit(log_with("'cat", "cat.", n_classes=4, words=words), CASCADE)
    assert set(report.facts.odd_values) == {"'cat", "cat.", "none"}
    assert "'none' (" in odd_line(report)[0]
    never = [NeverRight("none")]
    report = sw.audit(log_with(n_classes=4, words=words), CASCADE, assumptions=never)
    assert report.facts.odd_values == ()


def test_many_odd_values_keep_to_one_line():
    frame = log_with("None", "na", "<NA>", "null", "nil")
    frame.loc[10:900, "c"] = None
    frame.loc[20:40, "b"] = None
    labels = frame.assign(label="0")[1_000:1_100]
    report = sw.audit(frame, CASCADE, labels=labels, n_planned=30)
    (line,) = odd_line(report)
    assert "case) and 2 more." in line


def test_blank_cells_of_a_text_file_are_missing(tmp_path):
    frame = log_with(*[" "] * 40, *["\t "] * 5)
    frame.to_csv(tmp_path / "log.csv", index=False)
    report = sw.audit(tmp_path / "log.csv", CASCADE)
    assert report.facts.table.classes == ("0", "1")
    assert report.facts.missing.n_incomplete == 45
    planned = sw.audit(tmp_path / "log.csv", CASCADE, n_planned=500)
    assert len(planned.planned_cases) == 500
    assert sw.audit(frame.replace("\t ", " "), CASCADE).facts.odd_values == (" ",)


def test_values_stand_between_marks():
    report = sw.audit(log_with(words=("yes, sure", "no", "", "")), CASCADE)
    assert "2 values ('no', 'yes, sure')" in " ".join(report.summary(details=True).split())
