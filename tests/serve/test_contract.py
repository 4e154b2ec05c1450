"""The server keeps to its OpenAPI document, whatever it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from tests.serve.conftest import DOCUMENTS, Running, serving

from graphwright import Index
from graphwright.models.fake import HashEncoder
from graphwright.serve.keys import Keys

schemathesis = pytest.importorskip("schemathesis", reason="needs the package schemathesis")

st.from_regex("a").validate()  # imports a module, which Python 3.11 may fail to parse while other threads go deep

KNOWN = {"ix": "cities", "document": "graz", "node": "Graz", "model": "cities"}
"""Names that exist, so that requests come past the check of names."""

CHECKS = (
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
)


def ask_every_operation(server: Running, examples: int) -> int:
    """Send drawn requests to each operation; an error of the server, or a reply of another form, is raised."""
    headers = {"Authorization": server.client.headers["Authorization"]}
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", headers=headers)
    operations = [result.ok() for result in schema.get_all_operations()]
    for number, operation in enumerate(operations):

        @seed(number)
        @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            for name in KNOWN.keys() & (case.path_parameters or {}).keys():
                case.path_parameters[name] = KNOWN[name]
            if isinstance(case.body, dict) and "model" in case.body:
                case.body["model"] = "cities"
            case.call_and_validate(checks=CHECKS, headers=dict(headers))

        check()
    return len(operations)


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of an index of its own: the requests add and remove documents, and make keys."""
    folder = tmp_path_factory.mktemp("contract") / "cities"
    with Index.create(folder, encoder=HashEncoder()) as index:
        index.add(DOCUMENTS)
    with closing(Keys(folder.parent / "data")) as keys:
        key, _ = keys.create("owner", "admin")
    with serving(folder, key=key) as running:
        yield running


def test_operations_reply_as_documented(changed: Running) -> None:
    assert ask_every_operation(changed, examples=1) >= 30


@pytest.mark.slow
def test_operations_reply_as_documented_to_many_requests(changed: Running) -> None:
    assert ask_every_operation(changed, examples=30) >= 30
