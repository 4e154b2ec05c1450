"""Jobs are listed, followed, cancelled and tried again over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.serve.conftest import Running, events_of, serving, wait_until

from graphwright import Index
from graphwright.models.fake import HashEncoder

DOCUMENTS = "/v1/indexes/cities/documents"


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server of an index that tests change."""
    folder = tmp_path_factory.mktemp("jobs") / "cities"
    Index.create(folder, encoder=HashEncoder()).close()
    with serving(folder) as running:
        yield running


def added(server: Running, text: str) -> str:
    reply = server.client.post(DOCUMENTS, json={"documents": [{"text": text}]})
    id: str = reply.json()["job"]["id"]
    return id


def test_job_is_followed_to_its_end(writable: Running) -> None:
    id = added(writable, "Graz lies on the Mur.")
    events = events_of(writable.client.get(f"/v1/jobs/{id}/events").text)
    assert events[-1][0] == "done" and events[-1][1]["changes"]["added"] == 1
    assert all(kind == "progress" for kind, _ in events[:-1])
    assert events_of(writable.client.get(f"/v1/jobs/{id}/events").text)[0][0] == "done"  # also afterwards


def test_failed_job_ends_with_error(writable: Running) -> None:
    files = {"files": ("a.bin", bytes(range(256)))}
    id = writable.client.post(DOCUMENTS, files=files).json()["job"]["id"]
    kind, problem = events_of(writable.client.get(f"/v1/jobs/{id}/events").text)[-1]
    assert kind == "error" and problem["type"].endswith("job-failed") and "a.bin" in problem["detail"]
    assert problem["job"]["state"] == "failed"
    retried = writable.client.post(f"/v1/jobs/{id}/retry")
    assert retried.json()["state"] in ("queued", "running", "failed")
    wait_until(lambda: writable.client.get(f"/v1/jobs/{id}").json()["attempts"] == 2)


def test_jobs_are_listed(writable: Running) -> None:
    id = added(writable, "Linz lies on the Danube.")
    wait_until(lambda: writable.client.get(f"/v1/jobs/{id}").json()["finished"])
    listed = writable.client.get("/v1/jobs", params={"index": "cities", "state": "done", "limit": 1}).json()
    assert listed["jobs"][0]["id"] == id and listed["total"] >= 1
    assert writable.client.get("/v1/jobs", params={"index": "other"}).status_code == 404
    assert writable.client.get("/v1/jobs", params={"state": "odd"}).status_code == 422


def test_ended_job_is_not_cancelled(writable: Running) -> None:
    id = added(writable, "Vienna lies on the Danube.")
    wait_until(lambda: writable.client.get(f"/v1/jobs/{id}").json()["finished"])
    for action in ("cancel", "retry"):
        reply = writable.client.post(f"/v1/jobs/{id}/{action}")
        assert reply.status_code == 409 and reply.json()["type"].endswith("conflict")


@pytest.mark.parametrize("id", ["none", "..", "%2e%2e%2fx", "' OR 1=1"])
def test_unknown_job_is_problem(writable: Running, id: str) -> None:
    for address in (f"/v1/jobs/{id}", f"/v1/jobs/{id}/events"):
        assert writable.client.get(address).status_code in (404, 405)
