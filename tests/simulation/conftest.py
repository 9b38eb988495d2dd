import pytest

from stopwise.simulation import compiled


@pytest.fixture
def compiled_at_once(monkeypatch):
    """Compile kernels however little they work."""
    monkeypatch.setattr(compiled, "PATIENCE", 0)
