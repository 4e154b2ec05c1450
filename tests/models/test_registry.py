"""Models given as names, objects and functions, and invalid ones."""

import importlib.util

import pytest

from graphwright.errors import OptionError
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.embedded.reader import MiniLMReader
from graphwright.models.fake import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.models.openai.encoder import OpenAIEncoder
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.registry import (
    FunctionCrossEncoder,
    FunctionEncoder,
    FunctionLLM,
    FunctionReader,
    cross_encoder_of,
    encoder_of,
    llm_of,
    reader_of,
)

URL = "http://localhost:11434/v1"


def test_names_give_models(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234")
    assert llm_of("gpt-4o-mini") == llm_of("openai:gpt-4o-mini") == OpenAILLM("gpt-4o-mini")
    assert llm_of(f"a@b@{URL}") == OpenAILLM("a@b", URL)
    assert encoder_of("minilm") == MiniLM()
    assert encoder_of(f"openai:nomic@{URL}") == OpenAIEncoder("nomic", URL)
    assert cross_encoder_of("minilm") == MiniLMCrossEncoder()
    assert reader_of("minilm") == MiniLMReader()


@pytest.mark.parametrize("give", [encoder_of, cross_encoder_of])
def test_models_of_sentence_transformers_have_names_too(give):
    if importlib.util.find_spec("sentence_transformers") is None:
        with pytest.raises(OptionError, match=r"SentenceTransformer.*'all-MiniLM-L6-v2'.* needs sentence-transformers"):
            give("sbert:all-MiniLM-L6-v2")
    else:
        assert give("sbert:all-MiniLM-L6-v2").name == "all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("give", "model"),
    [
        (llm_of, ScriptedLLM(["a"])),
        (encoder_of, HashEncoder()),
        (cross_encoder_of, OverlapCrossEncoder()),
        (reader_of, MiniLMReader()),
    ],
)
def test_objects_are_themselves(give, model):
    assert give(model) is model


@pytest.mark.parametrize(
    ("give", "kind"),
    [
        (llm_of, FunctionLLM),
        (encoder_of, FunctionEncoder),
        (cross_encoder_of, FunctionCrossEncoder),
        (reader_of, FunctionReader),
    ],
)
def test_functions_are_wrapped(give, kind):
    def function(*arguments):
        raise AssertionError

    assert give(function) == kind(function) and give(function).id.endswith("function")


class Nameless:
    def encode(self, texts):
        raise AssertionError


@pytest.mark.parametrize(
    ("give", "value", "message"),
    [
        (llm_of, HashEncoder(), "HashEncoder.* is no language model: it lacks `complete`"),
        (llm_of, None, "None is no language model: it lacks `id` and `complete`"),
        (llm_of, "", "There is no language model ''. Give openai:MODEL@URL"),
        (encoder_of, OverlapCrossEncoder(), "is no encoder: it lacks `encode`"),
        (encoder_of, Nameless(), "is no encoder: it lacks `id`"),
        (cross_encoder_of, HashEncoder(), "is no cross-encoder: it lacks `head` and `latents`"),
        (reader_of, 7, "7 is no reader: it lacks `read`.*a name, an object with `read`, or a function"),
        (
            encoder_of,
            HashEncoder,
            r"is a class; give an object of it as the encoder",
        ),
        (llm_of, ScriptedLLM, "ScriptedLLM is a class"),
        (encoder_of, "minlm", "There is no encoder 'minlm'. Give minilm or sbert:NAME or openai:MODEL@URL"),
        (encoder_of, "sbert:", "There is no encoder 'sbert:'"),
        (cross_encoder_of, f"openai:m@{URL}", "There is no cross-encoder"),
        (reader_of, "x", "There is no reader 'x'"),
    ],
)
def test_anything_else_is_refused_with_a_reason(give, value, message):
    with pytest.raises(OptionError, match=message):
        give(value)
