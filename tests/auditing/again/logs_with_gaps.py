"""Logs in which outputs are missing: at random, depending on other outputs, or now and then."""

import numpy as np

from stopwise.auditing import Ordered
from tests.auditing.again.raw_log import WORDS, RawLog, drawn, rows_of


def stopped_by_chance():
    """Somebody stopped by a coin, in some cases before the first test; more cases would settle."""
    rng, _, outputs = drawn(3, 900, (0.3, 0.2, 0.12))
    coin = rng.random(len(outputs))
    gaps = coin[:, None] < np.array([0.02, 0.3, 0.5])
    return RawLog(rows_of(outputs, gaps), (0.02, 0.02, 0.28))


def routed():
    """Cases with 0 from the first test often ended there, and b decided whether c ran."""
    rng, _, outputs = drawn(5, 800, (0.3, 0.2, 0.12))
    gaps = np.zeros(outputs.shape, dtype=bool)
    gaps[(outputs[:, 0] == 0) & (rng.random(len(outputs)) < 0.4), 1:] = True
    gaps[(outputs[:, 1] == 1) & (rng.random(len(outputs)) < 0.3), 2] = True
    return RawLog(rows_of(outputs, gaps), (1, 2, 6), 40, n_planned=30)


def routed_and_adjusted():
    """What the gaps of b hide decides whether it pays: no number of such cases settles that."""
    log = routed()
    return RawLog(log.rows, (1, 16, 6), 40, at_random=True, assumptions=(Ordered(),))


def routed_but_dear():
    """The later tests cost more than they could change, but chance is not yet excluded."""
    log = routed()
    return RawLog(log.rows, (1, 22.5, 12), 40)


def nearly_by_chance():
    """Of 200 cases with 0 from the first test 80 lack the second, of as many with 1 only 60."""
    rows = [(0, 0)] * 90 + [(0, 1)] * 30 + [(0, None)] * 80
    rows += [(1, 1)] * 100 + [(1, 0)] * 40 + [(1, None)] * 60
    return RawLog(tuple(rows), (1, 8), 40, ("a", "b"))


def sent_home():
    """Cases with 0 from the first test got no other, so nothing fills them; c failed at times."""
    rng, _, outputs = drawn(4, 500, (0.35, 0.2, 0.1))
    gaps = (outputs[:, :1] == 0) & np.array([False, True, True])
    gaps[rng.random(500) < 0.2, 2] = True
    return RawLog(rows_of(outputs, gaps), (1, 2, 6), 40, at_random=True)


def holes():
    """Four tests that fail now and then."""
    rng, _, outputs = drawn(13, 500, (0.35, 0.3, 0.25, 0.1))
    gaps = rng.random(outputs.shape) < 0.1
    return RawLog(rows_of(outputs, gaps), (1, 3, 4, 5), 50, ("a", "b", "c", "d"))


def never_together():
    """No case shows both the first and the last test, and a decided whether b ran."""
    rng, _, outputs = drawn(21, 600, (0.3, 0.2, 0.1))
    first = rng.random(600) < 0.6
    gaps = first[:, None] & np.array([False, False, True])
    gaps[~first, 0] = True
    gaps[first & (outputs[:, 0] == 0) & (rng.random(600) < 0.6), 1] = True
    return RawLog(rows_of(outputs, gaps), (1, 22, 1), 40)


def routed_as_assumed():
    """The sound stage, assuming that nothing but the outputs decided which tests ran."""
    log = routed()
    return RawLog(log.rows, (1, 2, 24), 40, at_random=True)


def routed_and_too_dear():
    """Nothing after the first test pays if gaps are random, with some confidence."""
    return RawLog(routed().rows, (1, 20, 20), 40, at_random=True)


def agree_where_seen():
    """Two tests that agree wherever both ran: no label can tell them apart."""
    rows = [(0, 0)] * 50 + [(1, 1)] * 50 + [(0, None)] * 25 + [(1, None)] * 25
    return RawLog(tuple(rows), (0.01, 0.01), names=("a", "b"), n_planned=4)


def words_routed():
    """Three values; some of them from one test make the next one rarer."""
    rng, _, outputs = drawn(25, 900, (0.25, 0.15, 0.1), 3)
    gaps = np.zeros(outputs.shape, dtype=bool)
    gaps[(outputs[:, 0] == 0) & (rng.random(900) < 0.5), 1:] = True
    gaps[(outputs[:, 1] == 2) & (rng.random(900) < 0.4), 2] = True
    words = WORDS[outputs]
    words[gaps] = None
    return RawLog(rows_of(words), (1, 4, 20), 40, at_random=True)


def rare_answer():
    """A value too rare to say by itself what gaps depend on: it counts with the next rarest."""
    rows = [("no", "no")] * 200 + [("no", "yes")] * 60 + [("no", None)] * 60
    rows += [("yes", "yes")] * 110 + [("yes", "no")] * 40 + [("yes", None)] * 32
    rows += [("perhaps", "no")] * 4 + [("perhaps", "perhaps")] * 3 + [("perhaps", None)] * 4
    return RawLog(tuple(rows), (1, 6), 40, ("a", "b"), n_planned=20)


def routed_blindly():
    """What the gaps hide leaves open whether b pays; where both ran it does, adjusted not."""
    return RawLog(routed().rows, (1, 14.8, 20), 40)


def never_together_adjusted():
    return RawLog(never_together().rows, (1, 22, 1), 40, at_random=True)


def planned_with_gaps():
    """Some of the cases that a plan draws lack a test."""
    rng, _, outputs = drawn(30, 400, (0.4, 0.25, 0.1))
    gaps = rng.random(outputs.shape) < np.array([0.02, 0.15, 0.02])
    return RawLog(rows_of(outputs, gaps), (1, 1, 1), 40, n_planned=97)


def routed_and_sound():
    """The second test is sound whatever the gaps hide."""
    return RawLog(routed().rows, (1, 2, 26), 40)


def stopped_by_chance_and_dear():
    """The last test cannot pay if tests were skipped by chance; what gaps hide could pay."""
    return RawLog(stopped_by_chance().rows, (0.02, 0.02, 0.45))


def never_seen_apart():
    """Where both ran, b says what a says, and c costs too much: the gaps of b leave it open."""
    rng, _, outputs = drawn(35, 400, (0.3, 0.3, 0.3))
    outputs[:, 1] = outputs[:, 0]
    gaps = (rng.random(400) < 0.1)[:, None] & np.array([False, True, False])
    return RawLog(rows_of(outputs, gaps), (1, 1, 60), 40)
