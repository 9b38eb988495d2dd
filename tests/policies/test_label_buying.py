"""Which cases are worth a label, and when labels end."""

import pytest

from stopwise import Cascade
from stopwise.errors import SettingError
from stopwise.policies.label_buying import SHARE, LabelBuying
from stopwise.problem.families import relaxed_errors

COSTS = [0, 0.1, 0.25]


def play(costs, label_cost, n=20_000, seed=0):
    """Run all tests on cases of the relaxed law and buy what is wanted."""
    law = relaxed_errors(Cascade(costs=costs))
    labels, outputs = law.sample(n, seed=seed)
    buying, bought = LabelBuying(law.cascade, label_cost=label_cost), []
    for case, (row, label) in enumerate(zip(outputs.tolist(), labels.tolist(), strict=True)):
        if buying.wants(row):
            bought.append(case)
            assert len(set(row)) > 1, "a label where all agree says nothing about stages"
            buying.take(row, label)
        assert buying.spent <= SHARE * buying.possible_loss
    return law, buying, bought


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("costs", [COSTS, [0, 0.05, 0.02], [0, 0.3, 0.3]])
def test_labels_settle_which_stages_pay_and_end(costs, seed):
    # Near the end of an epoch: the next one opens questions again, and labels come slowly.
    law, buying, bought = play(costs, 0.05, n=16_000, seed=seed)
    assert not buying.refuted[law.best_stage]
    assert buying.questions == ()
    assert 0 < len(bought) < 800


def test_a_dear_label_is_bought_later_and_less_often():
    cheap, dear = (play(COSTS, cost, n=5_000)[2] for cost in (0.05, 10.0))
    assert cheap[0] < dear[0]
    assert 0 < len(dear) < len(cheap) / 2


def test_no_label_where_the_price_covers_all_that_differs():
    buying = LabelBuying(Cascade(costs=[0, 0.3, 1.5]), label_cost=0.001)
    for _ in range(50):
        assert not any(map(buying.wants, ([0, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0])))
    assert buying.refuted == (False, True, True), "1/5 is below .3, and no test is worth 1.5"
    assert buying.gain(0, 1) == pytest.approx(0.2)


def test_neither_right_counts_half_for_each():
    buying = LabelBuying(Cascade(costs=[0, 0.1]), label_cost=0.001)
    for label in "abc" * 2:
        buying.wants("ab")
        buying.take("ab", label)
    assert buying.gain(0, 1) == 0


def test_an_output_that_is_missing_compares_nothing():
    buying = LabelBuying(Cascade(costs=[0, 0.1, 0.1]), label_cost=0.001)
    buying.wants([0, 1, 1])
    buying.possible_loss = 1.0
    assert not buying.wants([0, None])
    assert buying.wants([0, None, 1])


def test_what_is_not_delivered_is_not_paid():
    buying = LabelBuying(Cascade(costs=[0, 100], mistake_cost=1000), label_cost=20)
    while not buying.wants([0, 1]):
        pass
    assert buying.spent == pytest.approx(0.02)
    buying.refund()
    assert buying.spent == 0


@pytest.mark.parametrize(
    ("cascade", "cost", "message"),
    [
        (Cascade(costs=[0, 1, 1], parents=[None, 0, 0]), 1, "cascade must be a chain"),
        (Cascade(costs=[0, 1]), 0, "label_cost must be"),
    ],
)
def test_what_is_refused(cascade, cost, message):
    with pytest.raises(SettingError, match=message):
        LabelBuying(cascade, label_cost=cost)
