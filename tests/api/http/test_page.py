"""`/` and the files of the page."""

import re

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
    assert len(names) == 2
    for name in names:
        response = client.get(name)
        assert response.status_code == 200
        assert "immutable" in response.headers["cache-control"]
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        assert response.headers["content-type"] == f"{kind}; charset=utf-8"


def test_other_names_are_not_found(client: TestClient) -> None:
    problem_document(client.get("/page/manifest.json"), 404, "no_such_file")
    problem_document(client.get("/page/page-000000000000.js"), 404, "no_such_file")
