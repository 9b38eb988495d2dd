"""Draw the picture of the problem: python docs/images/problem.py [file].

The cases are those of examples/data/visits.csv, with the right answers that the log hides.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from examples.make_visits import TESTS as NAMES
from examples.make_visits import draw

COSTS, MISTAKE_COST = (5, 40, 400), 2000
FIRST, N_SHOWN = 40, 25
GOOD, BAD, COST, MISTAKES = "#deebf7", "#fdae6b", "#6baed6", "#e6550d"


def main(path: Path) -> None:
    labels, outputs = draw()
    mpl.rcParams.update({"svg.hashsalt": "stopwise", "font.size": 9})
    figure = Figure(figsize=(10, 3.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    show_log(left, outputs[FIRST : FIRST + N_SHOWN])
    show_disagreement(middle, outputs)
    show_costs(right, labels, outputs)
    figure.savefig(path, metadata={"Date": None})


def show_log(axes, outputs: np.ndarray) -> None:
    """What can be seen: the answers of the tests, marked where a test changes the answer."""
    for case, row in enumerate(outputs):
        for stage, answer in enumerate(row):
            changed = stage > 0 and answer != row[stage - 1]
            axes.barh(-stage, 0.86, left=case, color=BAD if changed else GOOD, height=0.8)
            axes.text(case + 0.43, -stage, "+" if answer else "", ha="center", va="center")
    axes.set(yticks=[0, -1, -2], yticklabels=NAMES, xticks=[], xlabel=f"{N_SHOWN} of 1,000 cases")
    axes.set_title(
        "What can be seen: who is ill (+),\norange where a test changes the answer", fontsize=9
    )
    axes.spines[:].set_visible(False)


def show_disagreement(axes, outputs: np.ndarray) -> None:
    """What is proven: a step that changes less than it costs cannot pay."""
    changed = (outputs[:, 1:] != outputs[:, :-1]).mean(axis=0)
    prices = np.array(COSTS[1:]) / MISTAKE_COST
    places = np.arange(len(prices))
    axes.bar(places - 0.2, changed, 0.38, color=BAD, label="share of answers it changes")
    axes.bar(places + 0.2, prices, 0.38, color=COST, label="its cost, in mistakes per case")
    axes.set(xticks=places, xticklabels=[f"+ {name}" for name in NAMES[1:]], ylim=(0, 0.5))
    axes.set_title("What is proven:\nthe CT cannot pay", fontsize=9)
    axes.legend(frameon=False, fontsize=7.5, handlelength=1, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)


def show_costs(axes, labels: np.ndarray, outputs: np.ndarray) -> None:
    """What is unknown: the error rate of each test, and so the cost of stopping there."""
    test_costs = np.cumsum(COSTS)
    mistake_costs = MISTAKE_COST * (outputs != labels[:, None]).mean(axis=0)
    axes.bar(NAMES, test_costs, color=COST, label="tests (known)")
    axes.bar(NAMES, mistake_costs, bottom=test_costs, color=MISTAKES, label="mistakes (unknown)")
    total = test_costs + mistake_costs
    best = int(np.argmin(total))
    axes.annotate("least", (best, total[best]), ha="center", xytext=(0, 3),
                  textcoords="offset points")  # fmt: skip
    axes.set(ylim=(0, 1.45 * total.max()))
    axes.set_title("What is unknown:\nthe cost per case of stopping there", fontsize=9)
    axes.legend(frameon=False, fontsize=7.5, handlelength=1, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".svg"))
