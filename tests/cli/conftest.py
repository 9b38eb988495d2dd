"""A log of visits as files, and the command that audits it."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from tests.auditing.worlds import draw


@pytest.fixture
def visits(tmp_path):
    labels, outputs = draw(np.random.default_rng(0), 2_000, (0.35, 0.2, 0.1))
    frame = pd.DataFrame(outputs, columns=["history", "insulin", "all"])
    frame = frame.replace({0: "no", 1: "yes"}).assign(visit=range(500, 2_500))
    frame.to_parquet(tmp_path / "visits.parquet")
    frame.to_csv(tmp_path / "visits.csv", index=False)
    truth = dict(zip(range(500, 2_500), np.where(labels, "yes", "no").tolist(), strict=True))
    return tmp_path, frame, truth


@pytest.fixture
def run(main):
    """The audit command: exit code, stdout and stderr."""
    return partial(main, "audit")
