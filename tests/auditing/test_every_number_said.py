"""Every number of the summary against the rows of the log, and no number beside these.

No log here has more than four values or three slips, a single label, only a histogram, or changes
so rare that numbers are for more than 10,000 cases; such sentences have tests of their own or none.
"""

import csv
import io
import json
import sys

import pytest

from stopwise import cli
from tests.auditing.again import logs
from tests.auditing.again.facts import RULES, again, chosen, groups, told, words
from tests.auditing.again.said import Said
from tests.auditing.again.sentences import assert_said, join, shows


def expected(name):
    """The sentences of a summary, line by line."""
    a, report = again(name), told(name)
    said = Said(a, report)
    found, values = said.finding()
    out, ruled_out = said.ruled_out()
    return [
        *said.headline(),
        ("", []),
        log_line(a),
        *([said.odd()] if a.odd_values else []),
        *said.missing(),
        (f"Verdict: {found} ({{n}} % confidence, at any time){out}.",
         [*values, 100 * a.log.confidence, *ruled_out]),
        *said.pairs(),
        said.strong(),
        assumed_line(a),
        bounds_line(said),
        regret_line(said),
        choices_line(said),
        *price_lines(said),
        *label_lines(said),
    ]  # fmt: skip


def log_line(a):
    blank = len(a.log.rows) - a.n
    quoted = [f"'{y}'" if isinstance(y, str) else str(y) for y in a.classes[:4]]
    return (
        "Log: a table in memory, {n} cases, {n} tests, {n} patterns of {n} values ({x})"
        + (", {n} without any output left out." if blank else "."),
        [a.n, a.K, len(a.counts), len(a.classes),
         ", ".join([*quoted, *["…"] * (len(a.classes) > 4)]), *([blank] if blank else [])],
    )  # fmt: skip


def assumed_line(a):
    sure, values = "", []
    if a.labelled:
        sure = ", with {n} % confidence (of the labels they use the intervals alone),"
        values = [100 * a.log.confidence]
    return (
        f"Bounds below hold for the cases in the log{sure} and assume: {{x}}.",
        [*values, "; ".join(words(a)) or "nothing"],
    )


def bounds_line(said):
    a = said.a
    text, values = join(
        ("{s} {n} % to {n} %", [said.name(k), *said.percent(*a.error_bounds[k])])
        for k in a.stages[:5]
    )
    more = ("; {n} more in the report", [a.K - 5]) if a.K > 5 else ("", [])
    return f"  Wrong answers: {text}{more[0]}.", [*values, *more[1]]


def regret_line(said):
    a = said.a
    text, values = join(
        ("{s} {n} %", [said.name(k), *said.percent(a.regrets()[k])]) for k in a.stages[:5]
    )
    more = ("; {n} more in the report", [a.K - 5]) if a.K > 5 else ("", [])
    text, values = f"  Worst-case regret: {text}{more[0]}; minimax: {{s}}", [*values, *more[1]]
    cost, most = said.cost(min(a.regrets()))
    if a.is_known:
        return f"{text}.", [*values, said.name(a.safest)]
    return f"{text}, at most {cost}.", [*values, said.name(a.safest), *most]


def choices_line(said):
    """Each rule; one that has a note instead of a stage is left to the page."""
    regrets = said.a.regrets()
    noted = {"Dawid–Skene", *(["strong dominance"] if said.a.contradicting else [])}
    text, values = join(
        (f"{rule} {{s}}", [said.name(stage)]) if stage is None
        else (f"{rule} {{s}} ({{n}} %)", [said.name(stage), *said.percent(regrets[stage])])
        for rule, stage in zip(RULES, chosen(said.a), strict=True)
        if stage is not None or rule not in noted
    )  # fmt: skip
    return f"Side by side (worst-case regret): {text}.", values


def price_lines(said):
    a, prices = said.a, said.told["prices"]
    sound = []
    for band in prices["sound"]:
        if band["value"][0] == "sound":
            text, values = said.band(band)
            sound.append((f"{{s}} {text}", [said.name(band["value"][1]), *values]))
    text, values = join(sound[:6])
    yield f"By price of a mistake, sound: {text or 'no stage anywhere'}.", values
    given = ["what is assumed"] * a.is_assuming + ["the labels"] * bool(a.labelled)
    bands = [said.band(band) for band in prices["known"] if band["value"] is None]
    blind, values = join(bands[:4])
    if not blind:
        rest = f"given {' and '.join(given)}" if given else "whatever the right answers are"
        yield f"  At every price on the map some stage is sure to be best, {rest}.", []
        return
    who = "No method without labels can know"
    if a.labelled:
        who = "These labels do not settle"
    elif given:
        who = f"Given {given[0]}, no method without labels can know"
    yield f"  {who} the best stage: {blind}{', …' if len(bands) > 4 else ''}.", values


def label_lines(said):
    a = said.a
    if a.labelled and not a.n_telling:
        yield "Labels: {n}, none of a case on which tests disagree.", [len(a.labelled)]
    elif a.labelled:
        yield (
            (
                "Labels: {n} ({n} where tests disagree) favour {s}; with {n} % confidence still "
                "possible: {x}; weak dominance: {x}."
            ),
            [len(a.labelled), a.n_telling, said.name(a.label_stage), 100 * a.log.confidence,
             said.names(a.may_be_best(a.label_least)), said.weak_dominance()],
        )  # fmt: skip
    if a.log.n_planned:
        yield from plan_lines(said)


