"""Chat models through a real client and a real server on the loopback interface."""

import asyncio

import pytest

import stopwise as sw
from examples.fake_chat_server import FAULTS, FakeChatServer, FakeModel
from stopwise.errors import SettingError
from stopwise.runtime import Runtime, Stage, by_tokens, chat, choices

openai = pytest.importorskip("openai")
PROMPT = "Answer urgent or routine. {case}"


def play(models, work):
    async def inside():
        async with FakeChatServer(models).running() as server:
            client = openai.AsyncOpenAI(base_url=server.url, api_key="none")
            async with client:
                return await work(server, client)

    return asyncio.run(inside())


def only(stages, **settings):
    last = len(stages) - 1
    fixed = sw.FixedStage(sw.Cascade([s.cost for s in stages], 10), stage=last)
    return Runtime(
        "chat",
        stages=stages,
        mistake_cost=10,
        normalise=choices("urgent", "routine"),
        policy=fixed,
        shadow=0,
        **settings,
    )


def test_an_answer_from_a_model():
    async def work(server, client):
        async with only([Stage(chat(client, "m", PROMPT), cost=1)]) as runtime:
            return await runtime.run("chest pain")

    result = play({"m": FakeModel(lambda text: "**Urgent**" if "pain" in text else "?")}, work)
    assert result.answer == "urgent"
    assert result.cost == 1


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [("429", 3), ("500", 3), ("hang", 3), ("cut", 3), ("refusal", 1), ("odd", 1)],
)
def test_every_fault_takes_an_exact_number_of_attempts(fault, attempts):
    """The client would retry on its own; the stage has switched that off."""
    assert fault in FAULTS
    models = {
        "m": FakeModel(lambda text: "urgent", faults={fault: 1.0}),
        "ok": FakeModel(lambda text: "routine"),
    }

    timeout = 0.5 if fault == "hang" else 30  # a busy machine may take longer than half a second

    async def work(server, client):
        stages = [
            Stage(chat(client, "m", PROMPT), cost=1, timeout=timeout, retries=2, backoff=0.001),
            Stage(chat(client, "ok", PROMPT), cost=2),
        ]
        async with only(stages) as runtime:
            return server.calls, await runtime.run("chest pain")

    calls, result = play(models, work)
    assert calls["m"] == attempts
    assert result.failures[0].attempts == attempts
    assert (result.outputs, result.answer) == ((None, "routine"), "routine")


def test_prices_by_token():
    async def work(server, client):
        stage = Stage(chat(client, "m", "{case}"), cost=by_tokens(1000, 10_000), name="m")
        made = Runtime("chat", stages=[stage, Stage(len)], policy="resolve", shadow=0)
        outcome = await made.engine.stages.callers[0]("one two three")
        return outcome.cost, made.cascade.prices[0]

    assert play({"m": FakeModel(lambda text: "a b")}, work) == (23.0, 23.0)


def test_a_sync_client_runs_in_a_thread():
    def work_with(url):
        client = openai.OpenAI(base_url=url, api_key="none")
        return Stage(chat(client, "m", PROMPT), cost=1)

    async def work(server, client):
        async with only([work_with(server.url)]) as runtime:
            return (await runtime.run("x")).answer

    assert play({"m": FakeModel(lambda text: "routine")}, work) == "routine"


@pytest.mark.parametrize(
    ("model", "prompt", "message"),
    [("", PROMPT, "model must be a name"), ("m", "no place", "a text with {case}")],
)
def test_settings_that_make_no_sense_are_refused(model, prompt, message):
    with pytest.raises(SettingError, match=message):
        chat(openai.OpenAI(base_url="http://127.0.0.1:1", api_key="none"), model, prompt)
