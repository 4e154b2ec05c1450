"""An index chooses a model only on a server that this one lists, and each key goes only to its own address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer

from graphwright.errors import OptionError
from graphwright.models import OpenAILLM
from graphwright.models.settings import LLMSettings
from graphwright.serve.settings import AnswerModels, ModelServer, read_server_file

KEY = "sk-the-key-of-the-server"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for settings.toml; the environment has the server's key for OpenAI."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return tmp_path


def named(index: Path, **llm: Any) -> dict[str, Path]:
    lines = "".join(f"{name} = {value!r}\n" for name, value in llm.items())
    (index / "settings.toml").write_text(f"[llm]\n{lines}", encoding="utf-8")
    return {"wiki": index}


def headers_of(models: AnswerModels, server: LLMServer) -> dict[str, str]:
    llm = models.llm("wiki")
    assert llm is not None
    llm.complete("", "Who?")
    return server.requests[-1].headers


def test_unlisted_model_server_is_not_asked(index: Path, caplog: pytest.LogCaptureFixture) -> None:
    with LLMServer(["stolen"]) as thief:
        listed = ModelServer("http://localhost:11434/v1")
        for base_url in (thief.url, thief.url + "/", "http://localhost:11434", "http://localhost:11434/v1/x"):
            models = AnswerModels(None, [listed], named(index, model="m", base_url=base_url))
            assert models.llm("wiki") is None and models.name("wiki") is None
        assert thief.requests == []
    assert thief.url in caplog.text and "model_servers" in caplog.text and KEY not in caplog.text


def test_unlisted_openai_is_not_asked_with_servers_key(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = named(index, model="gpt-5-pro")
    assert AnswerModels(None, [], folders).llm("wiki") is None
    openai = ModelServer("https://api.openai.com/v1/", "OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example/v1")  # must not draw the key there
    assert repr(AnswerModels(None, [openai], folders).llm("wiki")) == (
        "OpenAILLM('gpt-5-pro', base_url='https://api.openai.com/v1')"
    )


def test_listed_model_server_gets_its_key(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LLMServer(["an answer"]) as server:
        folders = named(index, model="m", base_url=server.url)
        assert KEY not in str(headers_of(AnswerModels(None, [ModelServer(server.url)], folders), server))
        monkeypatch.setenv("WIKI_KEY", "its-own-key")
        models = AnswerModels(None, [ModelServer(server.url, "WIKI_KEY")], folders)
        assert headers_of(models, server)["authorization"] == "Bearer its-own-key" and models.name("wiki") == "m"
        monkeypatch.setenv("WIKI_KEY", " ")
        with pytest.raises(OptionError, match="WIKI_KEY"):
            AnswerModels(None, [ModelServer(server.url, "WIKI_KEY")], folders)


def test_server_model_precedes_index_model(index: Path) -> None:
    with LLMServer(["own"]) as own, LLMServer(["other"]) as other:
        folders = named(index, model="theirs", base_url=other.url)
        models = AnswerModels(LLMSettings("ours", own.url), [ModelServer(other.url)], folders)
        assert headers_of(models, own)["authorization"] == f"Bearer {KEY}"
        assert models.name("wiki") == "ours" and other.requests == []


@pytest.mark.parametrize("content", ["[llm", '[llm]\nmodel = "m"\napi_key = "x"\n', "[other]\n", "", None])
def test_unreadable_settings_leave_index_offline(index: Path, content: str | None) -> None:
    if content is not None:
        (index / "settings.toml").write_text(content, encoding="utf-8")
    assert AnswerModels(None, [], {"wiki": index}).llm("wiki") is None


@pytest.mark.parametrize(
    ("address", "key"), [("localhost", None), ("http://u:p@h/v1", None), ("http://h/v1", "not a name")]
)
def test_listed_model_server_needs_address_and_variable(address: str, key: str | None) -> None:
    with pytest.raises(OptionError):
        ModelServer(address, key)


def test_index_chooses_among_configured_models_and_is_offline_for_others(caplog: pytest.LogCaptureFixture) -> None:
    models = AnswerModels(LLMSettings("small", "http://127.0.0.1:9/v1"), [], {})
    models.choose("minutes", "small")
    assert list(models.named) == ["small"] and models.name("minutes") == "small"
    models.choose("minutes", "gone")
    assert models.llm("minutes") is None and "'gone' is not configured" in caplog.text


def test_offered_model_is_chosen_by_question_and_gets_key_of_its_server(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKI_KEY", "its-own-key")
    with LLMServer(["own"]) as own, LLMServer(["other"]) as other:
        listed, large = ModelServer(other.url, "WIKI_KEY"), LLMSettings("large", other.url)
        models = AnswerModels(LLMSettings("small", own.url), [listed], {"wiki": index}, offered=[large])
        assert models.choices("wiki") == ["small", "large"] and models.name("wiki") == "small"
        chosen = models.answering("wiki", "large")
        assert chosen is not None and chosen.complete("", "Who?").text == "other" and own.requests == []
        assert other.requests[-1].headers["authorization"] == "Bearer its-own-key"
        with pytest.raises(OptionError, match=r"'huge' is no language model.*small, large"):
            models.answering("wiki", "huge")


def test_concurrency_of_model_is_divided_among_processes() -> None:
    shared = LLMSettings("small", "http://127.0.0.1:9/v1", concurrency=8)
    for processes, part in ((1, 8), (3, 3), (16, 1)):
        chosen = AnswerModels(shared, folders={"wiki": Path("wiki")}, processes=processes).answering("wiki")
        assert chosen is not None and isinstance(chosen.llm, OpenAILLM) and chosen.llm.concurrency == part


def test_offered_model_on_unlisted_server_or_with_taken_name_is_refused() -> None:
    small = LLMSettings("small", "http://127.0.0.1:9/v1")
    with pytest.raises(OptionError, match="does not list"):
        AnswerModels(None, [], {}, offered=[small])
    with pytest.raises(OptionError, match="a name stands for one model"):
        AnswerModels(small, [ModelServer("http://127.0.0.1:9/v1")], {}, offered=[small])


def test_models_of_server_file_are_settings_of_models(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('[[models]]\nmodel = "large"\nprompt_price = 1.0\ncompletion_price = 2.0\n', encoding="utf-8")
    assert read_server_file(file).models == (LLMSettings("large", prompt_price=1.0, completion_price=2.0),)
    file.write_text('[[models]]\nmodel = "large"\nprice = 1.0\n', encoding="utf-8")
    with pytest.raises(OptionError, match="price"):
        read_server_file(file)
