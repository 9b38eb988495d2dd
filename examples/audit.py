"""Audit two medical cascades without their labels, then look whether the labels agree.

Needs the extras audit and datasets: python -m examples.audit [folder for the two pages]
"""

import sys
from pathlib import Path

import numpy as np

import stopwise as sw
from paper.sensors import HEART, PIMA, Sensors


def audit(sensors: Sensors) -> tuple[sw.AuditReport, sw.Instance]:
    """The audit sees the outputs; the instance, with the labels, is for the comparison."""
    recording = sensors.recording()
    log = np.asarray(recording.outputs, dtype=np.uint8)
    return sw.audit(log, recording.cascade), recording.instance


def compare(report: sw.AuditReport, truth: sw.Instance) -> str:
    """Say whether the hidden labels are inside the bounds at 41 prices of a mistake."""
    are_inside = all(
        bounds.low - 1e-9 <= rate <= bounds.high + 1e-9
        for bounds, rate in zip(report.facts.error_bounds, truth.error_rates, strict=True)
    )
    test_costs = report.cascade.cumulative_costs * report.cascade.mistake_cost
    n_prices, n_inside, regrets = 0, 0, []
    for price in np.geomspace(test_costs[-1] / 10, test_costs[-1] * 1000, 41):
        C = test_costs / price
        total = truth.error_rates + C
        worst = (report.facts.largest_differences + C[:, None] - C[None, :]).max(axis=1)
        n_prices += 1
        n_inside += bool((total - total.min() <= worst + 1e-9).all())
        stage = int(np.argmin(worst))
        regrets.append(float(total[stage] - total.min()))
    return (
        f"Hidden labels: error rates {np.round(truth.error_rates, 3).tolist()}, inside the bounds: "
        f"{are_inside}; regrets inside theirs at {n_inside} of {n_prices} prices; best stage here "
        f"{truth.best_stage + 1}; mean regret of the minimax stage {np.mean(regrets):.3f}."
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for name, sensors in (("PIMA", PIMA), ("Heart", HEART)):
        report, truth = audit(sensors)
        print(f"== {name}\n{report}\n{compare(report, truth)}\n")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            report.save(folder / f"{name.lower()}.html")


if __name__ == "__main__":
    main()
