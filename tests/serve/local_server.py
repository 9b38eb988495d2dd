"""A real server on a free port of the loopback interface, in a thread of the test."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from stopwise.runtime import LabelSettings, Stage, choices
from stopwise.serve.app import Limits, create_app
from stopwise.serve.host import Host
from tests.waiting import wait_until

NEW = {"name": "triage", "costs": [0, 1, 12], "mistake_cost": 200, "names": ["a", "b", "c"]}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


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


class ServeCommand:
    """`stopwise serve` in a process of its own, while the block runs; then what it printed."""

    def __init__(self, folder: Path, *flags: str, port: int = 0) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = ["-m", "stopwise", "serve", *flags, "--port", str(self.port)]
        self._folder = folder
        self.out = self.errors = ""

    def __enter__(self) -> ServeCommand:
        self.process = subprocess.Popen(
            [sys.executable, *self._command],
            cwd=self._folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            wait_until_ready(self.url, 60)
        except AssertionError:
            self.process.kill()
            pytest.fail(f"the server did not start: {self.process.communicate()}")
        return self

    def __exit__(self, *exception: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.out, self.errors = self.process.communicate(timeout=30)


def two_stages(*, names: tuple[str, ...] = ("rules", "nurse")) -> dict[str, Any]:
    """Two stages that this process runs: they differ on some cases, and fail on 'fail'."""

    def stage(k: int, divisor: int) -> Stage:
        def call(case: Any) -> str:
            if case == "fail":
                raise ValueError("broken")
            return "urgent" if len(str(case)) % divisor else "routine"

        return Stage(call, cost=k + 1, name=names[k], inline=True)

    return {
        "stages": [stage(0, 3), stage(1, 5)],
        "mistake_cost": 50.0,
        "normalise": choices("urgent", "routine"),
        "labels": LabelSettings(keep=100),
        "shadow": 1.0,
        "seed": 0,
    }
