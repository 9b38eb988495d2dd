"""The triage tree at quick scale."""

import pytest

from paper import QUICK, Verdict, triage_tree
from paper.triage_tree import STRONG, WEAK

# How often each test was stopped at, over all runs.
GOLDEN = {
    STRONG: {
        "Algorithm 1": [0, 5086, 1882, 13, 1003, 0, 16],
        "Algorithm 2": [0, 0, 2664, 0, 2668, 0, 2668],
        "Algorithm 2 with labels": [0, 0, 2664, 0, 2668, 0, 2668],
        "Thompson": [0, 196, 89, 3, 7291, 69, 352],
        "Resolve": [0, 172, 214, 0, 6255, 6, 1353],
    },
    WEAK: {
        "Algorithm 1": [0, 605, 563, 3480, 2927, 101, 324],
        "Algorithm 2": [0, 254, 280, 2120, 5012, 25, 309],
        "Algorithm 2 with labels": [0, 126, 161, 6536, 931, 31, 215],
        "Thompson": [0, 36, 30, 7563, 333, 7, 31],
        "Resolve": [0, 34, 38, 7295, 588, 10, 35],
    },
}


@pytest.fixture(scope="module")
def result():
    return triage_tree.run(QUICK)


def test_stops(result):
    found = {
        world: {
            label: [sum(column) for column in zip(*numbers["final_stops"], strict=True)]
            for label, numbers in cell["curves"].items()
        }
        for world, cell in result.numbers.items()
    }
    assert found == GOLDEN


def test_the_worlds_are_what_they_are_called():
    strong, weak = triage_tree.worlds().values()
    assert strong.is_strongly_dominant()
    assert not strong.is_weakly_dominant()
    assert weak.is_weakly_dominant()
    assert not weak.is_strongly_dominant()
    assert all(len(w.cascade.children[0]) == 3 and w.cascade.n_stages == 7 for w in (strong, weak))


def test_what_needs_no_long_run_is_judged_at_once(result):
    verdicts = [claim.verdict for claim in triage_tree.check(result)]
    assert verdicts == [Verdict.HOLDS, *[Verdict.UNDECIDED] * 3]
