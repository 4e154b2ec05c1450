"""Models given as names, objects and functions, and invalid ones."""

import importlib.util

import pytest

from graphwright import Index, ToPassages
from graphwright.errors import ModelError, OptionError
from graphwright.generate import ReadSpans
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.embedded.reader import MiniLMReader
from graphwright.models.fake import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.models.functions import FunctionCrossEncoder, FunctionEncoder, FunctionLLM, FunctionReader
from graphwright.models.openai.encoder import OpenAIEncoder
from graphwright.models.openai.llm import OpenAILLM
from graphwright.models.protocols import PassageText, Span
from graphwright.models.registry import cross_encoder_of, encoder_of, llm_of, reader_of
from graphwright.operators import WordSearch

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
        (
            encoder_of,
            "minlm",
            "There is no encoder 'minlm'. Give minilm or multilingual or sbert:NAME or openai:MODEL@URL",
        ),
        (encoder_of, "sbert:", "There is no encoder 'sbert:'"),
        (cross_encoder_of, f"openai:m@{URL}", "There is no cross-encoder"),
        (reader_of, "x", "There is no reader 'x'"),
    ],
)
def test_anything_else_is_refused_with_a_reason(give, value, message):
    with pytest.raises(OptionError, match=message):
        give(value)


def two(question, passages):
    return []


async def later(texts):
    return [[1.0]]


@pytest.mark.parametrize(
    ("give", "function", "message"),
    [
        (llm_of, lambda: "", r"cannot be called as the language model; it must take \(prompt\) or \(system, user\)"),
        (encoder_of, two, r"two.*\(question, passages\) cannot be called as the encoder; it must take \(texts\)"),
        (cross_encoder_of, len, r"len.* cannot be called as the cross-encoder; it must take \(query, texts\)"),
        (reader_of, lambda question: [], r"must take \(question, passages\)"),
    ],
)
def test_a_function_of_other_arguments_is_refused_at_once(give, function, message):
    with pytest.raises(OptionError, match=message):
        give(function)


PASSAGES = [PassageText("Graz", "Graz lies on the Mur.")]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: llm_of(lambda prompt: b"x").complete("", "?"), "returned bytes b'x'; it must return a text"),
        (lambda: llm_of(lambda prompt: 1 / 0).complete("", "?"), "failed: ZeroDivisionError: division by zero"),
        (lambda: encoder_of(later).encode(["a"]), "later is asynchronous"),
        (lambda: encoder_of(lambda texts: [1.0]).encode(["a"]), r"shape \(1,\) for 1 texts; return one vector each"),
        (lambda: encoder_of(lambda texts: [[1.0]]).encode(["a", "b"]), r"shape \(1, 1\) for 2 texts"),
        (lambda: encoder_of(lambda texts: [[1], [1, 2]]).encode(["a", "b"]), "no array of numbers"),
        (lambda: encoder_of(lambda texts: [["x"]]).encode(["a"]), "returned list .*no array of numbers"),
        (lambda: encoder_of(lambda texts: [[1e300]]).encode(["a"]), "not finite"),
        (lambda: encoder_of(lambda texts: [[]]).encode(["a"]), "vectors of 0 numbers"),
        (lambda: cross_encoder_of(lambda q, t: [[1.0]]).latents("q", ["a"]), "return one score each"),
        (lambda: cross_encoder_of(lambda q, t: None).latents("q", ["a"]), "not finite|no array"),
        (
            lambda: reader_of(lambda q, p: "Mur").read("?", PASSAGES),
            "returned str 'Mur'; it must return a list of Span",
        ),
        (lambda: reader_of(lambda q, p: None).read("?", PASSAGES), "returned NoneType"),
        (lambda: reader_of(lambda q, p: [Span(1, 0, 1, 1.0)]).read("?", PASSAGES), "spans of the passages"),
        (lambda: reader_of(lambda q, p: [Span(0, 17, 99, 1.0)]).read("?", PASSAGES), "has 21 characters"),
    ],
)
def test_what_a_function_returns_is_checked_at_its_first_call(use, message):
    with pytest.raises(ModelError, match=message):
        use()


def test_vectors_of_two_lengths_are_refused():
    encoder = encoder_of(lambda texts: [[1.0] * len(texts)] * len(texts))
    encoder.encode(["a"])
    with pytest.raises(ModelError, match="vectors of 1 and 2 numbers"):
        encoder.encode(["a", "b"])


def test_an_index_answers_with_functions_for_all_four(tmp_path):
    def vectors(texts):
        return [[float(text.count(letter)) + 0.1 for letter in "abcdefgr"] for text in texts]

    def scores(query, texts):
        return [sum(word in text for word in query.split()) for text in texts]

    def spans(question, passages):
        found = ((at, passage.text.find("Mur")) for at, passage in enumerate(passages))
        return [Span(at, start, start + 3, 0.9) for at, start in found if start >= 0]

    index = Index(tmp_path / "index", encoder=vectors)
    index.add([{"id": "graz", "text": "Graz lies on the Mur."}, {"id": "wien", "text": "Vienna lies on the Danube."}])
    question = "On which river does Graz lie?"
    assert next(iter(index.retrieve(question, "rerank", cross_encoder=scores).passages)).document == "graz"
    answer = index.ask(
        question, lambda ix: WordSearch(ix.words) % 5 >> ToPassages() >> ReadSpans(reader_of(spans))
    ).answer
    assert answer.short == ("Mur",) and answer.citations[0].document == "graz"
    replies = index.ask("Where?", "vector", llm=lambda prompt: '{"found": false}').answer
    assert replies is not None
