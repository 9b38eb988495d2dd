"""Render audit pages of all kinds: python -m examples.pages [folder, default build/examples].

Every log is drawn at random with a fixed seed. Needs the extra audit.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import stopwise as sw


def outputs_of(seed: int, n: int, rates: list[float], n_values: int = 2) -> tuple[np.ndarray, ...]:
    """Right answers, and the outputs of tests that err independently."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_values, n)
    wrong = (labels[:, None] + rng.integers(1, n_values, (n, len(rates)))) % n_values
    return labels, np.where(rng.random((n, len(rates))) < rates, wrong, labels[:, None])


CLINIC = ["risk score", "blood test", "CT"]


def proven() -> sw.AuditReport:
    _, outputs = outputs_of(0, 3_000, [0.1, 0.1, 0.07])
    return sw.audit(outputs, sw.Cascade([6, 400, 400], 500, CLINIC))


def likely() -> sw.AuditReport:
    _, outputs = outputs_of(1, 3_000, [0.35, 0.1, 0.07])
    return sw.audit(outputs, sw.Cascade([6, 40, 400], 2_000, CLINIC))


def guess() -> sw.AuditReport:
    _, outputs = outputs_of(2, 800, [0.3, 0.2])
    return sw.audit(outputs, sw.Cascade([1, 5], 60, ["keyword filter", "language model"]))


def labelled() -> sw.AuditReport:
    labels, outputs = outputs_of(3, 2_000, [0.3, 0.2, 0.15])
    frame = pd.DataFrame(outputs, columns=CLINIC)
    apart = frame[(frame.nunique(axis=1) > 1)][:50].assign(
        label=labels[frame.nunique(axis=1) > 1][:50]
    )
    return sw.audit(frame, sw.Cascade([6, 40, 90], 1_000, CLINIC), labels=apart)


def gaps() -> sw.AuditReport:
    _, outputs = outputs_of(4, 3_000, [0.3, 0.15, 0.05])
    frame = pd.DataFrame(outputs, columns=CLINIC).astype("Int64")
    frame.loc[frame["risk score"] == 0, "CT"] = pd.NA
    return sw.audit(frame, sw.Cascade([6, 40, 90], 1_000, CLINIC))


def tree() -> sw.AuditReport:
    _, outputs = outputs_of(5, 1_500, [0.3, 0.2, 0.15, 0.05])
    names = ["triage", "ultrasound", "blood test", "biopsy"]
    return sw.audit(outputs, sw.Cascade([5, 40, 30, 300], 2_000, names, [None, 0, 0, 1]))


def many_tests() -> sw.AuditReport:
    _, outputs = outputs_of(6, 2_000, np.linspace(0.4, 0.05, 20).tolist())
    names = [f"model number {k + 1}" for k in range(20)]
    return sw.audit(outputs, sw.Cascade([1 + k for k in range(20)], 900, names))


def many_values() -> sw.AuditReport:
    _, outputs = outputs_of(7, 500, [0.3, 0.2, 0.1], 100)
    frame = pd.DataFrame(outputs, columns=["small", "medium", "large"]).map("intent {}".format)
    return sw.audit(frame, sw.Cascade([1, 3, 9], 60, list(frame)))


def long_names() -> sw.AuditReport:
    _, outputs = outputs_of(8, 900, [0.3, 0.2, 0.1])
    names = [
        "a questionnaire that patients fill in at home before they come",
        "laboratory_panel_with_a_name_without_any_blanks_that_never_seems_to_end_v2_final",
        "second opinion",
    ]
    return sw.audit(outputs, sw.Cascade([2, 8, 30], 250, names))


def hostile() -> sw.AuditReport:
    _, outputs = outputs_of(9, 900, [0.3, 0.2])
    values = np.array(["<script>window.ran = 1</script>", "<img src=x onerror='window.ran = 1'>"])
    names = ["<script>window.ran = 1</script>", '" onmouseover="window.ran = 1']
    return sw.audit(pd.DataFrame(values[outputs], columns=names), sw.Cascade([1, 2], 20, names))


PAGES: dict[str, Callable[[], sw.AuditReport]] = {
    make.__name__: make
    for make in (
        proven, likely, guess, labelled, gaps, tree, many_tests, many_values, long_names, hostile
    )
}  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        make().save(folder / f"{name}.html")
        print(folder / f"{name}.html")


if __name__ == "__main__":
    main()
