"""stopwise: how far to go in a sequence of tests when nobody ever tells the right answer."""

from stopwise.cascade import Cascade
from stopwise.disagreement import PairCounts, sound_stage
from stopwise.patterns import OutputLaw, PatternCounts
from stopwise.problem import Instance

__version__ = "0.1.0"

__all__ = [
    "Cascade",
    "Instance",
    "OutputLaw",
    "PairCounts",
    "PatternCounts",
    "sound_stage",
]
