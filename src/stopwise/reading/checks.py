"""Which logs can be audited: not what is empty, constant, spelled in two ways or no label."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from stopwise.errors import LogError
from stopwise.outputs import looks_like
from stopwise.patterns import PatternTable

MAX_PATTERNS = 200_000  # of values; beyond this only agreement is counted
MAX_VALUES = 100_000  # of one test: more are scores or ids, not labels
RARE = 1_000  # a value seen less often than once in so many outputs may be a slip
GAPS = {
    "",
    "none",
    "null",
    "nil",
    "na",
    "n/a",
    "nan",
    "nat",
    "<na>",
    "#n/a",
    "undefined",
    "missing",
}
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
MAX_FRACTIONS = 50  # different numbers with a fraction: more are scores, not labels


def check_no_scores(n_values: Sequence[int], n_cases: int, columns: Sequence[str]) -> None:
    """Raise `LogError` where a test has so many values that they must be scores or ids."""
    most, name = max(zip(n_values, columns, strict=True), key=lambda pair: pair[0])
    if most > min(MAX_VALUES, n_cases / 2):
        raise LogError(
            f"outputs must be labels, got more than {MAX_PATTERNS} different patterns; test "
            f"{name!r} alone has {most} values: cut scores into classes first"
        )


def check_log(table: PatternTable) -> None:
    """Raise `LogError` where a log cannot be audited: empty, constant, labels that look alike."""
    if not table.n_cases:
        n = table.n_blank
        rows = f"{n} row{'s' * (n > 1)} without any" if n else "a header and no rows"
        raise LogError(f"the log must have at least one case with an output, got {rows}")
    if table.agreement_only:  # which has counted no values that could be looked at
        return
    _check_spelling(table)
    given = [np.unique(table.codes[table.shown[:, k], k]).tolist() for k in range(table.n_stages)]
    for k, name in enumerate(table.cascade.names):
        if not given[k]:
            raise LogError(f"test {name!r} must have outputs, got none in {table.n_cases} cases")
        if len(given[k]) == 1 and k > 0:  # a first test may be "always no"; the audit mentions it
            n = table.n_observed[k]
            raise LogError(
                f"test {name!r} must tell cases apart, got {table.value(given[k][0])!r} in "
                f"{f'all {n} cases' if n > 1 else 'one case'}: leave it out, or see if it is the "
                "right column"
            )
    first = 1 if _own_words(given) else 0
    for k in range(table.n_stages):
        _check_values(table, k, given, first)


def own_words(table: PatternTable) -> tuple[Hashable, ...]:
    """Return the values of a first test that shares none with the others, as a score in buckets.

    There must be two tests after it: what is compared is their answers.
    """
    given = [np.unique(table.codes[table.shown[:, k], k]).tolist() for k in range(table.n_stages)]
    return tuple(table.value(c) for c in given[0]) if _own_words(given) else ()


def _own_words(given: list[list[int]]) -> bool:
    others = {c for codes in given[1:] for c in codes}
    return len(given) > 2 and others.isdisjoint(given[0])


def _check_spelling(table: PatternTable) -> None:
    alike: dict[Hashable, Hashable] = {}
    for value in table.classes:
        other = alike.setdefault(looks_like(value), value)
        if other is not value:
            raise LogError(
                f"labels must be spelled in one way, got {other!r} {_places(table, other)} and "
                f"{value!r} {_places(table, value)}: they would count as disagreement; "
                "a query can mend that"
            )


def _check_values(table: PatternTable, k: int, given: list[list[int]], first: int) -> None:
    """Raise `LogError` where test k gives scores, or nothing that any other test gives."""
    name = table.cascade.names[k]
    values = [table.classes[c] for c in given[k]]
    scores = [value for value in values if _is_fraction(value)]
    if len(scores) > MAX_FRACTIONS:
        raise LogError(
            f"outputs must be labels, got {len(scores)} different numbers such as "
            f"{scores[0]!r} from test {name!r}: cut scores into classes first"
        )
    others = {c for j, codes in enumerate(given) if j not in (k, *range(first)) for c in codes}
    if k < first or not others.isdisjoint(given[k]):
        return
    shown = ", ".join(map(repr, values[:3])) + (", …" if len(values) > 3 else "")
    hint = f"leave it out, or map them to answers with a query (CASE WHEN {name} = … THEN … END)"
    if any(isinstance(value, str) and DECIMAL_COMMA.fullmatch(value) for value in values):
        hint = "numbers with a decimal comma are read as text; write a point"
    raise LogError(
        f"tests must give answers to one question, got {shown} from test {name!r} and none of "
        f"them from any other test: {hint}"
    )


def _is_fraction(value: Hashable) -> bool:
    if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value):
        value = value.replace(",", ".")
    alike = looks_like(value)
    return isinstance(alike, float) and not alike.is_integer()


def _places(table: PatternTable, value: Hashable) -> str:
    code = table.classes.index(value)
    columns = np.flatnonzero((table.codes == code).any(axis=0))
    return "in " + ", ".join(repr(table.cascade.names[k]) for k in columns)


def odd_values(table: PatternTable) -> tuple[Hashable, ...]:
    """Return values that may be slips: a word for a gap, and rare ones next to two others.

    So are rare ones that are like another value but for signs, such as a stray quote.
    """
    if table.agreement_only:
        return ()
    times = np.zeros(table.n_classes, dtype=np.int64)
    for k in range(table.n_stages):
        shown = table.shown[:, k]
        np.add.at(times, table.codes[shown, k], table.weights[shown])
    rare = times <= max(1, int(times.sum()) // RARE)
    letters = [_letters(value) for value in table.classes]
    alike = Counter(letters)
    return tuple(
        value
        for value, is_rare, bare in zip(table.classes, rare.tolist(), letters, strict=True)
        if (isinstance(value, str) and value.strip().casefold() in GAPS)
        or (is_rare and ((~rare).sum() == 2 or (bare and alike[bare] > 1)))
    )


def _letters(value: Hashable) -> str:
    """Return the letters and digits of a word, and a number as it is: its signs mean something."""
    if not isinstance(looks_like(value), str):
        return str(value)
    return "".join(filter(str.isalnum, str(value).casefold()))
