"""Caches of vectors and replies: reuse, persistence, limits and threads."""

import inspect
import pickle
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator

from graphwright.errors import LLMResponseError, ModelError, OptionError, StoreError
from graphwright.models import cache
from graphwright.models.cache import CachedEncoder, CachedLLM
from graphwright.models.fake import HashEncoder, ScriptedLLM
from graphwright.models.protocols import LLM, Completion, Usage


class Counting:
    """Encodes by hashing, remembers what it was asked, and may fail at a text."""

    def __init__(self, name="counting", fail_at=None):
        self.id, self.fail_at, self.asked = name, fail_at, []

    def encode(self, texts):
        self.asked += texts
        if self.fail_at in texts:
            raise KeyboardInterrupt
        return HashEncoder().encode(texts) / np.float32(3)  # bits that need all of a float


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "vectors.sqlite"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=4))
def test_cached_vectors_equal_encoded_ones(place, calls, tmp_path_factory):
    path = place and tmp_path_factory.mktemp("c") / "v.sqlite"
    inner = Counting()
    cached = CachedEncoder(inner, path)
    for texts in calls:
        expected = Counting().encode(texts)
        result = cached.encode(texts)
        assert result.dtype == np.float32 and len(result) == len(expected)
        assert result.tobytes() == expected.tobytes()
    assert sorted(inner.asked) == sorted({text for texts in calls for text in texts})


def test_cached_vectors_cost_nothing(place):
    cached = CachedEncoder(HashEncoder(), place)
    cached.encode(["fox"])
    usage = Usage()
    cached.encode(["fox"], usage)
    assert usage.calls == 0


def test_cache_file_persists_and_separates_encoders(tmp_path):
    path = tmp_path / "v.sqlite"
    CachedEncoder(Counting(), path).encode(["fox"])
    again, other = Counting(), Counting("another")
    CachedEncoder(again, path).encode(["fox"])
    CachedEncoder(other, path).encode(["fox"])
    assert again.asked == [] and other.asked == ["fox"]


def test_interrupted_encoding_resumes(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_BLOCK", 4)
    texts = [f"text {i}" for i in range(12)]
    with pytest.raises(KeyboardInterrupt):
        CachedEncoder(Counting(fail_at="text 9"), tmp_path / "v.sqlite").encode(texts)
    resumed = Counting()
    result = CachedEncoder(resumed, tmp_path / "v.sqlite").encode(texts)
    assert resumed.asked == texts[8:]
    assert result.tobytes() == Counting().encode(texts).tobytes()


def test_few_vectors_need_no_file(tmp_path):
    path, encoder = tmp_path / "vectors.sqlite", Counting()
    cached = CachedEncoder(encoder, path, unsaved=3)
    first = cached.encode(["a", "b"])
    assert not path.exists() and np.array_equal(cached.encode(["b", "a"]), first[::-1]) and encoder.asked == ["a", "b"]
    cached.encode(["c", "d"])
    assert path.exists()
    again = Counting()
    assert np.array_equal(CachedEncoder(again, path, unsaved=3).encode(["a", "b"]), first) and again.asked == []


def test_cache_memory_drops_oldest():
    inner = Counting()
    cached = CachedEncoder(inner, memory=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.encode([text])
    assert inner.asked == ["a", "b", "c", "b"]
    assert CachedEncoder(Counting(), memory=0).encode(["a", "b"]).shape == (2, 64)


def test_vector_cache_is_thread_safe(place):
    cached, texts = CachedEncoder(Counting(), place), [f"t{i}" for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda i: cached.encode(texts[i : i + 20]), range(20)))
    expected = Counting().encode(texts)
    assert all((rows == expected[i : i + 20]).all() for i, rows in enumerate(result))


def test_empty_batch_calls_no_model(place):
    inner = Counting()
    assert len(CachedEncoder(inner, place).encode([])) == 0 and not inner.asked

    class Refusing:
        id, dimension = "refusing", 7

        def encode(self, texts):
            raise AssertionError

    assert CachedEncoder(Refusing(), place).encode([]).shape == (0, 7)


def test_cached_encoder_with_wrong_arguments_raises():
    with pytest.raises(OptionError, match="sequence of texts"):
        CachedEncoder(HashEncoder()).encode("fox")
    with pytest.raises(OptionError, match="memory is -1"):
        CachedEncoder(HashEncoder(), memory=-1)


def test_encoder_with_invalid_output_raises():
    class Short:
        id = "short"

        def encode(self, texts):
            return np.zeros((1, 4), np.float32)

    with pytest.raises(ModelError, match=r"shape \(1, 4\) for 2 texts"):
        CachedEncoder(Short()).encode(["a", "b"])


# Replies of language models


class Place(BaseModel):
    name: str


class Person(BaseModel):
    name: str
    born: int = 0


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache.sqlite"


def counted(*replies, id="scripted"):
    """A model that gives these replies, then raises; asking it once too often fails the test."""
    return ScriptedLLM(replies, id)


def test_repeated_prompt_calls_model_once(path):
    llm = CachedLLM(counted("in Graz"), path)
    assert isinstance(llm, LLM) and llm.id == "scripted"
    first = llm.complete("Be short.", "Where?")
    assert first.usage.completion_tokens == 2
    assert CachedLLM(counted(), str(path)).complete("Be short.", "Where?") == Completion("in Graz", None, Usage())


def test_reply_key_includes_everything_relevant(path):
    def replies(system, user):
        return '{"name": "x"}'

    calls = []
    llm = CachedLLM(ScriptedLLM(lambda *prompt: calls.append(prompt) or replies(*prompt)), path)
    other = CachedLLM(ScriptedLLM(llm.llm.replies, "other"), path)
    for _ in range(2):
        llm.complete("a", "b")
        llm.complete("ab", "")
        llm.complete("", "ab")
        llm.complete("a", "b", schema=Place)
        llm.complete("a", "b", schema=Person)
        other.complete("a", "b")
    assert len(calls) == 6


def test_cached_values_round_trip(path):
    text = 'Here: {"name": "Graz"} ...'
    made = CachedLLM(counted(text), path).complete("", "a", schema=Place)
    again = CachedLLM(counted(), path).complete("", "a", schema=Place)
    assert made.value == again.value == Place(name="Graz") and again.text == text


def test_stored_reply_of_other_schema_is_asked_again(path):
    def place(least):
        class Place(BaseModel):
            name: str

            @field_validator("name")
            @classmethod
            def long_enough(cls, name):
                if len(name) < least:
                    raise ValueError("too short")
                return name

        return Place

    CachedLLM(counted('{"name": "Ur"}'), path).complete("", "a", schema=place(1))
    llm = CachedLLM(counted('{"name": "Graz"}'), path)
    for _ in range(2):
        assert llm.complete("", "a", schema=place(3)).value.name == "Graz"


def test_stored_reply_streams_in_one_piece(path):
    pieces = []
    llm = CachedLLM(counted("one two"), path)
    llm.complete("", "a", on_text=pieces.append)
    assert pieces == ["one ", "two"]
    llm.complete("", "a", on_text=pieces.append)
    assert pieces[2:] == ["one two"]


def test_only_valid_replies_are_stored(path):
    llm = CachedLLM(counted("no", "no", '{"name": "Graz"}'), path)
    with pytest.raises(LLMResponseError):
        llm.complete("", "a", schema=Place)
    assert llm.complete("", "a", schema=Place).value.name == "Graz"
    with pytest.raises(ModelError, match="script"):
        llm.complete("", "b")


def test_concurrent_equal_prompts_call_model_once(path):
    started = threading.Barrier(8)
    calls = []

    def reply(system, user):
        calls.append(user)
        threading.Event().wait(0.05)
        return user.upper()

    llm = CachedLLM(ScriptedLLM(reply), path)

    def work(n):
        started.wait()
        return llm.complete("", "same" if n % 2 else f"own {n}").text

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(work, range(8)))
    assert texts == ["SAME" if n % 2 else f"OWN {n}" for n in range(8)]
    assert sorted(calls) == ["own 0", "own 2", "own 4", "own 6", "same"]


