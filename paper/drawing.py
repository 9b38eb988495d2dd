"""How figures look: fonts, bands, guides, and a legend that never covers the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from paper.contenders import STYLES
from paper.experiment import JSON
from stopwise.extras import load_extra
from stopwise.simulation.palette import GREY, style_of

P = ParamSpec("P")
R = TypeVar("R")

DPI = 160
SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "stopwise",  # the same figure is the same file
}
ROUNDS = "rounds (cases seen)"
REGRET = "cumulative regret (mistakes)"
REGRET_A_ROUND = "regret a round (mistakes)"


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Return ``draw`` with the settings of this module in force while it runs."""

    @wraps(draw)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        with _matplotlib().rc_context(SETTINGS):
            return draw(*args, **kwargs)

    return inner


def _matplotlib() -> Any:
    return load_extra("matplotlib", extra="plot", purpose="drawing figures")


@styled
def save(figure: Any, path: Path) -> None:
    """Write a figure; the same numbers give the same bytes."""
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)  # once for all files: it takes longer than drawing one
    figure.savefig(path, dpi=DPI, metadata={"Date": None} if path.suffix == ".svg" else None)


def new_figure(
    rows: int = 1, columns: int = 1, *, width: float = 7.2, height: float = 3.2, **grid: Any
) -> tuple[Any, list[Any]]:
    """Return a figure and its axes in reading order; drawn without a display or a global state."""
    _matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **grid)
    return figure, list(axes.flat)


def draw_curve(axis: Any, policy: str, numbers: JSON, /, **look: Any) -> None:
    """Draw mean regret with its 95 % band in the colour of the policy."""
    x = numbers["rounds"]
    draw_line(axis, policy, x, numbers["mean"], **look)
    draw_band(axis, policy, x, numbers["low"], numbers["high"])


def draw_line(
    axis: Any, policy: str, x: Iterable[float], y: Iterable[float], /, **look: Any
) -> None:
    """Draw a line in the look of a policy and, unless ``look`` differs, under its name."""
    style = style_of(STYLES.get(policy, policy))
    defaults = {"color": style.colour, "linestyle": style.dashes, "label": policy}
    axis.plot(list(x), list(y), **(defaults | look))


def draw_band(
    axis: Any, policy: str, x: Iterable[float], low: Iterable[float], high: Iterable[float]
) -> None:
    """Fill the band of a policy; regret is never below 0."""
    colour = style_of(STYLES.get(policy, policy)).colour
    bottom = [max(value, 0.0) for value in low]
    axis.fill_between(list(x), bottom, list(high), color=colour, alpha=0.18, linewidth=0)


def guide(
    axis: Any, x: Iterable[float], y: Iterable[float], label: str, dashes: Any = "--", **look: Any
) -> None:
    """Draw a line to compare with, such as a bound or a rate, in a colour that no policy has."""
    defaults = {"color": GREY, "linestyle": dashes, "linewidth": 1.2, "label": label, "zorder": 1}
    axis.plot(list(x), list(y), **(defaults | look))


def from_zero(axis: Any) -> None:
    """Begin the ordinate a little below 0, so that a line at 0 is not hidden by the axis."""
    top = axis.get_ylim()[1]
    axis.set_ylim(-0.025 * top, top)


def shade(axis: Any, low: float, high: float, label: str) -> None:
    """Shade a range of the abscissa."""
    axis.axvspan(low, high, color=GREY, alpha=0.14, linewidth=0, label=label, zorder=0)


def legend_below(figure: Any, axes: Iterable[Any], *, columns: int = 4) -> None:
    """Put one legend for all axes below them, each label once."""
    entries: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="outside lower center",
        ncols=min(columns, len(entries)),
        frameon=False,
    )
