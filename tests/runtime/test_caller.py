"""Calls of a stage: attempts are counted exactly, whatever goes wrong."""

import asyncio
import random
import threading
import time

import pytest

from stopwise.errors import SettingError
from stopwise.runtime import Stage
from stopwise.runtime.caller import Caller
from stopwise.runtime.normalisers import plain_value
from tests.runtime.bit_cascade import Overlap, cancel, echo, hang


class StatusError(Exception):
    def __init__(self, status_code, retry_after=None):
        super().__init__(f"status {status_code}")
        self.status_code = status_code
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        self.response = type("Response", (), {"headers": headers})()


def make_caller(stage, waits=None, normalise=plain_value, clock=time.monotonic):
    async def sleep(seconds):
        if waits is not None:
            waits.append(seconds)

    return Caller(stage, normalise, clock, sleep=sleep, rng=random.Random(0))


def call_once(stage, case="case", **settings):
    return asyncio.run(make_caller(stage, **settings)(case))


def call_at_once(stage, cases):
    async def play():
        return await asyncio.gather(*map(make_caller(stage), cases))

    return asyncio.run(play())


def failing(*errors):
    """A stage that fails with these errors in turn and then answers; and its calls."""
    calls = []

    async def call(case):
        calls.append(case)
        if len(calls) <= len(errors):
            raise errors[len(calls) - 1]
        return "yes"

    return call, calls


@pytest.mark.parametrize("n_failures", [0, 1, 2, 3])
def test_as_many_attempts_as_needed_and_no_more_than_allowed(n_failures):
    call, calls = failing(*[RuntimeError("down")] * n_failures)
    outcome = call_once(Stage(call, retries=2))
    assert len(calls) == outcome.attempts == min(n_failures + 1, 3)
    assert outcome.output == ("yes" if n_failures <= 2 else None)


@pytest.mark.parametrize(
    ("status", "attempts"), [(400, 1), (401, 1), (404, 1), (408, 2), (429, 2), (500, 2), (503, 2)]
)
def test_a_request_that_is_wrong_is_not_sent_again(status, attempts):
    call, calls = failing(StatusError(status))
    call_once(Stage(call, retries=3))
    assert len(calls) == attempts


def test_waits_grow_and_follow_the_server():
    call, _ = failing(
        StatusError(500), StatusError(500), StatusError(429, retry_after=7), StatusError(429, 1e9)
    )
    waits = []
    call_once(Stage(call, retries=4, backoff=1.0), waits=waits)
    assert 0.5 <= waits[0] <= 1
    assert 1 <= waits[1] <= 2
    assert waits[2:] == [7, 60]


def test_own_rule_for_retries():
    call, calls = failing(ValueError("no"), KeyError("yes"))
    stage = Stage(call, retries=5, retry_if=lambda error: isinstance(error, KeyError))
    assert call_once(stage).output is None
    assert len(calls) == 1


def test_an_own_rule_for_retries_that_fails_is_the_error():
    stage = Stage(lambda case: 1 / 0, retries=1, retry_if=lambda error: error.code)
    outcome = call_once(stage)
    assert (outcome.output, outcome.attempts) == (None, 1)
    assert str(outcome.error).startswith("retry_if failed: AttributeError")


def test_a_hanging_attempt_ends_at_its_timeout():
    start = time.monotonic()
    outcome = call_once(Stage(hang, timeout=0.02, retries=1))
    assert isinstance(outcome.error, TimeoutError)
    assert outcome.attempts == 2
    assert time.monotonic() - start < 5


def test_a_blocking_function_holds_up_nobody():
    def block(case):
        time.sleep(0.2)
        return threading.get_ident()

    start = time.monotonic()
    outcomes = call_at_once(Stage(block), [1, 2])
    assert time.monotonic() - start < 0.39
    assert threading.get_ident() not in {outcome.output for outcome in outcomes}


def test_concurrency_is_limited():
    call = Overlap()
    outcomes = call_at_once(Stage(call, concurrency=3), range(20))
    assert [outcome.output for outcome in outcomes] == list(range(20))
    assert call.most == 3


