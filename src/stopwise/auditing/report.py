"""What an audit found, as one value."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.auditing.bounds.grounds import Ground
from stopwise.auditing.bounds.regrets import TINY, minimax_stage, possible_stages, worst_regrets
from stopwise.auditing.compare import Choice
from stopwise.auditing.evidence.dominance import StrongDominanceEvidence
from stopwise.auditing.evidence.missing import MissingOutputs
from stopwise.auditing.evidence.verdict import Finding, Verdict
from stopwise.auditing.interval import Interval
from stopwise.auditing.labels.evidence import LabelEvidence
from stopwise.auditing.labels.plan import LabelPlan, PlannedCase
from stopwise.auditing.prices import PriceMap
from stopwise.cascade import Cascade, FloatArray
from stopwise.files import write_text
from stopwise.patterns import PatternTable

VERSION = 1


@dataclass(frozen=True, eq=False)
class AuditReport:
    """What a log of outputs tells at given prices, and what it cannot tell.

    Parameters
    ----------
    source
        Where the log came from, in words.
    histogram
        The patterns of outputs: all that the rest was computed from.
    confidence
        The chance with which all intervals hold together: at all times, those from labels for a
        number of labels fixed beforehand.
    verdict
        The stage that is sound under weak dominance, with the evidence for each pair.
    strong_dominance
        Whether "a right answer stays right" is refuted.
    assumptions
        What the bounds take for granted, in words.
    error_bounds
        For each stage the error rates that some label could give.
    largest_differences
        For each pair the most that γ_i - γ_j can be; shape (K, K).
    prices
        The same findings at every price of a mistake.
    choices
        What each rule would choose.
    missing
        What is missing in the log, ``None`` where nothing is.
    labels
        What labels say, where there are some.
    plan, planned_cases
        Which cases to label, where that was asked for.
    ground
        The least from which it follows that the minimax stage is best, ``None`` where nothing does.
    n_disputed
        In how many cases stages that may still be best are seen to disagree: only those can tell.
    odd_values
        Outputs that may be slips of the log and count as answers.
    """

    source: str
    histogram: PatternTable
    confidence: float
    verdict: Verdict
    strong_dominance: StrongDominanceEvidence
    assumptions: tuple[str, ...]
    error_bounds: tuple[Interval, ...]
    largest_differences: FloatArray
    prices: PriceMap
    choices: tuple[Choice, ...]
    missing: MissingOutputs | None = None
    labels: LabelEvidence | None = None
    plan: LabelPlan | None = None
    planned_cases: tuple[PlannedCase, ...] = ()
    ground: Ground | None = None
    n_disputed: int = 0
    odd_values: tuple[Hashable, ...] = ()

    @property
    def cascade(self) -> Cascade:
        """The tests and their prices."""
        return self.histogram.cascade

    def difference(self, i: int, j: int) -> Interval:
        """Return the smallest and the largest γ_i - γ_j that some label could give."""
        most = self.largest_differences
        return Interval(-float(most[j, i]), float(most[i, j]))

    @cached_property
    def worst_regrets(self) -> FloatArray:
        """For each stage the most that stopping there can cost more than the best stage."""
        return worst_regrets(self.largest_differences, self.cascade.cumulative_costs)

    @property
    def minimax_stage(self) -> int:
        """The stage with the smallest worst-case regret."""
        return minimax_stage(self.worst_regrets)

    @property
    def guarantee(self) -> float:
        """The worst-case regret of the minimax stage."""
        return float(self.worst_regrets[self.minimax_stage])

    @property
    def is_known(self) -> bool:
        """Whether in this log one stage is best whatever its labels are, given the assumptions."""
        return self.guarantee <= TINY

    @property
    def is_assuming(self) -> bool:
        """Whether something was taken for granted besides that labels were drawn at random."""
        return len(self.assumptions) > (self.labels is not None)

    @property
    def has_telling_labels(self) -> bool:
        """Whether some label is of a case on which tests disagree; the others compare nothing."""
        return self.labels is not None and self.labels.n_telling > 0

    @property
    def possible_stages(self) -> tuple[int, ...]:
        """The stages that may be best given the log, the assumptions and the labels."""
        return possible_stages(self.largest_differences, self.cascade.cumulative_costs)

    @property
    def recommended_stage(self) -> int:
        """Where to stop: what is certain, else what is sound or what labels favour, or minimax.

        Labels go before a sound stage where they are clear about it.
        """
        if self.is_known:
            return self.minimax_stage
        possible, told = self.possible_stages, self.labels
        sound = self.verdict.stage if self.verdict.finding is Finding.SOUND else None
        if sound not in possible:
            sound = None
        if told is not None and told.n_telling and told.stage in possible:
            return told.stage if sound is None or told.overrules else sound
        return self.minimax_stage if sound is None else sound

    def summary(self) -> str:
        """Return the report for a terminal: at most 25 lines in plain words."""
        from stopwise.auditing.telling.summary import summary

        return summary(self)

    def to_html(self) -> str:
        """Return the report as one self-contained page."""
        from stopwise.auditing.telling.page import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Return every number of the report as plain data for JSON; stages count from 0."""
        held: dict[str, Any] = {"version": VERSION, "cascade": self.cascade.to_state()}
        for part in fields(self):
            if part.name != "histogram":
                held[part.name] = _plain(getattr(self, part.name))
        h = self.histogram
        held["log"] = {
            "n_cases": h.n_cases,
            "n_blank": h.n_blank,
            "n_patterns": len(h.weights),
            "classes": _plain(h.classes),
            "patterns": [[_plain(h.value(c)) for c in row] for row in h.codes.tolist()],
            "counts": h.weights.tolist(),
            "disagreement": _plain(h.disagreement),
        }
        held["worst_regrets"] = _plain(self.worst_regrets)
        held["minimax_stage"] = self.minimax_stage
        held["guarantee"] = self.guarantee
        held["is_known"] = self.is_known
        held["possible_stages"] = list(self.possible_stages)
        held["recommended_stage"] = self.recommended_stage
        return held

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def save(self, path: str | Path) -> None:
        """Write the page to ``path``, all of it or nothing."""
        write_text(Path(path), self.to_html())

    def __str__(self) -> str:
        return self.summary()


def _plain(value: Any) -> Any:
    """Return a value as what JSON knows; what is not a finite number is ``None``."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)
