import pickle
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from pydantic import BaseModel, field_validator

from graphwright.errors import ModelError, OptionError, ReplyError, StoreError
from graphwright.models.base import LLM, Completion, metered
from graphwright.models.fake import ScriptedLLM
from graphwright.models.replies import CachedLLM


class Place(BaseModel):
    name: str


class Person(BaseModel):
    name: str
    born: int = 0


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.sqlite"


def counted(*replies, id="scripted"):
    """A model that gives these replies, then raises; asking it once too often fails the test."""
    return ScriptedLLM(replies, id)


def test_a_prompt_is_paid_for_once(path):
    llm = CachedLLM(counted("in Graz"), path)
    assert isinstance(llm, LLM) and llm.id == "scripted"
    first = llm.complete("Be short.", "Where?")
    assert first.completion_tokens == 2
    with metered() as usage:
        again = CachedLLM(counted(), str(path)).complete("Be short.", "Where?")
    assert again == Completion("in Graz") and usage.calls == usage.prompt_tokens == 0


def test_everything_that_changes_a_reply_is_part_of_the_key(path):
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


def test_values_come_back(path):
    text = 'Here: {"name": "Graz"} ...'
    made = CachedLLM(counted(text), path).complete("", "a", schema=Place)
    again = CachedLLM(counted(), path).complete("", "a", schema=Place)
    assert made.value == again.value == Place(name="Graz") and again.text == text


def test_a_stored_reply_that_no_longer_fits_is_asked_for_again(path):
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


def test_a_stored_reply_is_handed_over_in_one_piece(path):
    pieces = []
    llm = CachedLLM(counted("one two"), path)
    llm.complete("", "a", on_text=pieces.append)
    assert pieces == ["one ", "two"]
    llm.complete("", "a", on_text=pieces.append)
    assert pieces[2:] == ["one two"]


def test_only_good_replies_are_stored(path):
    llm = CachedLLM(counted("no", "no", '{"name": "Graz"}'), path)
    with pytest.raises(ReplyError):
        llm.complete("", "a", schema=Place)
    assert llm.complete("", "a", schema=Place).value.name == "Graz"
    with pytest.raises(ModelError, match="script"):
        llm.complete("", "b")


def test_threads_that_ask_the_same_pay_once(path):
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


def test_a_reply_survives_a_process_that_is_killed_at_once(path):
    code = (
        "import os, sys; from graphwright.models.replies import CachedLLM;"
        "from graphwright.models.fake import ScriptedLLM;"
        "CachedLLM(ScriptedLLM(['kept']), sys.argv[1]).complete('', 'a'); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == 9
    assert CachedLLM(counted(), path).complete("", "a").text == "kept"


def test_processes_share_the_file(path):
    code = (
        "import sys; from graphwright.models.replies import CachedLLM;"
        "from graphwright.models.fake import ScriptedLLM\n"
        "llm = CachedLLM(ScriptedLLM(lambda system, user: user * 2), sys.argv[1])\n"
        "for n in range(40): llm.complete('', f'{sys.argv[2]} {n}')"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "abc"]
    assert [run.wait(60) for run in runs] == [0, 0, 0]
    llm = CachedLLM(counted(), path)
    assert all(llm.complete("", f"{name} {n}").text == f"{name} {n}" * 2 for name in "abc" for n in range(40))


@pytest.mark.parametrize("text", ["\ud800 half", "東京\x00\n", "x" * 100_000])
def test_any_text_comes_back(path, text):
    CachedLLM(counted(text), path).complete(text, text)
    assert CachedLLM(counted(), path).complete(text, text).text == text


@pytest.mark.parametrize("damage", ["text", "other", "folder"])
def test_a_file_that_cannot_be_used_is_named_before_anything_is_paid_for(path, damage):
    if damage == "text":
        path.write_text("this is not a database, " * 100)
    elif damage == "folder":
        path = path / "nowhere" / "r.sqlite"
    else:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE people (name TEXT)")
        db.close()
    with metered() as usage, pytest.raises(StoreError, match=r"sqlite.*(move the file|another path)"):
        CachedLLM(counted("a"), path).complete("", "a")
    assert usage.calls == 0


def test_it_is_a_small_value(path):
    llm = CachedLLM(counted("a"), path)
    llm.complete("", "a")
    again = pickle.loads(pickle.dumps(llm))
    assert again == llm and hash(again) == hash(llm) and again.complete("", "a").text == "a"


def test_a_schema_has_to_be_one(path):
    with pytest.raises(OptionError, match="pydantic"):
        CachedLLM(counted("a"), path).complete("", "a", schema=int)
