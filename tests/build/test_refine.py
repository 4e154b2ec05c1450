"""Values derived by a language model over real HTTP: stored, reused, resumed, pruned, and replaced by offline rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.llm_server import LLMServer

from graphwright import Index
from graphwright.build.publication import Publication
from graphwright.extract.llm import GenerativeExtractor
from graphwright.models.budget import BudgetedLLM
from graphwright.models.fake import HashEncoder
from graphwright.models.openai.llm import OpenAILLM
from graphwright.search.filter import Filter
from graphwright.store.settings import Settings

TEXTS = [{"id": f"d{i}", "title": "", "text": f"The Mur is river number {i}. It flows on and on."} for i in range(6)]


class Model:
    """Describes the Mur in each chunk at length, and summarises or decides as it is told."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.summary = "A summary of the Mur."
        self.same = True

    def __call__(self, asked: dict[str, Any]) -> str:
        properties = asked["response_format"]["json_schema"]["schema"]["properties"]
        prompt = asked["messages"][1]["content"]
        kind = next(name for name in ("description", "same", "entities") if name in properties)
        self.asked.append(kind)
        if kind == "description":
            return json.dumps({"description": self.summary}) if self.summary else "I will not."
        if kind == "same":
            return json.dumps({"reason": "", "same": self.same})
        text = json.loads(prompt.splitlines()[1])["text"]
        entities = [{"name": "Mur", "type": "river", "description": f"{text} " + "It is long. " * 8}]
        relations = [
            {"source": "Mur", "relation": "also known as", "target": "Mura", "description": "", "keywords": []}
        ]
        return json.dumps({"entities": entities, "relations": relations})


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model) -> Iterator[LLMServer]:
    with LLMServer(model) as made:
        yield made


def opened(folder: Path, server: LLMServer, budget: int | None = None, **settings: Any) -> Index:
    llm: Any = OpenAILLM("any", server.url, max_tokens=100)
    extractor = GenerativeExtractor(llm if budget is None else BudgetedLLM(llm, max_tokens=budget), threads=1)
    new = not (folder / "index.sqlite").exists()
    return Index(folder, encoder=HashEncoder(), extractor=extractor, settings=Settings(**settings) if new else None)


def text_of(index: Index, name: str = "Mur") -> str:
    (node,) = index.graph.ids(name)
    return index.graph.text(int(node))


LIMIT = {"description_tokens": 60}


def test_long_descriptions_are_summarised_once(tmp_path: Path, server: LLMServer, model: Model) -> None:
    index = opened(tmp_path / "ix", server, **LIMIT)
    changes = index.add(TEXTS)
    assert changes.refined == 1 and not changes.unrefined and model.asked.count("description") == 1
    assert text_of(index) == "Mur (river): A summary of the Mur."
    assert index.verify() == [] and index.info()["missing_values"] == 0
    index.add(TEXTS)
    assert model.asked.count("description") == 1  # nothing changed


def test_summarised_graph_is_equal_after_any_history(tmp_path: Path, server: LLMServer, model: Model) -> None:
    whole, grown = opened(tmp_path / "whole", server, **LIMIT), opened(tmp_path / "grown", server, **LIMIT)
    whole.add(TEXTS[:5])
    for text in reversed(TEXTS):
        grown.add([text])
    grown.remove(["d5"])
    assert text_of(whole) == text_of(grown) == "Mur (river): A summary of the Mur."
    assert whole._store.derived() == grown._store.derived()  # the summaries of other sets are deleted
    assert grown.verify() == []


def test_invalid_summary_keeps_descriptions_and_is_retried(tmp_path: Path, server: LLMServer, model: Model) -> None:
    model.summary = ""
    index = opened(tmp_path / "ix", server, **LIMIT)
    changes = index.add(TEXTS)
    assert changes.refined == 0 and len(changes.unrefined) == 1 and model.asked.count("description") == 2  # one repair
    assert text_of(index).startswith("Mur (river): The Mur is river number 0.")
    assert index.info()["missing_values"] == 1 and index.verify() == []
    model.summary = "A summary."
    assert index.add([]).refined == 1 and text_of(index) == "Mur (river): A summary."


def test_run_stopped_by_budget_continues(tmp_path: Path, server: LLMServer, model: Model) -> None:
    index = opened(tmp_path / "ix", server, **LIMIT)
    model.summary = ""
    index.add(TEXTS)  # all chunks are read; the summary is missing
    index.close()
    model.summary = "A summary."
    poor = opened(tmp_path / "ix", server, budget=10)
    assert "budget" in poor.add([]).unrefined[0]
    poor.close()
    assert opened(tmp_path / "ix", server).add([]).refined == 1


def test_process_killed_after_summary_loses_nothing(
    tmp_path: Path, server: LLMServer, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = opened(tmp_path / "ix", server, **LIMIT)
    refresh, calls = Publication.refresh, []

    def dying(publication: Publication) -> int | None:
        calls.append(publication._changes.refined)
        if publication._changes.refined:
            raise SystemExit("killed")
        return refresh(publication)

    monkeypatch.setattr(Publication, "refresh", dying)
    with pytest.raises(SystemExit):
        index.add(TEXTS)
    index.close()
    monkeypatch.undo()
    again = opened(tmp_path / "ix", server)
    assert not again.is_current
    again.add([])
    assert again.is_current and text_of(again) == "Mur (river): A summary of the Mur."
    assert model.asked.count("description") == 1  # it was paid for once
    assert again.verify() == []


def test_model_decides_whether_names_merge(tmp_path: Path, server: LLMServer, model: Model) -> None:
    settings = {"resolve": ("aliases", "llm"), "description_tokens": 10_000}
    merged = opened(tmp_path / "merged", server, **settings)
    assert merged.add(TEXTS).refined == 1 and "Mura" not in merged.graph.names
    assert merged.verify() == []
    model.same = False
    apart = opened(tmp_path / "apart", server, **settings)
    assert apart.add(TEXTS).refined == 1 and "Mura" in apart.graph.names
    assert model.asked.count("same") == 2  # one for the pair in each index


def test_filtered_part_hides_summaries_of_other_documents(tmp_path: Path, server: LLMServer) -> None:
    index = opened(tmp_path / "ix", server, **LIMIT)
    index.add(TEXTS)
    part = index.filtered(Filter(documents=["d1", "d2"]))
    (node,) = part.graph.ids("Mur")
    assert "summary" not in part.graph.text(int(node)) and "number 0" not in part.graph.text(int(node))
