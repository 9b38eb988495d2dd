import pytest

import stopwise as sw
from stopwise.simulation.names import FAMILIES, named_environments, named_policy

CASCADE = sw.Cascade(costs=[0, 0.1, 0.1])


def test_settings_reach_the_family():
    (world,) = named_environments(
        "relaxed", costs=[0, 50], mistake_cost=100, error_rates=[0.3, 0.2], slip=0, prevalence=0.5
    ).values()
    assert world.error_rates.tolist() == pytest.approx([0.3, 0.2])
    assert world.cascade.cumulative_costs.tolist() == [0, 0.5]
    worlds = named_environments("sweep", ratio=[0.7, 1.3], total_cost=0.31)
    assert [w.dominance_ratio() for w in worlds.values()] == pytest.approx([0.7, 1.3])


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_family_has_members_with_all_its_settings_and_without_any(name):
    values = {
        "costs": [0, 0.3] if name == "complement" else [0, 0.1, 0.1],
        "mistake_cost": 1.0,
        "parents": [None, 0, 0],
        "prevalence": 0.6,
        "error_rates": [0.4, 0.1, 0.05],
        "slip": 0.1,
        "ratio": [1.1],
        "total_cost": 0.3,
        "epsilon": 0.1,
    }
    settings = {setting: values[setting] for setting in FAMILIES[name].takes}
    for members in (named_environments(name), named_environments(name, **settings)):
        assert members
        assert all(isinstance(member, sw.Instance) for member in members.values())


@pytest.mark.parametrize(
    ("family", "settings", "message"),
    [
        ("relaxd", {}, "family must be one of synthetic, .* got 'relaxd': did you mean 'relaxed'"),
        ("split", {"slip": 0.1}, "family 'split' takes nothing, got slip"),
        ("sweep", {"costs": [1]}, "family 'sweep' takes ratio, .* got costs"),
    ],
)
def test_what_is_no_family_is_refused(family, settings, message):
    with pytest.raises(sw.errors.SettingError, match=message):
        named_environments(family, **settings)


def test_policies_with_a_number():
    assert named_policy("fixed-stage:3", 10)(CASCADE).stage == 2
    assert named_policy("fixed-stage", 10)(CASCADE).stage == 0
    assert named_policy("explore-then-commit:7", 10)(CASCADE).rounds == 7
    assert named_policy("explore-then-commit", 10)(CASCADE).rounds == 4  # the root, rounded up


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("reslove", "policy must be one of .* got 'reslove': did you mean 'resolve'"),
        ("", "policy must be one of"),
        ("resolve:3", "'resolve' takes nothing after a colon"),
        ("fixed-stage:0", "whole number >= 1 after the colon, got '0'"),
        ("fixed-stage:x", "whole number >= 1 after the colon, got 'x'"),
        ("fixed-stage:4", "must name one of the 3 stages, got 4"),
    ],
)
def test_what_is_no_policy_is_refused(name, message):
    with pytest.raises(sw.errors.SettingError, match=message):
        named_policy(name, 10)(CASCADE)
