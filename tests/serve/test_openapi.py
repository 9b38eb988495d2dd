"""The OpenAPI document describes the server: schemathesis sends what it allows and forbids."""

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
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


def check(case, url):
    if "name" in case.path_parameters and case.operation.method.upper() in ("POST", "GET"):
        case.path_parameters["name"] = "triage"
    case.call_and_validate(base_url=url, checks=CHECKS, timeout=20)


@schema.parametrize()
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_the_document_says(case, served):
    check(case, served.url)
