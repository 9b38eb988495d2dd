"""The example of the first page: rules, a forest, a small and a large chat model."""

import asyncio

import numpy as np
import pytest

import stopwise as sw
from examples.fake_chat_server import FakeChatServer, FakeModel
from stopwise.runtime import Stage, chat, choices

openai = pytest.importorskip("openai")
pytest.importorskip("sklearn")
PROMPT = "Answer urgent or routine. {case}"


class WordForest:
    """A forest over two words, as a pipeline with its own features would be."""

    def __init__(self):
        from sklearn.ensemble import RandomForestClassifier

        X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        said = ["routine", "routine", "urgent", "urgent"]
        self._forest = RandomForestClassifier(5, random_state=0, bootstrap=False).fit(X, said)

    def predict(self, cases):
        return self._forest.predict([["chest" in case, "pain" in case] for case in cases])


def rules(case):
    return "urgent" if "pain" in case else "routine"


def test_ten_lines(tmp_path):
    forest = WordForest()
    models = {
        "small": FakeModel(lambda text: "Urgent!" if "chest" in text else "routine"),
        "large": FakeModel(lambda text: "It is urgent." if "chest" in text else "Routine"),
    }

    async def play():
        async with FakeChatServer(models).running() as server:
            client = openai.AsyncOpenAI(base_url=server.url, api_key="none")
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
                store=f"sqlite:///{tmp_path / 'triage.db'}",
                shadow=0.01,
            )
            async with client, triage:
                return triage.cascade, await triage.run("chest pain", key="visit-4711")

    cascade, result = asyncio.run(play())
    assert cascade.names == ("rules", "WordForest", "small", "large")
    assert result.answer == "urgent"
    assert result.key == "visit-4711"
    assert set(result.outputs) == {"urgent"}
    assert result.cost == pytest.approx(sum(cascade.prices[: result.stage + 1]))
    assert result.belief is None, "nothing is known of the stages yet"
