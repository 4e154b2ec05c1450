"""Runs from a folder of files to their summary: complete, interrupted, and refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from published.overlap_judge import OverlapJudge
from tests.evaluate.small_run import write_lines, write_set

from graphwright.errors import DataError, GraphwrightError, ModelError, NeedsError, OptionError, StoreError
from graphwright.evaluate import judge as judge_module
from graphwright.evaluate import statistics
from graphwright.evaluate.entries import ComparedMethod
from graphwright.evaluate.experiment import Experiment, read_plan
from graphwright.evaluate.run import run
from graphwright.graph.graph import Graph
from graphwright.index_folder.index import Index
from graphwright.methods.house import bm25
from graphwright.models.fake import HashEncoder, ScriptedLLM
from graphwright.models.protocols import Floats
from graphwright.operators import EdgeSearch, LinkEntities
from graphwright.operators.operator import Composite, Operator
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.run import Run
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.state import State
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.search.snapshot import Snapshot

RIVERS = {
    "mur": ("Mur", "The river flows through Graz and joins the Drava near Legrad."),
    "drava": ("Drava", "The river joins the Danube near Osijek in Croatia."),
    "danube": ("Danube", "The river flows through Vienna and Budapest to the Black Sea."),
    "graz": ("Graz", "A city in Styria, whose clock tower stands on a hill."),
    "osijek": ("Osijek", "A city in Slavonia with a fortress."),
    "vienna": ("Vienna", "A city of music, the capital of Austria."),
}
QUESTIONS = [
    ("q1", "Which river flows through Graz and joins the Drava?", ["mur"], "one"),
    ("q2", "Which city with a clock tower lies on a river that joins the Drava?", ["graz", "mur"], "two"),
    ("q3", "The river that joins the Danube near Osijek is joined by which river?", ["drava", "mur"], "two"),
    ("q4", "Which capital does the Danube flow through?", ["vienna", "danube"], "two"),
    ("q5", "Who is asked about here?", [], "none"),
]
METHODS = ("vector", "bm25", "ppr")


def write_data(folder: Path) -> Path:
    corpus = [{"id": i, "title": title, "text": text} for i, (title, text) in RIVERS.items()]
    asked = [{"id": i, "question": text, "gold_ids": gold, "type": kind} for i, text, gold, kind in QUESTIONS]
    openie = [{"id": "mur", "entities": ["Graz", "Drava"], "triples": [["Mur", "flows through", "Graz"]]}]
    write_lines(write_set(folder, corpus, asked) / "openie.jsonl", openie)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "rivers")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("once")
    ask(Experiment(write_data(folder / "rivers"), METHODS), folder / "run")
    return folder / "run"


@pytest.fixture
def finished(once: Path, tmp_path: Path) -> Path:
    """A finished run of METHODS over `data`, of one's own."""
    return Path(shutil.copytree(once, tmp_path / "run"))


def ask(experiment: Experiment, out: Path, **more: Any) -> dict[str, Any]:
    return run(experiment, out, encoder=HashEncoder(), **more)


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def pairs(out: Path) -> list[tuple[str, str]]:
    return [(row["method"], row["question"]) for row in rows(out)]


# Question by question, each time with another method first.
ALL = [(METHODS[(at + i) % 3], f"q{at + 1}") for at in range(4) for i in range(3)]


def test_run_writes_consistent_results_manifest_and_summary(once: Path) -> None:
    out = once
    assert pairs(out) == ALL
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    recalls = [row["metrics"]["recall@2"] for row in rows(out) if row["method"] == "bm25"]
    metric = summary["methods"]["bm25"]["metrics"]["recall@2"]
    assert metric["mean"] == pytest.approx(sum(recalls) / 4)
    assert metric["low"] <= metric["mean"] <= metric["high"]
    assert summary["methods"]["vector"]["against_baseline"] is None
    against = summary["methods"]["ppr"]["against_baseline"]["recall@5"]
    assert 0 < against["p"] <= against["corrected"] <= 1
    assert "bm25" in (out / "report.md").read_text(encoding="utf-8")
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["data"]["unjudged questions left out"] == 1
    assert manifest["methods"]["bm25"].startswith("WordSearch(ix.words)")


