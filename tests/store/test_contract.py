import pytest

from stopwise.store import open_store
from stopwise.store.contract import StoreContract


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self):
        return open_store("memory://")


class TestSqlite(StoreContract):
    """With the fixture `store` of all tests in this folder."""


class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, postgres_url):
        with open_store(postgres_url) as store:
            yield store
