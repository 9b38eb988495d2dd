"""Always the same stage: the baseline that learns nothing."""

from __future__ import annotations

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import SettingError
from stopwise.policies.base import Policy
from stopwise.policies.optimism import FOREVER


class FixedStage(Policy):
    """Stop every case at one given stage.

    Parameters
    ----------
    cascade
        The tests and their prices.
    stage
        Where to stop, from 0.

    >>> FixedStage(Cascade(costs=[1, 2, 3]), stage=2).ask()
    2
    """

    settings = ("stage",)

    def __init__(self, cascade: Cascade, *, stage: int) -> None:
        super().__init__(cascade)
        self.stage = whole_number("stage", stage, SettingError, least=0)
        if self.stage >= cascade.n_stages:
            raise SettingError(f"stage must be < {cascade.n_stages}, got {stage!r}")

    def recommend(self) -> int:
        """Return the stage."""
        return self.stage

    def _decide(self) -> tuple[int, int]:
        return self.stage, FOREVER
