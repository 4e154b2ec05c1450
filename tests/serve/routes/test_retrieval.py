from typing import Any

import pytest
from tests.serve.conftest import EMOJI, Running, events_of

from graphwright import Index
from graphwright.models.fake import HashEncoder

QUESTION = "On which river does Graz lie?"


def ask(server: Running, route: str = "ask", **body: Any) -> Any:
    return server.client.post(f"/v1/indexes/cities/{route}", json={"question": QUESTION, **body})


@pytest.mark.parametrize("route", ["ask", "retrieve"])
def test_reply_equals_library_json(server: Running, cities: Any, route: str) -> None:
    with Index.open(cities, encoder=HashEncoder()) as index:
        state = getattr(index, route)(QUESTION, "bm25", top_k=2)
        expected = state.to_dict(method="bm25", top_k=2)
    reply = ask(server, route, method="bm25", top_k=2).json()
    for varying in ("trace", "usage"):  # times, and vectors that are cached
        assert reply.pop(varying) and expected.pop(varying)
    assert reply == expected


def test_offsets_count_code_points(server: Running) -> None:
    cited = ask(server).json()["citations"][0]
    assert cited["document"] == "graz"
    assert EMOJI[cited["start"] : cited["end"]] == cited["text"]


def test_filter_hides_other_documents(server: Running) -> None:
    passages = ask(server, "retrieve", filter={"documents": ["vienna"]}).json()["passages"]
    assert {passage["document"] for passage in passages} == {"vienna"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"question": " "}, "validation"),
        ({"top_k": 0}, "validation"),
        ({"k": 3}, "validation"),
        ({"question": "x" * 8_001}, "option"),
        ({"method": "bubblerga"}, "option"),
        ({"method": "vanilla"}, "option"),
        ({"filter": {}, "method": "__import__('os')"}, "option"),
        ({"filter": {"documents": ["nothing"]}}, "data"),
        ({"filter": {"as_of": "soon"}}, "option"),
    ],
)
def test_wrong_request_is_problem(server: Running, body: dict[str, Any], kind: str) -> None:
    reply = ask(server, "retrieve", **body)
    assert (reply.status_code, reply.json()["type"]) == (422, f"urn:graphwright:problem:{kind}")
    assert "Traceback" not in reply.text and "/tmp" not in reply.text


def test_stream_ends_with_whole_answer(server: Running) -> None:
    reply = ask(server, method="bm25", stream=True)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = events_of(reply.text)
    kinds = list(dict.fromkeys(kind for kind, _ in events))
    assert kinds == ["trace", "evidence", "token", "citation", "usage", "done"]
    assert events[-1][1]["answer"] == ask(server, method="bm25").json()["answer"]


def test_accept_header_requests_stream(server: Running) -> None:
    reply = server.client.post(
        "/v1/indexes/cities/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}
    )
    assert events_of(reply.text)[-1][0] == "done"


def test_error_before_first_event_has_status(server: Running) -> None:
    reply = ask(server, method="bubblerga", stream=True)
    assert reply.status_code == 422 and "bubblerag" in reply.json()["detail"]


def test_compared_methods_keep_order(server: Running) -> None:
    reply = server.client.post(
        "/v1/indexes/cities/compare", json={"question": QUESTION, "methods": ["vector", "bm25"], "top_k": 1}
    ).json()
    assert [result["method"] for result in reply["results"]] == ["vector", "bm25"]
    assert all(len(result["passages"]) == 1 for result in reply["results"])
