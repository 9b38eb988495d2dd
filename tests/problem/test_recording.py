import gzip

import numpy as np
import pytest

import stopwise as sw

PAIR = sw.Cascade(costs=[0, 0.1])
TRIPLE = sw.Cascade(costs=[0, 0.1, 0.1])


@pytest.fixture
def csv(tmp_path):
    """Write a CSV file and return its path."""

    def write(text, encoding="utf-8"):
        path = tmp_path / "cases.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


class TestTable:
    def test_the_instance_is_the_empirical_law(self):
        recording = sw.Recording([[0, 0], [0, 1], [1, 1], [1, 0]], [0, 1, 1, 1], PAIR)
        assert len(recording) == 4
        np.testing.assert_allclose(recording.instance.error_rates, [0.25, 0.25])
        assert repr(recording) == "Recording(4 cases, 2 stages)"

    def test_values_are_any_labels_and_keep_their_type(self):
        recording = sw.Recording([["ill", 1], ["well", "ill"]], ["ill", 1], PAIR)
        assert set(recording.instance.classes) == {"ill", "well", 1}

    def test_data_frames_are_taken(self):
        import pandas as pd

        frame = pd.DataFrame({"a": ["x", "y"], "b": ["x", "x"], "y": ["x", "x"]})
        recording = sw.Recording(frame[["a", "b"]], frame["y"], PAIR)
        np.testing.assert_allclose(recording.instance.error_rates, [0.5, 0])

    def test_it_keeps_a_copy(self):
        outputs = np.zeros((2, 2), dtype=int)
        recording = sw.Recording(outputs, [0, 0], PAIR)
        outputs[:] = 1
        assert recording.outputs.sum() == 0
        with pytest.raises(ValueError, match="read-only"):
            recording.outputs[0, 0] = 1

    @pytest.mark.parametrize(
        ("outputs", "labels", "message"),
        [
            ([[0, 1]], None, "labels must be recorded for regret to be known, got none"),
            ([[0, 1], [0]], [0, 0], r"outputs must have shape \(2, 2\), got \(2,\)"),
            ([[0, None]], [0], "must not be missing, got None at row 1, stage 2"),
            ([[0, 1]], [np.nan], "must not be missing, got nan at row 1, the label"),
            ([["a", "b"]], ["A"], r"share a coding, got outputs \['a', 'b'\] and labels \['A'\]"),
        ],
    )
    def test_what_is_no_table_is_refused(self, outputs, labels, message):
        with pytest.raises(sw.errors.InstanceError, match=message):
            sw.Recording(outputs, labels, PAIR)


class TestCsv:
    def test_all_columns_but_the_label_are_tests(self, csv):
        path = csv("a,y,b\n0,0,0\n0,1,1\n")
        recording = sw.Recording.from_csv(path, PAIR)
        assert recording.outputs.tolist() == [[0, 0], [0, 1]]
        assert recording.labels.tolist() == [0, 1]

    def test_columns_can_be_named_and_others_are_not_looked_at(self, csv):
        path = csv("id,note,b,a,truth\n1,,no,yes,no\n2,x,yes,yes,yes\n")
        recording = sw.Recording.from_csv(str(path), PAIR, label="truth", tests=["a", "b"])
        assert recording.outputs.tolist() == [["yes", "no"], ["yes", "yes"]]
        np.testing.assert_allclose(recording.instance.error_rates, [0.5, 0])

    def test_numbers_are_numbers(self, csv):
        path = csv("y,a,b\n1,1.0,+1\n0, 0.0 ,-0\n1e0,1,.1e1\n")
        recording = sw.Recording.from_csv(path, PAIR)
        assert recording.instance.error_rates.tolist() == [0, 0]
        assert recording.instance.classes == (0, 1)

    @pytest.mark.parametrize(
        ("text", "settings", "message"),
        [
            ("", {}, "cases.csv cannot be read: it is empty"),
            ("\n\n", {}, "must have a header and at least one row, got no names"),
            ("a,b,y\n", {}, "at least one row under its header, got none"),
            ("0,1,2\n0,0,0\n", {}, "must start with a header, got 0, 1, 2"),
            ("a,b,label\n0,0,0\n", {}, "label of .* must be one of a, b, label, got 'y'"),
            ("a,b,truth\n0,0,0\n", {"label": "trut"}, "got 'trut': did you mean 'truth'"),
            (
                "history,insulin,y\n0,0,0\n",
                {"tests": ["history", "inslin"]},
                "a test must .* got 'inslin': did you mean 'insulin'",
            ),
            ("a,b,y\n0,0,0\n0,1\n", {}, "Line: 3; Expected .* 3 Found: 2"),
            ("a,b,y\n0,0,0\n0,1,1,1\n", {}, "Line: 3; Expected .* 3 Found: 4"),
            ("a,b,c,y\n0,0,0,0\n", {}, "must be 2 columns, one per stage, got 3: a, b, c"),
            ("a,b,y\n0,0,0\n", {"tests": ["a"]}, "must be 2 columns, one per stage, got 1: a"),
            ("a,b,y\n0,0,0\n", {"tests": ["a", "y"]}, "must not hold the label, got 'y'"),
            ("a,a,y\n0,0,0\n", {}, "different names, got a twice"),
            (",a,y\n0,0,0\n", {}, "must be 2 columns, one per stage, got 1: a"),
            ("a,b,y\n0, ,0\n", {}, "none for 'b' in row 1 of .*: leave the row out"),
            ("a,b,y\n0,0,0\n0,0,\n", {}, "got none for 'y' in row 2 of"),
            ("a,b,y\n0,0,True\n", {}, "outputs and labels must share a coding"),
            ('a,b,y\n"0"x,0,0\n', {}, "Line: 2; Value with unterminated quote"),
        ],
    )
    def test_what_is_no_recording_is_refused(self, csv, text, settings, message):
        with pytest.raises(sw.errors.InputError, match=message):
            sw.Recording.from_csv(csv(text), PAIR, **settings)

    @pytest.mark.parametrize("gap", ["NA", "#N/A", '""', " "])
    def test_gaps_are_those_of_an_audit(self, csv, gap):
        with pytest.raises(sw.errors.InstanceError, match="none for 'b' in row 2"):
            sw.Recording.from_csv(csv(f"a;b;y\n0;0;0\n1;{gap};1\n"), PAIR)

    def test_a_byte_order_mark_blank_lines_another_separator_and_compression(self, tmp_path):
        path = tmp_path / "cases.csv.gz"
        path.write_bytes(gzip.compress('\ufeff\r\n"a";b;y\r\n\r\n1,5;x;x\r\n\r\n'.encode()))
        assert sw.Recording.from_csv(path, PAIR).outputs.tolist() == [["1,5", "x"]]

    def test_another_encoding_is_refused(self, csv):
        with pytest.raises(sw.errors.LogError, match="not utf-8"):
            sw.Recording.from_csv(csv("a,b,y\nä,ä,ä\n", encoding="latin-1"), PAIR)

    def test_a_missing_file_is_a_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.csv"):
            sw.Recording.from_csv(tmp_path / "none.csv", TRIPLE)
