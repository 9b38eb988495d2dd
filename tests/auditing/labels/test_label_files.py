"""Labels find their cases: by id where they have one, with outputs that are those of the log."""

import csv
import json
from dataclasses import replace

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest

import stopwise as sw
from stopwise.auditing.labels.sheet import sheet_csv, sheet_json, sheet_jsonl
from stopwise.errors import LogError
from tests.auditing.worlds import draw

CASCADE = sw.Cascade([1, 2], mistake_cost=12, names=["a", "b"])

SHEETS = {"csv": sheet_csv, "json": sheet_json, "jsonl": sheet_jsonl}


def world(values=("x", "y", "z"), n=600):
    """Labels and outputs in three values, whatever these are."""
    labels, outputs = draw(np.random.default_rng(3), n, (0.4, 0.15), n_classes=3)
    words = np.empty(3, dtype=object)
    words[:] = values
    return words[labels], pd.DataFrame({"a": words[outputs[:, 0]], "b": words[outputs[:, 1]]})


def filled_plan(report, truth, path):
    """Write a plan, and a label into every row of it, as a person with a spreadsheet would."""
    header, *rows = csv.reader(sheet_csv(report.planned_cases, ["case"]).splitlines())
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerows([header, *([row[0], truth[int(row[0]) - 1]] for row in rows)])
    return path


@pytest.mark.parametrize(
    "odd", [("NA", "null", "NaN"), ("N/A", " x", "x;y"), ('a "b"', "a\nb", "=1")]
)
def test_a_plan_of_any_values_comes_back(odd, tmp_path):
    """Text that a CSV file has for a gap is a label where the log has it for an output."""
    truth, frame = world(odd)
    report = sw.audit(frame, CASCADE, n_planned=40)
    plan = filled_plan(report, truth, tmp_path / "plan.csv")
    at = [case.case - 1 for case in report.planned_cases]
    direct = frame.iloc[at].assign(label=truth[at])
    assert set(truth[at]) == set(odd)
    from_plan, expected = (
        sw.audit(frame, CASCADE, labels=labels).facts.labels for labels in (plan, direct)
    )
    assert from_plan.n_labels == 40
    np.testing.assert_array_equal(from_plan.estimates, expected.estimates)


def test_an_empty_text_is_told_from_an_empty_cell(tmp_path):
    truth, frame = world(("", "yes", "no"))
    report = sw.audit(frame, CASCADE, n_planned=40)
    plan = tmp_path / "plan.csv"
    filled_plan(report, truth, plan)
    with pytest.raises(LogError, match=r"'' is a value of the log, got \d+ empty cells"):
        sw.audit(frame, CASCADE, labels=plan)
    lines = plan.read_text().splitlines()
    plan.write_text("\n".join(line + '""' * line.endswith(",") for line in lines))
    assert n_labels(frame, plan) == 40
    # And without ids: an empty text that the plan shows is in quotes.
    report = sw.audit(frame, CASCADE, n_planned=40, show=["a", "b"])
    lines = sheet_csv(report.planned_cases, ["nr", "a", "b"]).splitlines()
    plan.write_text("\n".join([lines[0], *(line + "yes" for line in lines[1:])]))
    assert n_labels(frame, plan) == 40


def test_na_is_no_label_where_no_test_gives_it(tmp_path):
    _, frame = world()
    (tmp_path / "labels.csv").write_text("case,label\n1,x\n2,NA\n3,y\n4,\n5, \n")
    assert n_labels(frame, tmp_path / "labels.csv") == 2


def two_labels(frame, **columns):
    return frame.iloc[[4, 7]].assign(label="x", **columns)


def n_labels(log, labels, **settings):
    return sw.audit(log, CASCADE, labels=labels, **settings).facts.labels.n_labels


@pytest.mark.parametrize("case_id", [None, "visit"])
def test_ids_are_checked_though_the_outputs_are_there(case_id):
    _, frame = world()
    name = case_id or "case"
    log = frame if case_id is None else frame.assign(visit=[f"v{k}" for k in range(1, 601)])
    ids = ["5", "8"] if case_id is None else ["v5", "v8"]
    good = two_labels(frame, **{name: ids})
    assert n_labels(log, good, case_id=case_id) == 2
    for labels, message in (
        (good.assign(**{name: [ids[0], "9999"]}), f"some {name!r} are not in it, such as '9999'"),
        (
            good.assign(b=good["b"].map(lambda value: "x" if value != "x" else "y")),
            "labels must show the outputs of the log, got",
        ),
        (good.assign(b=[None, good["b"].iloc[1]]), "got None from 'b' for"),
    ):
        with pytest.raises(LogError, match=message):
            n_labels(log, labels, case_id=case_id)


