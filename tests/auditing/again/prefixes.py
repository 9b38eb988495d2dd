"""Disagreement where outputs decided who was tested: a small programme after each prefix."""

from scipy.optimize import linprog

from tests.auditing.again.betting import betting


class Prefixes:
    """What P(Y^i ≠ Y^j) can be, each answer to a prefix seen where its test ran.

    The tests on the path share the level; of test k's part each of the M^k prefixes before it that
    could be has an equal share, and among more than two values each value again.
    """

    def __init__(self, counted, deep, shallow, level):
        self.path = counted.paths[deep]
        self.rows = [[row[k] for k in self.path] for row in counted.rows]
        self.classes, self.place = counted.classes, self.path.index(shallow)
        self.level = level / len(self.path)

    def interval(self):
        return 1 - self._most((), agree=True), self._most((), agree=False)

    def _after(self, prefix):
        """What the next test said after a prefix, where it ran."""
        k = len(prefix)
        return [row[k] for row in self.rows if tuple(row[:k]) == prefix and row[k] is not None]

    def _most(self, prefix, *, agree):
        """The largest chance to agree (or to differ) after a prefix that was seen."""
        k, M, answers = len(prefix), len(self.classes), self._after(prefix)
        level = self.level / M**k
        if k == len(self.path) - 1:
            hits = sum((y == prefix[self.place]) == agree for y in answers)
            return betting(hits, len(answers), level)[1]
        level /= M if M > 2 else 1
        shares, values = [], []
        for y in self.classes:
            if y in answers:
                shares.append(betting(answers.count(y), len(answers), level))
                values.append(self._most((*prefix, y), agree=agree))
        rest = M - len(values)  # answers nobody gave may lead anywhere
        shares.append((0, min(rest * betting(0, len(answers), level)[1], 1)))
        values.append(1)
        solution = linprog([-v for v in values], A_eq=[[1] * len(values)], b_eq=[1], bounds=shares)
        assert solution.status == 0, solution.message
        return -solution.fun
