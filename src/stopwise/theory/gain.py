"""The most that going on with one case can gain after its outputs so far, labels unknown."""

from __future__ import annotations


def gain_of_going_on(change: float, price: float, later: float) -> float:
    """Return the most that running one more test can gain, with the option to go on after it.

    G = h - c + (1 - h) max(0, G'): the next test changes the answer with chance h, which corrects
    at most one mistake and ends the case; if it does not, one may stop, or go on for G'. It is the
    largest gain over all labels and all ways to go on (``docs/contexts.md`` has the proof).

    Parameters
    ----------
    change
        The chance h, given what was seen, that the next output differs from the standing answer.
    price
        What the next test costs, in error units.
    later
        G' of going on after a next output that changes nothing; whatever is below 0 counts as 0.

    >>> round(gain_of_going_on(0.3, 0.31, later=0.2), 3)
    0.13
    """
    return change - price + (1 - change) * max(0.0, later)