def plan_lines(said):
    asked = groups(said.a)
    if not asked:
        yield "Label: nothing: no case shows stages that may be best disagree.", []
        return
    text, values = first_three(
        ("{n} of {n} with {x}", [m, n, said.camps(camps)]) for camps, n, m in asked
    )
    yield f"Label: {text}.", values
    text, values = first_three(
        ("{n} % for {s} or {s}", [100 * width, *map(said.name, pair)])
        for pair, width in sorted(said.a.resolution.items())
    )
    if text:
        yield (
            (
                "  That would settle it where what going on avoids is off its price by more than: "
                f"{text}."
            ),
            values,
        )
    else:
        yield f"  {said.settles_nothing()}", []


def first_three(sentences):
    """Three of some sentences, and how many there are beyond."""
    parts = list(sentences)
    rest = [("{n} more in the report", [len(parts) - 3])] if len(parts) > 3 else []
    return join([*parts[:3], *rest], "; ")


@pytest.mark.parametrize("name", logs.NAMES)
def test_every_line_of_the_summary(name):
    lines, sentences = logs.report(name).summary().split("\n"), expected(name)
    for line, (template, values) in zip(lines, sentences, strict=True):
        assert_said(line, template, values)


@pytest.mark.parametrize(
    "words",
    [
        "No other choice can be cheaper",
        "in this log no other choice is cheaper, whatever is right",
        "given what you assume, no other choice is cheaper",
        "the labels show that no other choice is cheaper",
        "the labels show it to be the cheapest in this log, given what you assume",
        "all labels are of cases on which the tests agree",
        "the labels favour a test that you rule out otherwise",
        "skipped by chance",
        "skipped as you assume",
        "even with what you assume nobody can know",
        "on another branch, costs as much as",
        "on another branch, costs no more",
        "what is missing leaves open",
        "depends on what is right, as the labels show",
        "if nothing but the outputs shown decided",
        "It changes anything from",
        "what is missing leaves it open",
        "it looks as if it cannot pay",
        "too close to call with",
        "by the labels it adds",
        "would save nothing",
        "costs nothing",
        " in 10,000 ",
        "or say --missing-at-random",
        "Labels would not help",
        "disagree in",
        "for new ones it is too close to be sure",
        "suggest that it is cheapest",
        "do not clearly say otherwise",
        "it cannot pay, if tests were skipped",
        "cheapest, if tests were skipped by chance",
        "cheapest, if nothing but the outputs shown decided",
        "sound under weak dominance, if tests were skipped as you assume",
        "weak dominance: holds, if tests were skipped",
        "of which each has a label",
        "cannot be seen",
        "too few to be sure",
        "Slips or gaps?",
        "looks sound where tests ran",
        "; what you assume rules out",
        "; the labels rule out",
        "; adjusted, ",
        "more in the report",
        "against all others",
        "too few, or the gaps too many",
        "none of a case on which",
        "Given what is assumed, no method",
        "some stage is sure to be best",
    ],
)
def test_some_log_brings_out(words):
    """A sentence that no log leads to would be checked by nobody."""
    assert any(words in logs.report(name).summary() for name in logs.NAMES)


def test_a_number_is_shown_only_by_its_own_digits():
    assert shows("12.5", 12.54)
    assert shows("1,235", 1234.6)
    assert not shows("12.5", 12.56)
    with pytest.raises(AssertionError, match=r"0\.0 is not"):
        assert_said("0.0 %", "{n} %", [0.04])
    assert shows("0.0", 0)
    assert shows("-3.1", -3.08)
    with pytest.raises(AssertionError, match="12"):
        assert_said("of 7 cases 12 %", "of {n} cases {n} %", [7, 13])
    with pytest.raises(AssertionError):
        assert_said("no 7 more", "no {t} more", [])


def test_the_command_says_the_same(tmp_path, monkeypatch, capsys):
    """From a CSV file to the same JSON, and the plan to a file of its own."""
    log = logs.raw("two_classes")
    log.frame().to_csv(tmp_path / "log.csv", index=False)
    monkeypatch.setattr(sys, "argv", [
        "stopwise", "audit", str(tmp_path / "log.csv"), "--costs", ",".join(map(str, log.costs)),
        "--mistake-cost", str(log.mistake_cost), "--plan-labels", str(log.n_planned), "--plan-out",
        str(tmp_path / "plan.csv"), "--confidence", str(log.confidence), "--ordered", "--json",
    ])  # fmt: skip
    with pytest.raises(SystemExit):
        cli.main()
    found = json.loads(capsys.readouterr().out)
    expected_report = json.loads(json.dumps(told("two_classes")))
    assert found.pop("source") == "log.csv"
    expected_report.pop("source")
    # a CSV file gives text where a frame gives numbers
    held = expected_report["log"]
    held["classes"] = [str(y) for y in held["classes"]]
    held["patterns"] = [[str(y) for y in row] for row in held["patterns"]]
    for case in expected_report["planned_cases"]:
        case["outputs"] = [str(y) for y in case["outputs"]]
    assert found == expected_report
    rows = list(csv.DictReader(io.StringIO((tmp_path / "plan.csv").read_text())))
    assert [
        {"case": int(row["case"]), "outputs": [row[name] for name in log.names],
         "agreement": row["agreement"]}
        for row in rows
    ] == found["planned_cases"]  # fmt: skip
