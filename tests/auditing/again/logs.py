"""Small logs, each audited once, for tests that count by hand."""

from functools import cache

from tests.auditing.again import complete_logs, labelled_logs, logs_with_gaps

MAKERS = {
    maker.__name__: maker
    for maker in (*complete_logs.MAKERS, *logs_with_gaps.MAKERS, *labelled_logs.MAKERS)
}
NAMES = tuple(MAKERS)


@cache
def raw(name):
    return MAKERS[name]()


@cache
def report(name):
    return raw(name).audit()
