import math

import numpy as np
import pytest

from stopwise.errors import SettingError
from stopwise.runtime import choices, json_fields, numbers, text
from stopwise.runtime.normalisers import plain_value


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        ("urgent", "urgent"),
        ("  URGENT!\n", "urgent"),
        ("The case is urgent.", "urgent"),
        ("urgent, not routine", None),
        ("non-urgent", None),
        ("insurgent", None),
        ("I cannot help with that", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_choices_are_found_alone_or_as_the_only_one_in_a_text(raw, answer):
    assert choices("urgent", "routine")(raw) == answer


def test_choices_prefer_the_longer_of_two_that_overlap():
    normalise = choices("very urgent", "urgent")
    assert normalise("It is very urgent") == "very urgent"
    assert normalise("urgent") == "urgent"


@pytest.mark.parametrize("allowed", [(), ("",), (3,), ("a", "A")])
def test_choices_that_cannot_be_told_apart_are_refused(allowed):
    with pytest.raises(SettingError, match="choices must"):
        choices(*allowed)


def test_numbers_are_equal_within_a_tolerance():
    normalise = numbers(0.1)
    assert normalise("3.14") == normalise(3.12)
    assert normalise("3.14") != normalise(3.4)
    assert normalise("-0.01") == 0.0
    assert math.copysign(1, normalise(-0.01)) == 1


@pytest.mark.parametrize("raw", ["", "three", None, "inf", float("nan"), [1, 2]])
def test_what_is_no_number_is_missing(raw):
    assert numbers()(raw) is None


@pytest.mark.parametrize("tolerance", [-1, float("nan"), float("inf"), True])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    with pytest.raises(SettingError, match="tolerance must be >= 0"):
        numbers(tolerance)


def test_json_fields_do_not_depend_on_order_or_other_fields():
    normalise = json_fields("a", "b")
    assert normalise('{"b": 2, "a": 1, "c": 3}') == normalise({"a": 1, "b": 2})
    assert normalise('{"a": 1}') is None
    assert normalise("not JSON") is None
    assert normalise("[1, 2]") is None


def test_text_joins_what_people_write_in_several_ways():
    normalise = text()
    assert normalise("Card not working!") == normalise("  card NOT\nworking ")
    assert normalise("Cafe\u0301") == normalise("caf\u00e9")
    assert normalise("..") is None


@pytest.mark.parametrize(
    ("raw", "output"),
    [(np.int64(3), 3), (np.float64("nan"), None), ([1, 2], (1, 2)), ("a", "a"), (None, None)],
)
def test_outputs_as_they_are(raw, output):
    assert plain_value(raw) == output
