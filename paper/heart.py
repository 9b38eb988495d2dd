"""Figure 6: with and without labels on the Cleveland heart disease data."""

from __future__ import annotations

from paper import real_data, real_data_claims
from paper.experiment import Claim, Result, Scale
from paper.sensors import HEART

NAME = "heart"
TITLE = "Figure 6: heart disease (Cleveland), with and without labels"
ABOUT = f"Three linear SVMs: basic tests, with an exercise ECG, with imaging. {real_data.PANELS}"
figure, tables = real_data.draw, real_data.tabulate


def run(scale: Scale) -> Result:
    """Play the contenders on the recorded outputs."""
    return real_data.measure(NAME, HEART, scale)


def check(result: Result) -> list[Claim]:
    """Judge what Section 7 says of this figure."""
    return real_data_claims.judge(result, regime=1, figure="Section 7, Figure 6")
