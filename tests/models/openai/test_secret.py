"""Keys that a server repeats, and counts that are none: nothing of them is shown or stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faulty_server import cut_stream
from tests.llm_server import DONE, LLMServer, Say, Send, event

from graphwright.models import CachedLLM, OpenAIEncoder, OpenAILLM
from graphwright.models.budget import Prices
from graphwright.models.openai.errors import Secret

KEY = "sk-proj/0123+AbC_9"
ESCAPED = "".join(f"\\u{ord(sign):04X}" for sign in KEY)
FORMS = {
    "plain": KEY,
    "JSON": ESCAPED,
    "some": KEY.replace("k", "\\u006b"),
    "twice": ESCAPED.replace("\\", "\\\\"),
    "URL": "".join(f"%{ord(sign):02x}" for sign in KEY),
    "HTML": "".join(f"&#{ord(sign)};" for sign in KEY),
}


@given(st.text(st.sampled_from(f"{KEY}\\u%&#;x03")), st.text(st.sampled_from("ab\\")))
def test_every_form_of_key_is_masked(text: str, before: str) -> None:
    for form in FORMS.values():
        assert KEY not in Secret(KEY).hidden(f"{before}{form}{text}{KEY}")
    if KEY not in text and not any(form in text for form in FORMS.values()):
        assert Secret(None).hidden(text) == text


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=30))
def test_masked_json_stays_json(key: str) -> None:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in key)
    text = f'{{"a": "{escaped}", "b": "\\\\\\\\{escaped}"}}'
    assert key not in json.dumps(json.loads(Secret(key).hidden(text, reply=True)))


def test_short_key_is_masked_as_word_only() -> None:
    assert Secret("none").hidden("none", reply=True) == "none" and Secret("none").hidden("none") == "***"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("status", [200, 400, 401, 500])
@pytest.mark.parametrize("shape", ['{{"error": {{"message": "{}"}}}}', "<html>{}", '{{"a": "{}"', '["{}"]'])
def test_key_is_in_no_error_text(form: str, status: int, shape: str) -> None:
    with LLMServer([Send(status, shape.format(FORMS[form]))]) as server:
        with pytest.raises(Exception) as caught:
            OpenAILLM("m", server.url, KEY, retries=0).complete("", "Where?")
        error: BaseException | None = caught.value
        while error is not None:
            shown = repr(error) + str(vars(error))
            assert not any(known in shown for known in (KEY, *FORMS.values(), KEY.replace("k", "\\\\u006b")))
            error = error.__cause__ or error.__context__


def test_key_is_in_no_reply_or_cache(tmp_path: Path) -> None:
    def answer(asked: dict[str, Any]) -> Any:
        if not asked.get("stream"):
            return Say(f"The key is {KEY}, or {ESCAPED}.")
        parts = ["The key is ", KEY[:3], KEY[3:9], KEY[9:], ", or sk-", "p", "lain."]
        return lambda handler: handler.stream(*(event({"choices": [{"delta": {"content": p}}]}) for p in parts), DONE)

    texts: list[str] = []
    with LLMServer(answer) as server:
        llm = CachedLLM(OpenAILLM("m", server.url, KEY, retries=0), tmp_path / "replies.sqlite")
        assert llm.complete("", "Where?").text == "The key is ***, or ***."
        streamed = llm.complete("", "Who?", on_text=texts.append)
    assert streamed.text == "".join(texts) == "The key is ***, or sk-plain."
    assert all(KEY[:9].encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_stream_keeps_text_resembling_key() -> None:
    texts: list[str] = []
    with LLMServer([Say(f"{KEY[:5]} {KEY[:-1]}")]) as server:
        assert OpenAILLM("m", server.url, KEY).complete("", "?", on_text=texts.append).text == f"{KEY[:5]} {KEY[:-1]}"
    begun = cut_stream(event({"choices": [{"delta": {"content": KEY[:5]}}]}))
    with LLMServer([begun]) as server, pytest.raises(Exception, match="No complete response"):
        OpenAILLM("m", server.url, KEY, retries=0).complete("", "?", on_text=texts.append)


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
