"""Other systems beside graphwright: the scripted models, what drivers measure, and the page."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import peers
import pytest
from drivers.driver import Driver, Passage, Texts, run
from drivers.scripted_model import Given, Script, ScriptedModels
from openai import OpenAI

from graphwright.extract import Excerpt, Extraction, GenerativeExtractor
from graphwright.models import OpenAIEncoder, OpenAILLM
from graphwright.models.fake import HashEncoder

MUR = Given.of("Mur", "It flows through Graz (Styria).", ["Styria"], [["Mur", "flows through", "Graz"]])
OTHER_MUR = Given.of("Mur", "The Mur is also a noble family.", [], [["Mur", "is", "noble family"]])
SCRIPT = Script([MUR, OTHER_MUR])
READING = f"{MUR.title}\n{MUR.text}"
PASSAGES = [{"id": "a", "title": MUR.title, "text": MUR.text}, {"id": "b", "title": "Mur", "text": OTHER_MUR.text}]


@pytest.fixture
def models() -> Iterator[ScriptedModels]:
    """The scripted models with an encoder of hashes."""
    with ScriptedModels(SCRIPT, HashEncoder()) as server:
        yield server


def asked(models: ScriptedModels, system: str, *messages: str) -> str:
    """Return the reply to messages of a system, as a client of OpenAI gets it."""
    with OpenAI(base_url=models.url, api_key="none") as client:
        sent: Any = [{"role": "user", "content": message} for message in messages]
        return client.chat.completions.create(model=system, messages=sent).choices[0].message.content or ""


@pytest.mark.parametrize(
    ("prompt", "given"),
    [
        (f"Examples\n{READING}\nGo on.", MUR),
        (f"Text: Mur\n{OTHER_MUR.text}\n", OTHER_MUR),
        (json.dumps({"title": "Mur", "text": OTHER_MUR.text[4:20]}), OTHER_MUR),
        ("Mur\nAnother text.", None),
        (MUR.text, None),
    ],
)
def test_passage_is_found_by_title_and_text(prompt: str, given: Given | None) -> None:
    assert SCRIPT.passage(prompt) is given


def test_names_of_a_question_are_given_names_the_longest_first() -> None:
    script = Script([Given.of("T", "t", ["Graz", "Graz Opera", "river"], [])])
    assert script.names_in("Who built Graz Opera's hall by the river in Graz?") == ["Graz Opera", "Graz"]


def test_triple_without_three_different_parts_is_left_out() -> None:
    assert Given.of("T", "t", [], [["a", "is", "a"], ["a", "is"], ["a", "", "b"], ["a", "is", "b"]]).names == ("a", "b")


def test_graphwright_extracts_the_given_triples(models: ScriptedModels) -> None:
    extractor = GenerativeExtractor(OpenAILLM("graphwright", models.url))
    (extraction,) = extractor.extract([Excerpt("a", MUR.title, MUR.text)])
    assert isinstance(extraction, Extraction)
    assert [relation[:3] for relation in extraction.relations] == [("Mur", "flows through", "Graz")]
    assert {mention.name for mention in extraction.mentions} == {"Mur", "Styria", "Graz"}


@pytest.mark.parametrize(
    ("system", "prompt", "expected"),
    [
        ("lightrag", READING, "relation<|#|>Mur<|#|>Graz<|#|>flows through<|#|>Mur flows through Graz."),
        ("lightrag", "Go on.", "<|COMPLETE|>"),
        ("lightrag", "User Query: Where is Graz?\n", '"low_level_keywords": ["Graz"]'),
        ("lightrag", 'Description List:\n{"Description": "A river."}\n{"Description": "Long."}', "A river. Long."),
        ("nano-graphrag", READING, '("relationship"<|>"Mur"<|>"Graz"<|>"Mur flows through Graz."<|>5)'),
        ("nano-graphrag", 'Write "findings".\n5,MUR,river,long\n', '"title": "MUR"'),
        ("fast-graphrag", READING, '{"source": "Mur", "target": "Graz", "desc": "Mur flows through Graz."}'),
        ("fast-graphrag", "Query: Where is Graz?\n", '"named": ["Graz"]'),
        ("hipporag", READING, '{"named_entities": ["Styria", "Mur", "Graz"]}'),
        ("hipporag", f'{READING}\n{{"named_entities": ["Mur"]}}', '{"triples": [["Mur", "flows through", "Graz"]]}'),
        ("hipporag", "[[ ## fact_before_filter ## ]]\n[1]\n\nRespond", "[[ ## fact_after_filter ## ]]\n[1]\n"),
        ("llamaindex", f"Text: {READING}", "(Mur, flows through, Graz)"),
        ("llamaindex", "QUERY: Where is Graz?\n", "Graz"),
        ("graphwright", "Nothing known.", '{"entities": [], "relations": []}'),
    ],
)
def test_reply_has_the_format_that_the_system_wants(
    models: ScriptedModels, system: str, prompt: str, expected: str
) -> None:
    assert expected in asked(models, system, prompt)


def test_calls_tokens_and_texts_are_counted(models: ScriptedModels) -> None:
    asked(models, "lightrag", "Four", "words")
    vectors = OpenAIEncoder("any", models.url).encode(["a", "b"])
    with OpenAI(base_url=models.url, api_key="none") as client:  # asks for base64
        packed = client.embeddings.create(model="any", input=["a", "b"])
    assert np.array_equal(vectors, np.array([each.embedding for each in packed.data], np.float32))
    counts = models.counts()
    assert (counts.calls, counts.prompt_tokens, counts.completion_tokens) == (1, 3, 3)
    assert (counts.requests_of_vectors, counts.texts) == (2, 4) and counts.busy > 0


def test_unknown_system_is_refused(models: ScriptedModels) -> None:
    request = urllib.request.Request(
        f"{models.url}/chat/completions", json.dumps({"model": "none", "messages": []}).encode()
    )
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request)
    with error.value as answer:
        assert answer.status == 400 and b"'none'" in answer.read()


class Words(Driver):
    """A system that finds the passages with a word of the question, and adds but never removes any."""

    def build(self, passages: list[Passage]) -> None:
        self.passages = passages
        (self.folder / "texts").write_text("".join(passage.reading for passage in passages))

    def search(self, question: str) -> list[Passage]:
        return [p for p in self.passages if set(question.split()) & set(p.reading.split())]

    def ids(self, found: list[Passage]) -> list[str]:
        return [passage.id for passage in found]

    def add(self, passage: Passage) -> None:
        self.passages = [*self.passages, passage]

    def remove(self, passage: Passage) -> None:
        pass


def task(models: ScriptedModels, folder: Path) -> dict[str, Any]:
    """Return a task of two passages, a question, and a passage to be added."""
    return {
        "passages": PASSAGES,
        "added": {"id": "c", "title": "Drava", "text": "A river."},
        "questions": ["a noble thing"],
        "folder": str(folder),
        "url": models.url,
        "limit": 15,
    }


def test_driver_measures_index_questions_and_changes(
    models: ScriptedModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "task.json"
    path.write_text(json.dumps(task(models, tmp_path) | {"out": str(tmp_path / "out.json")}))
    monkeypatch.setattr(sys, "argv", ["driver", str(path)])
    run(Words)
    row = json.loads((tmp_path / "out.json").read_text())
    assert row["disk bytes"] == sum(len(f"{p['title']}\n{p['text']}") for p in PASSAGES)
    assert row["questions"][0]["found"] == ["b"] and row["index"]["calls"] == 0
    assert row["add"]["found"] and row["remove"]["found"]
    figures = peers.summary(row, [["a", "b"]]) | {"passages": 2, "version": "1.0"}
    assert figures["recall@5"] == 50.0
    page = peers.page({"2": {"graphwright": figures, "other": {"failed": "pip: no such thing"}}})
    assert "| graphwright 1.0 | 1.00 |" in page and "- other: pip: no such thing" in page
    assert page.split("| graphwright 1.0 |")[1].split("|")[5].strip() == "no"  # it did not remove


def test_driver_that_fails_or_hangs_is_named(
    models: ScriptedModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "DRIVERS", tmp_path)
    (tmp_path / "bad_driver.py").write_text("raise SystemExit('no such model')")
    (tmp_path / "slow_driver.py").write_text("import time; time.sleep(60)")
    python, given = Path(sys.executable), task(models, tmp_path)
    with pytest.raises(peers.FailedError, match="no such model"):
        peers.measured("bad", python, given, 60, os.environ)
    with pytest.raises(peers.FailedError, match="did not end within 0 minutes"):
        peers.measured("slow", python, given, 0.3, os.environ)


def test_texts_find_passages_in_any_layout() -> None:
    texts = Texts([Passage(**row) for row in PASSAGES])
    assert texts.ids('1,"the mur  is also, a NOBLE family"\n2,It flows through Graz Styria') == ["b", "a"]
    assert texts.ids_of_each([READING, "none", READING]) == ["a"]


def test_corpus_beyond_musique_has_passages_and_triples_of_other_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "MORE", ("ir/more",))
    more = [{"id": "1", "title": "Graz", "text": "Graz lies on the Mur. Ernst Mach taught in Graz."}, PASSAGES[0]]
    triples = {"entities": [], "triples": [["Mur", "flows through", "Graz"]]}
    files = {
        "multihop/musique/corpus.jsonl": PASSAGES,
        "multihop/musique/openie.jsonl": [{"id": row["id"], **triples} for row in PASSAGES],
        "ir/more/corpus.jsonl": [*more, {"id": "2", "title": "Empty", "text": " "}],
    }
    for name, rows in files.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = Namespace(data=tmp_path / "data", fetched=tmp_path)
    (tmp_path / "peers").mkdir()
    assert peers.corpus(options, 2) == tmp_path / "data" / "multihop" / "musique"
    folder = peers.corpus(options, 10)
    assert [row["id"] for row in peers.read_lines(folder / "corpus.jsonl")] == ["a", "b", "more-1"]
    added = peers.read_lines(folder / "openie.jsonl")[2]
    assert "Ernst Mach" in added["entities"] and added["triples"]
