"""Keys that a server repeats in errors are not shown, and counts that are none are not used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.llm_server import LLMServer, Send

from graphwright.models import OpenAIEncoder, OpenAILLM
from graphwright.models.budget import Prices
from graphwright.models.openai.errors import Secret

KEY = "sk-proj/0123+AbC_9"


@given(st.text(), st.text())
def test_key_is_masked_in_any_text(before: str, after: str) -> None:
    assert KEY not in Secret(KEY).hidden(f"{before}{KEY}{after}{KEY}")
    assert Secret(None).hidden(before) == before


def test_short_key_is_left_in_texts() -> None:
    assert Secret("a").hidden("a") == "a" and Secret("none").hidden("none") == "***"


@pytest.mark.parametrize("status", [200, 400, 401, 500])
@pytest.mark.parametrize("shape", ['{{"error": {{"message": "{}"}}}}', "<html>{}", '{{"a": "{}"', '["{}"]'])
def test_key_is_in_no_error_text(status: int, shape: str) -> None:
    with LLMServer([Send(status, shape.format(KEY))]) as server:
        with pytest.raises(Exception) as caught:
            OpenAILLM("m", server.url, KEY, retries=0).complete("", "Where?")
        error: BaseException | None = caught.value
        while error is not None:
            shown = repr(error) + str(vars(error))
            assert KEY not in shown
            error = error.__cause__ or error.__context__


@pytest.mark.parametrize("count", ["9" * 4_000, "9" * 10, "1e999", "-5", "true", '"7"', "[1]", "NaN", "1.5"])
def test_unreasonable_counts_are_estimated(count: str) -> None:
    usage = f'"usage": {{"prompt_tokens": {count}, "completion_tokens": {count}}}'
    body = f'{{"choices": [{{"message": {{"content": "Graz."}}, "finish_reason": "stop"}}], {usage}}}'
    with LLMServer([Send(200, body)]) as server:
        completion = OpenAILLM("m", server.url, prices=Prices(1.0, 1.0)).complete("", "Where?")
    assert completion.text == "Graz." and 0 < completion.usage.prompt_tokens < 100 and completion.usage.cost < 1
    vectors = f'{{"data": [{{"embedding": [1, 2], "index": 0}}], {usage}}}'
    with LLMServer([Send(200, vectors)]) as server:
        assert OpenAIEncoder("m", server.url, prices=Prices(1.0, 1.0)).encode(["a"]).tolist() == [[1.0, 2.0]]
