"""The model of the server answers for every index; an index chooses none, and the key goes to its address only."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.llm_server import LLMServer
from tests.serve.conftest import serving

from graphwright.models.settings import LLMSettings
from graphwright.serve.answer_model import AnswerModel

KEY = "sk-the-key-of-the-server"


def test_model_in_settings_of_index_is_not_asked(cities: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = cities / "settings.toml"
    with LLMServer(["stolen"]) as thief:
        settings.write_text(f'[llm]\nmodel = "m"\nbase_url = "{thief.url}"\n', encoding="utf-8")
        try:
            with serving(cities, data=tmp_path) as running:
                body = {"question": "On which river does Graz lie?", "method": "bm25"}
                assert running.client.get("/v1/indexes/cities").json()["llm"] is None
                assert running.client.post("/v1/indexes/cities/ask", json=body).status_code == 200
        finally:
            settings.unlink()
        assert thief.requests == []


def test_model_of_server_answers_for_every_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LLMServer(["ours"]) as server:
        model = AnswerModel(LLMSettings("ours", server.url))
        llm = model.answering("wiki")
        assert llm is not None and model.name == "ours"
        llm.complete("", "Who?")
        assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


def test_server_without_model_answers_offline() -> None:
    model = AnswerModel()
    assert model.answering("wiki") is None and model.name is None and model.llm is None
