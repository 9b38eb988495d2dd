"""Figure 5: with and without labels on the PIMA diabetes data."""

from __future__ import annotations

from paper import real_data, real_data_claims
from paper.experiment import Claim, Result, Scale
from paper.sensors import PIMA

NAME = "pima"
TITLE = "Figure 5: PIMA diabetes, with and without labels"
ABOUT = (
    f"Three linear SVMs: the history of a patient, with insulin, with glucose. {real_data.PANELS}"
)
figure, tables = real_data.draw, real_data.tabulate


def run(scale: Scale) -> Result:
    """Play the contenders on the recorded outputs."""
    return real_data.measure(NAME, PIMA, scale)


def check(result: Result) -> list[Claim]:
    """Judge what Section 7 says of this figure."""
    return real_data_claims.judge(result, regime=3, figure="Section 7, Figure 5")
