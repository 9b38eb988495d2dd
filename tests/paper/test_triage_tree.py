"""The triage tree at quick scale."""

from paper import Verdict, triage_tree


def test_the_worlds_are_what_they_are_called():
    strong, weak = triage_tree.worlds().values()
    assert strong.is_strongly_dominant()
    assert not strong.is_weakly_dominant()
    assert weak.is_weakly_dominant()
    assert not weak.is_strongly_dominant()
    assert all(len(w.cascade.children[0]) == 3 and w.cascade.n_stages == 7 for w in (strong, weak))


def test_what_needs_no_long_run_is_judged_at_once(quick):
    verdicts = [claim.verdict for claim in quick[1]["triage-tree"].claims]
    assert verdicts == [Verdict.HOLDS, *[Verdict.UNDECIDED] * 3]