def test_row_has_ranking_metrics_and_step_costs(once: Path) -> None:
    result = {(row["method"], row["question"]): row for row in rows(once)}
    item = result["bm25", "q1"]
    assert item["documents"][0][0] == "mur" and item["gold"] == ["mur"] and item["type"] == "one"
    assert item["metrics"]["recall@2"] == item["metrics"]["ndcg@10"] == 1.0
    scores = [score for _, score in item["documents"]]
    assert scores == sorted(scores, reverse=True)
    assert [step["operator"].split("(")[0] for step in item["steps"]] == ["WordSearch", "ToPassages"]
    assert 0 < sum(step["seconds"] for step in item["steps"]) <= item["seconds"]
    # Each method pays for the encoding of its questions, whichever was asked before it.
    assert item["tokens"] == 0
    assert all(result[method, q]["tokens"] > 0 for method in ("vector", "ppr") for q in ("q1", "q4"))


def test_document_of_many_chunks_ranks_once(data: Path, tmp_path: Path) -> None:
    river = " ".join(f"The river bends past mill number {i} on its way." for i in range(150))
    with (data / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"id": "long", "title": "Mills", "text": river}) + "\n")
    ask(Experiment(data, ("bm25",)), tmp_path / "run")
    ranked = [document for document, _ in rows(tmp_path / "run")[0]["documents"]]
    assert "long" in ranked and len(ranked) == len(set(ranked))


class Stop(Exception):
    """Stands for the end of the process."""


def stop_after(count: int) -> Callable[[str, int, int], None]:
    asked: list[str] = []

    def progress(what: str, done: int, total: int) -> None:
        asked.extend([what] * what.startswith("ask"))
        if len(asked) == count:
            raise Stop

    return progress


def test_interrupted_run_continues(data: Path, tmp_path: Path) -> None:
    out, experiment = tmp_path / "run", Experiment(data, METHODS)
    with pytest.raises(Stop):
        ask(experiment, out, progress=stop_after(2))
    assert pairs(out) == ALL[:6]
    asked: list[tuple[str, int, int]] = []
    ask(experiment, out, progress=lambda *message: asked.append(message))
    assert pairs(out) == ALL
    assert [message for message in asked if message[0].startswith("ask")] == [
        ("ask", 3, 6),
        ("ask", 6, 6),
    ]


@pytest.mark.parametrize("lost", [1, 2, 300])
def test_half_written_line_is_dropped_without_loss(data: Path, finished: Path, lost: int) -> None:
    path = finished / "results.jsonl"
    whole = path.read_bytes().splitlines(keepends=True)[:6]
    path.write_bytes(b"".join(whole)[:-lost])
    ask(Experiment(data, METHODS), finished)
    assert pairs(finished) == ALL
    assert path.read_bytes().splitlines(keepends=True)[:5] == whole[:5]


def test_finished_run_asks_nothing_again(data: Path, finished: Path) -> None:
    out = finished
    first = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    before = (out / "results.jsonl").read_bytes()
    asked: list[str] = []
    again = ask(Experiment(data, METHODS, baseline="ppr"), out, progress=lambda what, *_: asked.append(what))
    assert not [what for what in asked if what.startswith("ask")]
    assert (out / "results.jsonl").read_bytes() == before
    assert again["methods"]["vector"]["metrics"] == first["methods"]["vector"]["metrics"]
    assert again["methods"]["vector"]["against_baseline"]["recall@5"]["difference"] == pytest.approx(
        -first["methods"]["ppr"]["against_baseline"]["recall@5"]["difference"]
    )


def test_limit_draws_same_questions_per_seed(data: Path) -> None:
    def drawn(limit: int, seed: int) -> list[str]:
        return [q.id for q in Experiment(data, ("bm25",), limit=limit, seed=seed).read().questions]

    assert drawn(2, 1) == drawn(2, 1) and len(drawn(2, 1)) == 2
    assert len({tuple(drawn(2, seed)) for seed in range(9)}) > 1
    assert drawn(99, 1) == ["q1", "q2", "q3", "q4"]


