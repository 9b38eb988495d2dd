"""A picture of a tree of tests: where cases went, and where they were stopped."""

from __future__ import annotations

from typing import Any

from stopwise.cascade import Cascade, FloatArray
from stopwise.simulation.palette import GREY

_WIDEST_EDGE = 12.0
# Where the label of a test goes, in points from it, so that no edge runs through it.
_ABOVE = {"xytext": (0, 12), "ha": "center", "va": "bottom"}
_BESIDE = {"xytext": (12, 0), "ha": "left", "va": "center"}
_BELOW = {"xytext": (0, -12), "ha": "center", "va": "top"}


def draw_tree(
    axis: Any, cascade: Cascade, stop_shares: FloatArray, *, colour: str, best: int | None = None
) -> None:
    """Draw the tests with the root on top and, on each edge, the share of cases that took it.

    ``colour`` is that of the edges and of the test where most cases were stopped; ``best`` has a
    ring.
    """
    x, depth = _layout(cascade)
    arrivals = [
        float(stop_shares[k] + sum(stop_shares[j] for j in cascade.descendants[k]))
        for k in range(cascade.n_stages)
    ]
    favourite = int(stop_shares.argmax())
    for k, parent in enumerate(cascade.parents):
        if parent is None:
            continue
        ends = [x[parent], x[k]], [-depth[parent], -depth[k]]
        axis.plot(*ends, color=GREY, linewidth=0.8, zorder=1)
        width = _WIDEST_EDGE * arrivals[k]
        axis.plot(*ends, color=colour, linewidth=width, alpha=0.45, solid_capstyle="butt", zorder=2)
        axis.text(
            *(0.4 * a + 0.6 * b for a, b in ends),
            _percent(arrivals[k]),
            ha="center",
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
            zorder=5,
        )
    for k, name in enumerate(cascade.names):
        place = x[k], -depth[k]
        if k == best:
            axis.plot(*place, "o", markersize=19, color="black", fillstyle="none", zorder=3)
        face = colour if k == favourite else "white"
        axis.plot(*place, "o", markersize=12, markerfacecolor=face, color=colour, zorder=4)
        where = _ABOVE if k == 0 else _BESIDE if cascade.children[k] else _BELOW
        text = f"{name}\n{_percent(float(stop_shares[k]))} stop"
        axis.annotate(text, place, textcoords="offset points", fontsize=8, zorder=6, **where)
    axis.set_xlim(min(x) - 0.5, max(x) + 0.75)
    axis.set_ylim(-max(depth) - 0.45, 0.45)
    axis.set_axis_off()


def _layout(cascade: Cascade) -> tuple[list[float], list[int]]:
    """Return the place of each test: leaves side by side, every other test above its children."""
    x = [0.0] * cascade.n_stages
    leaves = 0

    def put(node: int) -> None:
        nonlocal leaves
        below = cascade.children[node]
        for child in below:
            put(child)
        if below:
            x[node] = (x[below[0]] + x[below[-1]]) / 2
        else:
            x[node] = float(leaves)
            leaves += 1

    put(0)
    return x, [len(path) - 1 for path in cascade.paths]


def _percent(share: float) -> str:
    if 0 < share < 0.01:
        return "<1 %"
    return f"{100 * share:.0f} %"
