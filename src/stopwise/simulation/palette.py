"""One look for each policy, in every figure, that colour-blind readers can tell apart."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from stopwise.policies.registry import POLICIES, Dashes

# Okabe and Ito's colours, without the yellow, which is lost on white.
# Those that only policies have are in the registry.
BLACK, GREY = "#000000", "#7F7F7F"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN, PURPLE = "#009E73", "#CC79A7"
# For anything but policies: no policy ever has these.
INK, BROWN = "#333333", "#8C510A"
WINE, OLIVE = "#882255", "#999933"
# For rules that look at each case.
INDIGO = "#332288"


@dataclass(frozen=True)
class Style:
    """How a policy is drawn."""

    colour: str
    dashes: Dashes


STYLES = {name.lower(): Style(entry.colour, entry.dashes) for name, entry in POLICIES.items()}
SPARE = (SKY, GREEN, PURPLE, ORANGE)
VARIANTS: tuple[Dashes, ...] = ((0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 2)), (0, (3, 3)))


def style_of(policy: str) -> Style:
    """Return the look of a policy by its name, the same wherever it is drawn.

    ``WeakDominance`` and ``weak-dominance`` are the same; ``WeakDominance, eager`` has its colour
    with other dashes; an unknown name has a look that follows from its letters.

    >>> style_of("weak-dominance")
    Style(colour='#0072B2', dashes='-')
    >>> style_of("WeakDominance, eager").colour
    '#0072B2'
    """
    letters = re.sub(r"[^a-z0-9]", "", policy.lower())
    if letters in STYLES:
        return STYLES[letters]
    base = next((name for name in STYLES if letters.startswith(name)), "")
    rest = letters.removeprefix(base)
    number = int(rest) if rest.isdecimal() else zlib.crc32(rest.encode())
    colour = STYLES[base].colour if base else SPARE[number // len(VARIANTS) % len(SPARE)]
    return Style(colour, VARIANTS[number % len(VARIANTS)])
