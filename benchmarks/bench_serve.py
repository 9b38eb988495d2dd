"""The service: python -m benchmarks.bench_serve. Ratios to a handler that does nothing, in one run.

The same stack (uvicorn, Starlette) answers an empty POST; ask and tell are compared with it in
turn, under the same load by wrk. Fails if a bar is missed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from benchmarks.bars import Bars

KINDS = ["no-op", "ask", "tell in memory", "tell that survives kill -9", "tell on the disk"]
LEAST = {"ask": 0.9, "tell in memory": 0.65, "tell that survives kill -9": 0.3}
LEAST["tell on the disk"] = 0.1
KEYED = "tell with a key"
BODY = '{"outputs":["x","y"]}'


def serve(kind: str, port: int, folder: str) -> None:
    """Serve in this process: nothing, or a cascade in a store that is as durable as asked."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    from stopwise.cascade import Cascade
    from stopwise.serve.app import create_app
    from stopwise.serve.host import Host
    from stopwise.serve.middleware import Limits
    from stopwise.store import Worker

    async def nothing(request: Request) -> Response:
        await request.body()
        return Response(b'{"outcome":"counted"}', media_type="application/json")

    if kind == "no-op":
        app = Starlette(routes=[Route("/api/cascades/{name}/tell", nothing, methods=["POST"])])
    else:
        durable = {KINDS[2]: "memory", KINDS[4]: "disk"}
        durability = durable.get(kind, "process")
        store = "memory://" if durability == "memory" else f"sqlite:///{folder}/{port}.db"
        host = Host(Worker(store, durability=durability))
        host.create("triage", Cascade([0, 1, 12], mistake_cost=200))
        for _ in range(200):
            host.find("triage").tell(("x", "y", "y"))
        app = create_app(host, limits=Limits(requests_per_second=1e9, burst=10**9))
    uvicorn.run(app, port=port, log_level="error", access_log=False)


def load(
    url: str, seconds: float, folder: Path, *, keys: str = "", delay: float = 0.0
) -> tuple[float, float]:
    """Return requests a second and the 99th percentile in milliseconds.

    With ``keys`` each request has a new key that begins so; ``delay`` are the milliseconds that a
    connection waits between requests.
    """
    script, connections = folder / "post.lua", 16
    lines = [
        f"wrk.method = 'POST'\nwrk.body = '{BODY}'",
        "wrk.headers['content-type'] = 'application/json'",
    ]
    if keys:
        told = BODY.replace("}", f',"key":"{keys}\'..n..\'"}}')
        lines.append("n = 0")
        lines.append(f"function request() n = n + 1; return wrk.format(nil,nil,nil,'{told}') end")
    if delay >= 1:
        lines.append(f"function delay() return {delay:.0f} end")
    script.write_text("\n".join(lines))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--latency", "-s", str(script)]
    out = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in out:
        raise SystemExit(f"{url} refused requests:\n{out}")
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", out).groups()
    return rate, float(value) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]


def first_view(bars: Bars, url: str) -> None:
    """Weigh the files that the dashboard's first view loads, and time their transfer."""
    start = time.perf_counter()
    page = urllib.request.urlopen(f"{url}/").read()
    names = set(re.findall(rb'(?:src|href)="(/static/[^"]+)"', page))
    names |= {b"/static/%s.js" % n for n in (b"api", b"dom", b"charts", b"overview", b"cascade")}
    names |= {b"/static/label.js", b"/static/audit.js"}
    size = len(page) + sum(len(urllib.request.urlopen(url + n.decode()).read()) for n in names)
    seconds = time.perf_counter() - start
    bars.at_most("first view, kB", size / 1000, 300, f"{len(names) + 1} files")
    bars.at_most("first view, seconds of transfer", seconds, 1.0, "one after the other")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        raise SystemExit("bench_serve needs wrk: apt install wrk")
    bars, processes, urls = Bars(), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in [*KINDS, KEYED]:
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            process = multiprocessing.get_context("spawn").Process(
                target=serve, args=(kind, port, folder), daemon=True
            )
            process.start()
            processes[kind] = process
            action = "ask" if kind == "ask" else "tell"
            urls[kind] = f"http://127.0.0.1:{port}/api/cascades/triage/{action}"
            wait_for(port)
        rates: dict[str, list[float]] = {kind: [] for kind in urls}
        work: dict[str, list[float]] = {kind: [] for kind in urls}
        for turn in range(given.repeats):
            for kind, url in urls.items():
                keys = f"{turn}-" if kind == KEYED else ""
                before = cpu_seconds(processes[kind].pid)
                rate = load(url, given.seconds, Path(folder), keys=keys)[0]
                rates[kind].append(rate)
                used = cpu_seconds(processes[kind].pid) - before
                work[kind].append(1e6 * used / (rate * given.seconds))
        best = {kind: max(found) for kind, found in rates.items()}
        # Each of the 16 connections waits as long as makes half of what ask can do at the most.
        halved, slowest = 1000 * 16 / best["ask"], {kind: [] for kind in KINDS[:2]}
        for _ in range(given.repeats):
            for kind, found in slowest.items():
                rate, p99 = load(urls[kind], given.seconds, Path(folder), delay=halved)
                print(f"{kind} at half load: {rate:,.0f}/s, p99 {p99:.1f} ms")
                found.append(p99)
        for kind, found in rates.items():
            shares = ", ".join(
                f"{rate / base:.2f}" for rate, base in zip(found, rates["no-op"], strict=True)
            )
            spent = min(work[kind])
            print(
                f"{kind}: {best[kind]:,.0f} requests a second; times no-op, run by run: {shares}; "
                f"{spent:.0f} µs of the processor a request, {min(work['no-op']) / spent:.2f}"
            )
        for kind, least in LEAST.items():
            ratio = best[kind] / best["no-op"]
            bars.at_least(f"{kind}, times no-op", ratio, least, f"{best[kind]:,.0f}/s")
        ask, nothing = min(slowest["ask"]), min(slowest["no-op"])
        bars.at_most("p99 of ask at half load, times no-op", ask / nothing, 3, f"{ask:.2f} ms")
        first_view(bars, urls["ask"].partition("/api")[0])
        for process in processes.values():
            process.terminate()
            process.join()
    bars.finish()


def cpu_seconds(pid: int) -> float:
    """Return what a process has used of the processor, whatever else runs on the machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"nobody listens on {port}")


if __name__ == "__main__":
    main()
