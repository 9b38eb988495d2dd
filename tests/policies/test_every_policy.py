"""The published laws, over every policy in several settings."""

import pytest

from stopwise.policies.contract import PolicyContract
from tests.policies.contextual_helpers import FACTORIES as CONTEXTUAL
from tests.policies.helpers import FACTORIES, STOPPING

EVERY = (
    FACTORIES
    | STOPPING
    | {name: lambda c, make=make: make(c, 2) for name, make in CONTEXTUAL.items()}
)


class TestEveryPolicy(PolicyContract):
    @pytest.fixture(params=EVERY.values(), ids=EVERY)
    def make(self, request):
        return request.param
