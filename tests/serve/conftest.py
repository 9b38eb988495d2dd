import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from tests.serve.local_server import NEW, serving, two_stages


@pytest.fixture(scope="session")
def server():
    """A server with a cascade that clients run and one that it runs itself."""
    with serving({"local": two_stages()}) as server:
        with server.client() as http:
            assert http.post("/api/cascades", json=NEW).status_code == 201
        yield server


@pytest.fixture
def http(server):
    with server.client() as client:
        yield client
