"""The OpenAPI document describes the server: schemathesis sends what it allows and forbids."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from stopwise.serve.app import ROUTES
from stopwise.serve.openapi import openapi

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
schema = schemathesis.openapi.from_dict(openapi(ROUTES)).exclude(path_regex="/stream$")
OPERATIONS = {found.ok().label: found.ok() for found in schema.get_all_operations()}


@pytest.mark.parametrize("label", OPERATIONS)
def test_what_the_document_says(label, served):
    """Its cases are drawn here: `schema.parametrize` draws all of them in every process."""

    @settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
    def check(case):
        if "name" in case.path_parameters and case.operation.method.upper() in ("POST", "GET"):
            case.path_parameters["name"] = "triage"
        case.call_and_validate(base_url=served.url, checks=CHECKS, timeout=20)

    build_operation_test(
        config=schema.config,
        operation=OPERATIONS[label],
        test_func=check,
        given_kwargs={},
        feedback=FeedbackSources(),
    )()
