"""What to do, a second time: the advice as its definition has it, from the numbers of the log."""

import math
from functools import cached_property

import numpy as np

from tests.auditing.again.believed import Believed
from tests.auditing.again.corrections import LabelValue
from tests.auditing.again.planned import Planned


class Again(Believed, LabelValue, Planned):
    """Every number and every kind of a report a second time."""

    def is_clear(self, stage):
        """Whether all others cost clearly more, and the model is not refuted."""
        rates, _ = self.belief
        others = [k for k in self.rivals if k != stage]
        if self.model.misfit.is_refuted or self.n < 30 or not others:
            return False
        say = self.labels_say(stage, others)
        tells = self.model.is_identified and self.is_related(stage)
        if say < 0 or not (say or tells) or self.is_outside_bounds():
            return False
        supported = self.sound(self.share) == stage or say > 0
        if self.gaps_decide(stage) and not self.log.at_random:
            return False
        if {stage, *self.better(stage)} & {*self.outliers(stage)} and not say:
            return False
        if not supported and not (self.model.misfit.is_testable and self.left_out):
            return False
        for without in self.left_out:
            cost = {k: without[k] + self.C[k] for k in without}
            if stage in cost and any(cost[k] < cost[stage] for k in others if k in cost):
                return False
        for k in others:
            wrong = [self.per_row[row][[stage, k]] for row in self.rows]
            error = np.std([first - second for first, second in wrong]) / math.sqrt(self.n)
            share = self.estimated[stage, k]
            doubt = (0.1 if supported else 0.25) * (1 if share is None else share)
            for each in (rates, self.deciding_rates):
                own = each[stage] + self.C[stage]
                if each[k] + self.C[k] - own < max(0.1 * own, 3 * error, doubt):
                    return False
        return True

    def labels_say(self, stage, others):
        """Whether labels favour a stage, or another, halfway to the limits of their intervals."""
        if not self.labelled:
            return 0
        halfway = [], []
        for k in others:
            low, high = self.label_intervals[min(k, stage), max(k, stage)]
            limits = (low, high) if k < stage else (-high, -low)
            for limit, leads in zip(limits, halfway, strict=True):
                leads.append((self.estimates[k][stage] + limit) / 2 + self.C[k] - self.C[stage])
        return 1 if min(halfway[0]) > 0 else -1 if min(halfway[1]) < 0 else 0

    def is_outside_bounds(self):
        rates = zip(self.belief[0], self.error_bounds, strict=True)
        return any(not low - 1e-9 <= rate <= high + 1e-9 for rate, (low, high) in rates)

    def is_related(self, stage):
        """Whether some test agrees with a stage more often than its outputs alone make it."""
        for k in self.stages:
            pairs = self.both(stage, k)
            if k == stage or not pairs:
                continue
            n, (own, other) = len(pairs), zip(*pairs, strict=True)
            chance = 1 - sum(own.count(y) * other.count(y) for y in set(own)) / n**2
            if self.plain[stage, k] < chance - 3 * math.sqrt(chance * (1 - chance) / n):
                return True
        return False

    def gaps_decide(self, stage):
        """Whether more is hidden of tests that may be better than is seen to differ.

        What random gaps hide is shown by other cases, unless there are none like it.
        """
        seen, hidden = [0.0], [0.0]
        for k in self.rivals:
            pair = min(stage, k), max(stage, k)
            low, high = self.worst(*pair)
            if pair in self.by_outputs:
                low, high = self.adjusted_range[pair]
            seen.append(low if k != stage else 0)
            hidden.append(high - low)
        return max(hidden) > max(seen)

    def outliers(self, stage):
        """Tests that disagree with every other one far more than those do."""
        p, tests = self.estimated, []
        if self.K < 3 or None in p.values() or not self.better(stage):
            return []
        for test in [k for k in self.stages if k or k == stage]:
            own = [p[test, k] for k in self.stages if k != test]
            rest = [p[i, j] for i, j in p if i < j and test not in (i, j)]
            if min(own) >= max(2 * np.median(rest), 0.1):
                tests.append(test)
        return tests

    def better(self, stage):
        """Stages that may be best and may err less often."""
        return [k for k in self.rivals if k != stage and self.differences[stage, k] > 1e-9]

    @cached_property
    def choice(self):
        """Stage, certainty and basis: what is proven, then what is believed, then disagreement."""
        if self.ground is not None:
            sure = "proven" if self.ground in ("log", "assumptions") else "likely"
            return self.safest, sure, self.ground
        rates, known = self.belief
        if self.deciding_rates is not None:
            stage = min(self.rivals, key=lambda k: self.deciding_rates[k] + self.C[k])
            if not known:
                return stage, "guess", "last is better"
            if any(rates[k] + self.C[k] < rates[stage] + self.C[stage] for k in self.rivals):
                return stage, "guess", "hedged belief"
            sure = "likely" if self.is_clear(stage) else "guess"
            return stage, sure, "belief and labels" if self.n_telling else "belief"
        finding, stage = self.finding()
        if finding == "sound" and stage in self.rivals:
            return stage, "guess", "disagreement"
        return self.safest, "guess", "worst case"

    def step(self, i, j):
        """What going from one test to another costs, changes, has to correct and is believed to."""
        differ, hidden = self.differ[i, j], self.n - self.seen[i, j]
        price = self.C[j] - self.C[i]
        payoffs = [
            "never" if D[i, j] - price <= 1e-9 else "always" if D[j, i] + price <= 1e-9 else "open"
            for D in (self.differences, self.proven)
        ]
        rates, known = self.belief
        avoided = rates[i] - rates[j]
        even = right = None
        if len(self.classes) == 2 and differ and not hidden:
            # c corrected and s spoiled answers with c + s = differ pay if c - s >= price * n
            even = (differ + price * self.n) / 2 / differ
            if known:
                right = min(max((differ + avoided * self.n) / 2 / differ, 0.0), 1.0)
        low, high = differ / self.n, (differ + hidden) / self.n
        is_certain = payoffs[0] != "open" and len(set(payoffs)) == 1
        if (i, j) in self.by_outputs and not is_certain:  # what the intervals exclude is left out
            low, high = (sorted([low, x, high])[1] for x in self.interval[i, j])
        changed = {"low": low, "high": high}
        return {
            "start": i, "end": j, "price": price, "changed": changed,
            "payoff": payoffs[0], "rests_on_intervals": len(set(payoffs)) > 1,
            "break_even": even, "avoided": avoided, "corrected": right,
        }  # fmt: skip

    @staticmethod
    def worth(step):
        gain = step["changed"]["high"] if math.isnan(step["avoided"]) else step["avoided"]
        return gain - step["price"]

    @cached_property
    def steps(self):
        return [self.step(i, k) for k, i in enumerate(self.parents) if i is not None]

    @cached_property
    def skipped(self):
        """The way on that is worth most of those that can pay, else the dearest."""
        stage = self.choice[0]
        ways = [self.step(stage, k) for k in self.stages if k not in self.paths[stage]]
        hopeful = [step for step in ways if step["payoff"] != "never"]
        if not hopeful:
            return max(ways, key=lambda step: step["price"], default=None)
        return max(hopeful, key=self.worth)

    @cached_property
    def taken(self):
        """The way here that is worth least, one that may not pay before one that does."""
        stage = self.choice[0]
        ways = [self.step(k, stage) for k in self.paths[stage][:-1]]
        doubtful = [step for step in ways if step["payoff"] != "always"] or ways
        return min(doubtful, key=self.worth, default=None)

    @cached_property
    def warnings(self):
        """The kinds of warnings in order."""
        stage, certainty, _ = self.choice
        rates, known = self.belief
        kinds = []
        if certainty != "proven" and self.ground != "gaps at random":
            both_seen = {k: min(self.seen[k, j] for j in self.stages) for k in self.stages}
            odd = [k for k in self.outliers(stage) if both_seen[k] >= min(30, self.n)]
            kinds += [
                "outlier" for k in odd if k == stage or certainty == "guess" or not self.n_telling
            ]
            if known and self.model.misfit.is_refuted:
                kinds.append("misfit")
            stages = {self.sound(self.share)} - {None}
            if known:
                stages.add(min(self.stages, key=lambda k: rates[k] + self.C[k]))
            if len(stages) > 1 and not self.n_telling:
                kinds.append("rules disagree")
        if self.n < 30:
            kinds.append("few cases")
        if not self.complete:
            kind = "gaps by truth" if self.by_truth else "gaps"
            if self.dependent and not self.by_truth:
                kind = "gaps by outputs"
            kinds += [kind] if self.by_truth or not self.log.at_random else []
        if self.odd_values:
            kinds.append("odd values")
        if all(any(name == str(y) for y in self.classes) for name in self.log.names):
            kinds.append("no header")
        values = [{row[k] for row in self.rows} - {None} for k in self.stages]
        kinds += ["constant" for outputs in values if len(outputs) == 1]
        kinds += ["own words"] if self.log.unshared else []
        if self.labelled and not self.n_telling:
            kinds.append("same answers")
        if self.log.n_planned > self.n_disputed:
            kinds.append("small plan")
        return kinds

    @cached_property
    def next_step(self):
        stage, certainty, _ = self.choice
        if certainty == "proven":
            has_open_pair = any(self.settled(*p) == 0 for p in self.pairs if stage in p)
            waits = has_open_pair and self.finding()[1] == stage
            is_open, stays_open = (self.finding(n)[0] == "undecided" for n in (1, 1e12))
            return "more cases" if waits and is_open and not stays_open else "nothing"
        if self.gaps_decide(stage) and self.ground is None:
            return "run all tests"
        if self.log.n_planned and self.n_disputed:
            return "label the plan"
        if self.ground is not None:
            return "nothing"
        return "label" if self.n_disputed > self.n_disputed_labelled else "no help"

    @cached_property
    def n_next(self):
        if self.next_step == "label the plan":
            return sum(m for _, m in self.plan.values())
        _, chances, sizes = self.label_value
        settling = [m for m, p in zip(sizes, chances, strict=True) if p >= 0.25]
        n = self.n_disputed_labelled + (settling + sizes[-1:] + [20])[0]
        return min(n, self.n_disputed) if self.next_step == "label" else 0
