"""`/` and the files of the page."""

import re

import pytest
from fastapi.testclient import TestClient

from tests.api.http.conftest import problem_document


def test_the_page_comes_with_a_policy_that_lets_nothing_else_run(client: TestClient) -> None:
    response = client.get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in response.text
    assert "<style>" not in response.text


def test_its_files_may_be_kept_for_ever(client: TestClient) -> None:
    names = re.findall(r'"(/page/[^"]*)"', client.get("/").text)
    assert len(names) >= 3
    for name in names:
        response = client.get(name)
        assert response.status_code == 200
        assert "immutable" in response.headers["cache-control"]
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        assert response.headers["content-type"] == f"{kind}; charset=utf-8"


def test_other_names_are_not_found(client: TestClient) -> None:
    problem_document(client.get("/page/manifest.json"), 404, "no_such_file")
    problem_document(client.get("/page/page-000000000000.js"), 404, "no_such_file")


@pytest.mark.parametrize(
    "path", ["/new", "/jobs", "/jobs/0123", "/jobs?state=failed", "/new?job=0123", "/reference"]
)
def test_its_other_addresses_have_the_same_document(client: TestClient, path: str) -> None:
    start, other = client.get("/"), client.get(path)
    assert other.content == start.content
    assert other.headers["content-security-policy"] == start.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/new?jib=1", "/jobs?limit=3", "/reference?a=b", "/jobs/0123?key=secret"])
def test_misspelt_parameters_of_its_addresses_are_told(client: TestClient, path: str) -> None:
    problem_document(client.get(path), 422, "unknown_parameter")
