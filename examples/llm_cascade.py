"""A cascade of three chat models behind an OpenAI-compatible server, which is a fake one here.

    python -m examples.llm_cascade        # needs the extra chat; a few seconds

The models differ in price and in how often they err, and now and then the server refuses, fails or
answers nonsense. With your own server, only `base_url`, the key and the names of models change.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from openai import AsyncOpenAI

import stopwise as sw
from examples.fake_chat_server import FakeChatServer, FakeModel
from stopwise.runtime import LabelSettings, Result, Stage, by_tokens, chat, choices

PROMPT = "Is this ticket about billing or about shipping? One word.\n\n{case}"
WORDS = {"billing": ["invoice", "refund", "charge"], "shipping": ["parcel", "courier", "delay"]}
# Name, share of wrong answers, seconds, price of 1,000 tokens in cents.
MODELS = (("small", 0.15, 0.001, 0.015), ("medium", 0.08, 0.003, 0.15), ("large", 0.02, 0.01, 1.5))


def fake_model(rate: float, seconds: float, seed: int) -> FakeModel:
    """Return a model that errs at a rate and fails now and then."""
    rng = random.Random(seed)

    def answer(text: str) -> str:
        is_billing = any(word in text for word in WORDS["billing"])
        return "Billing." if is_billing != (rng.random() < rate) else "It is about shipping."

    return FakeModel(answer, seconds, faults={"429": 0.01, "500": 0.01, "refusal": 0.005})


def tickets(n: int) -> list[tuple[str, str]]:
    """Return the right answers, which the cascade never sees, and the texts."""
    rng = random.Random(0)
    topics = [rng.choice(["billing", "shipping"]) for _ in range(n)]
    return [(topic, f"Ticket {k}: {rng.choice(WORDS[topic])}") for k, topic in enumerate(topics)]


async def play(n: int) -> None:
    models = {name: fake_model(rate, s, k) for k, (name, rate, s, _) in enumerate(MODELS)}
    async with FakeChatServer(models).running() as server:
        client = AsyncOpenAI(base_url=server.url, api_key="none")
        stages = [
            Stage(
                chat(client, name, PROMPT),
                cost=by_tokens(price, price),
                name=name,
                timeout=5,
                retries=2,
                backoff=0.01,
            )
            for name, _, _, price in MODELS
        ]
        runtime = sw.Runtime(
            "tickets",
            stages=stages,
            mistake_cost=0.3,  # cents
            normalise=choices("billing", "shipping"),
            labels=LabelSettings(keep=100),
            seed=0,
        )
        async with runtime:
            cases = tickets(n)
            for start in range(0, n, n // 4):
                part = cases[start : start + n // 4]
                keys = [text.partition(":")[0] for _, text in part]
                results = await runtime.run_many(
                    [text for _, text in part], keys=keys, concurrency=16, progress=False
                )
                print_part(start, part, [r for r in results if isinstance(r, Result)])
            print(f"\nRequests: {dict(server.calls)}")
            print(f"One case: {runtime.explain(await runtime.run('Ticket: late refund'))}")
            await runtime.background.wait()
            print("Worth a label:", [case.key for case in runtime.labels.wanted(3)])
        await client.close()


def print_part(start: int, cases: list[tuple[str, str]], results: list[Result]) -> None:
    n = len(results)
    right = sum(r.answer == case[0] for r, case in zip(results, cases, strict=True)) / n
    names = [name for name, *_ in MODELS]
    stages = Counter(names[result.stage] for result in results)
    cost = sum(result.cost for result in results) / n
    shares = ", ".join(f"{name} {stages[name] / n:.0%}" for name in names)
    n_failed = sum(bool(result.failures) for result in results)
    print(
        f"cases {start + 1}-{start + n}: {shares}; {right:.1%} right; "
        f"{1000 * cost:.1f} cents for 1,000 cases; {n_failed} with a failed stage"
    )


def main() -> None:
    asyncio.run(play(200))


if __name__ == "__main__":
    main()
