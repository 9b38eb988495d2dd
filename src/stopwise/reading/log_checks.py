"""Logs that cannot be audited: empty, constant, outputs spelled in two ways, scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np

from stopwise.errors import LogError
from stopwise.outputs import looks_like
from stopwise.patterns import PatternTable

MAX_PATTERNS = 200_000  # of values; beyond this only agreement is counted
MAX_VALUES = 100_000  # of one test: more are scores or ids, not labels
RARE = 1_000  # a value seen less often than once in so many outputs may be a typing error
GAPS = {
    *("", "none", "null", "nil", "na", "n/a", "nan", "nat", "<na>", "#n/a"),
    *("undefined", "missing"),
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
    """Raise `LogError` where a log cannot be audited: empty, constant, outputs that look alike."""
    if not table.n_cases:
        n = table.n_blank
        rows = f"{n} row{'s' * (n > 1)} without any" if n else "a header and no rows"
        raise LogError(f"the log must have at least one case with an output, got {rows}")
    if table.agreement_only:  # the values were not counted
        return
    _check_spelling(table)
    codes = _codes_of_tests(table)
    for k, name in enumerate(table.cascade.names):
        if not codes[k]:
            raise LogError(f"test {name!r} must have outputs, got none in {table.n_cases} cases")
        if len(codes[k]) == 1 and k > 0:  # a first test may be "always no"; the audit mentions it
            n = table.n_observed[k]
            raise LogError(
                f"test {name!r} must give more than one output, got {table.value(codes[k][0])!r} "
                f"in {f'all {n} cases' if n > 1 else 'one case'}: leave it out, or check that it "
                "is the right column"
            )
    first = 1 if own_words(table) else 0
    for k in sorted(range(table.n_stages), key=lambda k: -len(codes[k])):  # ids before answers
        _check_values(table, k, codes, first)


def own_words(table: PatternTable) -> tuple[Hashable, ...]:
    """Return the values of a first test that shares none with the others, such as a binned score.

    At least two tests must follow, whose answers can be compared.
    """
    if table.agreement_only:
        return ()
    first, *others = _codes_of_tests(table)
    if len(others) < 2 or not set(first).isdisjoint(chain(*others)):
        return ()
    return tuple(table.value(c) for c in first)


def _codes_of_tests(table: PatternTable) -> list[list[int]]:
    """Return for each test the codes of the values that it gives."""
    return [np.unique(table.codes[table.shown[:, k], k]).tolist() for k in range(table.n_stages)]


def _check_spelling(table: PatternTable) -> None:
    spelling: dict[Hashable, Hashable] = {}
    for value in table.classes:
        other = spelling.setdefault(looks_like(value), value)
        if other is not value:
            raise LogError(
                f"outputs must be spelled in one way, got {other!r} {_places(table, other)} and "
                f"{value!r} {_places(table, value)}; they would count as disagreement: "
                "fix the log, or map them with --query"
            )


def _check_values(table: PatternTable, k: int, codes: list[list[int]], first: int) -> None:
    """Raise `LogError` if test k gives scores, or no value that another test gives.

    Tests before ``first`` may have values of their own.
    """
    name = table.cascade.names[k]
    values = [table.classes[c] for c in codes[k]]
    scores = [value for value in values if _is_fraction(value)]
    if len(scores) > MAX_FRACTIONS:
        raise LogError(
            f"outputs must be labels, got {len(scores)} different numbers such as "
            f"{scores[0]!r} from test {name!r}: cut scores into classes first"
        )
    others = chain(*(codes[j] for j in range(first, len(codes)) if j != k))
    if k < first or not set(codes[k]).isdisjoint(others):
        return
    examples = ", ".join(map(repr, values[:3])) + (", …" if len(values) > 3 else "")
    hint = f"leave it out, or map them to answers with a query (CASE WHEN {name} = … THEN … END)"
    if any(isinstance(value, str) and DECIMAL_COMMA.fullmatch(value) for value in values):
        hint = "numbers with a decimal comma are read as text; write a point"
    if len(values) > max(table.n_observed[k] / 2, MAX_FRACTIONS):
        hint = "it looks like an id; name that with --id, in Python case_id"
    raise LogError(
        f"tests must give answers to one question, got {examples} from test {name!r} and none of "
        f"them from any other test: {hint}"
    )


def _is_fraction(value: Hashable) -> bool:
    if isinstance(value, str) and DECIMAL_COMMA.fullmatch(value):
        value = value.replace(",", ".")
    number = looks_like(value)
    return isinstance(number, float) and not number.is_integer()


def _places(table: PatternTable, value: Hashable) -> str:
    code = table.classes.index(value)
    columns = np.flatnonzero((table.codes == code).any(axis=0))
    return "in " + ", ".join(repr(table.cascade.names[k]) for k in columns)


def odd_values(table: PatternTable) -> tuple[Hashable, ...]:
    """Return values that may be errors: a word for a gap, or a third value that is rare.

    Rare values that differ from another only by punctuation, such as a stray quote, are also odd.
    """
    if table.agreement_only:
        return ()
    times = np.zeros(table.n_classes, dtype=np.int64)
    for k in range(table.n_stages):
        rows = table.shown[:, k]
        np.add.at(times, table.codes[rows, k], table.weights[rows])
    rare = times <= max(1, int(times.sum()) // RARE)
    letters = [_letters(value) for value in table.classes]
    n_alike = Counter(letters)
    return tuple(
        value
        for value, is_rare, bare in zip(table.classes, rare.tolist(), letters, strict=True)
        if (isinstance(value, str) and value.strip().casefold() in GAPS)
        or (is_rare and ((~rare).sum() == 2 or (bare and n_alike[bare] > 1)))
    )


def _letters(value: Hashable) -> str:
    """Return the letters and digits of a word; a number stays as it is, since its signs matter."""
    if not isinstance(looks_like(value), str):
        return str(value)
    return "".join(filter(str.isalnum, str(value).casefold()))
