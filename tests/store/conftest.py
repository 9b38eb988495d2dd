"""A PostgreSQL server of Debian's package, in a temporary folder, for the tests of this room."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.children import Children
from tests.store.postgres_server import PostgresServer, postgres_binaries


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's server programs are not installed")
    pytest.importorskip("psycopg", reason="psycopg (extra postgres) is not installed")
    # Not below pytest's own folder, which the user postgres may not enter.
    folder = Path(tempfile.mkdtemp(prefix="stopwise-pg-"))
    server = PostgresServer(binaries, folder)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres) -> str:
    return postgres.new_database()


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    found = Children()
    yield found
    found.close()
