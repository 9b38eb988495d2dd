import inspect
import re

import pytest

from stopwise import errors

CLASSES = [
    value
    for _, value in inspect.getmembers(errors, inspect.isclass)
    if issubclass(value, BaseException) and not issubclass(value, Warning)
]


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_catching_the_root_catches_everything(error):
    assert issubclass(error, errors.StopwiseError)
    with pytest.raises(errors.StopwiseError, match="why"):
        raise error("why")


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_what_the_caller_gave_is_a_value_error(error):
    is_input = not issubclass(error, errors.StoreError) and error not in (
        errors.StopwiseError,
        errors.MissingExtraError,
        errors.StageError,
    )
    assert issubclass(error, ValueError) == is_input
    assert issubclass(error, errors.InputError) == is_input


def test_a_missing_extra_is_an_import_error():
    assert issubclass(errors.MissingExtraError, ImportError)


def test_the_tree_drawn_in_the_docstring_is_the_tree():
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


@pytest.mark.parametrize("error", CLASSES, ids=lambda error: error.__name__)
def test_each_says_what_it_means(error):
    assert inspect.getdoc(error).endswith(".")
