"""How a report says names, shares and costs, and in how many cases."""

BASES = (1_000, 10_000, 100_000, 1_000_000)


class Spoken:
    """The sentences of one report; ``told`` gives what is only bounded from outside."""

    def __init__(self, again, told):
        self.a, self.told = again, told
        self.stage = again.recommended
        self.forecast = {(p["shallow"], p["deep"]): p["n_more"] for p in told["verdict"]["pairs"]}

    def name(self, stage):
        return "–" if stage is None else f"'{self.a.log.names[stage]}'"

    def names(self, stages):
        return ", ".join(map(self.name, stages))

    def percent(self, *shares):
        """Shares in percent; what a programme leaves of 0 is 0."""
        return [100 * (share if abs(share) > 1e-9 else 0) for share in shares]

    @staticmethod
    def more_cases(n):
        return "{n} more case" if n == 1 else "{n} more cases"

    @property
    def base(self):
        """So many cases that ten answers change, a thousand at least and a million at most."""
        shares = [
            self.a.interval[pair][1] if share is None else share
            for pair, share in self.a.share.items()
        ]
        most = max(shares) or 1
        return next((base for base in BASES if base * most >= 10), BASES[-1])

    def many(self, share, noun):
        """How many of what, in as many cases; one that rounds to 1 is singular."""
        value = self.base * share
        return "{n} " + (noun if 0.995 <= value < 1.05 else f"{noun}s"), [value]

    def cost(self, regret):
        """A regret per case as the cost of so many cases."""
        regret = max(regret, 0) if regret > 1e-9 else 0
        if self.a.log.mistake_cost == 1:
            text, values = self.many(regret, "mistake")
            return f"{text} in {self.base:,} cases", values
        return f"{{n}} per {self.base:,} cases", [self.base * regret * self.a.log.mistake_cost]

    def skipped(self, pairs):
        """What has to be true of gaps where the verdict does not let them be anything."""
        taken = [pair for pair in pairs if pair in self.a.with_gaps and pair not in self.a.blind]
        if not taken:
            return ""
        return f"tests were skipped {'as you assume' if self.a.log.at_random else 'by chance'}"

    def if_skipped(self, pairs):
        words = self.skipped(pairs)
        return f", if {words}" if words else ""

    @property
    def near(self):
        return [pair for pair in self.a.pairs if self.stage in pair]

    @property
    def waits(self):
        return any(self.a.settled(*pair) == 0 for pair in self.near)

    @property
    def open_by_gaps(self):
        return any(
            self.a.settled(*pair) == 0 and (pair in self.a.blind or self.a.share[pair] is None)
            for pair in self.near
        )
