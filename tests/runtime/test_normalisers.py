import math

import numpy as np
import pytest

from stopwise.errors import SettingError
from stopwise.runtime import choices, json_fields, numbers, text
from stopwise.runtime.normalisers import plain_value

URGENCY = choices("urgent", "routine")
CARE = choices("urgent", "urgent care", "none")
FIELDS = json_fields("a", "b")


@pytest.mark.parametrize(
    ("normalise", "raw", "answer"),
    [
        (URGENCY, "urgent", "urgent"),
        (URGENCY, "  URGENT!\n", "urgent"),
        (URGENCY, "The case is urgent.", "urgent"),
        (URGENCY, "urgent, not routine", None),
        (URGENCY, "non-urgent", None),
        (URGENCY, "insurgent", None),
        (URGENCY, "", None),
        (URGENCY, 7, None),
        (CARE, "It is urgent care", "urgent care"),
        (CARE, "None.", "none"),
        (CARE, None, None),
        *[(numbers(), raw, None) for raw in ("", "three", None, "inf", math.nan, [1, 2])],
        (FIELDS, {"b": 2, "a": 1, "c": 3}, '{"a": 1, "b": 2}'),
        (FIELDS, '{"b": 2, "a": 1}', '{"a": 1, "b": 2}'),
        (FIELDS, '{"a": 1}', None),
        (FIELDS, "not JSON", None),
        (FIELDS, "[1, 2]", None),
        (text(), "  card NOT\nworking! ", "card not working"),
        (text(), "Cafe\u0301", "caf\u00e9"),
        (text(), "..", None),
        (plain_value, np.int64(3), 3),
        (plain_value, np.float64("nan"), None),
        (plain_value, [1, 2], (1, 2)),
        (plain_value, "a", "a"),
        (plain_value, None, None),
    ],
)
def test_equal_answers_have_one_form_and_no_answer_is_missing(normalise, raw, answer):
    assert normalise(raw) == answer


def test_numbers_are_equal_within_a_tolerance():
    normalise = numbers(0.1)
    assert normalise("3.14") == normalise(3.12)
    assert normalise("3.14") != normalise(3.4)
    assert [math.copysign(1, f("-0.0")) for f in (normalise, numbers())] == [1, 1]


@pytest.mark.parametrize("allowed", [(), ("",), (3,), ("a", "A")])
def test_choices_that_cannot_be_told_apart_are_refused(allowed):
    with pytest.raises(SettingError, match="choices must"):
        choices(*allowed)


@pytest.mark.parametrize("tolerance", [-1, math.nan, math.inf, True])
def test_a_tolerance_that_is_none_is_refused(tolerance):
    with pytest.raises(SettingError, match="tolerance must be >= 0"):
        numbers(tolerance)
