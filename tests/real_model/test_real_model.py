"""Every step that asks a language model, with a real one: SmolLM2-135M-Instruct behind llama.cpp, over HTTP.

The model is far too small to answer well. What is tested is that every step meets a real server and real replies: it
ends, raises nothing, and keeps what was retrieved. Replies are kept short, so that the tests take about a minute.
"""

from __future__ import annotations

import json
import random
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BaseModel, Field
from tests.cli.command import graphwright

from graphwright import EnumeratedPaths, Graph, Index, start
from graphwright.errors import LLMResponseError, ModelError
from graphwright.extract.extraction import Excerpt, Extraction
from graphwright.extract.llm import GenerativeExtractor
from graphwright.models import OpenAILLM
from graphwright.models.protocols import Cancellation
from graphwright.models.settings import SETTINGS
from graphwright.operators import ConstrainedDecoding, LLMQueryParser
from graphwright.operators.query.checks import check
from graphwright.operators.run import Run
from graphwright.prompts.replies import REPLIES
from graphwright.search.facts import Facts

pytestmark = pytest.mark.real_model
MODEL = "smollm2"
TOWNS = {
    "Graz": "Mur", "Linz": "Danube", "Steyr": "Enns", "Salzburg": "Salzach", "Innsbruck": "Inn", "Villach": "Drava",
    "Krems": "Danube", "Wels": "Traun", "Gmunden": "Traun", "Leoben": "Mur", "Bruck": "Mur", "Spittal": "Lieser",
    "Lienz": "Isel", "Hallein": "Salzach", "Kufstein": "Inn", "Schwaz": "Inn", "Melk": "Danube", "Tulln": "Danube",
    "Admont": "Enns", "Schladming": "Enns",
}  # fmt: skip


class Town(BaseModel):
    name: Annotated[str, Field(json_schema_extra={"maxLength": 12})]
    river: Annotated[str, Field(json_schema_extra={"maxLength": 12})]


class Towns(BaseModel):
    """Towns, with every limit that the grammar has to keep; replies beyond it are accepted, so the server is tested."""

    towns: Annotated[list[Town], Field(json_schema_extra={"minItems": 2, "maxItems": 3})]
    remark: Annotated[str, Field(json_schema_extra={"maxLength": 30})]


@pytest.fixture
def llm(address: str) -> OpenAILLM:
    return OpenAILLM(MODEL, address, max_tokens=300, retries=1)


def slots_at_work(address: str) -> int:
    """Return the number of requests that the server is working on."""
    with urllib.request.urlopen(address.removesuffix("/v1") + "/slots", timeout=60) as response:
        return sum(slot["is_processing"] for slot in json.load(response))


def test_doctor_approves_model(address: str) -> None:
    result = graphwright("doctor", "--llm", MODEL, "--base-url", address)
    assert result.returncode == 0, result.stdout
    assert "replies follow a JSON schema" in result.stdout
    assert "reports no tokens" not in result.stdout


def test_grammar_keeps_lengths_and_numbers_of_items(llm: OpenAILLM) -> None:
    reply = llm.complete("You reply in JSON.", "Describe twenty towns of Austria at great length.", schema=Towns)
    assert reply.usage.calls == 1
    assert 2 <= len(reply.value.towns) <= 3
    texts = [text for town in reply.value.towns for text in (town.name, town.river)]
    assert all(len(text) <= 12 for text in texts) and len(reply.value.remark) <= 30


def test_every_schema_is_accepted_and_every_reply_that_ends_fits_it(llm: OpenAILLM) -> None:
    brief = replace(llm, max_tokens=60)
    ended = 0
    for name, schema in REPLIES.items():
        try:
            reply = brief.complete("You reply in JSON, as briefly as you can.", "Graz lies on the Mur.", schema=schema)
        except LLMResponseError as error:
            assert "it ended because of 'length'" in str(error), name
        else:
            assert isinstance(reply.value, schema), name
            ended += reply.usage.calls == 1
    assert not brief._learned, "a schema was refused"
    assert ended