def test_ids_that_name_several_cases():
    _, frame = world()
    log = frame.assign(visit=np.arange(600) // 2)
    gap = frame.assign(visit=pd.array([None, *range(1, 600)], dtype="Int64"))
    for source, settings, message in (
        (log, {"labels": two_labels(log)}, "some 'visit' of labels name several: '2' names 2"),
        (log, {"n_planned": 5}, r"'visit' must name one case each for a plan, got \d+ for 2"),
        (gap, {"n_planned": 5}, "got 1 cases without one"),
    ):
        with pytest.raises(LogError, match=message):
            sw.audit(source, CASCADE, case_id="visit", **settings)


def test_a_column_case_that_nobody_called_the_id_is_no_row_number():
    _, frame = world()
    log = frame.assign(case=[f"v{k}" for k in range(600)])
    assert n_labels(log, two_labels(log)) == 2
    assert n_labels(log, two_labels(log), case_id="case") == 2


@pytest.mark.parametrize("case_id", [None, "visit"])
def test_polars_behind_ibis_draws_and_labels_cases(case_id):
    truth, frame = world()
    frame = frame.assign(visit=range(1, 601))
    table = ibis.polars.connect().create_table("log", pl.from_pandas(frame))
    found = sw.audit(table, CASCADE, n_planned=20, seed=2, case_id=case_id)
    expected = sw.audit(frame, CASCADE, n_planned=20, seed=2, case_id=case_id)
    assert found.planned_cases == expected.planned_cases
    assert len(found.planned_cases) == 20
    labels = pd.DataFrame({case_id or "case": [3, 4], "label": truth[2:4]})
    assert n_labels(table, labels, case_id=case_id) == 2


def test_whole_numbers_with_a_fraction_come_back(tmp_path):
    """In text 1.0 is 1: in the log, where cases of a plan are drawn, and in the label."""
    truth, frame = world((0, 1, 2))
    gaps = frame.astype({"b": "float"})
    gaps.loc[::5, "b"] = np.nan
    path = tmp_path / "log.csv"
    gaps.to_csv(path, index=False)
    report, direct = (sw.audit(log, CASCADE, n_planned=40) for log in (path, gaps))
    at = [case.case for case in report.planned_cases]
    assert at == [case.case for case in direct.planned_cases]
    assert {case.outputs[1] for case in report.planned_cases} == {"0", "1", "2"}
    expected = sw.audit(gaps, CASCADE, labels=filled_plan(direct, truth, tmp_path / "same.csv"))
    for form in ("{}", "{}.0"):
        texts = [form.format(label) for label in truth]
        plan = filled_plan(report, texts, tmp_path / "plan.csv")
        found = sw.audit(path, CASCADE, labels=plan)
        np.testing.assert_array_equal(found.facts.labels.estimates, expected.facts.labels.estimates)
        by_case = pd.DataFrame({"case": at, "label": [texts[case - 1] for case in at]})
        assert n_labels(path, by_case) == 40


def test_any_part_of_a_shuffled_sheet_is_a_random_sample():
    """The first rows hold each agreement in proportion: no group comes first."""
    truth, frame = world(n=4_000)
    cases = sw.audit(frame, CASCADE, n_planned=600).planned_cases
    first = [case.outputs for case in cases[:200]]
    whole = [case.outputs for case in cases]
    for pattern in set(whole):
        share = whole.count(pattern) / 600
        assert abs(first.count(pattern) / 200 - share) < 5 * (share / 200) ** 0.5 + 0.005
    at = [case.case for case in cases[:200]]
    labels = pd.DataFrame({"case": at, "label": truth[np.array(at) - 1]})
    gain = (frame.a.to_numpy() != truth).mean() - (frame.b.to_numpy() != truth).mean()
    assert gain in sw.audit(frame, CASCADE, labels=labels).facts.labels.interval(0, 1)


@pytest.mark.parametrize("kind", SHEETS)
def test_labels_carry_over_to_a_larger_plan(kind, tmp_path):
    truth, frame = world()
    first = sw.audit(frame, CASCADE, n_planned=30).planned_cases
    done = [replace(case, label=truth[case.case - 1]) for case in first[:12]]
    path = tmp_path / f"labels.{kind}"
    cases = [replace(case, shown=("two\u2028lines",)) for case in done + list(first[12:])]
    path.write_text(SHEETS[kind](cases, ["case", "text"]), encoding="utf-8")
    report = sw.audit(frame, CASCADE, labels=path, n_planned=50)
    assert report.facts.labels.n_labels == 12
    sheet = {case.case: case.label for case in report.planned_cases}
    assert len(sheet) == len(report.planned_cases)
    assert {case: label for case, label in sheet.items() if label is not None} == {
        case.case: case.label for case in done
    }
    assert 48 <= len(sheet) <= 52
    assert report.advice.n_next == len(sheet) - 12


@pytest.mark.parametrize(
    "record",
    [
        {"data": {"case": 5}, "annotations": [{"result": [{"value": {"choices": ["x"]}}]}]},
        {"id": "5", "metadata": {"case": "5"}, "responses": {"label": [{"value": "x"}]}},
        {"case": 5, "label": "x"},
        {
            "data": {"case": 5},
            "annotations": [
                {"result": [{"value": {"choices": ["y"]}}], "was_cancelled": True},
                {"result": [{"value": {"choices": ["x"]}}], "was_cancelled": False},
            ],
        },
    ],
)
def test_what_label_studio_and_argilla_give_back_is_read(record, tmp_path):
    _, frame = world()
    lines = [record, {"data": {"case": 6}, "annotations": []}]
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert n_labels(frame, tmp_path / "labels.jsonl") == 1


BROKEN = {
    "no JSON": "line 1",
    "[" * 10_000: "line 1",
    '{"case": 1, "label": "x"}\n{"case": 2, "label": ["x"]}': "line 2: .* must be text or a number",
    '{"case": "\\ud800", "label": "x"}': "surrogates not allowed",
    b"\xff".decode("latin-1"): "line 0",
    f'{{"case": 1, "label": {10**400}}}': "a value that some test gives",
    '{"case": 1, "responses": {"label": [{"value": "x"}, {"value": "y"}]}}': "must have one label",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_json_lines_that_cannot_be_labels_are_refused(text, tmp_path):
    (tmp_path / "labels.jsonl").write_text(text, encoding="latin-1")
    with pytest.raises(LogError, match=BROKEN[text]):
        sw.audit(world()[1], CASCADE, labels=tmp_path / "labels.jsonl")


def test_labels_of_several_kinds_are_read_as_text(tmp_path):
    frame = pd.DataFrame({"a": [0, 1, 0] * 9, "b": [0, 0, 1] * 9, "c": [0, 0, 0] * 8 + [1, 0, 1]})
    labels = [{"case": 1, "label": 0}, {"case": 2, "label": "1"}, {"case": 3, "label": False}]
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    assert n_labels(frame, tmp_path / "labels.jsonl") == 3


def test_what_a_spreadsheet_would_compute_is_text_in_a_sheet(tmp_path):
    truth, frame = world(("=1+1", "'-y", "'-1"))
    log = frame.assign(id=["=cmd|" + str(k) for k in range(600)], text="+call")
    log = log.rename(columns={"id": "=id"})
    settings = {"case_id": "=id", "show": ["text", "a", "b"]}
    report = sw.audit(log, CASCADE, n_planned=30, **settings)
    truth_by_id = dict(zip(log["=id"], truth, strict=True))
    done = [replace(case, label=truth_by_id[case.case]) for case in report.planned_cases]
    sheet = sheet_csv(done, ["=id", "text", "a", "b"])
    cells = {cell for row in csv.reader(sheet.splitlines()) for cell in row}
    assert not any(cell[:1] in "=+-@" for cell in cells)
    (tmp_path / "sheet.csv").write_text(sheet)
    assert n_labels(log, tmp_path / "sheet.csv", case_id="=id") == 30


def test_an_export_that_lost_the_ids_is_refused(tmp_path):
    """JSON-MIN of Label Studio has its own numbers in the place of a column called id."""
    frame = world()[1].assign(id=lambda f: range(len(f)))
    (tmp_path / "min.json").write_text('[{"id": 5, "label": "x", "annotation_id": 9}]')
    with pytest.raises(LogError, match="JSON-MIN, Label Studio puts its own number"):
        sw.audit(frame, CASCADE, labels=tmp_path / "min.json", case_id="id")
