"""Type information reaches users: a small program is checked by mypy as an installed package."""

import subprocess
import sys

import pytest

PROGRAM = """
import stopwise as sw
from stopwise.runtime import Result, Stage

cascade = sw.Cascade(costs=[1, 2, 3], mistake_cost=10)
policy: sw.Policy = sw.Resolve(cascade)
policy.tell(["a", "b"])
report: sw.AuditReport = sw.audit([[0, 1, 1]], cascade)
model: sw.LatentClasses = sw.LatentClasses.fit(
    sw.PatternTable.from_rows([[0, 1, 1]], [5], cascade)
)
with sw.Runtime("t", stages=[Stage(len, cost=1)], mistake_cost=2) as runtime:
    result: Result = runtime.run_sync("case")
reveal_type(sw.Resolve)
reveal_type(policy.ask())
"""


@pytest.mark.slow
def test_a_program_of_a_user_is_checked(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    process = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert "stopwise.policies.resolve.Resolve" in process.stdout
    assert '"int"' in process.stdout
