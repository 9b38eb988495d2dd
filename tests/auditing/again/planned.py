"""What the plan asks for, a second time."""

from collections import Counter
from functools import cached_property

from tests.auditing.again.bounded import Bounded
from tests.auditing.again.counted import camps


class Planned(Bounded):
    """Which cases to label, and what that would tell."""

    @cached_property
    def plan(self):
        """For each agreement on which rivals differ: its cases, and how many of them to label."""
        sizes = Counter(camps(row) for row in self.rows if self.is_disputed(row))
        total, n_labels = sum(sizes.values()), self.log.n_planned
        if total <= n_labels:
            return {key: (n, n) for key, n in sizes.items()}
        shares = {key: (n_labels * n // total, n_labels * n % total) for key, n in sizes.items()}
        remainder = n_labels - sum(whole for whole, _ in shares.values())
        rests = sorted((rest for _, rest in shares.values()), reverse=True)
        assert rests[remainder - 1] > rests[remainder] or not remainder, (
            "the log leaves open who gets the last"
        )
        more = {
            key for key, (_, rest) in shares.items() if rest >= rests[remainder - 1] and remainder
        }
        return {key: (sizes[key], shares[key][0] + (key in more)) for key in sizes}

    def _labelled_by_plan(self, best=None):
        """The strata as the plan would label them, test ``best`` always right, or all alike."""
        strata = self.strata(pooled=True)
        for key, (_, n) in self.plan.items():
            right = set(key) - {None}
            if best is not None and key[best] is not None:
                right = {key[best]}
            strata[key].right.update({camp: n / len(right) for camp in right if n})
        return strata

    @cached_property
    def resolution(self):
        """Half the width of the intervals to come, if each camp were right equally often.

        Only for pairs that can be that far apart, and that labels for one of them would settle.
        """
        resolution = {}
        for j in self.rivals:
            for i in (k for k in self.rivals if k < j):
                low, high = self.bounds_by_labels(self._labelled_by_plan(), {i: 1, j: -1})
                price, half = self.C[j] - self.C[i], (high - low) / 2
                farthest = max(self.differences[i, j] - price, price + self.differences[j, i])
                for_j = self.bounds_by_labels(self._labelled_by_plan(j), {i: 1, j: -1})[0]
                for_i = self.bounds_by_labels(self._labelled_by_plan(i), {i: 1, j: -1})[1]
                if farthest > half + 1e-9 and (for_j > price or for_i < price):
                    resolution[i, j] = half
        return resolution
