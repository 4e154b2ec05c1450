"""Models given as names, objects and functions; models made of functions, whose results are checked."""

import importlib.util

import numpy as np
import pytest
from pydantic import BaseModel

from graphwright import Index, ToPassages
from graphwright.errors import LLMResponseError, ModelError, OptionError
from graphwright.generate import ReadSpans
from graphwright.models import (
    LLM,
    CrossEncoder,
    HashEncoder,
    MiniLM,
    MiniLMCrossEncoder,
    MiniLMReader,
    NamedEncoder,
    OpenAIEncoder,
    OpenAILLM,
    OverlapCrossEncoder,
    PassageText,
    Reader,
    ScriptedLLM,
    Span,
)
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
from graphwright.operators import WordSearch

URL = "http://localhost:11434/v1"
KINDS = [
    (llm_of, LLM, FunctionLLM, ScriptedLLM(["a"])),
    (encoder_of, NamedEncoder, FunctionEncoder, HashEncoder()),
    (cross_encoder_of, CrossEncoder, FunctionCrossEncoder, OverlapCrossEncoder()),
    (reader_of, Reader, FunctionReader, MiniLMReader()),
]
PASSAGES = [PassageText("Graz", "Graz lies on the Mur."), PassageText("", "x")]


class Place(BaseModel):
    name: str


def test_names_give_models(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234")
    assert llm_of("gpt-4o-mini") == llm_of("openai:gpt-4o-mini") == OpenAILLM("gpt-4o-mini")
    assert llm_of(f"a@b@{URL}") == OpenAILLM("a@b", URL)
    assert encoder_of("minilm") == MiniLM()
    assert encoder_of(f"openai:nomic@{URL}") == OpenAIEncoder("nomic", URL)
    assert cross_encoder_of("minilm") == MiniLMCrossEncoder()
    assert reader_of("minilm") == MiniLMReader()


@pytest.mark.parametrize("give", [encoder_of, cross_encoder_of])
def test_names_of_sentence_transformers_give_models_or_name_extra(give):
    if importlib.util.find_spec("sentence_transformers") is None:
        with pytest.raises(OptionError, match=r"SentenceTransformer.*'all-MiniLM-L6-v2'.* needs sentence_transformers"):
            give("sbert:all-MiniLM-L6-v2")
    else:
        assert give("sbert:all-MiniLM-L6-v2").name == "all-MiniLM-L6-v2"


@pytest.mark.parametrize(("give", "protocol", "kind", "model"), KINDS)
def test_objects_are_returned_and_functions_are_wrapped(give, protocol, kind, model):
    def function(*arguments):
        raise AssertionError

    assert give(model) is model
    wrapped = give(function)
    assert wrapped == kind(function) and isinstance(wrapped, protocol) and wrapped.id.endswith("function")


class Nameless:
    def encode(self, texts):
        raise AssertionError


def two(question, passages):
    return []


@pytest.mark.parametrize(
    ("give", "value", "message"),
    [
        (llm_of, HashEncoder(), "HashEncoder.* is no language model: it lacks `complete`"),
        (llm_of, None, "None is no language model: it lacks `id` and `complete`"),
        (llm_of, "", "There is no language model ''. Give openai:MODEL@URL"),
        (llm_of, ScriptedLLM, "ScriptedLLM is a class; give an object of it as the language model"),
        (llm_of, lambda: "", r"cannot be called as the language model; it must take \(prompt\) or \(system, user\)"),
        (encoder_of, OverlapCrossEncoder(), "is no encoder: it lacks `encode`"),
        (encoder_of, Nameless(), "is no encoder: it lacks `id`"),
        (encoder_of, "minlm", "no encoder 'minlm'. Give minilm or multilingual or sbert:NAME or openai:MODEL@URL"),
        (encoder_of, "sbert:", "There is no encoder 'sbert:'"),
        (encoder_of, two, r"two.*\(question, passages\) cannot be called as the encoder; it must take \(texts\)"),
        (cross_encoder_of, HashEncoder(), "is no cross-encoder: it lacks `head` and `latents`"),
        (cross_encoder_of, f"openai:m@{URL}", "There is no cross-encoder"),
        (cross_encoder_of, len, r"len.* cannot be called as the cross-encoder; it must take \(query, texts\)"),
        (reader_of, 7, "7 is no reader: it lacks `read`.*a name, an object with `read`, or a function"),
        (reader_of, "x", "There is no reader 'x'"),
        (reader_of, lambda question: [], r"must take \(question, passages\)"),
    ],
)
def test_other_values_raise_with_reason(give, value, message):
    with pytest.raises(OptionError, match=message):
        give(value)


# Models made of functions


@pytest.mark.parametrize(
    "function",
    [lambda prompt: prompt, lambda system, user: f"{system}\n\n{user}", lambda *prompts: "\n\n".join(prompts)],
)
def test_function_of_prompts_is_language_model(function):
    pieces = []
    completion = FunctionLLM(function).complete("Be short.", "Where?", on_text=pieces.append)
    assert completion.text == "Be short.\n\nWhere?" == "".join(pieces)
    assert (completion.usage.calls, completion.usage.prompt_tokens) == (1, 5)


def test_function_model_gets_schema_and_is_corrected_once():
    prompts = []

    def reply(prompt):
        prompts.append(prompt)
        return 'It is {"name": "Graz"}.' if "Reply with the corrected" in prompt else "Graz"

    assert FunctionLLM(reply).complete("", "Where?", schema=Place).value == Place(name="Graz")
    assert len(prompts) == 2 and '"name"' in prompts[0]
    with pytest.raises(LLMResponseError) as caught:
        FunctionLLM(lambda prompt: "Graz").complete("", "Where?", schema=Place)
    assert caught.value.text == "Graz" and caught.value.usage.calls == 2


def test_results_of_functions_are_converted():
    vectors = FunctionEncoder(lambda texts: [[len(text), 1.0] for text in texts]).encode(["a", "fox"])
    assert vectors.dtype == np.float32 and len(FunctionEncoder(len).encode([])) == 0
    model = FunctionCrossEncoder(lambda query, texts: [text.count(query) for text in texts])
    assert model.head(model.latents("a", ["aa", "b"])).tolist() == [2, 0]
    assert model.head(model.latents("a", [])).shape == (0,)
    reader = FunctionReader(lambda question, passages: [Span(0, 17, 20, 0.5)])
    assert reader.read("Where?", PASSAGES) == [Span(0, 17, 20, 0.5)] and reader.read("Where?", []) == []


async def later(texts):
    return [[1.0]]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: llm_of(lambda prompt: b"x").complete("", "?"), "returned bytes b'x'; it must return a text"),
        (lambda: llm_of(lambda prompt: None).complete("", "?"), "returned NoneType None; it must return a text"),
        (lambda: llm_of(lambda prompt: 1 / 0).complete("", "?"), "failed: ZeroDivisionError: division by zero"),
        (lambda: encoder_of(later).encode(["a"]), "later is asynchronous"),
        (lambda: encoder_of(lambda texts: [1.0]).encode(["a"]), r"shape \(1,\) for 1 texts; return one vector each"),
        (lambda: encoder_of(lambda texts: [[1.0]]).encode(["a", "b"]), r"shape \(1, 1\) for 2 texts"),
        (lambda: encoder_of(lambda texts: [[1], [1, 2]]).encode(["a", "b"]), "no array of numbers"),
        (lambda: encoder_of(lambda texts: [["x"]]).encode(["a"]), "returned list .*no array of numbers"),
        (lambda: encoder_of(lambda texts: [[1e300]]).encode(["a"]), "not finite"),
        (lambda: encoder_of(lambda texts: [[]]).encode(["a"]), "vectors of 0 numbers"),
        (lambda: cross_encoder_of(lambda q, t: [[1.0]]).latents("q", ["a"]), "return one score each"),
        (lambda: cross_encoder_of(lambda q, t: []).latents("q", ["a"]), r"shape \(0,\) for 1 texts; return one score"),
        (lambda: cross_encoder_of(lambda q, t: None).latents("q", ["a"]), "not finite|no array"),
        (lambda: reader_of(lambda q, p: "Mur").read("?", PASSAGES), "returned str 'Mur'; it must return a list"),
        (lambda: reader_of(lambda q, p: None).read("?", PASSAGES), "returned NoneType"),
        (lambda: reader_of(lambda q, p: ["Mur"]).read("?", PASSAGES), "spans of the passages"),
        (lambda: reader_of(lambda q, p: [Span(2, 0, 1, 1.0)]).read("?", PASSAGES), "spans of the passages"),
        (lambda: reader_of(lambda q, p: [Span(0, 17, 99, 1.0)]).read("?", PASSAGES), "has 21 characters"),
    ],
)
def test_function_model_with_invalid_result_raises(use, message):
    with pytest.raises(ModelError, match=message):
        use()


