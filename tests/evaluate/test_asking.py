"""The recorded result of a question: documents, metrics, costs, and the recall after each step."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pytest
from tests.evaluate.small_run import row
from tests.shared import CORPUS, FAMILY, corpus_index

from graphwright import Graph, Index, State, ToPassages, VectorSearch
from graphwright.data.question_sets.graph_questions import GraphQuestion
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import BudgetError, DataError, ModelError, OptionError
from graphwright.evaluate.asking import Asker, Results, Row
from graphwright.evaluate.entries import entry_of
from graphwright.evaluate.measures import MEASURES, Measure, Outcome, default_metrics, select_measures
from graphwright.methods.registry import METHODS, make_method
from graphwright.models import HashEncoder, MiniLMCrossEncoder, MiniLMReader, OverlapCrossEncoder
from graphwright.models.protocols import Completion, Floats, PassageText, Span, Usage
from graphwright.operators import Operator
from graphwright.operators.run import Run

IX = corpus_index().snapshot
FIRST, SECOND = str(CORPUS[0]["id"]), str(CORPUS[1]["id"])
ASKED = QuestionRecord(
    "q1", "Which abbey did the mother of Lothair II found?", ("Erstein Abbey",), (FIRST, SECOND), "bridge"
)
METRICS = select_measures(default_metrics("documents", ["gold", "answers"]))


def asked(pipelines: dict[str, Operator], question: QuestionRecord = ASKED, **more: Any) -> dict[str, Row]:
    rows: list[Row] = []
    asker = Asker(more.pop("snapshot", IX), pipelines, more.pop("measures", METRICS), **more)
    asker.warm(question, pipelines)
    asker.ask(question, pipelines, rows.append)
    assert [row["method"] for row in rows] == list(pipelines)
    assert json.loads(json.dumps(rows)) == [json.loads(json.dumps(row)) for row in rows]
    return {row["method"]: row for row in rows}


@dataclass(frozen=True, repr=False)
class Fails(Operator):
    error: Exception
    gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        raise self.error


def test_row_has_question_and_results() -> None:
    row = asked({"vector": make_method("vector", IX).pipeline})["vector"]
    assert (row["question"], row["type"], row["answers"], row["entities"], row["hops"]) == ("q1", "bridge", 1, 0, None)
    assert row["gold"] == [FIRST, SECOND] and row["documents"][0][0] in {str(d["id"]) for d in CORPUS}
    assert row["answer"]["text"] and row["answer"]["citations"][0]["text"]
    assert set(row["metrics"]) == {m.name for m in METRICS}
    assert row["seconds"] >= sum(step["seconds"] for step in row["steps"]) > 0 and row["tokens"] > 0


def test_steps_have_share_of_gold() -> None:
    record = {}
    for k in (1, 50):
        row = asked({"v": VectorSearch(IX.passages) % k >> ToPassages()})["v"]
        result = {name for name, _ in row["documents"]}
        record[k] = [step["held"] for step in row["steps"]]
        assert record[k][-1] == len(result & {FIRST, SECOND}) / 2
    assert record[50] == [1.0, 1.0] and record[1][0] <= 0.5


def test_entities_count_for_naming_passages() -> None:
    row = asked({"ppr": make_method("hipporag", IX).search})["ppr"]
    assert all(step["held"] is None or 0 <= step["held"] <= 1 for step in row["steps"])
    assert row["steps"][-1]["held"] == 1.0


class Clock:
    """Time that passes only where a model works."""

    now, lock = 0.0, Lock()

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()


def works(usage: Usage, seconds: float, **counts: Any) -> None:
    with CLOCK.lock:
        CLOCK.now += seconds
    usage.add(Usage(calls=1, seconds=seconds, **counts))


@dataclass(frozen=True)
class TimedEncoder:
    """HashEncoder, by a clock: a text takes as many hundredths of a second, and tokens, as it has letters."""

    id: str = HashEncoder().id
    dimension: int = 64

    def encode(self, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        size = sum(len(text) + 1 for text in texts)
        works(usage or Usage(), size / 100, texts=len(texts), tokens=size)
        return HashEncoder().encode(texts)


@dataclass(frozen=True)
class TimedLLM:
    """A language model that fills in whatever is asked for, by a clock."""

    id: str = "timed"

    def complete(
        self, system: str, user: str, *, schema: Any = None, on_text: Any = None, cancel: Any = None
    ) -> Completion:
        usage = Usage()
        works(usage, 10.0, prompt_tokens=len(user), completion_tokens=5, cost=0.01)
        message = "Lothair" if schema is None else schema.model_validate(self.filled(schema)).model_dump_json()
        return Completion(message, None if schema is None else schema.model_validate_json(message), usage)

    def filled(self, kind: Any) -> Any:
        if hasattr(kind, "model_fields"):
            return {name: self.filled(of.annotation) for name, of in kind.model_fields.items()}
        if get_origin(kind) is Literal:
            return get_args(kind)[0]
        if get_origin(kind) in (Annotated, UnionType):
            return self.filled(get_args(kind)[0])
        if get_origin(kind) is list:
            return [self.filled(get_args(kind)[0])]
        return {str: "Lothair II", bool: True, int: 1, float: 0.5}[kind]


def latents_by_letters(self: object, query: str, texts: Sequence[str], usage: Usage | None = None) -> Floats:
    """Score by shared words, and count letters as tokens."""
    (usage or Usage()).add(Usage(calls=1, texts=len(texts), tokens=sum(len(text) + 1 for text in texts)))
    return OverlapCrossEncoder().latents(query, texts)


def read_first_word(self: object, question: str, passages: Sequence[PassageText], usage: Usage) -> list[Span]:
    """Answer with the first word of each passage, and count letters as tokens."""
    usage.add(Usage(calls=1, texts=len(passages), tokens=sum(len(passage.text) for passage in passages)))
    return [Span(at, 0, len(passage.text.split()[0]), 1 / (at + 1)) for at, passage in enumerate(passages)]


def prefer_first_sentences(
    self: object, question: str, passages: Sequence[PassageText], sentences: Sequence[Any], usage: Usage
) -> Floats:
    """Score each sentence lower than the one before it, and count letters as tokens."""
    read_first_word(self, question, passages, usage)
    return np.linspace(1, 0.5, len(sentences), dtype=np.float32)


OTHER = QuestionRecord("q2", "Who was the father of Teutberga?", ("Boso the Elder",), (str(CORPUS[1]["id"]),))
WHERE = {  # an index, and what is asked of it
    "documents": (lambda folder: corpus_index().path, (ASKED, OTHER)),
    "graph": (
        lambda folder: (
            Index.from_graph(
                folder / "kin",
                Graph.from_triples(FAMILY),
                encoder=HashEncoder(),
                embed=("names", "triples", "passages"),
            ).path
        ),
        (
            GraphQuestion("q1", "Who is the mother of Lothair II?", ("Ermengarde of Tours",), entities=("Lothair II",)),
            GraphQuestion("q2", "Who is Nobody's child?", ("Gisela",), entities=("Nobody",)),
        ),
    ),
}
SLOW = {f"lego-{n}" for n in (4, 5, 8, 9, 11, 13)}  # a cross-encoder reads every path


@pytest.mark.parametrize("llm", [None, TimedLLM()], ids=["offline", "llm"])
@pytest.mark.parametrize("where", WHERE)
def test_methods_together_equal_methods_alone(
    where: str, llm: TimedLLM | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, questions = WHERE[where]
    path = make(tmp_path)
    monkeypatch.setattr(time, "perf_counter", CLOCK)
    # The tokens of a batch are charged by the lengths of its texts: exact for a model whose tokens are letters.
    monkeypatch.setattr(MiniLMCrossEncoder, "latents", latents_by_letters)
    monkeypatch.setattr(MiniLMCrossEncoder, "head", lambda self, latents: OverlapCrossEncoder().head(latents))
    monkeypatch.setattr(MiniLMReader, "read", read_first_word)
    monkeypatch.setattr(MiniLMReader, "sentence_scores", prefer_first_sentences)
    names = [name for name, of in METHODS.items() if (not of.required if llm is None else "llm" in of.options)]
    names = sorted({*names, "fastinsight(budget=20)"} - (SLOW if where == "documents" else set()))

    def rows(some: list[str]) -> dict[tuple[str, str], Row]:
        with Index.open(path, encoder=TimedEncoder()) as index:
            methods = {name: entry_of(name).built(index.snapshot, llm) for name in some}
            pipelines = {name: method.pipeline for name, method in methods.items()}
            if where == "documents" and llm is None:  # answers of readers are slow, and are those of the graph
                pipelines = {name: method.search for name, method in methods.items()}
            measures = select_measures(["recall@2", "hit", "f1", "micro f1"])
            asker = Asker(index.snapshot, pipelines, measures, together=len(some) > 1)
            asker.warm(questions[0], some)
            result: list[Row] = []
            for at, question in enumerate(questions):
                asker.ask(question, random.Random(at).sample(some, len(some)), result.append)
        # How many calls a batch was of is known of all of it only; and memory is the process's.
        return {(row["method"], row["question"]): {**row, "calls": 0} for row in result}

    together = rows(names)
    assert sum(row["seconds"] for row in together.values()) > 10
    for name in names:
        for key, alone in rows([name]).items():
            assert rounded(together[key]) == rounded(alone), key


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def test_failing_method_counts_as_nothing() -> None:
    rows = asked({"broken": Fails(ModelError("the server is gone")), "bm25": make_method("bm25", IX).search})
    assert rows["broken"]["error"] == "ModelError: the server is gone"
    assert set(rows["broken"]["metrics"].values()) == {0.0} and rows["broken"]["documents"] == []
    assert "error" not in rows["bm25"] and rows["bm25"]["metrics"]["recall@5"] > 0


def test_failure_misses_all_accepted_answers() -> None:
    broken = asked({"broken": Fails(ModelError("gone"))}, measures=select_measures(["hit", "micro f1"]))["broken"]
    assert broken["ratios"] == {"micro f1": [0.0, 1.0]} and broken["metrics"] == {"hit": 0.0}


@pytest.mark.parametrize(("message", "hops"), [(2, 2), (True, None), ("2", None), (2.0, None)])
def test_hops_are_bounded_number(message: object, hops: int | None) -> None:
    question = replace(ASKED, metadata={"hops": message})
    assert asked({"bm25": make_method("bm25", IX).search}, question)["bm25"]["hops"] == hops


def test_step_name_is_stable_over_processes() -> None:
    class Model:
        """Shown by its place in memory."""

    @dataclass(frozen=True, repr=False)
    class Uses(Operator):
        model: Model

        def apply(self, state: State, run: Run) -> State:
            return state

    row = asked({"uses": Uses(Model())})["uses"]
    assert row["steps"][0]["operator"].endswith(".Model object>)")


def test_exhausted_budget_ends_run_and_fault_is_row() -> None:
    asker = Asker(IX, {"broken": Fails(BudgetError("spent")), "faulty": Fails(ZeroDivisionError("a bug"))}, METRICS)
    rows: list[Row] = []
    asker.ask(ASKED, ["faulty"], rows.append)
    assert rows[0]["error"] == "ZeroDivisionError: a bug" and rows[0]["metrics"]["recall@5"] == 0.0
    for name, error in (("broken", BudgetError), ("faulty", OptionError)):
        with pytest.raises(
            error, match=r"spent|faulty cannot be asked: ZeroDivisionError: a bug\. Check its options .*Fails"
        ):
            asker.warm(ASKED, [name])
    with pytest.raises(BudgetError):
        asker.ask(ASKED, ["broken"], rows.append)


def test_graph_answers_are_names_and_entities_given() -> None:
    graph = replace(IX, graph=statements_of(), names=None, triples=None)
    question = GraphQuestion("q", "Who made it?", ("Mann", "Nobody"), entities=("Heat",), hops=1)
    measures = select_measures([*default_metrics("graph", ["answers"]), "path f1", "subgraph recall"])
    row = asked({"lego-1": make_method("lego-1", graph).pipeline}, question, snapshot=graph, measures=measures)[
        "lego-1"
    ]
    assert row["answer"]["short"] == ["Mann"] and row["metrics"]["hits@1"] == 1.0
    assert row["metrics"]["f1"] == pytest.approx(2 / 3) and row["ratios"] == {"micro f1": [2.0, 3.0]}
    assert (row["hops"], row["entities"], row["answers"]) == (1, 1, 2)
    linked = asked(
        {"lego-1": make_method("lego-1", graph).pipeline}, question, snapshot=graph, measures=measures, linked=True
    )
    assert linked["lego-1"]["metrics"]["hits@1"] == 0.0, "no name stands in the question"


def statements_of() -> Any:
    from graphwright import Graph

    return Graph.from_triples([("Heat", "made by", "Mann"), ("Ali", "in", "1999")])


def test_metric_of_ones_own_is_measured_beside_others() -> None:
    first = Measure("first", "Whether a gold document is first.", "retrieval", "gold", starts_with_gold)
    measures = select_measures(["recall@5", first, first])
    results = asked({"vector": VectorSearch(IX.passages) % 2 >> ToPassages()}, measures=measures)["vector"]
    assert list(results["metrics"]) == ["recall@5", "first"] and results["metrics"]["first"] in (0.0, 1.0)
    with pytest.raises(OptionError, match="two metrics 'hit'; give yours another name"):
        select_measures([replace(first, name="hit")])
    with pytest.raises(OptionError, match="'ranking'"):
        replace(first, kind="ranking")


def starts_with_gold(outcome: Outcome) -> float:
    return float(outcome.documents[0] in outcome.question.gold)


def test_metrics_are_known_by_name() -> None:
    with pytest.raises(OptionError, match=r"no metric 'recal@5'\. Did you mean 'recall@5'"):
        select_measures(["recal@5"])
    assert [m.name for m in select_measures(["hit", "recall@5", "hit"])] == ["hit", "recall@5"]
    assert all(measure.about.endswith(".") for measure in MEASURES.values())
    assert default_metrics("documents", []) == () and "recall@5" in default_metrics("documents", ["gold"])


def stored(tmp_path: Path, **changed: Any) -> Results:
    """The results of a file with one row, some of whose values are others."""
    (tmp_path / "rows.jsonl").write_text(json.dumps(row("bm25", "q0") | changed) + "\n", encoding="utf-8")
    return Results(tmp_path / "rows.jsonl", ["bm25"], [changed.get("question", "q0")])


@pytest.mark.parametrize(
    "changed",
    [
        {"metrics": None},
        {"metrics": {"recall@5": "1"}},
        {"metrics": {"recall@5": float("nan")}},
        {"seconds": -1},
        {"seconds": float("inf")},
        {"tokens": 10**30},
        {"answers": True},
        {"gold": 5},
        {"documents": [["d1"]]},
        {"answer": {"text": "x"}},
        {"steps": [{"operator": "a"}]},
        {"hops": "2"},
        {"error": 5},
        {"method": "other"},
    ],
)
def test_row_with_value_of_other_type_is_named(changed: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl:1 is not a result of this run.*Remove that line"):
        stored(tmp_path, **changed)


def test_rows_with_surrogates_and_infinities_are_read(tmp_path: Path) -> None:
    half = "half \ud800 \\\\ud800"
    (result,) = stored(tmp_path, question=half, type=half, documents=[["d1", float("-inf")], ["d2", 10**400]])
    assert result["question"] == half and result["type"] == "half \ufffd \\\\ud800"
    assert [score for _, score in result["documents"]] == [float("-inf"), float("inf")]
