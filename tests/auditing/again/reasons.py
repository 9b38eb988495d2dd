"""Why to stop there: what going on changes and costs, what stopping before would save."""

from tests.auditing.again.spoken import Spoken

CANNOT_PAY = {
    "the log": "here it cannot pay, but for new cases that is too close to be sure",
    "assumptions": "given what you assume it cannot pay",
    "labels": "the labels show that it does not pay",
    "assumptions and labels": "given what you assume, the labels show that it does not pay",
}
PAYS = {
    "the log": "",
    "assumptions": "given what you assume, ",
    "labels": "the labels show that ",
    "assumptions and labels": "given what you assume, the labels show that ",
}


class Reasons(Spoken):
    """The second and the third sentence of a report."""

    def costs_too_much(self, pair):
        """No right answers let going on avoid what it costs."""
        return self.a.differences[pair] <= self.a.price(*pair) + 1e-9

    def surely_pays(self, pair):
        return self.a.price(*pair) + self.a.differences[pair[::-1]] <= 1e-9

    def spared(self, pair):
        """How much more going on costs than it avoids by the labels, or can avoid."""
        a = self.a
        if a.n_telling:
            return a.price(*pair) - a.estimates[pair]
        vague = pair in a.blind or a.share[pair] is None
        return a.price(*pair) - (a.interval[pair][1] if vague else a.share[pair])

    def changes(self, pair):
        a = self.a
        if pair in a.blind or a.share[pair] is None:
            return "{n} to {n} answers", [self.base * end for end in a.interval[pair]]
        if not a.share[pair]:
            return "no answers", []
        return self.many(a.share[pair], "answer")

    def costs(self, pair):
        price = self.a.price(*pair)
        if price <= 0:
            return "costs nothing", []
        text, values = self.many(price, "mistake")
        return f"costs as much as {text}", values

    def avoids(self, pair):
        fewer = self.a.estimates[pair]
        text, values = self.many(abs(fewer), "mistake")
        return f"{'avoids' if fewer >= 0 else 'adds'} about {text}", values

    @property
    def rests_on(self):
        """What a sure statement rests on: all there is where the least is not known."""
        if self.a.ground is not None:
            return self.a.ground
        assumed, told = self.a.is_assuming, bool(self.a.labelled)
        return {
            (False, False): "the log",
            (True, False): "assumptions",
            (False, True): "labels",
            (True, True): "assumptions and labels",
        }[assumed, told]

    def going_on(self):
        a = self.a
        later = [pair for pair in a.pairs if pair[0] == self.stage]
        if not later:
            return self.at_the_end()
        pair = min(later, key=lambda p: (self.costs_too_much(p), self.spared(p)))
        known = self.costs_too_much(pair) or (a.n_telling and pair not in a.refuted)
        if pair in a.blind and not a.settled(*pair) and not known:
            return self.going_on_blindly(pair)
        change, values = self.changes(pair)
        cost, price = self.costs(pair)
        end, more = self.whether_it_pays(pair)
        return (
            f"Going on to {{s}} changes {change} in {self.base:,} and {cost}{end}.",
            [self.name(pair[1]), *values, *price, *more],
        )

    def at_the_end(self):
        """What the stage of another branch that may be worth most costs, and avoids at most."""
        a, own = self.a, self.stage
        others = [
            k for k in a.stages if k != own and not {(k, own), (own, k)}.intersection(a.pairs)
        ]
        if not others:
            return "It is the last test: there is nothing to go on to.", []
        other = max(others, key=lambda k: a.differences[own, k] - a.C[k])
        more, cost, values = a.C[other] - a.C[own], "costs no more", []
        if more > 0:
            cost, values = self.many(more, "mistake")
            cost = f"costs as much as {cost} more"
        text = f"No test comes after it; {{s}}, on another branch, {cost} and avoids at most {{n}}"
        most = self.base * max(a.differences[own, other], 0)
        return f"{text} in {self.base:,}.", [self.name(other), *values, most]

    def whether_it_pays(self, pair):
        a, settled = self.a, self.a.settled(*pair)
        if settled > 0 or self.costs_too_much(pair):
            return f": {self.it_cannot_pay(pair)}", []
        if a.n_telling and pair not in a.refuted:
            text, values = self.avoids(pair)
            return f"; by the labels it {text}", values
        if settled < 0:
            return ": it may pay, if enough of the changes are for the better", []
        if a.share[pair] is None:
            return ": what is missing leaves it open", []
        if a.price(*pair) >= a.share[pair]:
            return ": it looks as if it cannot pay, but that is too close to call", []
        return ": too close to call with {n} cases", [a.seen[pair]]

    def it_cannot_pay(self, pair):
        """For new cases too, or in these alone; and by what."""
        a, skipped, here = self.a, self.if_skipped([pair]), self.costs_too_much(pair)
        if a.settled(*pair) > 0:
            if not here or not skipped:
                return f"it cannot pay{skipped}"
            if self.rests_on == "the log":
                return "it cannot pay"
        covered = a.seen[pair] == a.n and a.is_covered(pair)
        return CANNOT_PAY["the log" if covered else self.rests_on]

    def going_on_blindly(self, pair):
        a = self.a
        cost, values = self.costs(pair)
        text = f"Going on to {{s}} {cost} in {self.base:,} cases. "
        if a.plain[pair] is None:
            text += "It changes"
        else:
            seen, more = self.many(float(a.plain[pair]), "answer")
            text += f"It changed {seen} in {self.base:,} where both ran, but in all cases it may be"
            values = [*values, *more]
        text += " anything from {n} to {n}"
        values = [self.name(pair[1]), *values, *(self.base * end for end in a.worst(*pair))]
        if a.adjusted[pair] is None or pair in a.refuted:
            return f"{text}.", values
        return (
            f"{text}; about {{n}}, if nothing but the outputs shown decided who was tested.",
            [*values, self.base * a.adjusted[pair]],
        )

    def stopping_before(self):
        a = self.a
        earlier = [pair for pair in a.pairs if pair[1] == self.stage]
        if not earlier:
            return "It is the first test: there is nothing to stop at before.", []
        pair = max(earlier, key=lambda p: (not self.surely_pays(p), self.spared(p)))
        text, values = "Stopping at {s} already would save ", [self.name(pair[0])]
        if a.price(*pair) > 0:
            cost, price = self.many(a.price(*pair), "mistake")
            text += f"the cost of {cost} in {self.base:,} cases"
            values += price
        else:
            text += "nothing"
        change, shares = self.changes(pair)
        if self.surely_pays(pair):
            worth = "more" if a.price(*pair) > 0 else "it"
            text += f"; {PAYS[self.rests_on]}going on, which changes {change}, is worth {worth}."
        elif pair in a.refuted:
            text += (
                f"; whether going on, which changes {change}, is worth more, what is missing "
                "leaves open."
            )
        elif a.n_telling:
            told, shares = self.avoids(pair)
            text += f"; by the labels, going on from there {told}."
        elif a.finding() == ("sound", self.stage):
            text += f"; going on, which changes {change}, is taken to be worth more."
        else:
            text += (
                f"; whether going on, which changes {change}, is worth more cannot be known "
                "without labels."
            )
        return text, values + shares