def test_titles_can_be_left_out(data: Path, tmp_path: Path) -> None:
    ask(Experiment(data, ("bm25",), titles=False), tmp_path / "run")
    ranked = {row["question"]: [i for i, _ in row["documents"]] for row in rows(tmp_path / "run")}
    assert "vienna" in ranked["q4"]
    assert "graz" not in ranked["q1"]  # only its title names it


def test_extraction_is_that_of_folder(data: Path, tmp_path: Path) -> None:
    ask(Experiment(data, ("ppr",), extraction="openie", embed=("passages", "names")), tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["extractor"].startswith("precomputed:") and "openie.jsonl" in manifest["data"]["sha256"]
    assert manifest["index"]["texts"].keys() == {"passages", "names"}


def named_by_its_function(ix: Snapshot) -> Operator:
    return VectorSearch(ix.passages) % 3 >> ToPassages()


def needy(ix: Snapshot) -> Operator:
    return PersonalizedPageRank() >> ToPassages()


def without_passages(ix: Snapshot) -> Operator:
    return LinkEntities(ix.names)


def test_method_may_be_function_of_snapshot(data: Path, tmp_path: Path) -> None:
    summary = ask(Experiment(data, (named_by_its_function,)), tmp_path / "run")
    assert list(summary["methods"]) == ["named_by_its_function"]
    assert all(len(row["documents"]) == 3 for row in rows(tmp_path / "run"))


@pytest.mark.parametrize(
    ("method", "error", "says"), [(needy, NeedsError, "anchors"), (without_passages, OptionError, "ToPassages")]
)
def test_unmeasurable_method_is_refused_first(
    data: Path, tmp_path: Path, method: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        ask(Experiment(data, ("bm25", method)), tmp_path / "run")
    assert not (tmp_path / "run" / "results.jsonl").exists()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"methods": ("vector",)}, "there methods is vector, bm25, ppr, and here vector"),
        ({"titles": False}, "settings titles is true, and here false"),
        ({"seed": 3}, "settings seed is 0, and here 3"),
        ({"extraction": "openie"}, "settings extraction is mentions, and here openie"),
    ],
)
def test_folder_of_other_run_is_refused(data: Path, finished: Path, changed: dict[str, Any], says: str) -> None:
    before = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    with pytest.raises(OptionError, match=f"holds another run: .*{says}"):
        ask(Experiment(**{"data": data, "methods": METHODS, **changed}), finished)
    assert {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()} == before


