"""Settings of a language model: equal after a round trip, and errors that name the invalid key."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from graphwright.errors import DataError, OptionError
from graphwright.models.settings import SETTINGS, LLMSettings, read_settings


def written(folder: Path, text: str) -> Path:
    path = folder / SETTINGS
    path.write_text(text, encoding="utf-8")
    return path


def test_every_setting_is_read(tmp_path: Path) -> None:
    lines = """
        model = "qwen2.5:7b"
        base_url = "https://[::1]:8000/a/v1"
        timeout = 0.5
        concurrency = 2
        max_tokens = 99
        temperature = 1
        prompt_price = 0.15
        completion_price = 0
        prompt_rate = 2000
        completion_rate = 100.5
        extraction = "triples"
        gleanings = 1
        deadline = 60
        reasoning_effort = "low"
        max_completion_tokens = 900
        seed = 7
        [llm.extra_body]
        chat_template_kwargs = {enable_thinking = false}
    """
    settings = read_settings(written(tmp_path, f"[llm]{lines}"))
    thinking = {"reasoning_effort": "low", "max_completion_tokens": 900, "seed": 7}
    body = {"chat_template_kwargs": {"enable_thinking": False}}
    speed = {"prompt_rate": 2000, "completion_rate": 100.5, "extraction": "triples", "gleanings": 1, "deadline": 60}
    address = "https://[::1]:8000/a/v1"
    options = {"prompt_price": 0.15, "completion_price": 0.0, **speed, **thinking, "extra_body": body}
    assert settings == LLMSettings("qwen2.5:7b", address, 0.5, 2, 99, 1.0, **options)
    llm = settings.llm()
    assert {name: getattr(llm, name) for name in thinking} == thinking and llm.extra_body == body


def test_missing_file_or_section_gives_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path / SETTINGS) is None
    assert read_settings(written(tmp_path, "# nothing yet\n")) is None


def test_numbers_marks_and_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_bytes(b'\xef\xbb\xbf[llm]\r\nmodel = "m"\r\ntimeout = 5\r\n')
    result = read_settings(tmp_path / SETTINGS)
    assert result == LLMSettings("m", timeout=5.0)


@pytest.mark.parametrize(
    "text, message",
    [
        ('[llm]\nmodel = "m"\ntimout = 5', r"\[llm\] timout is unknown; .*Did you mean 'timeout'"),
        ('[llm]\nmodel = "m"\nqwertz = 5', r"qwertz is unknown; the names are model, base_url, .*instruction\.$"),
        ('[lmm]\nmodel = "m"', r"section \[lmm\] is unknown; the names are llm\. Did you mean 'llm'"),
        ('llm = "m"', r"llm is 'm'; it must be a section"),
        ("[llm]\ntimeout = 5", "names no model"),
        ('[llm]\nmodel = ""', "model is empty"),
        ("[llm]\nmodel = 7", "model is 7; it must be text"),
        ('[llm]\nmodel = "m"\ntimeout = "5"', "timeout is '5'; it must be a number"),
        ('[llm]\nmodel = "m"\ntimeout = inf', "timeout is inf; it must be a number"),
        ('[llm]\nmodel = "m"\ntimeout = 0', r"timeout is 0; it must be a number, at least 0\.001 and at most 86400"),
        ('[llm]\nmodel = "m"\ntimeout = 1' + "0" * 400, "timeout is 10+…; it must be a number"),
        ('[llm]\nmodel = "m"\nconcurrency = true', "concurrency is True; it must be a whole number"),
        (
            '[llm]\nmodel = "m"\nconcurrency = 0',
            "concurrency is 0; it .* at least 1 and at most 10000",
        ),
        ('[llm]\nmodel = "m"\nmax_tokens = 1.5', r"max_tokens is 1\.5; it must be a whole number"),
        ('[llm]\nmodel = "m"\ngleanings = true', "gleanings is True; it must be a whole number"),
        ('[llm]\nmodel = "m"\nprompt_price = 1', "One of two prices is missing"),
        ('[llm]\nmodel = "m"\ncompletion_rate = 1', "One of two rates is missing"),
        ('[llm]\nmodel = "m"\nextraction = "none"', "extraction is 'none'; it must be one of 'full', 'triples'"),
        ('[llm]\nmodel = "m"\nbase_url = "localhost:11434"', "base_url is 'localhost:11434'; give an address"),
        ('[llm]\nmodel = "m"\nbase_url = "http://["', "base_url is .* give an address"),
        ("[llm\n", "is not TOML"),
    ],
)
def test_unusable_setting_raises_with_file_and_key(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(OptionError, match=message) as caught:
        read_settings(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    "text",
    [
        '[llm]\nmodel = "m"\napi_key = "sk-1234"',
        '[llm]\nmodel = "m"\nOPENAI_API_KEY = "sk-1234"',
        '[llm]\nmodel = "m"\ntoken = "sk-1234"',
        '[llm]\nmodel = "m"\n[llm.keys]\nopenai = "sk-1234"',
        'api-key = "sk-1234"\n[llm]\nmodel = "m"',
        '[llm]\nmodel = "m"\nbase_url = "https://me:sk-1234@host/v1"',
        '[llm]\nmodel = "m"\nbase_url = "https://host/v1?api-key=sk-1234"',
        '[llm]\nmodel = "m"\nbase_url = "https://me:sk-1234@[host/v1"',
    ],
)
def test_secret_in_settings_raises_and_is_hidden(text: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"keep (it|the key) in the environment: OPENAI_API_KEY") as caught:
        read_settings(written(tmp_path, text))
    assert "sk-1234" not in str(caught.value)


def test_binary_settings_and_folder_raise(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match="is not TOML"):
        read_settings(tmp_path / SETTINGS)
    with pytest.raises(DataError, match="cannot be read"):
        read_settings(tmp_path)
    with pytest.raises(OptionError, match="text that can be encoded as UTF-8"):
        LLMSettings("m\ud800")


def test_file_in_place_of_folder_raises(tmp_path: Path) -> None:
    (tmp_path / "make.py").write_text("")
    for folder in (tmp_path / "make.py", tmp_path / "make.py" / "index"):
        with pytest.raises(DataError, match=r"make\.py is a file, not a folder"):
            read_settings(folder / SETTINGS)


def test_setting_defaults_equal_client_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphwright.models.openai.llm import OpenAILLM

    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234")
    selected = LLMSettings("m", "http://localhost:1/v1")
    assert selected.llm() == OpenAILLM("m", "http://localhost:1/v1")
    # Where the two are not compared by value, the words that both know still are.
    shared = {f.name for f in fields(LLMSettings)} & {f.name for f in fields(OpenAILLM)}
    assert shared >= {"timeout", "concurrency", "max_tokens", "temperature"}


def test_client_takes_stored_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphwright.models.budget import Prices

    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234")
    given: dict[str, Any] = {
        "timeout": 7.0,
        "concurrency": 2,
        "max_tokens": 99,
        "temperature": 0.5,
    }
    selected = LLMSettings("small", "http://localhost:1/v1", **given, prompt_price=1.0, completion_price=2.0)
    made = selected.llm()
    assert {name: getattr(made, name) for name in given} == given
    assert (made.model, made.base_url, made.prices) == ("small", "http://localhost:1/v1", Prices(1.0, 2.0))
