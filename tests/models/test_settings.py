"""Settings of a language model: kept, read back the same, and refused with the key that is wrong."""

from __future__ import annotations

import os
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphwright.errors import DataError, OptionError
from graphwright.models.settings import SETTINGS, LLMSettings, read_settings, write_settings

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
POSITIVE = st.integers(1, 10**9)
PRICE = st.floats(0, 1e9, allow_subnormal=False)
ANY_SETTINGS = st.builds(
    LLMSettings,
    model=TEXT.filter(str.strip),
    base_url=st.none() | st.sampled_from(["http://localhost:11434/v1", "https://[::1]:8000/a/v1"]),
    timeout=st.floats(0.001, 86_400),
    requests_per_minute=st.none() | POSITIVE,
    tokens_per_minute=st.none() | POSITIVE,
    concurrency=st.integers(1, 10_000),
    max_tokens=POSITIVE,
    temperature=st.floats(0, 2),
    currency=st.none() | TEXT,
    gleanings=st.integers(0, 9),
)


def written(folder: Path, text: str) -> Path:
    path = folder / SETTINGS
    path.write_text(text, encoding="utf-8")
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kept=ANY_SETTINGS, prices=st.none() | st.tuples(PRICE, PRICE))
def test_what_is_written_is_read_back_the_same(
    tmp_path: Path, kept: LLMSettings, prices: tuple[float, float] | None
) -> None:
    if prices is not None:
        kept = replace(kept, prompt_price=prices[0], completion_price=prices[1])
    write_settings(tmp_path / SETTINGS, kept)
    assert read_settings(tmp_path / SETTINGS) == kept
    assert os.listdir(tmp_path) == [SETTINGS]


def test_the_file_explains_every_key_and_shows_those_that_are_not_set(tmp_path: Path) -> None:
    write_settings(tmp_path / SETTINGS, LLMSettings("m"))
    lines = (tmp_path / SETTINGS).read_text(encoding="utf-8").splitlines()
    for field in fields(LLMSettings):
        at = next(i for i, line in enumerate(lines) if line.removeprefix("# ").startswith(f"{field.name} = "))
        assert lines[at].startswith("#") == (getattr(LLMSettings("m"), field.name) is None)
        assert lines[at - 1].startswith("# ") and "=" not in lines[at - 1]
    # Every line that is only shown can be used as it stands.
    opened = "\n".join(line.removeprefix("# ") if " = " in line else line for line in lines)
    assert LLMSettings(**tomllib.loads(opened)["llm"]).currency == "USD"


def test_no_file_and_no_section_are_no_settings(tmp_path: Path) -> None:
    assert read_settings(tmp_path / SETTINGS) is None
    assert read_settings(written(tmp_path, "# nothing yet\n")) is None


def test_whole_numbers_marks_and_foreign_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_bytes(b'\xef\xbb\xbf[llm]\r\nmodel = "m"\r\ntimeout = 5\r\n')
    found = read_settings(tmp_path / SETTINGS)
    assert found == LLMSettings("m", timeout=5.0)


@pytest.mark.parametrize(
    "text, message",
    [
        ('[llm]\nmodel = "m"\ntimout = 5', r"\[llm\] timout is unknown; .*Did you mean 'timeout'"),
        ('[llm]\nmodel = "m"\nqwertz = 5', r"qwertz is unknown; the names are model, base_url, .*gleanings\.$"),
        ('[lmm]\nmodel = "m"', r"section \[lmm\] is unknown; the names are llm\. Did you mean 'llm'"),
        ('llm = "m"', r"llm is 'm'; it must be a section"),
        ("[llm]\ntimeout = 5", "names no model"),
        ('[llm]\nmodel = ""', "model is empty"),
        ("[llm]\nmodel = 7", "model is 7; it must be text"),
        ('[llm]\nmodel = "m"\ntimeout = "5"', "timeout is '5'; it must be a number"),
        ('[llm]\nmodel = "m"\ntimeout = inf', "timeout is inf; it must be a number"),
        ('[llm]\nmodel = "m"\ntimeout = 0', r"timeout is 0; it must be a number, at least 0\.001 and at most 86400"),
        ('[llm]\nmodel = "m"\ntimeout = 1' + "0" * 400, "timeout is 10+; it must be a number"),
        ('[llm]\nmodel = "m"\nconcurrency = true', "concurrency is True; it must be a whole number"),
        (
            '[llm]\nmodel = "m"\nconcurrency = 0',
            "concurrency is 0; it .* at least 1 and at most 10000",
        ),
        ('[llm]\nmodel = "m"\nmax_tokens = 1.5', r"max_tokens is 1\.5; it must be a whole number"),
        ('[llm]\nmodel = "m"\ngleanings = true', "gleanings is True; it must be a whole number"),
        ('[llm]\nmodel = "m"\nprompt_price = 1', "One of two prices is missing"),
        ('[llm]\nmodel = "m"\nbase_url = "localhost:11434"', "base_url is 'localhost:11434'; give an address"),
        ('[llm]\nmodel = "m"\nbase_url = "http://["', "base_url is .* give an address"),
        ("[llm\n", "is not TOML"),
    ],
)
def test_what_cannot_be_used_is_refused_with_file_and_key(text: str, message: str, tmp_path: Path) -> None:
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
def test_a_secret_is_refused_and_never_shown(text: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"keep (it|the key) in the environment: OPENAI_API_KEY") as caught:
        read_settings(written(tmp_path, text))
    assert "sk-1234" not in str(caught.value)


def test_bytes_that_are_no_text_and_a_folder_in_its_place_are_said(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match="is not TOML"):
        read_settings(tmp_path / SETTINGS)
    with pytest.raises(DataError, match="cannot be read"):
        read_settings(tmp_path)
    with pytest.raises(DataError, match="cannot be written"):
        write_settings(tmp_path / "none" / SETTINGS, LLMSettings("m"))
    with pytest.raises(OptionError, match="text that UTF-8 can hold"):
        LLMSettings("m\ud800")


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "make.py").write_text("")
    for folder in (tmp_path / "make.py", tmp_path / "make.py" / "index"):
        with pytest.raises(DataError, match=r"make\.py is a file, not a folder"):
            read_settings(folder / SETTINGS)


def test_the_defaults_are_those_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphwright.models.openai.llm import OpenAILLM

    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234")
    kept = LLMSettings("m", "http://localhost:1/v1")
    assert kept.llm() == OpenAILLM("m", "http://localhost:1/v1")
    # Where the two are not compared by value, the words that both know still are.
    shared = {f.name for f in fields(LLMSettings)} & {f.name for f in fields(OpenAILLM)}
    assert shared >= {"timeout", "concurrency", "max_tokens", "temperature"}


def test_the_client_takes_what_is_kept_and_overrides_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphwright.models.budget import Prices

    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234")
    given: dict[str, Any] = {
        "timeout": 7.0,
        "requests_per_minute": 60,
        "tokens_per_minute": 9000,
        "concurrency": 2,
        "max_tokens": 99,
        "temperature": 0.5,
    }
    kept = LLMSettings("small", "http://localhost:1/v1", **given, prompt_price=1.0, completion_price=2.0)
    made = kept.llm()
    assert {name: getattr(made, name) for name in given} == given
    assert (made.model, made.base_url, made.prices) == ("small", "http://localhost:1/v1", Prices(1.0, 2.0))
    other = kept.llm("large", "http://localhost:2/v1")
    assert (other.model, other.base_url, other.timeout) == ("large", "http://localhost:2/v1", 7.0)
    assert other.prices is None  # they were of the small one
