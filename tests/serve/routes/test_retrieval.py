"""TODO."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import openai
import pytest
from tests.llm_server import LLMServer, Say
from tests.serve.conftest import EMOJI, Running, events_of, serving

from graphwright import Graph, Index
from graphwright.models.fake import HashEncoder
from graphwright.models.settings import LLMSettings
from graphwright.operators.run import NOT_FOLLOWED
from graphwright.serve.chat import sources
from graphwright.serve.settings import ModelServer

QUESTION = "On which river does Graz lie?"


def ask(server: Running, route: str = "ask", **body: Any) -> Any:
    return server.client.post(f"/v1/indexes/cities/{route}", json={"question": QUESTION, **body})


@pytest.mark.parametrize("route", ["ask", "retrieve"])
def test_reply_equals_library_json(server: Running, cities: Any, route: str) -> None:
    with Index.open(cities, encoder=HashEncoder()) as index:
        state = getattr(index, route)(QUESTION, "bm25", top_k=2)
        expected = state.to_dict(method="bm25", top_k=2)
    reply = ask(server, route, method="bm25", top_k=2).json()
    assert reply.pop("fallback", None) is reply.pop("instructed", None) is None  # known to the server alone
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


def test_ask_with_history_replies_to_what_follow_up_means(server: Running) -> None:
    before = [
        {"role": "user", "content": "On which river does Graz lie?"},
        {"role": "assistant", "content": "Mur [1]."},
    ]
    body = {"question": "And Linz?", "method": "bm25", "history": before}
    reply = server.client.post("/v1/indexes/cities/ask", json=body).json()
    assert "Linz" in reply["question"] and reply["question"] != reply["turn"] == "And Linz?"
    events = events_of(server.client.post("/v1/indexes/cities/ask", json={**body, "stream": True}).text)
    assert (events[-1][0], events[-1][1]["question"]) == ("done", reply["question"])
    assert server.client.post("/v1/indexes/cities/retrieve", json=body).status_code == 422


def test_ask_model_is_one_of_index_models(cities: Any) -> None:
    with (
        LLMServer([Say(REPLY)]) as small,
        LLMServer([Say(REPLY)]) as large,
        serving(
            cities,
            llm=LLMSettings("small", small.url),
            models=(LLMSettings("large", large.url),),
            model_servers=(ModelServer(large.url),),
        ) as running,
    ):
        assert running.client.get("/v1/indexes/cities").json()["models"] == ["small", "large"]
        assert ask(running, method="bm25", model="large").json()["usage"]["llm_calls"] == 1
        assert len(large.requests) == 1 and small.requests == []
        assert 'model="large"' in running.client.get("/metrics").text
        refused = ask(running, method="bm25", model="huge")
        assert refused.status_code == 422 and "small, large" in refused.json()["detail"]


def test_instructions_of_server_and_of_request_reach_model(cities: Any) -> None:
    with (
        LLMServer([Say(REPLY)]) as llm,
        serving(cities, llm=LLMSettings("any", llm.url), instruction="in German") as running,
    ):
        told = ask(running, method="bm25", instruction="for children").json()
        own = {"graphwright": {"instruction": "in verse"}}
        running.client.post("/v1/chat/completions", json={"model": "cities:bm25", "messages": RIVER, **own})
        offline = ask(running, method="bm25", offline=True).json()
    first, second = (request.json["messages"][0]["content"] for request in llm.requests)
    assert r'{"instruction": "in German\nfor children"}' in first and told["citations"]
    assert r'{"instruction": "in German\nin verse"}' in second
    notes = [note for step in offline["trace"] for note in step["notes"]]
    assert told["instructed"] is True and offline["instructed"] is False
    assert NOT_FOLLOWED in notes and not any(NOT_FOLLOWED in step["notes"] for step in told["trace"])


RIVER = [{"role": "user", "content": "On which river does Graz lie?"}]
REPLY = (
    '{"reasoning": "It says so.", "found": true, "text": "Graz lies on the Mur [1].", "answers": ["the Mur"], '
    '"citations": [{"passage": 1, "quote": "Graz lies on the Mur in Styria."}]}'
)


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as opened:
        yield opened


def test_chat_models_are_indexes(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["cities"]
    assert client.models.retrieve("cities:bm25").id == "cities:bm25"
    with pytest.raises(openai.NotFoundError, match="Did you mean 'bm25'"):
        client.models.retrieve("cities:bm2")


def test_chat_annotations_open_page_at_citation(client: openai.OpenAI) -> None:
    completion = client.chat.completions.create(model="cities:bm25", messages=RIVER)  # type: ignore[arg-type]
    message = completion.choices[0].message
    assert message.content and message.annotations and completion.choices[0].finish_reason == "stop"
    cited = message.annotations[0].url_citation
    assert message.content[cited.start_index : cited.end_index] == "[1]"
    place = urlsplit(urlsplit(cited.url).fragment)
    span = {name: values[0] for name, values in parse_qs(place.query).items()}
    assert unquote(place.path) == "/document/graz" and span["index"] == "cities" and cited.title == "Graz"
    own = completion.citations[0]  # type: ignore[attr-defined]
    assert EMOJI[int(span["start"]) : int(span["end"])] == own["text"]
    assert own["url"] == cited.url


def test_chat_stream_equals_whole_answer(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="cities:bm25", messages=RIVER)  # type: ignore[arg-type]
    *chunks, counted = client.chat.completions.create(
        model="cities:bm25",
        messages=RIVER,  # type: ignore[arg-type]
        stream=True,
        stream_options={"include_usage": True},
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.choices[0].message.content
    last = chunks[-1]
    assert last.choices[0].finish_reason == "stop"
    expected = [item.model_dump() for item in whole.choices[0].message.annotations or ()]
    assert last.choices[0].delta.annotations == expected  # type: ignore[attr-defined]
    assert last.citations == whole.citations  # type: ignore[attr-defined]
    assert not counted.choices and counted.usage == whole.usage


def test_chat_follow_up_uses_names_of_last_turn(server: Running) -> None:
    turns = [
        {"role": "system", "content": "Be brief. Vienna."},
        {"role": "user", "content": "Where was Ida Pfeiffer born?"},
        {"role": "assistant", "content": "Ida Pfeiffer was born in Vienna. [1]"},
        {"role": "user", "content": [{"type": "text", "text": "Which town did she visit?"}]},
    ]
    reply = server.client.post("/v1/chat/completions", json={"model": "cities", "messages": turns}).json()
    assert reply["graphwright"]["question"] == "Which town did she visit? (Ida Pfeiffer, Vienna)"


def test_chat_sources_follow_text_on_request(server: Running) -> None:
    body = {"model": "cities:bm25", "messages": RIVER, "graphwright": {"footer": True}}
    reply = server.client.post("/v1/chat/completions", json=body).json()
    text, _, listed = reply["choices"][0]["message"]["content"].partition("\n\nSources\n")
    assert (
        text
        == server.client.post("/v1/chat/completions", json={**body, "graphwright": {}}).json()["choices"][0]["message"][
            "content"
        ]
    )
    assert listed.startswith("[1] [Graz](http://127.0.0.1:")


def test_chat_sources_name_other_copies() -> None:
    cited = {"title": "Dam", "url": "http://x/", "text": "It is old.", "also_in": ["b_1.txt"]}
    assert sources([cited]).endswith("[1] [Dam](http://x/): “It is old.” (also in b\\_1.txt)")


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"model": "nowhere"}, 404, "no index 'nowhere'"),
        ({"n": 2}, 422, "/body/n"),
        ({"messages": [{"role": "system", "content": "hello"}]}, 422, "no text of a user"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 422, "only text"),
        ({"graphwright": {"k": 3}}, 422, "/body/graphwright/k"),
    ],
)
def test_chat_error_has_openai_form(server: Running, body: dict[str, Any], status: int, text: str) -> None:
    reply = server.client.post("/v1/chat/completions", json={"model": "cities", "messages": RIVER, **body})
    assert reply.status_code == status
    assert text in reply.json()["error"]["message"] == reply.json()["detail"]


def test_chat_model_answers_and_condenses(cities: Any) -> None:
    turns = [*RIVER, {"role": "assistant", "content": "The Mur."}, {"role": "user", "content": "And Linz?"}]
    with (
        LLMServer([Say('{"question": "On which river does Linz lie?"}'), Say(REPLY)]) as llm,
        serving(cities, llm=LLMSettings("any", llm.url)) as running,
    ):
        body = {"model": "cities:bm25", "messages": turns}
        reply = running.client.post("/v1/chat/completions", json=body).json()
        assert reply["choices"][0]["message"]["content"] == "Graz lies on the Mur [1]."
        assert reply["graphwright"]["question"] == "On which river does Linz lie?"
        assert reply["usage"] == {"prompt_tokens": 14, "completion_tokens": 6, "total_tokens": 20}
        assert running.client.get("/v1/indexes").json()["indexes"][0]["llm"] == "any"


def test_unverified_draft_is_followed_by_verified_answer(cities: Any) -> None:
    draft = REPLY.replace("the Mur in Styria.", "the Danube.")
    with (
        LLMServer([Say(draft)]) as llm,
        serving(cities, llm=LLMSettings("any", llm.url)) as running,
    ):
        body = {"model": "cities:bm25", "messages": RIVER, "stream": True}
        events = [data for _, data in events_of(running.client.post("/v1/chat/completions", json=body).text)]
    assert events[-1] == "[DONE]"
    text = "".join(event["choices"][0]["delta"].get("content", "") for event in events[:-1])
    start, _, end = text.partition("\n\nChecked against the documents:\n")
    assert start == "Graz lies on the Mur [1]." and "[unsupported]" in end


def test_chat_answer_from_graph_cites_nodes(tmp_path: Path) -> None:
    triples = [("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava")]
    Index.from_graph(tmp_path / "rivers", Graph.from_triples(triples), encoder=HashEncoder()).close()
    with serving(tmp_path / "rivers") as running:
        body = {"model": "cities", "messages": [{"role": "user", "content": "What does the Mur flow into?"}]}
        reply = running.client.post("/v1/chat/completions", json=body).json()
        assert reply["citations"] and all("/#/graph?index=cities&node=" in cited["url"] for cited in reply["citations"])
        assert running.client.get("/v1/indexes/cities/entities?q=mur").json()["entities"][0]["name"] == "Mur"
        assert running.client.get("/v1/indexes/cities").json()["imported"] is True
        text = running.client.get("/v1/indexes/cities/documents/Graz/text")
        assert text.status_code == 404
