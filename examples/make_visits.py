"""Make examples/data/visits.csv: 1,000 made-up visits, three tests and no right answers.

python -m examples.make_visits
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

TESTS = ("questions", "blood test", "CT")
ERROR_RATES = (0.25, 0.10, 0.07)
PATH = Path(__file__).parent / "data" / "visits.csv"


def draw() -> tuple[np.ndarray, np.ndarray]:
    """Return who is ill, which the log hides, and what the tests say."""
    rng = np.random.default_rng(7)
    ill = rng.random(1000) < 0.3
    errs = rng.random((1000, 3)) < ERROR_RATES
    return ill, ill[:, None] ^ errs


def main() -> None:
    _, outputs = draw()
    answers = np.where(outputs, "ill", "well")
    with PATH.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["visit", *TESTS])
        writer.writerows([f"v{k + 1}", *row] for k, row in enumerate(answers.tolist()))


if __name__ == "__main__":
    main()
