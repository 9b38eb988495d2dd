"""The OpenAPI document describes the server, tried at length."""

import pytest
from hypothesis import HealthCheck, settings

from tests.serve.test_openapi import check, schema


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::stopwise.errors.OutputsWarning")  # False beside "0", by chance
@schema.parametrize()
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_document_says_at_length(case, served):
    check(case, served.url)
