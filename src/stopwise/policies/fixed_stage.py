"""Always the same stage: the baseline that learns nothing."""

from __future__ import annotations

from typing import Self

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import SettingError
from stopwise.policies.base import Policy
from stopwise.policies.compiled_rule import FOREVER


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
    takes_number = True

    def __init__(self, cascade: Cascade, *, stage: int) -> None:
        super().__init__(cascade)
        self.stage = whole_number("stage", stage, SettingError, least=0)
        if self.stage >= cascade.n_stages:
            raise SettingError(f"stage must be < {cascade.n_stages}, got {stage!r}")

    @classmethod
    def with_defaults(
        cls, cascade: Cascade, *, horizon: int = 1_000, number: int | None = None
    ) -> Self:
        """Return the policy that stops at stage ``number``, counted from 1."""
        stage = number or 1
        if stage > cascade.n_stages:
            raise SettingError(
                f"policy fixed-stage must name one of the {cascade.n_stages} stages, got {stage}"
            )
        return cls(cascade, stage=stage - 1)

    def _recommend(self) -> int:
        return self.stage

    def _decide(self) -> tuple[int, int]:
        return self.stage, FOREVER