def test_query_of_model_fits_schema_and_has_names_of_the_facts(llm: OpenAILLM) -> None:
    facts = Facts.of_rows([{"town": town, "river": river} for town, river in TOWNS.items()], "towns")
    parser = LLMQueryParser(replace(llm, max_tokens=2_000))
    state = parser(start("How many towns lie on the Danube?", Graph(facts.columns)))
    (step,) = state.trace
    assert step.usage.llm_calls <= 2 and "the model's reply did not fit the schema" not in step.notes
    assert step.failed or state.query is None or check(state.query.query, facts) is not None


def test_stream_arrives_in_parts_and_is_reply(llm: OpenAILLM) -> None:
    parts: list[str] = []
    reply = replace(llm, max_tokens=30).complete("", "Tell me about rivers.", on_text=parts.append)
    assert "".join(parts) == reply.text and len(parts) > 5
    assert 0 < reply.usage.completion_tokens <= 30 and reply.usage.prompt_tokens > 5


def test_cancelled_stream_ends_and_frees_server(llm: OpenAILLM, address: str) -> None:
    cancel, parts = Cancellation(), list[str]()

    def read(text: str) -> None:
        parts.append(text)
        if len(parts) == 3:
            cancel.set()

    with pytest.raises(ModelError, match="cancelled"):
        replace(llm, max_tokens=4000).complete("", "Tell a very long story.", on_text=read, cancel=cancel)
    deadline = time.monotonic() + 60
    while slots_at_work(address) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert slots_at_work(address) == 0


def test_cancelled_request_frees_server(llm: OpenAILLM, address: str) -> None:
    with Cancellation() as cancel, ThreadPoolExecutor(1) as pool:
        call = pool.submit(replace(llm, max_tokens=4000).complete, "", "Tell a very long story.", cancel=cancel)
        deadline = time.monotonic() + 60
        while not slots_at_work(address) and time.monotonic() < deadline:
            time.sleep(0.05)
        cancel.set()
        assert "cancelled" in str(call.exception())
    while slots_at_work(address) and time.monotonic() < deadline:
        time.sleep(1.5)  # the server looks for the connection after a second in which nothing is asked of it
    assert slots_at_work(address) == 0


