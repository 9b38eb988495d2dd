from stopwise.policies.registry import POLICIES
from stopwise.simulation.palette import STYLES, style_of


def test_every_policy_has_a_look_of_its_own_under_each_of_its_names():
    assert len({style_of(name).colour for name in POLICIES}) == len(POLICIES) == len(STYLES)
    assert style_of("WeakDominance") == style_of("weak-dominance")


def test_variants_keep_the_colour():
    plain, eager = style_of("WeakDominance"), style_of("WeakDominance, eager")
    assert plain.colour == eager.colour
    assert plain.dashes != eager.dashes
    assert style_of("fixed-stage:1") != style_of("fixed-stage:3")


def test_strangers_always_look_the_same():
    assert style_of("my rule") == style_of("my rule") != style_of("your rule")
