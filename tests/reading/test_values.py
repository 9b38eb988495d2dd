"""Values are known again however they are written."""

from stopwise.outputs import looks_like, matching


def test_what_looks_alike():
    assert looks_like(" Yes") == looks_like("yes") == looks_like("YES ")
    assert looks_like("1") == looks_like(1) == looks_like(1.0) == looks_like(True)
    assert looks_like("nan") == "nan"
    assert looks_like("a") != looks_like("b")
    assert matching("1", (0, 1)) == 1
    assert matching("x", (0, 1)) == "x"