def test_added_method_alone_is_asked(data: Path, finished: Path) -> None:
    before = rows(finished)
    summary = ask(Experiment(data, ("vector", "hybrid", "bm25", "ppr")), finished)
    assert list(summary["methods"]) == ["vector", "hybrid", "bm25", "ppr"]
    assert rows(finished)[:12] == before
    assert pairs(finished)[12:] == [("hybrid", f"q{at}") for at in range(1, 5)]
    manifest = json.loads((finished / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["methods"].keys() == summary["methods"].keys() and manifest["methods"]["hybrid"]
    assert [item.keys() for item in manifest["continued"]] == [{"started", "commit"}]
    ask(Experiment(data, ("vector", "hybrid", "bm25", "ppr")), finished)  # only the report again
    assert len(json.loads((finished / "manifest.json").read_text(encoding="utf-8"))["continued"]) == 1


def test_methods_may_change_before_first_question(data: Path, finished: Path) -> None:
    (finished / "results.jsonl").unlink()
    summary = ask(Experiment(data, ("hybrid",)), finished)
    assert list(summary["methods"]) == ["hybrid"] and len(rows(finished)) == 4


@pytest.mark.parametrize("indexed", [False, True], ids=["before there is an index", "over an index"])
def test_unusable_method_is_refused_before_work(data: Path, once: Path, tmp_path: Path, indexed: bool) -> None:
    index = {"index": once / "index"} if indexed else {}
    with pytest.raises(OptionError, match=r"wide cannot be asked: AttributeError: 'int' object .* EdgeSearch\(3\)"):
        wide = ComparedMethod("wide", "rerank", {"first": EdgeSearch(3)})  # type: ignore[arg-type]
        ask(Experiment(data, ("vector", wide)), tmp_path / "run", **index)
    assert not (tmp_path / "run" / "index").exists()
    mended = Experiment(data, ("vector", "wide = vector(top_k=9)"))
    assert list(ask(mended, tmp_path / "run", **index)["methods"]) == ["vector", "wide"]


def test_rehearsal_asks_no_given_model(data: Path, tmp_path: Path) -> None:
    asked = []

    def reply(system: str, user: str) -> str:
        asked.append(user)
        return '{"text": "Graz", "citations": [], "found": true}'

    experiment = Experiment(data, ("vanilla", "vector"), answered=True, limit=2, metrics=("recall@5",))
    summary = ask(experiment, tmp_path / "run", llm=ScriptedLLM(reply))
    assert len(asked) == 2 * (2 + 1)  # and one that does not count
    # What ranks nothing is not measured by what it would rank.
    assert summary["methods"]["vanilla"]["metrics"] == {} and summary["methods"]["vanilla"]["failed"] == 0
    assert summary["methods"]["vanilla"]["against_baseline"] is None
    assert summary["methods"]["vector"]["metrics"].keys() == {"recall@5"}
    assert summary["methods"]["vector"]["against_baseline"] == {}
    assert "vanilla" in (tmp_path / "run" / "report.md").read_text(encoding="utf-8")


def test_folder_with_other_files_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="holds no run"):
        ask(Experiment(data, ("bm25",)), data)
    assert not (data / "manifest.json").exists() and not (data / "index").exists()


def test_damaged_results_name_line(data: Path, finished: Path) -> None:
    out, experiment = finished, Experiment(data, METHODS)
    lines = (out / "results.jsonl").read_bytes().splitlines(keepends=True)
    (out / "results.jsonl").write_bytes(b"".join([lines[0], lines[1][:20], b"\n", *lines[2:]]))
    with pytest.raises(DataError, match=r"results\.jsonl:2 is not a result"):
        ask(experiment, out)
    (out / "results.jsonl").write_bytes(b"".join([*lines, lines[1]]))
    with pytest.raises(DataError, match=r"results\.jsonl:13 repeats"):
        ask(experiment, out)


def test_index_of_equal_corpus_is_reused(data: Path, once: Path, tmp_path: Path) -> None:
    ask(Experiment(data, ("vector",)), tmp_path / "second", index=once / "index")
    assert not (tmp_path / "second" / "index").exists()
    assert len(rows(tmp_path / "second")) == 4


@pytest.mark.parametrize(
    ("change", "more", "says"),
    [
        (None, {"titles": False}, "without titles: document '.*' has another title"),
        (None, {"extraction": "openie"}, "built with the extractor mentions"),
        (None, {"embed": ("passages", "names")}, "embeds passages, names, triples, and this run asks for"),
        ({"id": "mur", "title": "Mur", "text": "Another text."}, {}, "document 'mur' has another title, text"),
        ({"id": "sava", "title": "Sava", "text": "A river."}, {}, "5 of the 6 of this corpus"),
    ],
)
def test_index_of_other_corpus_is_refused(
    data: Path, once: Path, tmp_path: Path, change: dict[str, str] | None, more: dict[str, Any], says: str
) -> None:
    if change is not None:
        lines = (data / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        corpus = [change, *map(json.loads, lines[1:])]
        asked = [{"id": "q", "question": "Which river?", "gold_ids": ["drava"]}]
        write_lines(data / "corpus.jsonl", corpus)
        write_lines(data / "questions.jsonl", asked)
    with pytest.raises(OptionError, match=says):
        ask(Experiment(data, ("bm25",), **more), tmp_path / "second", index=once / "index")
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"methods": ()}, "There are no methods"),
        ({"methods": ("bm52",)}, "no method 'bm52'. Did you mean 'bm25'"),
        ({"metrics": ("recall@3",)}, "no metric 'recall@3'. Did you mean 'recall@"),
        ({"baseline": "vector"}, "baseline 'vector' is not among the methods bm25"),
        ({"extraction": "llm"}, "extraction is 'llm'; it must be one of 'mentions', 'rules', 'openie'"),
        ({"embed": ("texts",)}, "choose from"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": 1.5}, "limit is 1.5; it must be a whole number"),
        ({"limit": True}, "limit is True"),
        ({"seed": -1}, "seed is -1; it must be a whole number, at least 0"),
        ({"seed": "x"}, "seed is 'x'; it must be a whole number"),
        ({"linked": "no"}, "linked is 'no'; it must be one of True, False"),
        ({"metrics": "recall@5"}, "give a list of names"),
    ],
)
def test_impossible_experiment_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Experiment(**{"data": Path(), "methods": (bm25,), **arguments})


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "corpus.jsonl").unlink(), "no corpus"),
        (lambda folder: (folder / "openie.jsonl").unlink(), "openie.jsonl"),
        (lambda folder: shutil.rmtree(folder), "no such file or folder"),
        (
            lambda folder: write_lines(folder / "questions.jsonl", [{"id": "q", "question": "Who?"}]),
            "gold_ids",
        ),
        (
            lambda folder: write_lines(
                folder / "questions.jsonl", [{"id": "q", "question": "Who?", "gold_ids": ["p9"]}]
            ),
            "'p9'",
        ),
    ],
)
def test_unusable_data_is_refused_before_work(
    data: Path, tmp_path: Path, spoil: Callable[[Path], None], says: str
) -> None:
    spoil(data)
    with pytest.raises(DataError, match=says):
        ask(Experiment(data, ("bm25",), extraction="openie"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_failed_rows_are_asked_again(data: Path, tmp_path: Path) -> None:
    fails = ["q1", "q2", "q4"]

    def sometimes(ix: Snapshot) -> Operator:
        return Sometimes(VectorSearch(ix.passages) % 3 >> ToPassages(), fails)

    first = ask(Experiment(data, (sometimes,)), tmp_path / "run")
    assert first["methods"]["sometimes"]["failed"] == 3
    errors = [row.get("error", "")[:10] for row in rows(tmp_path / "run")]
    assert errors == ["ModelError", "ModelError", "", "ModelError"]
    fails.clear()
    again = ask(Experiment(data, (sometimes,)), tmp_path / "run")
    assert again["methods"]["sometimes"]["failed"] == 0 and len(rows(tmp_path / "run")) == 7
    assert (
        again["methods"]["sometimes"]["metrics"]["recall@5"]["mean"]
        > first["methods"]["sometimes"]["metrics"]["recall@5"]["mean"]
    )


def test_failing_model_ends_run_and_keeps_results(data: Path, tmp_path: Path) -> None:
    fails = ["q1", "q2", "q3"]

    def sometimes(ix: Snapshot) -> Operator:
        return Sometimes(VectorSearch(ix.passages) % 3 >> ToPassages(), fails)

    with pytest.raises(
        ModelError, match="sometimes failed on its first 3 questions, the last time with ModelError: no reply"
    ):
        ask(Experiment(data, (sometimes, "bm25")), tmp_path / "run")
    selected = pairs(tmp_path / "run")
    assert ("bm25", "q1") in selected and ("sometimes", "q3") in selected
    fails[:] = ["q2", "q3", "q4"]  # once it has answered, the run goes on, whatever three questions do to it
    assert ask(Experiment(data, (sometimes, "bm25")), tmp_path / "run")["methods"]["sometimes"]["failed"] == 3
    fails.clear()
    assert ask(Experiment(data, (sometimes, "bm25")), tmp_path / "run")["methods"]["sometimes"]["failed"] == 0


def test_metric_is_measured_where_data_allow(data: Path, tmp_path: Path) -> None:
    asked = [
        {"id": "g", "question": "Which river flows through Graz?", "gold_ids": ["mur"]},
        {"id": "a", "question": "Which river flows through Graz?", "answers": ["Mur"]},
        {"id": "n", "question": "Which river flows through Graz?"},
    ]
    write_lines(data / "questions.jsonl", asked)
    summary = ask(Experiment(data, ("bm25", "vector"), answered=True), tmp_path / "run")
    assert [sorted(row["metrics"])[0] for row in rows(tmp_path / "run") if row["method"] == "bm25"] == [
        "mrr@10",
        "exact match",
    ]
    assert summary["data"]["unjudged questions left out"] == 1 and summary["data"]["questions"] == 2
    assert summary["methods"]["bm25"]["metrics"]["recall@5"]["mean"] == 1.0
    assert set(summary["methods"]["vector"]["against_baseline"]) == {m["name"] for m in summary["metrics"]}
    few = ask(Experiment(data, ("bm25",), answered=True, limit=1, seed=1), tmp_path / "few")
    names = {m["name"] for m in few["metrics"]}
    assert names == set(few["methods"]["bm25"]["metrics"]) and few["primary"] in names


def test_run_has_one_graph(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    write_lines(mine, [{"id": "a", "question": "Who is Heat by?", "topic_entities": ["Heat"], "answers": ["Mann"]}])
    triples = [("Heat", "by", "Mann"), ("Ali", "by", "Scott")]
    for name, more in (("one", []), ("two", [("Heat", "by", "Scott")])):
        Index.from_graph(tmp_path / name, Graph.from_triples([*triples, *more]), encoder=HashEncoder()).close()
    ask(Experiment(mine, ("lego-1",), index=tmp_path / "one"), tmp_path / "run")
    with pytest.raises(OptionError, match="holds another run: there data graph is"):
        ask(Experiment(mine, ("lego-1",), index=tmp_path / "two"), tmp_path / "run")


def test_questions_on_index_ignore_neighbouring_files(data: Path, once: Path, tmp_path: Path) -> None:
    (data / "kb.tsv").write_text("Heat\tby\tMann\n", encoding="utf-8")
    experiment = Experiment(data / "questions.jsonl", ("bm25",), index=str(once / "index"))
    summary = ask(experiment, tmp_path / "run")
    assert summary["data"]["over"] == "index" and summary["data"]["questions"] == 4
    again = ask(read_plan(tmp_path / "run" / "experiment.toml"), tmp_path / "again")
    assert again["methods"]["bm25"]["metrics"] == summary["methods"]["bm25"]["metrics"]


def test_other_index_for_questions_is_refused(data: Path, once: Path, tmp_path: Path) -> None:
    Index.from_graph(tmp_path / "graph", Graph.from_triples([("Heat", "by", "Mann")]), encoder=HashEncoder()).close()
    mine = tmp_path / "mine.jsonl"
    write_lines(mine, [{"id": "a", "question": "Which river?", "gold_ids": ["mur"]}])
    with pytest.raises(DataError, match="Over a graph answers are measured"):
        ask(Experiment(mine, ("bm25",), index=tmp_path / "graph"), tmp_path / "run")
    write_lines(mine, [{"id": "a", "question": "Who?", "topic_entities": ["Nobody"], "answers": ["Mann"]}])
    with pytest.raises(OptionError, match=r"holds none of the 1 entities .*'Nobody'"):
        ask(Experiment(mine, ("bm25",), index=once / "index"), tmp_path / "run")
    with pytest.raises(StoreError, match=r"is the folder of an evaluation; its index is"):
        ask(Experiment(mine, ("bm25",), index=once), tmp_path / "run")


@dataclass(frozen=True, repr=False)
class Sometimes(Composite):
    step: Operator
    fails: list[str]

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        if state.question.id in self.fails:
            raise ModelError("no reply")
        return self.step.execute(state, run, k)

    def __repr__(self) -> str:
        return "Sometimes()"


class Unshown:
    """A cross-encoder that is shown by where it is in memory, as most people's are."""

    def latents(self, query: str, texts: Sequence[str]) -> Floats:
        return HashEncoder().encode(texts)

    def head(self, latents: Floats) -> Floats:
        return latents[:, 0]


def test_run_with_objects_continues_in_next_process(data: Path, tmp_path: Path) -> None:
    def mine(ix: Snapshot) -> Operator:
        return VectorSearch(ix.passages) % 3 >> Rerank(Unshown()) >> ToPassages()

    methods = [mine, ComparedMethod("other", "rerank", {"cross_encoder": Unshown()})]
    ask(Experiment(data, methods), tmp_path / "run")
    methods = [mine, ComparedMethod("other", "rerank", {"cross_encoder": Unshown()})]  # elsewhere in memory
    asked: list[str] = []
    summary = ask(Experiment(data, methods), tmp_path / "run", progress=lambda what, *_: asked.append(what))
    assert not [what for what in asked if what.startswith("ask")]
    assert "Unshown object" in summary["methods"]["other"]["options"]["cross_encoder"]
    assert "# other is made with objects" in (tmp_path / "run" / "experiment.toml").read_text(encoding="utf-8")


def test_unwritable_names_end_no_run(data: Path, tmp_path: Path) -> None:
    half = {
        "id": "\ud800",
        "question": "Which \ud800 river?",
        "gold_ids": ["mur"],
        "type": "\udfff",
        "answers": ["\ud800"],
    }
    other = {"id": "q", "question": "Which river?", "gold_ids": ["drava"], "type": "a"}
    write_lines(data / "questions.jsonl", [half, other])
    for _ in range(2):
        summary = ask(Experiment(data, [ComparedMethod("\ud801", "bm25")]), tmp_path / "run")
        assert json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8")) == summary
    assert set(summary["methods"]["\ud801"]["breakdown"]["type"]) == {"a", "\N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize("manifest", ["{}", "[]", "null", '{"data": 3}', "{"])
def test_invalid_manifest_is_named(data: Path, tmp_path: Path, manifest: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text(manifest, encoding="utf-8")
    with pytest.raises(DataError, match=r"manifest\.json cannot be read"):
        ask(Experiment(data, ("bm25",)), tmp_path / "run")


@pytest.mark.parametrize(("part", "value"), [("started", 3), ("commit", []), ("index", None), ("continued", {"a": 1})])
def test_kept_part_of_manifest_with_wrong_type_is_named(data: Path, finished: Path, part: str, value: object) -> None:
    path = finished / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) | {part: value}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(DataError, match=part):
        ask(Experiment(data, METHODS), finished)


def test_metric_needing_answers_is_named(data: Path) -> None:
    write_lines(
        data / "questions.jsonl", [{"id": "q", "question": "Which river?", "answers": ["Mur"], "gold_ids": ["mur"]}]
    )
    with pytest.raises(OptionError, match="hit is a metric of answers"):
        Experiment(data, ("bm25",), metrics=("recall@5", "hit"), answered=False).read()


def test_graph_run_measures_answers(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    (folder / "kb.tsv").write_text("Heat\tby\tMann\nAli\tby\tMann\nAli\tin\t2001\n", encoding="utf-8")
    asked = [
        {"id": "a", "question": "Who is Heat by?", "topic_entities": ["Heat"], "answers": ["Mann"], "hops": 1},
        {"id": "b", "question": "What is by Mann?", "topic_entities": ["Mann"], "answers": ["Heat", "Ali"], "hops": 1},
    ]
    write_lines(folder / "questions.jsonl", asked)
    summary = ask(Experiment(folder, ("lego-1", "rog")), tmp_path / "run")
    assert summary["primary"] == "hits@1" and summary["data"]["triples"] == 3 and summary["data"]["nodes"] == 4
    assert summary["methods"]["lego-1"]["metrics"]["hits@1"]["mean"] == 1.0
    assert 0 < summary["methods"]["lego-1"]["metrics"]["micro f1"]["mean"] <= 1
    again = ask(Experiment(folder, ("lego-1",), linked=True), tmp_path / "linked", index=tmp_path / "run" / "index")
    assert again["methods"]["lego-1"]["metrics"]["hits@1"]["mean"] == 1.0
    (folder / "kb.tsv").write_text("Heat\tby\tMann\nAli\tby\tMann\n", encoding="utf-8")
    with pytest.raises(OptionError, match="does not hold the graph of films"):
        ask(Experiment(folder, ("lego-1",)), tmp_path / "third", index=tmp_path / "run" / "index")


def test_questions_alone_are_asked_on_index(data: Path, once: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.jsonl"
    write_lines(mine, [{"id": "m", "question": "Which river flows through Graz?", "gold_ids": ["mur"]}])
    experiment = Experiment(mine, ("vector", "bm25"))
    with pytest.raises(OptionError, match="nothing to search; name the index"):
        ask(experiment, tmp_path / "run")
    summary = ask(experiment, tmp_path / "run", index=once / "index")
    assert summary["methods"]["bm25"]["metrics"]["recall@2"]["mean"] == 1.0
    write_lines(mine, [{"id": "m", "question": "Which river?", "gold_ids": ["sava"]}])
    with pytest.raises(DataError, match="'sava'"):
        ask(experiment, tmp_path / "other", index=once / "index")


def test_answers_are_asked_where_only_they_are_measurable(data: Path, tmp_path: Path) -> None:
    write_lines(
        data / "questions.jsonl", [{"id": "q", "question": "Which river flows through Graz?", "answers": ["Mur"]}]
    )
    summary = ask(Experiment(data, ("bm25",)), tmp_path / "run")
    assert set(summary["methods"]["bm25"]["metrics"]) == {"token f1", "exact match", "hit"}
    assert rows(tmp_path / "run")[0]["answer"]["text"]
    ask(Experiment(data, (named_by_its_function,)), tmp_path / "own")  # it only retrieves
    assert rows(tmp_path / "own")[0]["answer"]["text"].startswith("The river")
    with pytest.raises(OptionError, match="gives no answer, but answers are measured"):
        ask(Experiment(data, (ComparedMethod("links", lambda ix: LinkEntities(ix.names)),)), tmp_path / "other")
    with pytest.raises(DataError, match="recall@5 needs gold"):
        ask(Experiment(data, ("bm25",), metrics=("recall@5",)), tmp_path / "third")


def test_answers_are_judged_with_judge(data: Path, tmp_path: Path) -> None:
    write_lines(
        data / "questions.jsonl", [{"id": "q", "question": "Which river flows through Graz?", "answers": ["Mur"]}]
    )
    summary = ask(Experiment(data, ("bm25", "vector")), tmp_path / "run", judge=OverlapJudge())
    assert summary["judge"]["accuracy"]["bm25"]["questions"] == 1 and (tmp_path / "run" / "judgements.jsonl").exists()
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert "## Right answers" in report and "stand-in" in report


def test_unbuildable_method_is_refused_before_indexing(data: Path, tmp_path: Path) -> None:
    for method, says in (
        ("reg(retriever='missing')", "missing: no such file"),
        ("vektor", "Did you mean 'vector'"),
        ("ppr(restart=7)", "restart"),
    ):
        with pytest.raises(GraphwrightError, match=says):
            ask(Experiment(data, ("bm25", method)), tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_run_without_scipy_lacks_intervals_and_p_values(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (statistics, judge_module):
        monkeypatch.setattr(module, "available", lambda: False)
    write_lines(
        data / "questions.jsonl", [{"id": "q", "question": "Which river flows through Graz?", "answers": ["Mur"]}]
    )
    summary = ask(Experiment(data, ("bm25", "vector")), tmp_path / "run", judge=OverlapJudge())
    assert summary["statistics"] is False
    assert summary["methods"]["bm25"]["metrics"]["hit"].keys() == {"mean"}
    assert summary["methods"]["vector"]["against_baseline"]["hit"].keys() == {"difference"}
    assert summary["judge"]["accuracy"]["bm25"].keys() == {"mean", "questions"}
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert "graphwright[stats]" in report.replace("\\", "")
    assert (tmp_path / "run" / "results.csv").exists()
