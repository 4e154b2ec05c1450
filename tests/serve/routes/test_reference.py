import re

from tests.serve.conftest import Running


def test_reference_loads_nothing_remote(server: Running) -> None:
    page = server.client.get("/docs")
    assert page.status_code == 200 and "script-src 'self'" in page.headers["content-security-policy"]
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert addresses == ["docs/reference.css", "docs/reference.js", "openapi.json"]
    for address in addresses:
        assert server.client.get(f"/{address}").status_code == 200
    assert "innerHTML" not in server.client.get("/docs/reference.js").text


def test_other_files_are_not_served(server: Running) -> None:
    for name in ("nothing.js", "..%2Fapp.py", "__init__.py"):
        assert server.client.get(f"/docs/{name}").status_code == 404


def test_every_operation_has_summary_and_example(server: Running) -> None:
    api = server.client.get("/openapi.json").json()
    for path, operations in api["paths"].items():
        for operation in operations.values():
            assert operation["description"].rstrip().endswith("."), path
            assert {"4XX", "5XX"} <= operation["responses"].keys(), path
    asked = api["components"]["schemas"]["QuestionBody"]["properties"]["question"]
    assert asked["examples"] == ["On which river does Graz lie?"]
