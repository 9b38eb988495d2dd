"""Several workers on one store: what one is told, all know; kill -9 loses nothing acknowledged."""

import concurrent.futures
import os
import signal
import statistics
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

import stopwise as sw
from stopwise.client import ServerError
from stopwise.monitor import Alarm, AlarmKind
from stopwise.serve.host import Host
from stopwise.serve.metrics import metrics
from stopwise.serve.views import live
from stopwise.store import Worker
from tests.serve.local_server import ServeCommand, two_stages
from tests.waiting import wait_until

SOAK_SECONDS = 600.0
FLAGS = ("--name", "triage", "--costs", "0,1,12", "--mistake-cost", "200")


def children(pid: int) -> list[int]:
    """The workers of a server: its children that serve."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("needs /proc")
    pids = [int(word) for word in path.read_text().split()]
    return [p for p in pids if b"resource_tracker" not in Path(f"/proc/{p}/cmdline").read_bytes()]


@pytest.mark.slow
def test_kill_of_one_of_three_workers_loses_nothing_acknowledged(tmp_path):
    acknowledged: Counter[str] = Counter()
    n_cases = 2000

    def send(k: int) -> tuple[str, bool]:
        key = f"case-{k % 700}" if k % 2 else None
        output = f"x{k % 4}"
        client = sw.Client(server.url, "triage", retries=8)
        if key is not None:
            client.tell([output, "y"], key=key)
            return "keyed", False
        with suppress(ServerError):
            client._send_once("POST", "/tell", {"outputs": [output]})
            return output, True
        return output, False

    with ServeCommand(tmp_path, *FLAGS, "--workers", "3") as server:
        pid = server.process.pid
        wait_until(lambda: len(children(pid)) >= 3, 30)
        victim = children(pid)[0]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            tells = [pool.submit(send, k) for k in range(n_cases)]
            wait_until(lambda: sum(tell.done() for tell in tells) > n_cases // 3, 120)
            os.kill(victim, signal.SIGKILL)
            for tell in concurrent.futures.as_completed(tells):
                output, is_acknowledged = tell.result()
                acknowledged[output] += is_acknowledged
        wait_until(lambda: victim not in children(pid), 30)
    with Worker(f"sqlite:///{tmp_path / 'stopwise.db'}") as worker:
        worker.adopt()
        shared = worker.open("triage")
        shared.sync()
        totals = shared.totals()
    for output in ("x0", "x2"):
        n_counted = totals.get(f'["{output}"]', 0)
        assert acknowledged[output] <= n_counted <= n_cases // 4, (output, totals)
    keyed = sum(times for text, times in totals.items() if '"y"' in text)
    assert keyed == len({k % 700 for k in range(n_cases) if k % 2}), "each key is counted once"


def test_two_workers_share_cascades_prices_and_tells(tmp_path):
    with ServeCommand(tmp_path, *FLAGS, "--workers", "2") as server:
        client = sw.Client(server.url, "triage")
        for k in range(10):
            client.tell(["x", "y"], key=str(k))
        client._send_once("PATCH", "", {"mistake_cost": 33})

        def agree() -> bool:
            views = [client.live() for _ in range(12)]
            return all((view["n_cases"], view["mistake_cost"]) == (10, 33) for view in views)

        wait_until(agree, 20)
    assert "Traceback" not in server.errors


@pytest.mark.slow
def test_memory_stays_flat(tmp_path):
    """Asks, tells with ever new keys, streams and metrics, for ten minutes."""
    sizes = []

    def use(user: int) -> int:
        client, n_sent = sw.Client(server.url, "triage"), 0
        with httpx.Client(base_url=server.url) as http:
            while time.monotonic() < end:
                for _ in range(50):
                    outputs = [f"x{n_sent % 5}", "y", "y"][: client.ask() + 1]
                    client.tell(outputs, key=f"{user}-{n_sent}")
                    http.post("/api/cascades/triage/tell", json={"outputs": outputs})
                    n_sent += 1
                with http.stream("GET", "/api/cascades/triage/stream") as stream:
                    next(stream.iter_lines())
                http.get("/metrics")
                http.get("/")
                time.sleep(0.5)
        return n_sent

    with ServeCommand(tmp_path, *FLAGS) as server:
        end = time.monotonic() + SOAK_SECONDS
        status = Path(f"/proc/{server.process.pid}/status")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            users = [pool.submit(use, user) for user in range(2)]
            while time.monotonic() < end:
                time.sleep(SOAK_SECONDS / 200)
                (line,) = [x for x in status.read_text().splitlines() if x.startswith("VmRSS")]
                sizes.append(int(line.split()[1]) / 1024)
            n_sent = sum(user.result() for user in users)
        assert sw.Client(server.url, "triage").live()["n_cases"] >= n_sent
    assert "Traceback" not in server.errors
    quarter = len(sizes) // 4
    early = statistics.median(sizes[quarter : 2 * quarter])
    assert statistics.median(sizes[-quarter:]) < 1.05 * early + 2, sizes


def test_a_corrected_label_reaches_other_servers(tmp_path):
    learned = []

    class Recording(sw.BeliefStopping):
        def tell(self, outputs, *, label=None, **settings):
            learned.append(label)
            super().tell(outputs, label=label, **settings)

    url, outputs = f"sqlite:///{tmp_path / 's.db'}", ("urgent", "routine")
    first = Host(url, {"local": {**two_stages(), "policy": Recording}})
    second = Host(url, {"local": two_stages()})
    second.find("local").tell(outputs)
    second.sync()
    for label in ("urgent", "routine"):
        second.find("local").learning.label("case", outputs, label, epoch=0)
        first.sync()
        assert learned[-1] == label
    first.worker.close()
    second.worker.close()


def test_all_servers_show_the_alarms_of_one_of_them(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    hosts = [Host(url, {"local": two_stages()}) for _ in range(2)]
    handler = hosts[0].find("local").alarm_handler
    for k in range(25):
        handler.handle(Alarm(AlarmKind.BUDGET, at=float(k), since=0.0, before=10.0, after=k))
    hosts[0].worker.close()
    hosts.append(Host(url, {"local": two_stages()}))
    for host in hosts[1:]:
        (*_, last) = live(host.find("local"))["alarms"]
        assert (last["at"], last["text"]) == (24.0, handler.alarms[-1].describe(("rules", "nurse")))
        assert 'stopwise_alarms{cascade="local"} 25\n' in metrics(host)
        host.worker.close()


def test_a_cascade_that_fails_does_not_keep_others_from_exchanging(url, monkeypatch, caplog):
    host, other = (Host(url, {"broken": two_stages(), "triage": two_stages()}) for _ in range(2))
    monkeypatch.setattr(host.find("broken"), "sync", lambda: 1 / 0)
    other.find("triage").tell(("x", "y"))
    other.sync()
    host.sync()
    host.sync()
    assert host.find("triage").learning.patterns() == {("x", "y"): 1}
    assert [record.message for record in caplog.records if record.exc_info] == [
        "broken: counts are not exchanged with other workers"
    ]
