import pytest

import stopwise as sw
from stopwise.auditing import Ordered
from tests.auditing.worlds import NAMES, frame_of


@pytest.fixture(scope="session")
def world():
    """Labels, a log of three tests, their prices, and the report of the audit with a plan."""
    labels, frame = frame_of()
    cascade = sw.Cascade([6, 16, 24], mistake_cost=200, names=NAMES)
    return labels, frame, cascade, sw.audit(frame, cascade, assumptions=[Ordered()], n_planned=40)
