"""Several workers on one store: what one is told, all know; kill -9 loses nothing acknowledged."""

import concurrent.futures
import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

import stopwise as sw
from stopwise.client import ServerError
from stopwise.store import Worker
from tests.serve.serving import free_port, wait_for
from tests.serve.test_clients import start, stop


def children(pid: int) -> list[int]:
    """The workers of a server: its children that serve."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    if not found.exists():
        pytest.skip("needs /proc")
    words = [int(word) for word in found.read_text().split()]
    return [p for p in words if b"resource_tracker" not in Path(f"/proc/{p}/cmdline").read_bytes()]


@pytest.mark.slow
def test_kill_of_one_of_three_workers_loses_nothing_acknowledged(tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    flags = ["--name", "triage", "--costs", "0,1,12", "--mistake-cost", "200", "--workers", "3"]
    process = start([*flags, "--port", str(port)], tmp_path, url)
    acknowledged: Counter[str] = Counter()

    def send(k: int) -> tuple[str, bool]:
        key = f"case-{k % 700}" if k % 2 else None
        output = f"x{k % 4}"
        client = sw.Client(url, "triage", retries=8)
        if key is not None:
            client.tell([output, "y"], key=key)
            return "keyed", False
        with suppress(ServerError):
            client._send_once("POST", "/tell", {"outputs": [output]})
            return output, True
        return output, False

    try:
        wait_for(lambda: len(children(process.pid)) >= 3, 30)
        victim = children(process.pid)[0]
        n_cases = 2000
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            tells = [pool.submit(send, k) for k in range(n_cases)]
            wait_for(lambda: sum(tell.done() for tell in tells) > n_cases // 3, 120)
            os.kill(victim, signal.SIGKILL)
            for tell in concurrent.futures.as_completed(tells):
                output, is_acknowledged = tell.result()
                acknowledged[output] += is_acknowledged
        wait_for(lambda: victim not in children(process.pid), 30)
    finally:
        stop(process)
    with Worker(f"sqlite:///{tmp_path / 'stopwise.db'}") as worker:
        worker.adopt()
        shared = worker.open("triage")
        shared.sync()
        totals = shared.totals()
    for output in ("x0", "x2"):
        counted = totals.get(f'["{output}"]', 0)
        assert acknowledged[output] <= counted <= n_cases // 4, (output, totals)
    keyed = sum(times for text, times in totals.items() if '"y"' in text)
    assert keyed == len({k % 700 for k in range(n_cases) if k % 2}), "each key is counted once"


def test_two_workers_share_cascades_prices_and_tells(tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    flags = ["--name", "triage", "--costs", "0,1", "--mistake-cost", "20", "--workers", "2"]
    process = start([*flags, "--port", str(port)], tmp_path, url)
    try:
        client = sw.Client(url, "triage")
        for k in range(10):
            client.tell(["x", "y"], key=str(k))
        client._send_once("PATCH", "", {"mistake_cost": 33})

        def agree() -> bool:
            views = [client.live() for _ in range(12)]
            return all((view["n_cases"], view["mistake_cost"]) == (10, 33) for view in views)

        wait_for(agree, 20)
    finally:
        _, errors = stop(process)
    assert "Traceback" not in errors
