"""The encoder of an OpenAI-compatible server: order of rows, dimensions, refused texts, invalid vectors."""

import pickle
import threading

import numpy as np
import pytest
from tests.faulty_server import Watch, cut, endless, silent
from tests.llm_server import LLMServer, Send, error

from graphwright.errors import LLMResponseError, ModelError, OptionError
from graphwright.models.budget import Prices
from graphwright.models.cache import CachedEncoder
from graphwright.models.openai.model import OpenAIEncoder
from graphwright.models.protocols import NamedEncoder, Usage


def vector(text):
    return [float(len(text)), 0.5, -1.25]


def rows(asked):
    return [{"object": "embedding", "index": at, "embedding": vector(text)} for at, text in enumerate(asked["input"])]


def answer(asked):
    return {"data": rows(asked), "usage": {"prompt_tokens": 2 * len(asked["input"]), "total_tokens": 9}}


def test_encoder_rows_keep_order_over_parallel_batches():
    texts = ["x" * n for n in range(1, 31)]
    together = threading.Barrier(4)

    def slowly(asked):
        together.wait(10)  # four requests have to be under way
        return answer(asked)

    with LLMServer(slowly) as server:
        encoder = OpenAIEncoder("m", server.url, batch=4, concurrency=4)
        usage = Usage()
        vectors = encoder.encode([*texts, "x", "x"], usage)
    assert isinstance(encoder, NamedEncoder) and vectors.dtype == np.float32 and vectors.flags["C_CONTIGUOUS"]
    assert vectors.tolist() == [vector(text) for text in [*texts, "x", "x"]]
    assert (usage.calls, usage.texts, usage.tokens) == (8, 32, 64) and usage.seconds > 0
    assert server.requests[0].path == "/v1/embeddings"
    assert server.requests[0].json.keys() == {"model", "input", "encoding_format"}


def test_dimensions_are_requested_and_named():
    with LLMServer(answer) as server:
        encoder = OpenAIEncoder("m", server.url, dimensions=3, prices=Prices(1_000_000.0, 0.0))
        usage = Usage()
        assert encoder.encode(["a"], usage).shape == (1, 3)
        assert encoder.encode([]).shape == (0, 3)
    assert server.requests[0].json["dimensions"] == 3 and len(server.requests) == 1
    assert encoder.id == "m dimensions=3" != OpenAIEncoder("m", server.url).id == "m"
    assert usage.cost == 2.0


def test_texts_refused_by_servers_are_changed():
    with LLMServer(answer) as server:
        assert len(OpenAIEncoder("m", server.url).encode(["", "\ud800", "東京"])) == 3
    assert server.requests[0].json["input"] == [" ", "\ufffd", "東京"]


def test_rows_are_ordered_by_index():
    with LLMServer(lambda asked: {"data": rows(asked)[::-1]}) as server:
        vectors = OpenAIEncoder("m", server.url).encode(["a", "bb", "ccc"])
    assert vectors[:, 0].tolist() == [1, 2, 3]


def test_rows_without_index_keep_order():
    def unnumbered(asked):
        return {"data": [{"embedding": vector(text)} for text in asked["input"]]}

    usage = Usage()
    with LLMServer(unnumbered) as server:
        vectors = OpenAIEncoder("m", server.url).encode(["a", "bb", "ccc"], usage)
    assert vectors[:, 0].tolist() == [1, 2, 3] and usage.tokens == 3  # one each by estimate


def changed(change):
    def reply(asked):
        made = rows(asked)
        return {"data": change(made) or made}

    return reply


