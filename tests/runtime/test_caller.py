"""Attempts are counted exactly, whatever goes wrong."""

import asyncio
import random
import threading
import time

import pytest

from stopwise.errors import SettingError, StageError
from stopwise.runtime import Stage
from stopwise.runtime.caller import Caller
from stopwise.runtime.circuit_breaker import CircuitBreaker
from stopwise.runtime.normalisers import plain_value
from tests.runtime.bit_cascade import Overlap


class StatusError(Exception):
    def __init__(self, status_code, retry_after=None):
        super().__init__(f"status {status_code}")
        self.status_code = status_code
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        self.response = type("Response", (), {"headers": headers})()


def caller(stage, **settings):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    made = Caller(stage, plain_value, time.monotonic, sleep=sleep, rng=random.Random(0), **settings)
    made.waits = waits
    return made


def failing(*errors):
    """A stage that fails with these errors in turn and then answers; and its number of calls."""
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
    outcome = asyncio.run(caller(Stage(call, retries=2))("case"))
    assert len(calls) == outcome.attempts == min(n_failures + 1, 3)
    assert outcome.output == ("yes" if n_failures <= 2 else None)
    assert outcome.answered == (n_failures <= 2)


@pytest.mark.parametrize(
    ("status", "attempts"), [(400, 1), (401, 1), (404, 1), (408, 2), (429, 2), (500, 2), (503, 2)]
)
def test_a_request_that_is_wrong_is_not_sent_again(status, attempts):
    call, calls = failing(StatusError(status))
    asyncio.run(caller(Stage(call, retries=3))("case"))
    assert len(calls) == attempts


def test_waits_grow_and_follow_the_server():
    call, _ = failing(
        StatusError(500), StatusError(500), StatusError(429, retry_after=7), StatusError(429, 1e9)
    )
    stage = caller(Stage(call, retries=4, backoff=1.0))
    asyncio.run(stage("case"))
    assert 0.5 <= stage.waits[0] <= 1
    assert 1 <= stage.waits[1] <= 2
    assert stage.waits[2:] == [7, 60]


def test_own_rule_for_retries():
    call, calls = failing(ValueError("no"), KeyError("yes"))
    rule = Stage(call, retries=5, retry_if=lambda error: isinstance(error, KeyError))
    assert asyncio.run(caller(rule)("case")).output is None
    assert len(calls) == 1


def test_a_hanging_attempt_ends_at_its_timeout():
    async def hang(case):
        await asyncio.sleep(60)

    started = time.monotonic()
    outcome = asyncio.run(caller(Stage(hang, timeout=0.02, retries=1))("case"))
    assert isinstance(outcome.error, TimeoutError)
    assert outcome.attempts == 2
    assert time.monotonic() - started < 5


def test_a_blocking_function_holds_up_nobody():
    def slow(case):
        time.sleep(0.2)
        return threading.get_ident()

    async def both():
        stage = caller(Stage(slow))
        started = time.monotonic()
        found = await asyncio.gather(stage(1), stage(2))
        assert time.monotonic() - started < 0.39
        assert threading.get_ident() not in {outcome.output for outcome in found}

    asyncio.run(both())


def test_concurrency_is_limited():
    call = Overlap()

    async def many():
        stage = caller(Stage(call, concurrency=3))
        return await asyncio.gather(*map(stage, range(20)))

    assert [outcome.output for outcome in asyncio.run(many())] == list(range(20))
    assert call.most == 3


def test_batches_are_full_or_late_and_keep_their_order():
    sizes = []

    def double(cases):
        sizes.append(len(cases))
        return [2 * case for case in cases]

    async def many():
        stage = caller(Stage(double, batch=True, max_batch=4, max_wait=0.01))
        return await asyncio.gather(*map(stage, range(10)))

    assert [outcome.output for outcome in asyncio.run(many())] == [2 * k for k in range(10)]
    assert sorted(sizes) == [2, 4, 4]


def test_a_batch_of_the_wrong_length_fails_for_all_its_cases():
    async def many():
        stage = caller(Stage(lambda cases: cases[:-1], batch=True))
        return await asyncio.gather(*map(stage, range(3)))

    for outcome in asyncio.run(many()):
        assert outcome.output is None
        assert "one answer a case, got 2 for 3" in str(outcome.error)


def test_an_object_with_predict_is_called_with_batches():
    class Model:
        def predict(self, cases):
            return [case > 0 for case in cases]

    stage = Stage(Model(), cost=1)
    assert (stage.name, stage.batch) == ("Model", True)
    assert asyncio.run(caller(stage)(3)).output is True


def test_costs_by_what_came_back():
    outcome = asyncio.run(caller(Stage(lambda case: case, cost=lambda said: len(said) / 2))("abc"))
    assert outcome.cost == 1.5


@pytest.mark.parametrize(
    ("said", "cost", "why"),
    [("abc", lambda said: -1, "SettingError: cost"), ({"a": 1}, 0, "TypeError: unhashable")],
)
def test_what_cannot_be_used_names_the_stage(said, cost, why):
    with pytest.raises(StageError, match=f"answer of stage 'odd' cannot be used: {why}"):
        asyncio.run(caller(Stage(lambda case: case, cost=cost, name="odd"))(said))


def test_the_breaker_opens_probes_once_and_closes():
    now = [0.0]
    call, calls = failing(*[RuntimeError("down")] * 4)
    stage = Caller(
        Stage(call, breaker_failures=3, breaker_cooldown=10), plain_value, lambda: now[0]
    )

    async def play():
        for _ in range(5):
            await stage("case")
        assert len(calls) == 3
        now[0] = 10.0
        await stage("case")  # the probe fails, so it stays open for another ten seconds
        await stage("case")
        assert len(calls) == 4
        now[0] = 20.0
        assert (await stage("case")).output == "yes"
        assert not stage.breaker.has_failed

    asyncio.run(play())


def test_a_cancelled_probe_leaves_room_for_another():
    now = [0.0]
    breaker = CircuitBreaker(1, 5.0, lambda: now[0])
    breaker.failed()
    now[0] = 5.0
    assert breaker.allows()
    assert not breaker.allows()
    breaker.abandoned()
    assert breaker.allows()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cost": -1}, "cost of stage 'len' must be >= 0 and finite, got -1"),
        ({"timeout": 0}, "timeout of stage 'len' must be > 0"),
        ({"retries": 1.5}, "retries of stage 'len' must be a whole number >= 0"),
        ({"concurrency": 0}, "concurrency of stage 'len' must be a whole number >= 1"),
        ({"max_batch": 0}, "max_batch of stage 'len'"),
        ({"breaker_failures": 0}, "breaker_failures of stage 'len'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        Stage(len, **settings)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(SettingError, match="a function or have predict"):
        Stage("small")
