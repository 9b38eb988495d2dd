"""Slips: how often tests 2 and 3 err where test 1 is right, which the paper leaves open."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper import drawing
from paper.experiment import JSON
from stopwise.problem.families import ERROR_RATES
from stopwise.simulation.palette import BROWN, INK, WINE

SLIP = 0.1
SLIPS_OF_2 = {0.0: BROWN, 0.05: WINE, SLIP: INK}
SLIPS_OF_3 = np.linspace(0, 0.2, 21).round(2).tolist()


def turn_of_ranking(slip_2: float, slip_3: float) -> float:
    """Return the ρ from which Algorithm 1's ranking, C_k - p_1k, puts stage 2 before stage 3.

    >>> round(turn_of_ranking(0.0, 0.1), 12), round(turn_of_ranking(0.1, 0.1), 3)
    (1.0, 0.316)
    """
    first, second, third = ERROR_RATES
    p_12, p_13 = (first - e + s * (1 - first) for e, s in ((second, slip_2), (third, slip_3)))
    one_slips = slip_2 * (1 - slip_3) + slip_3 * (1 - slip_2)
    return float((p_13 - p_12) / (second - third + one_slips * (1 - first)))


def turns() -> JSON:
    """Return the turn over the slip of test 3, for each slip of test 2."""
    turn = {str(a): [turn_of_ranking(a, b) for b in SLIPS_OF_3] for a in SLIPS_OF_2}
    return {"slip_3": SLIPS_OF_3, "turn": turn}


def draw(numbers: JSON) -> Any:
    """Draw the turn over the slip of test 3, a line for each slip of test 2."""
    sheet, (axis,) = drawing.new_figure(width=4.6, height=3.2)
    for slip, color in SLIPS_OF_2.items():
        turn = numbers["turn"][str(slip)]
        axis.plot(
            numbers["slip_3"],
            turn,
            "--" if slip == 0 else "-",
            color=color,
            label=f"slip of test 2: {slip:g}",
        )
    axis.axhline(1.0, color="black", linewidth=0.8, label="weak dominance from here on", zorder=1)
    axis.plot(SLIP, turn_of_ranking(SLIP, SLIP), "o", color=INK, markersize=5, label="our choice")
    axis.set_xlabel("slip of test 3")
    axis.set_ylabel("Algorithm 1 is right from ρ =")
    drawing.from_zero(axis)
    drawing.legend_below(sheet, [axis], columns=2)
    return sheet
