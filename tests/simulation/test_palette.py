import stopwise as sw
from stopwise.simulation.names import POLICIES as NAMED
from stopwise.simulation.palette import STYLES, style_of

# Tests elsewhere define policies of their own.
POLICIES = {
    name
    for name, cls in sw.Policy.kinds.items()
    if cls.__module__.startswith("stopwise.") and issubclass(cls, sw.Policy)
}


def test_every_policy_has_a_look_of_its_own_under_each_of_its_names():
    looks = {name: style_of(name) for name in POLICIES}
    assert len({look.colour for look in looks.values()}) == len(POLICIES)
    plain = {style for name, style in STYLES.items() if not name.startswith("contextual")}
    assert set(looks.values()) == {style_of(name) for name in NAMED} == plain


def test_variants_keep_the_colour():
    plain, eager = style_of("WeakDominance"), style_of("WeakDominance, eager")
    assert plain.colour == eager.colour
    assert plain.dashes != eager.dashes
    assert style_of("fixed-stage:1") != style_of("fixed-stage:3")


def test_strangers_always_look_the_same():
    assert style_of("my rule") == style_of("my rule") != style_of("your rule")


def test_named_policies_are_all_there_are():
    cascade = sw.Cascade(costs=[0, 0.1])
    made = {type(make(cascade, 100, "")).__name__ for make in NAMED.values()}
    assert made == set(POLICIES)
