"""The first five sentences of a report: what to do, why, on what it rests, what next."""

from tests.auditing.again.reasons import Reasons

SURE = {
    "the log": ". No other choice can be cheaper, whatever the right answers are.",
    "assumptions": ": given what you assume, no other choice is cheaper in this log.",
    "labels": ": the labels show that no other choice is cheaper in this log.",
    "assumptions and labels": ": the labels show it to be the cheapest in this log, given what you "
    "assume.",
}
NO_CHANCE = " for now: who got which tests was not left to chance, so this log cannot tell."


class Headline(Reasons):
    """The first sentences of a report."""

    def headline(self):
        return [
            self.what_to_do(),
            self.going_on(),
            self.stopping_before(),
            self.at_most(),
            self.next_step(),
        ]

    def what_to_do(self):
        a = self.a
        stop, values = "Stop after {s} (test {n} of {n})", [
            self.name(self.stage), self.stage + 1, a.K]  # fmt: skip
        kind, stage = a.finding()
        if a.ground == "the log" and self.waits:
            why = ": in this log no other choice is cheaper, whatever is right."
        elif a.ground is not None:
            why = SURE[a.ground]
        elif a.refuted:
            why = NO_CHANCE
        elif a.labelled and not a.n_telling:
            why = (
                " for now: all labels are of cases on which the tests agree, so they cannot say "
                "which is better."
            )
        elif a.labelled and a.label_stage not in a.rivals:
            why = " for now: the labels favour a test that you rule out otherwise."
        elif a.labelled:
            why, counts = self.by_labels()
            values += counts
        elif (kind, stage) == ("sound", self.stage):
            conditions = ["what the third line says is believable"] if self.stage else []
            conditions += [words] if (words := self.skipped(a.pairs)) else []
            why = f", if {' and '.join(conditions)}." if conditions else "."
        elif self.open_by_gaps:
            why = NO_CHANCE
        else:
            granted = "even with what you assume " if a.is_assuming else ""
            why = f" for now: {granted}nobody can know without labels which test is best here."
        return stop + why, values

    def by_labels(self):
        """What labels say of the stage, or that they do not clearly speak against it."""
        a = self.a
        labels, counts = "the {n} labels", [len(a.labelled)]
        if a.n_telling < len(a.labelled):
            labels += " ({n} where tests disagree)"
            counts.append(a.n_telling)
        rests = self.if_skipped(a.pairs)
        if a.blind:
            rests = ", if nothing but the outputs shown decided who was tested"
        why = f": {labels} suggest that it is cheapest"
        if self.stage != a.label_stage:
            why = ": disagreement suggests that it is cheapest, and "
            why += f"{labels} do not clearly say otherwise"
        return f"{why}{rests}.", counts

    def at_most(self):
        a, worst = self.a, self.a.regrets()[self.stage]
        conditions = ["given what you assume"] * a.is_assuming
        if a.all_labelled:
            conditions.append("of which each has a label")
        elif a.labelled:
            conditions.append("if labels were given to random cases")
        under = ", " + (" and ".join(conditions) or "with nothing assumed")
        if a.ground in {"the log", "assumptions"}:
            fit = ", with nothing assumed" if a.ground == "the log" else " that fit what you assume"
            return f"This holds for any right answers to these {{n}} cases{fit}.", [a.n]
        if worst <= 1e-9:
            sure = "" if a.all_labelled else "; how surely is said below"
            return f"This holds for these {{n}} cases{under}{sure}.", [a.n]
        cost, values = self.cost(worst)
        text = f"If that is wrong in these {{n}} cases it costs at most {cost} too much"
        values = [a.n, *values]
        if worst > min(a.regrets()) + 1e-9:
            cost, least = self.cost(min(a.regrets()))
            text += f"; the safest choice, {{s}}, at most {cost}"
            values += [self.name(a.safest), *least]
        return f"{text}{under}.", values

    def next_step(self):
        a = self.a
        if a.ground == "the log":
            return self.more_cases_needed()
        if a.ground == "assumptions":
            return "No labels are needed, as long as what you assume is true.", []
        if a.ground is not None:
            return "No more labels are needed.", []
        return self.which_labels()

    def which_labels(self):
        a = self.a
        planned = sum(n for _, n in a.plan.values()) if a.log.n_planned else 0
        if planned:
            which = (
                "new plan and hand in these alone, old labels aside"
                if a.labelled
                else "plan and audit again with --labels"
            )
            return f"Label the {{n}} cases of the {which}.", [planned]
        if self.open_by_gaps:
            hope = [p for p in a.blind if not any(k in a.by_others for k in a.paths[p[1]])]
            say_so = "; or say --missing-at-random, if nothing but earlier outputs decided who was "
            return (
                "To be surer, run all tests on some cases drawn at random, and audit these alone"
                + (f"{say_so}tested." if hope else "."),
                [],
            )
        if not a.n_disputed:
            return "Labels would not help: no case shows stages that may be best disagree.", []
        if not a.n_telling:
            return (
                "To be surer, label cases on which tests disagree: --plan-labels 50 draws some.",
                [],
            )
        if a.n_disputed <= a.n_telling:
            return (
                (
                    "To be surer takes more cases or fewer gaps: stages that may be best are seen "
                    "to disagree in {n} cases only."
                ),
                [a.n_disputed],
            )
        return (
            "To be surer, label a larger plan (--plan-labels {n}) and hand in its cases alone.",
            [min(4 * len(a.labelled), a.n_disputed)],
        )

    def more_cases_needed(self):
        if not self.waits or self.a.finding()[1] != self.stage:
            return "No labels are needed.", []
        more = self.told["verdict"]["n_more"]
        end = "make sure that it holds for new cases too."
        if more is None:
            return (
                "No labels are needed for these cases; for new ones it is too close to be sure.",
                [],
            )
        return f"No labels are needed; about {self.more_cases(more)} would {end}", [more]
