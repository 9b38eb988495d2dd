"""A PostgreSQL server of Debian's package, in a temporary folder, for the tests of this room."""

from collections.abc import Iterator

import pytest

from stopwise.store import open_store
from tests.store.child_processes import Children
from tests.store.postgres_server import PostgresServer, postgres_binaries, postgres_running


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's server programs are not installed")
    pytest.importorskip("psycopg", reason="psycopg (extra postgres) is not installed")
    with postgres_running(binaries) as server:
        yield server


@pytest.fixture
def postgres_url(postgres) -> str:
    return postgres.new_database()


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    children = Children()
    yield children
    children.close()


@pytest.fixture
def store(url):
    with open_store(url) as store:
        yield store
