"""The sentences of a report with their numbers, from the rows of the log."""

from tests.auditing.again.headlines import Headline

STATES = {1: "cannot pay", -1: "may pay", 0: "open"}


class Said(Headline):
    """The sentences on pairs, gaps, prices and plans."""

    def finding(self):
        kind, stage = self.a.finding()
        skipped = self.if_skipped(self.a.pairs)
        if kind == "sound":
            return f"{{s}} is sound under weak dominance{skipped}", [self.name(stage)]
        if kind == "none":
            return f"no stage is sound{skipped}: disagreement alone cannot {{t}}", []
        looks, values = ("{s} looks sound", [self.name(stage)]) if stage is not None else (
            "no stage looks sound", [])  # fmt: skip
        if not self.a.complete and stage == self.a.sound(self.a.plain) != self.a.sound(
            self.a.adjusted
        ):
            looks += " where tests ran"
        more = self.told["verdict"]["n_more"]
        if more is None:
            return f"undecided: {looks}; more cases of this kind would not settle it", values
        return f"undecided: {looks}; about {self.more_cases(more)} would settle it", [*values, more]

    def ruled_out(self):
        """That the stage of the verdict cannot be best given what is assumed or labelled."""
        stage = self.a.finding()[1]
        if stage is None or stage in self.a.rivals:
            return "", []
        if not self.a.labelled:
            return "; what you assume rules out {s}", [self.name(stage)]
        who = "what you assume and the labels" if self.a.is_assuming else "the labels"
        return f"; {who} rule out {{s}}", [self.name(stage)]

    def ratio(self, pair):
        return self.a.price(*pair) / self.a.share[pair] if self.a.share[pair] else None

    def pair(self, pair):
        a, more = self.a, self.forecast[pair]
        state, values = STATES[a.settled(*pair)], []
        if state == "open" and more is not None:
            state, values = f"open, {self.more_cases(more)}", [more]
        gaps = "; gaps may be anything" if pair in a.blind else ""
        if a.share[pair] is None:  # of a choice of cases, and nothing is like the others
            return (
                f"  {{s}} to {{s}}: {{n}} % to {{n}} % change{gaps}, price {{n}} %: {state}",
                [*map(self.name, pair), *self.percent(*a.interval[pair], a.price(*pair)), *values],
            )
        return (
            (
                f"  {{s}} to {{s}}: {{n}} % change ({{n}} % to {{n}} %{gaps}), "
                f"price {{n}} %, ratio {{n}}, margin {{n}}: {state}"
            ),
            [
                *map(self.name, pair),
                *self.percent(a.share[pair], *a.interval[pair], a.price(*pair)),
                self.ratio(pair),
                *self.percent(a.price(*pair) - a.share[pair]),
                *values,
            ],
        )

    def pairs(self):
        """The lines about the pairs of the stage, open ones and close ones first."""
        a = self.a
        stage = a.finding()[1]
        centre = self.stage if stage is None else stage
        near = [pair for pair in a.pairs if centre in pair]
        near.sort(
            key=lambda p: (
                a.settled(*p) != 0,
                0 if a.share[p] is None else abs(a.price(*p) - a.share[p]),
            )
        )
        most = 3 if a.odd_values else 4
        lines = [self.pair(pair) for pair in near[:most]]
        if len(near) > most:
            lines[-1] = f"{lines[-1][0]}; {{n}} more in the report", [
                *lines[-1][1], len(near) - most]  # fmt: skip
        return lines

    def strong(self):
        low, high = self.a.contradiction_interval
        if self.a.contradicting:
            what = "flip-flop" if len(self.a.classes) == 2 else "contradict it"
            return (
                (
                    "Strong dominance (a right answer stays right) is refuted: "
                    f"{'at least ' * bool(self.a.may_contradict)}{{n}} % of cases {what} "
                    "({n} % to {n} %)."
                ),
                self.percent(self.a.contradicting / self.a.n, low, high),
            )
        return (
            (
                "Strong dominance (a right answer stays right) is compatible with the log: at most "
                "{n} % of cases contradict it."
            ),
            self.percent(high),
        )

    # What is odd or missing

    def odd(self):
        """Values that may be slips, the cases in which each occurs, and what would be left."""
        a, parts, values = self.a, [], []
        for y in a.odd_values[:3]:
            n = sum(y in row for row in a.rows)
            parts.append(f"{{x}} ({{n}} case{'s' * (n != 1)})")
            values += [f"'{y}'" if isinstance(y, str) else str(y), n]
        text = f"Slips or gaps? Taken for values: {', '.join(parts)}"
        if len(a.odd_values) > 3:
            text, values = f"{text} and {{n}} more", [*values, len(a.odd_values) - 3]
        left = len(a.classes) - len(a.odd_values)
        without = " Without them there would be 2." if left == 2 else ""
        return f"{text}.{without}", values

    def plain(self, pair):
        """The share where both ran, where any did."""
        share = self.a.plain[pair]
        return ("unknown", []) if share is None else ("{n} %", self.percent(float(share)))

    def adjusted(self, pair):
        share = self.a.adjusted[pair]
        if share is None:
            return "{n} % to {n} % adjusted{t}", self.percent(*self.a.adjusted_range[pair])
        return "{n} % adjusted", self.percent(share)

    def gaps(self):
        """In how many cases tests stopped from some point on, and in how many between others."""
        a = self.a
        incomplete = sum(None in row for row in a.rows)
        between = incomplete - a.n_prefix
        lack = "case lacks" if incomplete == 1 else "cases lack"
        ended, failed = "all tests from some point on, {t}", "a test gave nothing {t}"
        if a.n_prefix and between:
            which, values = f"in {{n}} {ended}; in {{n}} {failed}", [a.n_prefix, between]
        else:
            which, values = ended if a.n_prefix else failed, []
        return f"{{n}} of {{n}} {lack} an output: {which}", [incomplete, a.n, *values]

    def missing(self):
        a = self.a
        if a.complete:
            return []
        pair = max(a.pairs, key=lambda p: a.worst(*p)[1] - a.worst(*p)[0])
        why, values = "No sign that gaps depend on other outputs, but they may {t}", []
        if a.by_truth:
            why = "Biased: whether {x} ran depends on what is right, as the labels show"
            values = [self.names(a.by_truth)]
        elif a.dependent:
            why = "Biased: whether {x} ran depends on other outputs"
            values = [self.names(a.dependent)]
        elif a.unseen_tests:
            why = "Whether the gaps of {x} depend on other outputs cannot be seen"
            values = [self.names(a.unseen_tests)]
        (plain, as_it_is), (adjusted, filled) = self.plain(pair), self.adjusted(pair)
        moved, stage = "", a.sound(a.adjusted)
        if None in a.adjusted.values():
            moved = "; some gaps nothing like them fills"
        elif stage != a.sound(a.plain):
            moved = f"; adjusted, {self.name(stage)} looks sound"
        right_if = "" if a.by_truth else " (right if {t})"
        gaps, counts = self.gaps()
        return [
            (f"Missing: {gaps}. Each pair is compared where both ran.", counts),
            (
                (
                    f"  {why}; {{s}} to {{s}}: {plain} as it is, {adjusted}{right_if}, "
                    f"anything in {{n}} % to {{n}} % at worst{moved}."
                ),
                [
                    *values,
                    *map(self.name, pair),
                    *as_it_is,
                    *filled,
                    *self.percent(*a.worst(*pair)),
                ],
            ),
        ]

    # Prices, labels, plan

    def weak_dominance(self):
        holds = self.a.weak_dominance
        return holds if holds == "open" else f"{holds}{self.if_skipped(self.a.pairs)}"

    def settles_nothing(self):
        gaps = "" if self.a.complete else ", or the gaps too many,"
        return f"These are too few{gaps} to be sure of settling anything."

    def band(self, band):
        prices = self.told["prices"]
        below, above = band["low"] <= prices["low"], band["high"] >= prices["high"]
        if below and above:
            return "at every price from {n} to {n} and maybe beyond", [band["low"], band["high"]]
        if above:
            return "above {n}", [band["low"]]
        return ("up to {n}", [band["high"]]) if below else (
            "{n} to {n}", [band["low"], band["high"]])  # fmt: skip

    def camps(self, camps):
        """Who agrees with whom; -1 stands for a gap."""
        groups = {}
        for name, camp in zip(self.a.log.names, camps, strict=True):
            groups.setdefault(camp, []).append(name)
        gaps = groups.pop(-1, [])
        parts = [" = ".join(group) for group in groups.values() if len(group) <= 4]
        parts += ["all others"] * any(len(group) > 4 for group in groups.values())
        return " against ".join(parts) + (f", without {', '.join(gaps)}" if gaps else "")
