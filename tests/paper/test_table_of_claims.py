"""The table of the paper's statements names tests that exist."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_test_that_the_table_names_exists():
    table = (TESTS.parent / "docs" / "paper.md").read_text(encoding="utf-8")
    files = list(TESTS.rglob("test_*.py"))
    sources = "".join(path.read_text(encoding="utf-8") for path in files)
    names = {path.stem for path in files} | set(re.findall(r"def (test_\w+)", sources))
    mentioned = set(re.findall(r"\btest_\w+", table))
    assert len(mentioned) > 50
    assert mentioned <= names
