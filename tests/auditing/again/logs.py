"""Small logs, each audited once, for tests that count by hand."""

from functools import cache
from inspect import isfunction

from tests.auditing.again import complete_logs, labelled_logs, logs_with_gaps

MAKERS = {
    name: maker
    for module in (complete_logs, logs_with_gaps, labelled_logs)
    for name, maker in vars(module).items()
    if isfunction(maker) and maker.__module__ == module.__name__ and not name.startswith("_")
}
NAMES = tuple(MAKERS)


@cache
def raw(name):
    return MAKERS[name]()


@cache
def report(name):
    return raw(name).audit()
