"""Metrics and logs: what they count, and that texts of questions are in none of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer, error
from tests.serve.conftest import Running, serving

from graphwright.models.settings import LLMSettings
from graphwright.serve.logs import JSONFormatter, audit, configure_logging

QUESTION = "On which river does Graz lie?"
ANSWER = {"reasoning": "", "found": True, "text": "On the Mur.", "answers": ["Mur"], "citations": [{"passage": 1, "quote": "Graz lies on the Mur"}]}  # fmt: skip # noqa: E501


def values(running: Running, name: str) -> dict[str, float]:
    """The samples of a metric, by their labels."""
    lines = running.client.get("/metrics").text.splitlines()
    return {line.rpartition(" ")[0].removeprefix(name): float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)}  # fmt: skip # noqa: E501


@pytest.fixture(scope="module")
def priced(cities: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with a scripted language model that costs money."""
    with LLMServer([json.dumps(ANSWER)]) as model:
        llm = LLMSettings("scripted", model.url, prompt_price=1_000_000.0, completion_price=2_000_000.0)
        with serving(cities, data=tmp_path_factory.mktemp("priced"), llm=llm, deadline=None) as running:
            yield running


def test_requests_steps_tokens_and_cost_are_counted(priced: Running) -> None:
    client = priced.client
    replied = '{index="cities",model="scripted",outcome="replied"}'
    before = values(priced, "graphwright_llm_calls_total").get(replied, 0.0)
    for route in ("retrieve", "ask", "nothing"):
        client.post(f"/v1/indexes/cities/{route}", json={"question": QUESTION, "method": "bm25"})
    labels = '{method="POST",route="/v1/indexes/{ix}/%s",status="200"}'
    requests = values(priced, "graphwright_requests_total")
    assert requests[labels % "ask"] == 1 and requests[labels % "retrieve"] == 1
    assert requests['{method="POST",route="none",status="404"}'] == 1
    assert values(priced, "graphwright_request_seconds_count")['{method="POST",route="/v1/indexes/{ix}/ask"}'] == 1
    assert values(priced, "graphwright_step_seconds_count")['{operator="Generate"}'] >= 1
    own = '{index="cities",model="scripted"}'
    calls = values(priced, "graphwright_llm_calls_total")[replied]
    tokens = values(priced, "graphwright_tokens_total")
    assert calls > before
    assert tokens['{index="cities",kind="prompt",model="scripted"}'] == 7 * calls
    assert tokens['{index="cities",kind="completion",model="scripted"}'] == 3 * calls
    assert values(priced, "graphwright_cost_total")[own] == (7 + 2 * 3) * calls
    found = values(priced, "graphwright_answers_total")
    assert found['{found="none",index="cities",method="bm25"}'] == 1
    assert found['{found="yes",index="cities",method="bm25"}'] == 1
    assert values(priced, "graphwright_queue") == {"": 0.0}
    assert values(priced, "graphwright_jobs")['{index="cities",state="queued"}'] == 0
    assert values(priced, "graphwright_snapshot_age_seconds")['{index="cities"}'] >= 0
    assert "Graz" not in client.get("/metrics").text


def test_failed_call_is_counted_and_logged(cities: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    body = {"question": QUESTION, "method": "bm25"}
    chat = {"model": "cities:bm25", "messages": [{"role": "user", "content": QUESTION}]}
    with LLMServer([error(404, "no such model")] * 3) as model:
        llm = LLMSettings("scripted", model.url)
        with serving(cities, data=tmp_path, llm=llm) as running:
            client = running.client
            for number, (route, sent) in enumerate(
                [
                    ("indexes/cities/ask", body),
                    ("indexes/cities/ask", {**body, "stream": True}),
                    ("chat/completions", chat),
                ]
            ):
                client.post(f"/v1/{route}", json=sent, headers={"X-Request-ID": f"request-{number}"})
            calls = values(running, "graphwright_llm_calls_total")
            assert calls == {'{index="cities",model="scripted",outcome="failed"}': 3.0}
            assert client.post("/v1/indexes/cities/ask", json={**body, "offline": True}).status_code == 200
    lines = [record for record in caplog.records if "scripted failed" in record.getMessage()]
    assert [line.request_id for line in lines] == ["request-0", "request-1", "request-2"]  # type: ignore[attr-defined]
    assert all("no such model" in line.getMessage() and QUESTION not in line.getMessage() for line in lines)


def test_streamed_answer_is_counted_once(priced: Running) -> None:
    def answers() -> float:
        return values(priced, "graphwright_answers_total").get('{found="yes",index="cities",method="ppr"}', 0.0)

    before = answers()
    priced.client.post("/v1/indexes/cities/ask", json={"question": QUESTION, "method": "ppr", "stream": True})
    chat = {"model": "cities:ppr", "messages": [{"role": "user", "content": QUESTION}]}
    assert priced.client.post("/v1/chat/completions", json=chat).status_code == 200
    assert answers() == before + 2


def test_invented_addresses_are_not_labels(server: Running) -> None:
    for number in range(5):
        server.client.request("BREW", f"/made/up/{number}")
        server.client.get(f"/v1/indexes/made-up-{number}")
    labels = "".join(values(server, "graphwright_requests_total"))
    assert "made" not in labels and "BREW" not in labels and 'method="other"' in labels


# --- Logs


def record(message: str, **extra: Any) -> logging.LogRecord:
    return logging.getLogger("graphwright.serve").makeRecord("graphwright.serve", 20, "", 0, message, (), None, extra=extra)  # fmt: skip # noqa: E501


def test_json_log_line_has_fields_without_secret() -> None:
    message = 'sent {"Authorization": "Bearer abc.def"}\nnext'
    line = json.loads(JSONFormatter().format(record(message, status=200, key=None, sent=["gws_0123456789"])))
    assert line["message"] == 'sent {"Authorization": "Bearer ***"}\nnext' and line["sent"] == ["gws_***"]
    assert line["status"] == 200 and "key" not in line


def test_log_lines_cannot_be_forged(capsys: pytest.CaptureFixture[str]) -> None:
    loggers = [logging.getLogger(name) for name in ("graphwright.serve", "uvicorn")]
    before = [(logger, logger.handlers, logger.propagate, logger.level) for logger in loggers]
    try:
        configure_logging("text")
        loggers[0].handle(record("GET /a\n2026 ERROR forged", path="/x\n2026 ERROR too", seconds=0.1))
    finally:
        for logger, handlers, propagate, level in before:
            logger.handlers, logger.propagate, logger.level = handlers, propagate, level
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith('GET /a\\n2026 ERROR forged path="/x\\n2026 ERROR too" seconds=0.1')


def test_unwritable_audit_log_stops_no_request(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    audit(tmp_path / "file", {"action": "keys create"})
    assert "keys create" in caplog.text
