"""Chat models through a real client and a real server on the loopback interface."""

import asyncio

import numpy as np
import pytest

import stopwise as sw
from examples.fake_chat_server import FAULTS, FakeChatServer, FakeModel
from stopwise.errors import SettingError
from stopwise.runtime import Runtime, Stage, by_tokens, chat, choices

openai = pytest.importorskip("openai")
PROMPT = "Answer urgent or routine. {case}"


def play(models, work):
    """Return what ``work`` returns for a client of a server with these models."""

    async def inside():
        async with (
            FakeChatServer(models).running() as server,
            openai.AsyncOpenAI(base_url=server.url, api_key="none") as client,
        ):
            return await work(server, client)

    return asyncio.run(inside())


def run_all(stages):
    """A runtime that runs all of its stages."""
    cascade = sw.Cascade([stage.cost for stage in stages], 10)
    return Runtime(
        "chat",
        stages=stages,
        mistake_cost=10,
        normalise=choices("urgent", "routine"),
        policy=sw.FixedStage(cascade, stage=len(stages) - 1),
        shadow=0,
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_takes_an_exact_number_of_attempts(fault):
    """The client would retry on its own; the stage has switched that off."""
    attempts = 1 if fault in ("refusal", "odd") else 3
    models = {
        "m": FakeModel(lambda text: "urgent", faults={fault: 1.0}),
        "ok": FakeModel(lambda text: "**Routine**" if "pain" in text else "?"),
    }
    timeout = 0.5 if fault == "hang" else 30  # a busy machine may take longer than half a second

    async def work(server, client):
        stages = [
            Stage(chat(client, "m", PROMPT), cost=1, timeout=timeout, retries=2, backoff=0.001),
            Stage(chat(client, "ok", PROMPT), cost=2),
        ]
        async with run_all(stages) as runtime:
            return server.calls, await runtime.run("chest pain")

    calls, result = play(models, work)
    assert calls["m"] == attempts
    assert result.failures[0].attempts == attempts
    assert (result.outputs, result.answer) == ((None, "routine"), "routine")


def test_prices_by_token():
    async def work(server, client):
        stage = Stage(chat(client, "m", "{case}"), cost=by_tokens(1000, 10_000), name="m")
        runtime = Runtime("chat", stages=[stage, Stage(len)], policy="resolve", shadow=0)
        outcome = await runtime.engine.stages.callers[0]("one two three")
        return outcome.cost, runtime.cascade.prices[0]

    assert play({"m": FakeModel(lambda text: "a b")}, work) == (23.0, 23.0)


def test_a_sync_client_runs_in_a_thread():
    async def work(server, client):
        sync_client = openai.OpenAI(base_url=server.url, api_key="none")
        async with run_all([Stage(chat(sync_client, "m", PROMPT), cost=1)]) as runtime:
            return await runtime.run("x")

    result = play({"m": FakeModel(lambda text: "routine")}, work)
    assert (result.answer, result.cost) == ("routine", 1)


@pytest.mark.parametrize(
    ("model", "prompt", "message"),
    [("", PROMPT, "model must be a name"), ("m", "no place", "a text with {case}")],
)
def test_settings_that_make_no_sense_are_refused(model, prompt, message):
    with pytest.raises(SettingError, match=message):
        chat(openai.OpenAI(base_url="http://127.0.0.1:1", api_key="none"), model, prompt)


class WordForest:
    """A forest over two words, as a pipeline with its own features would be."""

    def __init__(self):
        ensemble = pytest.importorskip("sklearn.ensemble")
        X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        labels = ["routine", "routine", "urgent", "urgent"]
        forest = ensemble.RandomForestClassifier(5, random_state=0, bootstrap=False)
        self._forest = forest.fit(X, labels)

    def predict(self, cases):
        return self._forest.predict([["chest" in case, "pain" in case] for case in cases])


def rules(case):
    return "urgent" if "pain" in case else "routine"


def test_the_example_of_the_first_page(url):
    """Rules, a forest, a small and a large chat model."""
    forest = WordForest()
    models = {
        "small": FakeModel(lambda text: "Urgent!" if "chest" in text else "routine"),
        "large": FakeModel(lambda text: "It is urgent." if "chest" in text else "Routine"),
    }

    async def work(server, client):
        triage = sw.Runtime(
            "triage",
            stages=[
                Stage(rules, cost=0),
                Stage(forest.predict, cost=0.1, batch=True),
                Stage(chat(client, "small", PROMPT), cost=1, timeout=5, retries=2),
                Stage(chat(client, "large", PROMPT), cost=12, timeout=30),
            ],
            mistake_cost=200,
            normalise=choices("urgent", "routine"),
            policy="beliefs",
            store=url,
            shadow=0.01,
        )
        async with triage:
            return triage.cascade, await triage.run("chest pain", key="visit-4711")

    cascade, result = play(models, work)
    assert cascade.names == ("rules", "WordForest", "small", "large")
    assert result.answer == "urgent"
    assert result.key == "visit-4711"
    assert set(result.outputs) == {"urgent"}
    assert result.cost == pytest.approx(sum(cascade.prices[: result.stage + 1]))
    assert result.belief is None, "nothing is known of the stages yet"
