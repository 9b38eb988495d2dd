import inspect
import re

from stopwise import errors

CLASSES = [
    value
    for _, value in inspect.getmembers(errors, inspect.isclass)
    if issubclass(value, BaseException) and not issubclass(value, Warning)
]


def test_the_tree_drawn_in_the_docstring_is_the_tree():
    """Its root is `StopwiseError`, so catching that catches everything."""
    parents = {}
    above = []
    for line in errors.__doc__.splitlines():
        match = re.match(r"    ([│├└─ ]*)(\w+Error)\b", line)
        if match:
            depth = len(match[1]) // 4
            del above[depth:]
            parents[match[2]] = above[-1] if above else "Exception"
            above.append(match[2])
    assert parents == {error.__name__: error.__mro__[1].__name__ for error in CLASSES}


def test_what_python_calls_them():
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