def test_real_model_extracts_chunks(llm: OpenAILLM) -> None:
    excerpts = [Excerpt(town, town, f"{town} lies on the {river}.") for town, river in list(TOWNS.items())[:3]]
    results = GenerativeExtractor(replace(llm, max_tokens=500), extraction="triples", threads=2).extract(excerpts)
    assert len(results) == 3
    read = [result for result in results if isinstance(result, Extraction)]
    assert read, results
    assert all(mention.name for result in read for mention in result.mentions)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty documents of a sentence each."""
    folder = tmp_path_factory.mktemp("towns")
    for town, river in TOWNS.items():
        (folder / f"{town}.txt").write_text(f"{town} is a town in Austria that lies on the {river}.", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def index(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = Index.create(tmp_path_factory.mktemp("offline") / "index")
    index.add(documents)
    return index


def test_reply_that_is_cut_short_keeps_passages_and_time(llm: OpenAILLM, index: Index) -> None:
    state = index.ask("Which river does Graz lie on?", "hybrid", top_k=3, llm=replace(llm, max_tokens=5))
    assert state.passages and state.answer is not None
    step = next(step for step in state.trace if step.operator.startswith("Generate"))
    assert step.usage.calls == 1 and 0 < step.usage.completion_tokens <= 5 and step.seconds > 0
    assert step.notes


def test_reply_that_takes_too_long_keeps_passages_and_time(llm: OpenAILLM, index: Index) -> None:
    slow = replace(llm, max_tokens=2000, timeout=0.2, retries=0)
    state = index.ask("Which river does Linz lie on?", "hybrid", top_k=3, llm=slow)
    assert state.passages and state.answer is not None
    step = next(step for step in state.trace if step.operator.startswith("Generate"))
    assert step.seconds > 0.1 and any("cut short" in note for note in step.notes)


def test_question_ends_by_its_deadline(llm: OpenAILLM, index: Index) -> None:
    began = time.monotonic()
    state = index.ask("Which river does Linz lie on?", "ircot", llm=replace(llm, max_tokens=2000), deadline=0.5)
    assert time.monotonic() - began < 30
    assert state.passages and state.answer is not None and state.answer.text
    assert any("deadline of 0.5 seconds" in note for step in state.trace for note in step.notes)


def test_answer_is_streamed_and_checked(llm: OpenAILLM, index: Index) -> None:
    parts: list[str] = []
    run = Run(on_text=parts.append)
    state = index.ask("Which river does Steyr lie on?", "hybrid", top_k=3, run=run, llm=llm)
    assert state.answer is not None and state.answer.text and parts
    texts = {passage.text for passage in state.passages.top(3)} if state.passages else set()
    assert all(any(cited.text in text for text in texts) for cited in state.answer.citations)
    assert run.usage.calls >= 1 and run.usage.completion_tokens


def test_real_model_answers_over_twenty_documents(documents: Path, tmp_path: Path, address: str) -> None:
    into = tmp_path / "index"
    into.mkdir()
    settings = f'[llm]\nmodel = "{MODEL}"\nbase_url = "{address}"\nmax_tokens = 60\nextraction = "triples"\n'
    (into / SETTINGS).write_text(settings, encoding="utf-8")
    indexed = graphwright("index", documents, "--into", into, "--json")
    assert indexed.returncode == 0, indexed.stderr
    assert json.loads(indexed.stdout)["added"] == len(TOWNS)
    asked = graphwright("ask", "Which river does Graz lie on?", "--index", into, "--top-k", 3, "--json")
    assert asked.returncode == 0, asked.stderr
    reply = json.loads(asked.stdout)
    assert reply["passages"] and reply["answer"] and reply["trace"]


def test_real_model_decodes_existing_paths_under_grammar(llm: OpenAILLM) -> None:
    odd = ['say "hi"', "back\\slash", "two\nlines", "日本", "Zoë", "<|im_end|>", "| r1", "Graz", "Linz", "\x07bell"]
    draw = random.Random(5)
    requests = 0
    for _ in range(6):
        rows = [(draw.choice(odd), draw.choice(["lies on", 'a "quoted" relation', "é"]), name) for name in odd]
        graph = Graph.from_triples(rows)
        state = EnumeratedPaths(2)(start(f"Where is {odd[0]}?", graph, entities=[graph.names[0]]))
        run = Run()
        after = ConstrainedDecoding(llm, items=3)(state, run)
        assert after.evidence is not None and state.evidence is not None and after.trace[-1].notes == ()
        paths = len(set(state.evidence.texts(graph)))
        assert len(set(after.evidence.texts(graph))) == min(3, paths)
        assert set(after.evidence.identities()) <= set(state.evidence.identities())
        assert run.usage.llm_calls == min(3, paths - 1)  # the last path left needs no request
        requests += run.usage.llm_calls
    assert requests > 6


def test_real_model_under_grammar_stays_in_graph(llm: OpenAILLM, tmp_path: Path) -> None:
    graph = Graph.from_triples([(town, "lies on", river) for town, river in TOWNS.items()])
    index = Index.from_graph(tmp_path / "towns", graph)
    state = index.ask("Which river does Graz lie on?", method="gcr", llm=llm)
    assert state.answer is not None and state.passages and state.evidence is not None and len(state.evidence)
    notes = [note for step in state.trace for note in step.notes]
    assert not any("not constrained" in note for note in notes)
