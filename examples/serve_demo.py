"""A service to look at: three fake chat models, traffic, and a model that breaks after a while.

    python -m examples.serve_demo              # then open the address it prints; Ctrl-C ends it

Everything runs on this machine, on the loopback interface. The dashboard tells the story: the
runtime learns where to stop, the large model breaks, an alarm takes it out of service.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
from contextlib import suppress
from pathlib import Path

import uvicorn
from openai import AsyncOpenAI

from examples.fake_chat_server import FakeChatServer, FakeModel
from stopwise.monitor import MonitorSettings
from stopwise.runtime import LabelSettings, Stage, chat, choices
from stopwise.serve.app import create_app
from stopwise.serve.host import Host
from stopwise.store import Worker, WorkerSettings

PROMPT = "Answer urgent or routine. {case}"
COMPLAINTS = ["chest pain", "short breath", "bad burn", "cough", "itching", "sore knee"]


class Crowd:
    """Patients whose truth is known here and nowhere else."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.is_broken = False

    def patient(self, number: int) -> tuple[str, str]:
        """Return a text and what is right for it."""
        complaint = self.rng.choice(COMPLAINTS)
        right = "urgent" if COMPLAINTS.index(complaint) < 3 else "routine"
        return f"Patient {number}: {complaint} since {self.rng.randint(1, 9)} days", right

    def model(self, rate: float, latency: float, *, breaks: bool = False) -> FakeModel:
        """Return a model that errs at a rate, with some failures."""
        rng = random.Random(self.rng.random())

        def answer(text: str) -> str:
            right = any(word in text for word in COMPLAINTS[:3])
            wrong = rng.random() < rate
            if breaks and self.is_broken:
                return "Routine."
            return "Urgent." if right != wrong else "It is routine."

        return FakeModel(answer, latency, faults={"429": 0.01, "refusal": 0.005})


async def play(
    listening: socket.socket, seconds: float, rate: float, breaks_after: float, store: str
) -> None:
    """Serve and send traffic until the time is over."""
    crowd = Crowd(seed=1)
    models = {
        "small": crowd.model(0.22, 0.01),
        "medium": crowd.model(0.12, 0.03),
        "large": crowd.model(0.02, 0.06, breaks=True),
    }
    async with (
        FakeChatServer(models).running() as fake,
        AsyncOpenAI(base_url=fake.url, api_key="none") as client,
    ):
        stages = [
            Stage(chat(client, name, PROMPT), cost=cost, timeout=5, retries=2, backoff=0.05)
            for name, cost in (("small", 0.2), ("medium", 1.0), ("large", 4.0))
        ]
        settings = {
            "stages": stages,
            "mistake_cost": 100.0,
            "normalise": choices("urgent", "routine"),
            "shadow": 0.05,
            "labels": LabelSettings(keep=200),
            "monitor": MonitorSettings(bucket_seconds=2.0, false_alarms_per_year=1.0),
            "seed": 0,
        }
        worker = Worker(store, settings=WorkerSettings(bucket_seconds=2))
        host = Host(worker, {"triage": settings})
        server = uvicorn.Server(uvicorn.Config(create_app(host), log_level="warning"))
        serving = asyncio.create_task(server.serve([listening]))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        print(f"{url}/cascade/triage shows the cascade; Ctrl-C ends it", flush=True)
        loop = asyncio.get_running_loop()
        start = loop.time()
        number = 0
        runtime = host.find("triage")
        try:
            while loop.time() - start < seconds and not server.should_exit:
                crowd.is_broken = loop.time() - start > breaks_after
                texts = [crowd.patient(number + k)[0] for k in range(max(1, int(rate / 10)))]
                number += len(texts)
                keys = [f"visit-{number - k}" for k in range(len(texts), 0, -1)]
                await runtime.run_many(texts, keys=keys, progress=False)
                await asyncio.sleep(0.1)
        finally:
            server.should_exit = True
            await serving


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--rate", type=float, default=60.0, help="cases per second")
    parser.add_argument("--breaks-after", type=float, default=60.0)
    parser.add_argument("--store", default="memory://")
    args = parser.parse_args()
    if args.store.startswith("sqlite:///"):
        Path(args.store.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
    try:
        listening = socket.create_server(("127.0.0.1", args.port))
    except OSError:
        parser.exit(1, f"port {args.port} is in use: --port 0 takes a free one\n")
    with suppress(KeyboardInterrupt):
        asyncio.run(play(listening, args.seconds, args.rate, args.breaks_after, args.store))


if __name__ == "__main__":
    main()
