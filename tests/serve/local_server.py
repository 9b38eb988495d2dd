"""A real server on a free port of the loopback interface, in a thread of the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import uvicorn

from stopwise.runtime import LabelSettings, Stage, choices
from stopwise.serve.app import Limits, create_app
from stopwise.serve.host import Host
from tests.waiting import wait_until

NEW = {"name": "triage", "costs": [0, 1, 12], "mistake_cost": 200, "names": ["a", "b", "c"]}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Served:
    """A server with its address and the cascades behind it."""

    def __init__(self, host: Host, port: int, server: uvicorn.Server) -> None:
        self.host = host
        self.port = port
        self.server = server
        self.url = f"http://127.0.0.1:{port}"
        self.base = f"{self.url}/api/cascades/triage"

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        # Without TLS; loading certificates would take longer than most tests.
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, verify=False)


@contextmanager
def serving(
    cascades: dict[str, dict[str, Any]] | None = None,
    *,
    store: Any = "memory://",
    port: int = 0,
    needs_token: bool = False,
    limits: Limits | None = None,
    log_requests: bool = False,
    wrap: Any = lambda app: app,
) -> Iterator[Served]:
    """Serve while the block runs; what the server raises is raised here."""
    host = Host(store, cascades)
    port = port or free_port()
    app = create_app(host, needs_token=needs_token, limits=limits, log_requests=log_requests)
    config = uvicorn.Config(wrap(app), port=port, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until_ready(f"http://127.0.0.1:{port}")
    try:
        yield Served(host, port, server)
    finally:
        host.is_closing = True  # what a signal sets; here the server is in a thread
        server.should_exit = True
        thread.join(15)
        assert not thread.is_alive(), "the server has not ended"


def wait_until_ready(url: str, seconds: float = 30) -> None:
    with httpx.Client(timeout=2, verify=False) as http:

        def is_ready() -> bool:
            with suppress(httpx.HTTPError):
                return http.get(f"{url}/readyz").status_code == 200
            return False

        wait_until(is_ready, seconds)


def running(*, names: tuple[str, ...] = ("rules", "nurse")) -> dict[str, Any]:
    """Two stages that this process runs: they differ on some cases, and fail on 'fail'."""

    def first(case: Any) -> str:
        if case == "fail":
            raise ValueError("broken")
        return "urgent" if len(str(case)) % 3 else "routine"

    def second(case: Any) -> str:
        if case == "fail":
            raise ValueError("broken")
        return "urgent" if len(str(case)) % 5 else "routine"

    return {
        "stages": [
            Stage(first, cost=1, name=names[0], inline=True),
            Stage(second, cost=2, name=names[1], inline=True),
        ],
        "mistake_cost": 50.0,
        "normalise": choices("urgent", "routine"),
        "labels": LabelSettings(keep=100),
        "shadow": 1.0,
        "seed": 0,
    }
