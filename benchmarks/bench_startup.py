"""What starting costs: python -m benchmarks.bench_startup. CPU seconds of whole processes."""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.bars import Bars
from benchmarks.bench_audit import columns

AUDIT = ["--costs", "1,2,4", "--mistake-cost", "20", "--tests", "a,b,c"]


def cpu_of_children() -> float:
    """The CPU seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(arguments: list[str]) -> float:
    """The CPU seconds of one run of Python."""
    before = cpu_of_children()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return cpu_of_children() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    bars = Bars()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "small.csv"
        rows = columns(2_000, 3).tolist()
        log.write_text("\n".join(["a,b,c", *(",".join(map(str, row)) for row in rows)]))
        runs = {
            "python -c pass": (["-c", "pass"], 1.0),
            "import stopwise": (["-c", "import stopwise"], 0.13),
            "stopwise --help": (["-m", "stopwise", "--help"], 0.15),
            "stopwise audit, 2,000 cases": (["-m", "stopwise", "audit", str(log), *AUDIT], 0.5),
        }
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(args.repeats):
            for name, (arguments, _) in runs.items():
                times[name].append(seconds(arguments))
    for name, values in times.items():
        note = f"s of CPU, median; {min(values):.3f} to {max(values):.3f}"
        bars.at_most(name, statistics.median(values), runs[name][1], note)
    bars.finish()


if __name__ == "__main__":
    main()
