"""The sentences of a report with their numbers, from the rows of the log."""

STATES = {1: "cannot pay", -1: "may pay", 0: "open"}


class Said:
    """The sentences of one report; ``told`` gives what is only bounded from outside."""

    def __init__(self, again, told):
        self.a, self.told = again, told
        self.stage = again.recommended
        self.forecast = {(p["shallow"], p["deep"]): p["n_more"] for p in told["verdict"]["pairs"]}

    def name(self, stage):
        return "–" if stage is None else f"'{self.a.log.names[stage]}'"

    def names(self, stages):
        return ", ".join(map(self.name, stages))

    def cost(self, regret):
        """A regret per case as the cost of 1,000 cases, and its unit."""
        cost = self.a.log.mistake_cost
        unit = " mistakes in 1,000 cases" if cost == 1 else " per 1,000 cases"
        return [1000 * max(regret, 0) * cost, unit]

    def percent(self, *shares):
        return [100 * share for share in shares]

    # The first five lines

    def headline(self):
        return [
            ("Stop after {s} (test {n} of {n}){t}", [self.name(self.stage), self.stage + 1,
                                                     self.a.K]),
            self.going_on(),
            self.stopping_before(),
            self.at_most(),
            self.next_step(),
        ]  # fmt: skip

    def margin(self, pair):
        change = self.a.interval[pair][1] if self.is_vague(pair) else self.a.share[pair]
        return self.a.price(*pair) - (0 if change is None else change)

    def is_vague(self, pair):
        """Whether the interval is said instead of the share."""
        return pair in self.a.blind or self.a.share[pair] is None

    def changed(self, pair):
        if self.is_vague(pair):
            return "{n} to {n}", [1000 * end for end in self.a.interval[pair]]
        return "{n}", [1000 * self.a.share[pair]]

    def going_on(self):
        a = self.a
        later = [pair for pair in a.pairs if pair[0] == self.stage]
        if not later:
            return "It is the last test: there is nothing to go on to.", []
        pair = min(later, key=self.margin)
        name, price, settled = self.name(pair[1]), 1000 * a.price(*pair), a.settled(*pair)
        if pair in a.blind and not settled:
            known = a.adjusted[pair] is not None
            over_all = [a.adjusted[pair]] if known else a.worst(*pair)
            return (
                "Going on to {s} costs as much as {n} mistakes in 1,000 cases. It changed {n} "
                "answers in 1,000 where both ran, but in all cases it may be "
                + ("about {n}." if known else "{n} to {n}."),
                [name, price, 1000 * float(a.plain[pair]), *(1000 * x for x in over_all)],
            )
        change, values = self.changed(pair)
        end = {1: "it cannot pay.", -1: "it may pay, if {t}.", 0: "{t}"}[settled]
        if not settled:
            few = a.share[pair] is not None and a.price(*pair) >= a.share[pair]
            end = "it could not pay here, but {n} cases are few." if few else (
                "too close to call with {n} cases.")  # fmt: skip
        return (
            (
                f"Going on to {{s}} changes {change} answers in 1,000 "
                f"and costs as much as {{n}} mistakes: {end}"
            ),
            [name, *values, price, *([] if settled else [a.seen[pair]])],
        )

    def stopping_before(self):
        earlier = [pair for pair in self.a.pairs if pair[1] == self.stage]
        if not earlier:
            return "It is the first test: there is nothing to stop at before.", []
        pair = max(earlier, key=self.margin)
        change, values = self.changed(pair)
        return (
            (
                "Stopping at {s} already saves the cost of {n} mistakes in 1,000 cases; "
                f"the {change} answers changed since are taken to be worth it."
            ),
            [self.name(pair[0]), 1000 * self.a.price(*pair), *values],
        )

    def at_most(self):
        worst = self.a.regrets()[self.stage]
        if worst <= 1e-9:
            return "This holds for any right answers to these cases, {t}.", []
        text = "If that is wrong in these {n} cases it costs at most {n}{u} too much"
        values = [self.a.n, *self.cost(worst)]
        if self.stage != self.a.safest:
            text += "; the safest choice, {s}, at most {n}{u}"
            values += [self.name(self.a.safest), *self.cost(min(self.a.regrets()))]
        return f"{text}, {{t}}.", values

    def next_step(self):
        a, planned = self.a, len(self.told["planned_cases"])
        near = [pair for pair in a.pairs if self.stage in pair]
        if a.is_known:
            waits = [self.forecast[pair] for pair in near if not a.settled(*pair)]
            if not waits or None in waits:
                return "No labels are needed{t}.", []
            return "No labels are needed; about {n} more cases would {t}.", [max(waits)]
        if planned:
            new = "new plan and hand in these alone" if a.labelled else "plan and audit again with"
            return f"Label the {{n}} cases of the {new}{{t}}.", [planned]
        if a.labelled and len(a.may_be_best(a.label_least)) > 1:
            return (
                "To be sure, label a larger plan (--plan-labels {n}) and hand in its cases alone.",
                [4 * len(a.labelled)],
            )
        if a.labelled:
            return "No more labels are needed.", []
        return "To be sure, label a few cases on which {t}: --plan-labels 50 chooses them.", []

    # Verdict, pairs, strong dominance

    def finding(self):
        kind, stage = self.a.finding()
        if kind == "sound":
            but = "" if stage in self.a.rivals else ", but what is assumed below rules it out"
            return f"{{s}} is sound under weak dominance{but}", [self.name(stage)]
        if kind == "none":
            return "no stage is sound: {t}", []
        looks, values = ("{s} looks sound{t}; ", [self.name(stage)]) if stage is not None else (
            "no stage looks sound; ", [])  # fmt: skip
        more = self.told["verdict"]["n_more"]
        if more is None:
            return f"undecided: {looks}more cases of this kind would not settle it", values
        return f"undecided: {looks}about {{n}} more cases would settle it", [*values, more]

    def ratio(self, pair):
        return self.a.price(*pair) / self.a.share[pair] if self.a.share[pair] else None

    def pair(self, pair):
        a, more = self.a, self.forecast[pair]
        state, values = STATES[a.settled(*pair)], []
        if state == "open" and more is not None:
            state, values = "open, {n} more cases", [more]
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
        assert len(near) <= 4
        return [self.pair(pair) for pair in near]

    def strong(self):
        low, high = self.a.contradiction_interval
        if self.a.contradicting:
            return (
                (
                    "Strong dominance (a right answer stays right) is refuted: {n} % of cases "
                    "flip-flop ({n} % to {n} %)."
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

    # What is missing

    def adjusted(self, pair):
        share = self.a.adjusted[pair]
        if share is None:
            return "{n} % to {n} % adjusted{t}", self.percent(*self.a.adjusted_range[pair])
        return "{n} % adjusted", self.percent(share)

    def missing(self):
        a = self.a
        if a.complete:
            return []
        incomplete = sum(None in row for row in a.rows)
        kind = "somebody stopped early" if 2 * a.n_prefix > incomplete else "tests gave nothing"
        pair = max(a.pairs, key=lambda p: a.worst(*p)[1] - a.worst(*p)[0])
        why, values = ("Biased: whether {x} ran {t}", [self.names(a.dependent)]) if (
            a.dependent) else ("No sign that gaps {t}", [])  # fmt: skip
        adjusted, its_values = self.adjusted(pair)
        return [
            (f"Missing: in {{n}} cases {kind}; each pair is {{t}}.", [incomplete]),
            (
                (
                    f"  {why}; {{s}} to {{s}}: {{n}} % as it is, {adjusted}, "
                    "anything in {n} % to {n} % at worst{t}."
                ),
                [
                    *values,
                    *map(self.name, pair),
                    *self.percent(float(a.plain[pair])),
                    *its_values,
                    *self.percent(*a.worst(*pair)),
                ],
            ),
        ]

    # Prices, labels, plan

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
        groups = {}
        for name, camp in zip(self.a.log.names, camps, strict=True):
            groups.setdefault(camp, []).append(name)
        return " against ".join(" = ".join(group) for group in groups.values())