@pytest.mark.parametrize(
    ("reply", "match"),
    [
        (changed(lambda made: made[:2]), "3 texts and returned 2"),
        (changed(lambda made: made + made[:1]), "3 texts and returned 4"),
        (changed(lambda made: made[1].update(index=0)), r"numbered \[0, 0, 2\]"),
        (changed(lambda made: made[1].update(index="one")), "numbered"),
        (changed(lambda made: made[1].update(index=[])), "numbered"),
        (changed(lambda made: made[1].update(embedding=[1.0])), "of one length"),
        (changed(lambda made: made[1].update(embedding=None)), "not lists of numbers"),
        (changed(lambda made: [row.update(embedding=None) for row in made] and None), "not lists of numbers"),
        (changed(lambda made: [row.update(embedding="AAAA") for row in made] and None), "not lists of numbers"),
        (changed(lambda made: [row.update(embedding=[]) for row in made] and None), "not lists of numbers"),
        (changed(lambda made: made[1].update(embedding=[1.0, float("nan"), 0.0])), "all finite"),
        (changed(lambda made: made[1].update(embedding=[1.0, 1e300, 0.0])), "all finite"),
        (changed(lambda made: made[1].update(embedding=[1.0, None, 0.0])), "all finite"),
        (changed(lambda made: [1, 2, 3]), "returned 0 vectors"),
        (Send(200, {"data": {}}), "returned 0 vectors"),
        (Send(200, "<html>"), "did not send JSON"),
        (endless("[1.5, " * 1000), "cut off"),
    ],
)
def test_unusable_vectors_raise(reply, match):
    answers = [reply] if isinstance(reply, Send) or match == "cut off" else reply
    with LLMServer(answers) as server, pytest.raises(LLMResponseError, match=match):
        OpenAIEncoder("m", server.url, dimensions=3 if match == "cut off" else None).encode(["a", "bb", "ccc"])
    assert len(server.requests) == 1


def test_vectors_of_other_length_raise():
    with (
        LLMServer(answer) as server,
        pytest.raises(LLMResponseError, match=r"3 numbers.*\[2, 3\].*Leave dim"),
    ):
        OpenAIEncoder("m", server.url, dimensions=2).encode(["a"])

    def growing(asked):
        return {"data": [{"index": 0, "embedding": [1.0] * len(asked["input"][0])}]}

    with LLMServer(growing) as server, pytest.raises(LLMResponseError, match=r"\[1, 2\]"):
        OpenAIEncoder("m", server.url, batch=1, concurrency=1).encode(["a", "bb"])


def test_encoder_faults_are_handled_like_llm_faults():
    watch = Watch()
    with LLMServer(
        [error(429, "slow", retry_after="9"), error(503, "x"), cut("{"), answer({"input": ["a"]})]
    ) as server:
        vectors = OpenAIEncoder("m", server.url, clock=watch.clock).encode(["a"])
    assert vectors.tolist() == [vector("a")] and watch.slept[0] == 9 and len(watch.slept) == 3
    with LLMServer([silent]) as server, pytest.raises(ModelError, match=r"0\.3 seconds"):
        OpenAIEncoder("m", server.url, timeout=0.3, retries=0).encode(["a"])


def test_first_failed_batch_ends_encoding():
    with LLMServer([error(401, "no")]) as server, pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIEncoder("m", server.url, batch=1, concurrency=2).encode([str(n) for n in range(1000)])
    assert len(server.requests) < 100


def test_openai_encoder_is_cacheable_value():
    encoder = OpenAIEncoder("m", "http://localhost:1/v1", "sk-secret", 8, 16)
    assert pickle.loads(pickle.dumps(encoder)) == encoder == eval(repr(encoder)) and "secret" not in repr(encoder)
    with LLMServer(answer) as server:
        cached = CachedEncoder(OpenAIEncoder("m", server.url))
        cached.encode(["a", "a", "b"])
        cached.encode(["b"])
    assert [request.json["input"] for request in server.requests] == [["a", "b"]]


def test_openai_encoder_with_wrong_arguments_raises():
    with pytest.raises(OptionError, match="batch"):
        OpenAIEncoder("m", "http://localhost:1/v1", batch=0)
    with pytest.raises(OptionError, match="dimensions"):
        OpenAIEncoder("m", "http://localhost:1/v1", dimensions=0)
    with pytest.raises(OptionError, match="sequence of texts"):
        OpenAIEncoder("m", "http://localhost:1/v1").encode("text")
