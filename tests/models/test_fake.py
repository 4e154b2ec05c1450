"""The fake models: known outputs and reported usage."""

import hashlib
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from graphwright.errors import LLMResponseError, ModelError, OptionError
from graphwright.models.fake import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.models.protocols import LLM, Completion, CrossEncoder, Encoder, Usage


def test_hash_encoder_gives_known_numbers():
    # Worked out from the definition: bytes of SHAKE-256, centred, normalised.
    raw = [2 * byte - 255 for byte in hashlib.shake_256(b"fox").digest(4)]
    expected = np.array(raw) / np.sqrt(sum(value**2 for value in raw))
    np.testing.assert_allclose(HashEncoder(4).encode(["Fox!"])[0], expected, rtol=1e-6)


def test_hash_encoder_meets_protocol():
    encoder = HashEncoder(32)
    assert isinstance(encoder, Encoder) and encoder.id == "hash-encoder:32"
    assert encoder.encode([]).shape == (0, 32) and encoder.encode(["a"]).dtype == np.float32
    assert pickle.loads(pickle.dumps(encoder)) == encoder == eval(repr(encoder))
    assert not encoder.encode(["", "..."]).any()


@given(st.lists(st.sampled_from(["red", "fox", "law", "tax", "hen"]), min_size=1, max_size=6), st.randoms())
def test_hash_encoder_ignores_word_order(words, random):
    shuffled = random.sample(words, len(words))
    a, b = HashEncoder().encode([" ".join(words), " ".join(shuffled)])
    assert (a == b).all() and np.linalg.norm(a) == pytest.approx(1, abs=1e-6)


def test_shared_words_make_texts_near():
    query, near, far = HashEncoder().encode(["river in Graz", "the river Mur in Graz", "a tax on salt"])
    assert query @ near > 0.6 > query @ far + 0.3


def test_fakes_report_usage():
    usage = Usage()
    HashEncoder().encode(["two words", "three short words"], usage)
    OverlapCrossEncoder().latents("a", ["b", "c"], usage)
    assert (usage.calls, usage.texts, usage.tokens) == (2, 4, 5)


def test_overlap_prefers_texts_covering_query():
    model = OverlapCrossEncoder()
    latents = model.latents("Where is Graz", ["Where is Graz", "Graz lies in Styria", "Where is Lyon", ""])
    scores = model.head(latents)
    assert isinstance(model, CrossEncoder)
    assert latents.shape == (4, 3) and latents.dtype == scores.dtype == np.float32
    assert scores[0] == 1 and scores[0] > scores[2] > scores[1] > scores[3] == 0
    assert model.head(model.latents("x", [])).shape == (0,)


def test_dimension_must_be_positive():
    with pytest.raises(OptionError, match="dimension is 0"):
        HashEncoder(0)


class Place(BaseModel):
    name: str


def test_script_returns_given_replies():
    llm = ScriptedLLM(["first reply", "second"])
    assert isinstance(llm, LLM) and llm.id == "scripted"
    pieces = []
    usage = Usage(calls=1, prompt_tokens=3, completion_tokens=2)
    assert llm.complete("a b", "c", on_text=pieces.append) == Completion("first reply", None, usage)
    second = llm.complete("", "c")
    assert second.text == "second" and (second.usage.prompt_tokens, second.usage.completion_tokens) == (1, 1)
    assert pieces == ["first ", "reply"]
    with pytest.raises(ModelError, match="2 replies, and all were given"):
        llm.complete("", "c")


@given(st.text())
def test_reply_pieces_join_to_reply(text):
    pieces = []
    try:
        assert ScriptedLLM([text]).complete("", "a", on_text=pieces.append).text == text
    except LLMResponseError:  # as of a real model without any text
        assert not text.strip()
    assert "".join(pieces) == text


def test_invalid_scripted_reply_is_repaired_once():
    asked = []

    def reply(system, user):
        asked.append(user)
        return '{"name": "Graz"}' if "name: Field required" in user else '{"title": "Graz"}'

    done = ScriptedLLM(reply).complete("", "Where?", schema=Place)
    assert done.value == Place(name="Graz") and asked[0] == "Where?" and asked[1].startswith("Where?\n\n")
    assert done.usage.completion_tokens == 4
    with pytest.raises(LLMResponseError, match="Place"):
        ScriptedLLM(["no", "no"]).complete("", "Where?", schema=Place)


def test_script_is_value_and_rejects_string():
    llm = ScriptedLLM(["a", "b"], id="mine")
    assert pickle.loads(pickle.dumps(llm)) == llm == eval(repr(llm)) and hash(llm) and llm.id == "mine"
    with pytest.raises(OptionError, match="not one"):
        ScriptedLLM("reply")


def test_threads_share_script():
    llm = ScriptedLLM([str(n) for n in range(200)])
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: llm.complete("", "a").text, range(200)))
    assert sorted(texts, key=int) == [str(n) for n in range(200)]
