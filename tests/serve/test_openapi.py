"""The OpenAPI document describes the server: schemathesis sends what it allows and forbids.

It is imported, and cases are drawn, by the process that runs these tests alone.
"""

import pytest
from hypothesis import HealthCheck, settings

from stopwise.serve.app import ROUTES
from stopwise.serve.openapi import openapi

DOCUMENT = openapi(ROUTES)
LABELS = [
    f"{method.upper()} {path}"
    for path, methods in DOCUMENT["paths"].items()
    if not path.endswith("/stream")
    for method in methods
]


@pytest.fixture(scope="module")
def schema():
    import schemathesis

    return schemathesis.openapi.from_dict(DOCUMENT).exclude(path_regex="/stream$")


@pytest.fixture(scope="module")
def operations(schema):
    return {result.ok().label: result.ok() for result in schema.get_all_operations()}


def test_every_operation_is_tried(operations):
    assert set(operations) == set(LABELS)


# Among many examples, some have False beside "0".
MANY = pytest.param(
    100,
    marks=[
        pytest.mark.slow,
        pytest.mark.filterwarnings("ignore::stopwise.errors.OutputsWarning"),
    ],
)


@pytest.mark.parametrize("n_examples", [1, MANY])
@pytest.mark.parametrize("label", LABELS)
def test_what_the_document_says(label, n_examples, schema, operations, server):
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation.feedback import FeedbackSources
    from schemathesis.pytest._test_builder import build_operation_test
    from schemathesis.specs.openapi import checks

    all_checks = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]

    @settings(max_examples=n_examples, deadline=None, suppress_health_check=list(HealthCheck))
    def check(case):
        if "name" in case.path_parameters and case.operation.method.upper() in ("POST", "GET"):
            case.path_parameters["name"] = "triage"
        case.call_and_validate(base_url=server.url, checks=all_checks, timeout=20)

    build_operation_test(
        config=schema.config,
        operation=operations[label],
        test_func=check,
        given_kwargs={},
        feedback=FeedbackSources(),
    )()