def test_vectors_of_two_lengths_raise():
    encoder = encoder_of(lambda texts: [[1.0] * len(texts)] * len(texts))
    encoder.encode(["a"])
    with pytest.raises(ModelError, match="vectors of 1 and 2 numbers"):
        encoder.encode(["a", "b"])


def test_index_runs_with_four_functions(tmp_path):
    def vectors(texts):
        return [[float(text.count(letter)) + 0.1 for letter in "abcdefgr"] for text in texts]

    def scores(query, texts):
        return [sum(word in text for word in query.split()) for text in texts]

    def spans(question, passages):
        starts = ((number, passage.text.find("Mur")) for number, passage in enumerate(passages))
        return [Span(number, start, start + 3, 0.9) for number, start in starts if start >= 0]

    index = Index(tmp_path / "index", encoder=vectors)
    index.add([{"id": "graz", "text": "Graz lies on the Mur."}, {"id": "wien", "text": "Vienna lies on the Danube."}])
    question = "On which river does Graz lie?"
    assert next(iter(index.retrieve(question, "rerank", cross_encoder=scores).passages)).document == "graz"
    answer = index.ask(
        question, lambda ix: WordSearch(ix.words) % 5 >> ToPassages() >> ReadSpans(reader_of(spans))
    ).answer
    assert answer.short == ("Mur",) and answer.citations[0].document == "graz"
    assert index.ask("Where?", "vector", llm=lambda prompt: '{"found": false}').answer is not None