@pytest.mark.parametrize(
    ("settings", "n", "expected_sizes"),
    [
        ({"max_batch": 4, "max_wait": 0.01}, 10, [2, 4, 4]),
        # The limit is on calls and not on the cases of a batch.
        ({"max_batch": 10, "max_wait": 0.05, "concurrency": 1}, 20, [10, 10]),
    ],
)
def test_batches_are_full_or_late_and_keep_their_order(settings, n, expected_sizes):
    sizes = []

    def double(cases):
        sizes.append(len(cases))
        return [2 * case for case in cases]

    outcomes = call_at_once(Stage(double, batch=True, **settings), range(n))
    assert [outcome.output for outcome in outcomes] == [2 * k for k in range(n)]
    assert sorted(sizes) == expected_sizes


def test_a_batch_of_the_wrong_length_fails_for_all_its_cases():
    for outcome in call_at_once(Stage(lambda cases: cases[:-1], batch=True), range(3)):
        assert outcome.output is None
        assert "one answer a case, got 2 for 3" in str(outcome.error)


def test_a_batch_that_is_cancelled_ends_its_cases():
    async def give_up(cases):
        raise asyncio.CancelledError

    async def play():
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(make_caller(Stage(give_up, batch=True))(1), 5)

    asyncio.run(play())


def test_an_object_with_predict_is_called_with_batches():
    class Model:
        def predict(self, cases):
            return [case > 0 for case in cases]

    stage = Stage(Model(), cost=1)
    assert (stage.name, stage.batch) == ("Model", True)
    assert call_once(stage, 3).output is True


def test_costs_by_what_came_back():
    assert call_once(Stage(echo, cost=lambda text: len(text) / 2), "abc").cost == 1.5


def divide_by_zero(value):
    return 1 / 0


@pytest.mark.parametrize(
    ("case", "cost", "normalise", "reason", "paid"),
    [
        ("abc", lambda text: -1, plain_value, "SettingError: cost", 0),
        ({"a": 1}, 2, plain_value, "TypeError: unhashable", 2),
        ("abc", len, divide_by_zero, "ZeroDivisionError: division by zero", 3),
    ],
)
def test_an_answer_that_cannot_be_used_is_missing_and_paid_for(case, cost, normalise, reason, paid):
    caller = make_caller(Stage(echo, cost=cost), normalise=normalise)
    outcome = asyncio.run(caller(case))
    assert (outcome.output, outcome.cost) == (None, paid)
    assert str(outcome.error).startswith(f"the answer cannot be used: {reason}")
    assert caller.failures == {reason.split(":")[0]: 1}


def test_the_breaker_opens_probes_once_and_closes():
    now = [0.0]
    call, calls = failing(*[RuntimeError("down")] * 4)
    stage = Stage(call, breaker_failures=3, breaker_cooldown=10)
    caller = make_caller(stage, clock=lambda: now[0])

    async def play():
        for _ in range(5):
            await caller("case")
        assert len(calls) == 3
        now[0] = 10.0
        await caller("case")  # the probe fails, so it stays open for another ten seconds
        await caller("case")
        assert len(calls) == 4
        now[0] = 20.0
        assert (await caller("case")).output == "yes"
        assert caller.breaker.n_in_a_row == 0

    asyncio.run(play())


def test_a_probe_that_is_cancelled_while_it_waits_leaves_room_for_another():
    now = [0.0]
    call, calls = failing(*[ConnectionError()] * 2)
    stage = Stage(call, retries=1, backoff=60, breaker_failures=1, breaker_cooldown=10)
    caller = Caller(stage, plain_value, lambda: now[0])
    caller.breaker.failed()
    now[0] = 10.0
    cancel(caller("probe"))
    cancel(caller("again"))
    assert calls == ["probe", "again"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cost": -1}, "cost of stage 'len' must be >= 0 and finite, got -1"),
        ({"timeout": 0}, "timeout of stage 'len' must be > 0"),
        ({"retries": 1.5}, "retries of stage 'len' must be a whole number >= 0"),
        ({"concurrency": 0}, "concurrency of stage 'len' must be a whole number >= 1"),
        ({"max_batch": 0}, "max_batch of stage 'len'"),
        ({"breaker_failures": 0}, "breaker_failures of stage 'len'"),
        ({"call": "small"}, "a function or have predict"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        Stage(**{"call": len, **settings})