def test_reply_survives_killed_process(path, fork_server):
    code = (
        "import os; from graphwright.models.cache import CachedLLM;"
        "from graphwright.models.fake import ScriptedLLM;"
        "CachedLLM(ScriptedLLM(['kept']), folder).complete('', 'a'); os._exit(9)"
    )
    assert fork_server.run("program", path, code).code == 9
    assert CachedLLM(counted(), path).complete("", "a").text == "kept"


@pytest.mark.parametrize("text", ["\ud800 half", "東京\x00\n", "x" * 100_000])
def test_any_cached_text_round_trips(path, text):
    CachedLLM(counted(text), path).complete(text, text)
    assert CachedLLM(counted(), path).complete(text, text).text == text


def test_cached_model_with_invalid_schema_raises(path):
    with pytest.raises(OptionError, match="pydantic"):
        CachedLLM(counted("a"), path).complete("", "a", schema=int)


# Files of both caches


def encode(path, texts, model=None):
    return CachedEncoder(model or HashEncoder(), path).encode(texts)


def complete(path, texts, model=None):
    llm = CachedLLM(model or ScriptedLLM(lambda system, user: user * 2), path)
    return [llm.complete("", text).text for text in texts]


USES = {"encode": (encode, "delete the file"), "complete": (complete, "move the file")}
DAMAGE = [(name, kind) for kind in ("text", "other", "folder") for name in USES] + [("encode", "truncated")]


@pytest.mark.parametrize(("name", "damage"), DAMAGE)
def test_other_file_as_cache_raises_with_remedy(path, name, damage):
    use, remedy = USES[name]
    texts = [f"t{i}" for i in range(200)]
    if damage == "text":
        path.write_text("this is not a database, " * 100)
    elif damage == "truncated":
        use(path, texts)
        path.write_bytes(path.read_bytes()[:20_000])
    elif damage == "folder":
        path, remedy = path / "nowhere" / "r.sqlite", "folder exists"
    else:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE people (name TEXT)")
        db.close()
        remedy = "another path"
    with pytest.raises(StoreError, match=rf"sqlite.*{remedy}"):
        use(path, texts, Counting() if use is encode else counted())


@pytest.mark.parametrize("use", [encode, complete])
def test_processes_share_cache_file(path, use, fork_server):
    code = "from graphwright.models.cache import CachedEncoder, CachedLLM\n"
    code += f"from graphwright.models.fake import HashEncoder, ScriptedLLM\n{inspect.getsource(use)}\n"
    code += f"for i in range(30): {use.__name__}(folder, [f't{{i}}', f't{{i + 1}}'])"
    running = [fork_server.start("program", path, code) for _ in range(2)]
    assert [job.wait().code for job in running] == [0, 0]
    texts = [f"t{i}" for i in range(31)]
    model = Counting("hash-encoder:64", fail_at="t0") if use is encode else counted()
    assert list(map(list, use(path, texts, model))) == list(map(list, use(path, texts)))


@pytest.mark.parametrize("cached", [CachedEncoder(HashEncoder()), CachedLLM(ScriptedLLM(["a"]), "replies.sqlite")])
def test_cache_equality_and_pickle_ignore_contents(cached):
    again = pickle.loads(pickle.dumps(cached))
    assert again == cached and hash(again) == hash(cached) and again.id == cached.id
