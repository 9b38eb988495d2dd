"""Every count that the experiments give at quick scale, in one file.

``make snapshots``, or ``RENEW=1 pytest tests/paper/test_golden.py``, writes ``golden.json`` anew.
Read the difference before you commit it: counts change with the random numbers that a policy
draws, and with its decisions.
"""

import json
import os
from pathlib import Path

import pytest

from paper import EXPERIMENTS

GOLDEN = Path(__file__).with_name("golden.json")


def counts(value, path=()):
    """Yield each whole number or list of whole numbers of a result with the way to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from counts(inner, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        for place, inner in enumerate(value):
            yield from counts(inner, (*path, str(place)))
    elif path[-1] not in ("rounds", "places", "horizon", "horizons", "checkpoints"):
        values = value if isinstance(value, list) else [value]
        if values and all(isinstance(x, int) for x in values):
            yield " / ".join(path), value


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_counts_are_the_golden_ones(quick, name):
    found = dict(counts(quick[1][name].result.numbers))
    assert found
    held = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if os.environ.get("RENEW"):
        held[name] = found
        text = json.dumps(held, ensure_ascii=False, indent=0, sort_keys=True)
        GOLDEN.write_text(flat(text) + "\n", encoding="utf-8")
    assert held.get(name) == found


def flat(text):
    """Put each list on one line."""
    lines, inside = [], False
    for line in text.splitlines():
        if inside:
            lines[-1] += line
        else:
            lines.append(line)
        inside = line.endswith("[") or (inside and not line.startswith("]"))
    return "\n".join(lines)
