"""Figures of the papers' tables whose methods answer: asked by the testbed, offline or with a language model.

Each function takes the settings of a run. A method that is nothing but a language model has no row offline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from harness import SPACES, Record, shared_index

from graphwright.cli.terminal import progress as shown_progress
from graphwright.evaluate.entries import ComparedMethod
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.judge import DIMENSIONS, Judge, judge_run
from graphwright.evaluate.run import run
from graphwright.files import whole_lines
from graphwright.generate.path_contexts import FlatContext
from graphwright.methods.answering import either
from graphwright.methods.method import Method
from graphwright.methods.papers.lego import BestByChoice, BestByScore, answered, cell, scorer
from graphwright.methods.papers.trees import node_vectors
from graphwright.methods.registry import METHODS, make_method
from graphwright.models.embedded.cross_encoder import MiniLMCrossEncoder
from graphwright.models.protocols import LLM
from graphwright.operators.anchors.group_anchors import GroupAnchors, GroupByModel
from graphwright.operators.anchors.keywords import (
    LatentKeywords,
    NamesAndPhrases,
    Relax,
    Specialise,
    SpecialiseInContext,
)
from graphwright.operators.control import OnGraph
from graphwright.operators.grow import Grow, GrowByModel
from graphwright.operators.operator import Operator
from graphwright.operators.paths.beam import BeamSearch
from graphwright.operators.paths.node_paths import HopFirst, ShortestPaths, Shuffled
from graphwright.operators.rerank.rerank import Choose, Rerank
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.subgraph.views import StatementGraph
from graphwright.operators.trees import Bubble
from graphwright.search.snapshot import Snapshot
from published.overlap_judge import OverlapJudge
from published.tables import NotMeasured, Ours

Build = Callable[[Snapshot, LLM | None], Method]
PATHS, POOL = 32, 64
SHOWN = 256  # paths that a language model chooses from


@dataclass(frozen=True)
class Settings:
    """Where data and runs are, how much is asked, and by which language model; None is offline.

    `label`: the name of the table, which its runs are kept under. `rows`: the rows that are asked; by default all.
    `timed`: whether seconds are shown.
    """

    data: Path
    work: Path
    questions: int
    llm: LLM | None = None
    context_tokens: int | None = None
    label: str = "papers"
    rows: tuple[str, ...] = ()
    timed: bool = True

    def asked(self, methods: Mapping[str, Build]) -> dict[str, Build]:
        """Return the methods whose rows are asked. Raises NotMeasured where there is none."""
        chosen = {name: build for name, build in methods.items() if not self.rows or name in self.rows}
        if not chosen:
            raise NotMeasured(f"no row of {', '.join(self.rows)} can be asked here; there are: {', '.join(methods)}.")
        return chosen

    @property
    def model(self) -> str:
        """The name of the language model, without its address and limits; "" offline."""
        return "" if self.llm is None else re.split(r"[ @]", self.llm.id)[0]

    @property
    def judge(self) -> LLM | Judge:
        """The judge of answers: the language model, or offline a count of words."""
        return self.llm or OverlapJudge()

    def folder(self, set_: str) -> Path:
        """Return the folder of a run on a set."""
        model = "offline" if self.llm is None else self.llm.id
        parts = (self.label, *self.rows, set_, str(self.questions), model)
        return self.work / "papers" / re.sub(r"[^\w.-]", "-", "-".join(parts))


SETS: Mapping[str, tuple[str, str, str]] = {
    "HotpotQA": ("multihop/hotpotqa100", "mentions", "hotpotqa100"),
    "MuSiQue": ("multihop/musique", "openie", "musique-openie"),
    "2Wiki": ("multihop/2wiki", "mentions", "2wiki"),
    "SQuALITY": ("long/squality_train.jsonl", "mentions", "squality-stories"),
    "PathQuestion": ("kgqa/pq-2h", "mentions", "pq-2h"),
}
"""Data sets by name: path, extraction, and name of the index, which other benchmarks use too."""


METRICS: Mapping[str, tuple[str, ...]] = {
    "kgqa": ("hits@1", "path f1", "path recall", "f1"), "multihop": ("token f1", "recall@10"), "long": ("token f1",)
}  # fmt: skip
"""Metrics by the folder of a data set."""


def named(method: str, **options: Any) -> Build:
    """Return the builder of a registered method."""

    def build(ix: Snapshot, llm: LLM | None) -> Method:
        own = {"llm": llm} if llm is not None and "llm" in METHODS[method].options else {}
        return make_method(method, ix, **own, **options)

    return build


def needs_llm(method: str) -> bool:
    """Return whether a method is nothing but a language model."""
    return "llm" in METHODS[method].required


def ask(settings: Settings, set_: str, methods: Mapping[str, Build]) -> tuple[Record, Path, Sequence[Any]]:
    """Ask the methods the questions of a set, and return the summary, its folder, and the questions."""
    data, extraction, label = SETS[set_]

    def entry(name: str, build: Build) -> ComparedMethod:
        return ComparedMethod(name, lambda ix: build(ix, settings.llm).within(tokens=settings.context_tokens))

    experiment = Experiment(
        settings.data / data,
        [entry(name, build) for name, build in methods.items()],
        extraction,
        embed=None if data.startswith("kgqa") else SPACES,
        limit=settings.questions,
        answered=True,
        metrics=METRICS[data.partition("/")[0]],
    )
    subject = experiment.read()
    index = settings.work / "indexes" / label
    shared_index(index, experiment, settings.work)
    with shown_progress() as progress:
        out = settings.folder(set_)
        summary = run(experiment, out, index=index, llm=settings.llm, progress=progress)
    return summary, out, subject.questions


def judged(
    settings: Settings, out: Path, questions: Sequence[Any], against: str | None = None, dimensions: Sequence[str] = ()
) -> Record:
    """Return the verdicts on the answers of a run: which are right, or how often they beat those of `against`."""
    rows = [json.loads(line) for line in whole_lines(out / "results.jsonl")]
    wanted = {name: DIMENSIONS[name] for name in dimensions} or DIMENSIONS
    return judge_run(rows, questions, settings.judge, out, against=against, dimensions=wanted, threads=1)


def about(settings: Settings, sets: Sequence[str]) -> str:
    """Return what was asked, of what, by which model."""
    model = (
        "Every step of a language model is done by its offline twin, and answers are quoted or short spans"
        if settings.llm is None
        else f"Every step of a language model, and every verdict, is by {settings.model}"
    )
    of = f"each of {', '.join(sets)}" if len(sets) > 1 else sets[0]
    return f"{settings.questions} questions of {of}, drawn with seed 0. {model}."


def untimed(settings: Settings) -> str:
    """Return a sentence on missing seconds, where they are left out."""
    return "" if settings.timed else " Seconds are left out, as other work was on the machine."


# BubbleRAG

MULTIHOP = ("HotpotQA", "MuSiQue", "2Wiki")
BUBBLERAG = {
    "Vanilla LLM": "vanilla", "CoT + LLM": "cot", "Naive RAG": "vector", "ToG": "tog", "RAPTOR": "raptor",
    "LightRAG (local)": "lightrag-local", "LightRAG (global)": "lightrag-global",
    "LightRAG (hybrid)": "lightrag-hybrid", "HippoRAG2": "hipporag2", "Clue-RAG": "clue-rag", "BubbleRAG": "bubblerag",
}  # fmt: skip


def rows_of(names: Mapping[str, str], settings: Settings) -> dict[str, Build]:
    """Return the builders of methods by the paper's names; without those that cannot be asked."""
    return {
        label: named(method)
        for label, method in names.items()
        if method in METHODS and not (settings.llm is None and needs_llm(method))
    }


def answers(settings: Settings, sets: Sequence[str], methods: Mapping[str, Build], *, seconds: bool = False) -> Ours:
    """Return F1 and accuracy of the answers of each method on each set, or F1 and seconds."""
    methods = settings.asked(methods)
    rows: dict[str, dict[str, Any]] = {name: {} for name in methods}
    for set_ in sets:
        summary, out, questions = ask(settings, set_, methods)
        accuracy = {} if seconds else judged(settings, out, questions)["accuracy"]
        for name, row in rows.items():
            of = summary["methods"][name]
            row[f"{set_} F1"] = round(100 * of["metrics"]["token f1"]["mean"], 1)
            if seconds and settings.timed:
                row[f"{set_} s"] = round(of["milliseconds"]["mean"] / 1e3, 3)
            if name in accuracy:
                row[f"{set_} ACC"] = round(100 * accuracy[name]["mean"], 1)
    judge = (
        "" if settings.llm is not None or seconds else " ACC offline: the accepted answer's words are in the answer."
    )
    return Ours(about(settings, sets) + judge + (untimed(settings) if seconds else ""), rows)


def bubblerag_answers(settings: Settings) -> Ours:
    """Return the quality of answers on three multihop sets."""
    return answers(settings, MULTIHOP, rows_of(BUBBLERAG, settings))


def _groups(ix: Snapshot, llm: LLM | None, *, specialise: bool, relax: bool) -> Operator:
    """Return the steps to groups of anchors, without some of them."""
    steps = either(llm, LatentKeywords, NamesAndPhrases())
    if specialise:
        steps >>= either(llm, Specialise, SpecialiseInContext())
    if relax and llm is not None:
        steps >>= Relax(llm)
    groups = GroupAnchors(ix.names, ix.triples, ix.words)
    return steps >> either(llm, partial(GroupByModel, ix.names, ix.triples), groups)


def bubblerag_ablations(settings: Settings) -> Ours:
    """Return the ablations of BubbleRAG."""

    def without(ix: Snapshot, llm: LLM | None, specialise: bool, relax: bool) -> Method:
        return named("bubblerag", groups=_groups(ix, llm, specialise=specialise, relax=relax))(ix, llm)

    def unranked(ix: Snapshot, llm: LLM | None) -> Method:
        first = OnGraph(StatementGraph(), Bubble(node_vectors(ix)) % 1)
        grow = Grow(ix.triples) if llm is None else GrowByModel(ix.triples, model=llm)
        return named("bubblerag", graphs=first >> grow)(ix, llm)

    methods: dict[str, Build] = {
        "BubbleRAG": named("bubblerag"),
        "w/o Anchor Specialization": partial(without, specialise=False, relax=True),
        "w/o CEG Ranking": unranked,
    }
    if settings.llm is not None:
        methods["w/o Schema Relaxation"] = partial(without, specialise=True, relax=False)
    ours = answers(settings, ("2Wiki", "HotpotQA"), methods)
    if settings.llm is not None:
        return ours
    return Ours(f"{ours.about} Relaxation needs a language model, so the method is already without it.", ours.rows)


def bubblerag_sensitivity(settings: Settings) -> Ours:
    """Return F1 and seconds by B, d and α."""
    values: dict[str, tuple[str, Sequence[float]]] = {
        "B": ("budget", (5, 10, 20, 50)), "d": ("depth", (2, 4, 6, 8)), "α": ("alpha", (0.1, 1.0, 2.0, 5.0))
    }  # fmt: skip
    methods = {
        f"{symbol} = {value:g}": named("bubblerag", **{option: value})
        for symbol, (option, every) in values.items()
        for value in every
    }
    return answers(settings, ("2Wiki",), methods, seconds=True)


def bubblerag_costs(settings: Settings) -> Ours:
    """Return seconds and tokens of a question."""
    names = {name: BUBBLERAG[name] for name in ("Naive RAG", "HippoRAG2", "ToG", "BubbleRAG")}
    return costs(settings, "HotpotQA", rows_of(names, settings), 100)


def costs(settings: Settings, set_: str, methods: Mapping[str, Build], scale: int) -> Ours:
    """Return seconds of a question, and tokens of `scale` questions."""
    methods = settings.asked(methods)
    summary, _, _ = ask(settings, set_, methods)
    rows: dict[str, dict[str, Any]] = {}
    for name in methods:
        of = summary["methods"][name]
        rows[name] = {"s": round(of["milliseconds"]["mean"] / 1e3, 3)} if settings.timed else {}
        if "recall@10" in of["metrics"]:
            rows[name]["R@10"] = round(100 * of["metrics"]["recall@10"]["mean"], 1)
        if settings.llm is not None:
            rows[name][f"tokens, {scale} questions"] = round(scale * (of["prompt_tokens"] + of["completion_tokens"]))
    return Ours(about(settings, (set_,)) + " Indexing reads no language model here." + untimed(settings), rows)


# PathRAG

PATHRAG = {
    "NaiveRAG": "vector", "HyDE": "hyde", "G-retriever": "g-retriever", "HippoRAG": "hipporag",
    "GraphRAG": "graphrag-local", "LightRAG": "lightrag-hybrid",
}  # fmt: skip
FIVE = ("comprehensiveness", "diversity", "logicality", "relevance", "coherence")


def wins(
    settings: Settings, set_: str, ours: tuple[str, Build], others: Mapping[str, Build], *, own: bool = True
) -> Ours:
    """Return win rates by dimension: of our method over each other, or (`own=False`) of each other over ours."""
    name, build = ours
    others = settings.asked(others)
    _, out, questions = ask(settings, set_, {name: build, **others})
    dimensions = FIVE if own else ("overall",) if settings.llm is not None else ("comprehensiveness", "relevance")
    verdicts = judged(settings, out, questions, name, dimensions)["wins"]
    rows: dict[str, dict[str, Any]] = {}
    for other, by_dimension in verdicts.items():
        for dimension, verdict in by_dimension.items():
            rate = round(100 * (1 - verdict["mean"] if own else verdict["mean"]), 1)
            if own:
                rows[f"{other}, {dimension.title()}"] = {set_: rate}
            else:
                rows.setdefault(other, {})[f"{set_}, {dimension}"] = rate
    if not rows:
        raise NotMeasured("needs a language model: offline there is no verdict on these answers.")
    judge = "" if settings.llm is not None else (
        " Verdicts are by the words that answers share with human summaries, which decide two dimensions only."
    )  # fmt: skip
    return Ours(
        f"{about(settings, (set_,))} Win rates in percent; both orders are judged, and a tie is half a win.{judge}",
        rows,
    )


def pathrag_wins(settings: Settings) -> Ours:
    """Return the win rates of PathRAG over its baselines."""
    return wins(settings, "SQuALITY", ("PathRAG", named("pathrag")), rows_of(PATHRAG, settings))


def pathrag_orders(settings: Settings) -> Ours:
    """Return the win rates of the flow-based order of paths."""
    others = {"Random": named("pathrag", order=Shuffled(0)), "Hop-first": named("pathrag", order=HopFirst())}
    return wins(settings, "SQuALITY", ("Flow-based", named("pathrag")), others)


def pathrag_forms(settings: Settings) -> Ours:
    """Return the win rates of a prompt of paths over a flat one."""
    flat = {"Flat": named("pathrag", context=FlatContext)}
    return wins(settings, "SQuALITY", ("Path-based", named("pathrag")), flat)


def pathrag_models(settings: Settings) -> Ours:
    """Return the win rates of PathRAG over LightRAG, under the name of the model."""
    one = {"LightRAG": named("lightrag-hybrid")}
    ours = wins(settings, "SQuALITY", ("PathRAG", named("pathrag")), one)
    model = "offline" if settings.llm is None else settings.model
    return Ours(ours.about, {name.replace("LightRAG", model): row for name, row in ours.rows.items()})


def pathrag_costs(settings: Settings) -> Ours:
    """Return the tokens of a question."""
    if settings.llm is None:
        raise NotMeasured("needs a language model; `quality.py --only short` estimates the tokens of prompts offline.")
    names = {"LightRAG": "lightrag-hybrid", "PathRAG-lt": "pathrag-lt", "PathRAG": "pathrag"}
    return costs(settings, "SQuALITY", rows_of(names, settings), 1)


# FastInsight

FASTINSIGHT = {
    "Vector Search": "vector", "HyDE": "hyde", "Re2": "rerank", "LightRAG": "lightrag-hybrid", "PathRAG": "pathrag",
    "HippoRAG 2": "hipporag2", "GAR": "gar",
}  # fmt: skip


def fastinsight_wins(settings: Settings) -> Ours:
    """Return the win rates of the baselines over FastInsight."""
    fastinsight = ("FastInsight", named("fastinsight"))
    ours = wins(settings, "SQuALITY", fastinsight, rows_of(FASTINSIGHT, settings), own=False)
    return Ours(f"{ours.about} SPLADE and Contriever need weights that are not at hand.", ours.rows)


def two_searches(ix: Snapshot, llm: LLM | None) -> Method:
    """Return IRCoT as the paper runs it: two searches of five nodes each."""
    return make_method("ircot", ix, k=5, steps=1, first=VectorSearch(ix.passages), llm=llm)


def fastinsight_times(settings: Settings) -> Ours:
    """Return the seconds of FastInsight and of IRCoT."""
    methods = {
        "IRCoT + Vector Search": two_searches,
        "FastInsight": named("fastinsight"),
    }
    return costs(settings, "HotpotQA", methods, 100)


# LEGO-GraphRAG and ReG


ANSWERS = {"Hits@1": "hits@1", "F1": "f1", "F1 of paths": "path f1", "recall of paths": "path recall"}
PATHS_FOUND = {"F1": "path f1", "recall": "path recall"}


def graph_answers(
    settings: Settings, methods: Mapping[str, Build], figures: Mapping[str, str] = ANSWERS, scale: float = 100
) -> Ours:
    """Return figures of the answers and the paths of each method on a knowledge graph; shares times `scale`."""
    methods, set_ = settings.asked(methods), "PathQuestion"
    summary, _, _ = ask(settings, set_, methods)
    rows: dict[str, dict[str, Any]] = {}
    for name in methods:
        of = summary["methods"][name]["metrics"]
        shares = {f"{set_} {label}": scale * of[key]["mean"] for label, key in figures.items() if key in of}
        rows[name] = {label: round(share, 1 if scale > 1 else 3) for label, share in shares.items()}
    return Ours(about(settings, (set_,)), rows)


def lego_instances(settings: Settings) -> Ours:
    """Return the answers of the fifteen instances."""
    return graph_answers(settings, {str(number): named(f"lego-{number}") for number in range(1, 16)})


def lego_systems(settings: Settings) -> Ours:
    """Return the answers of RoG, KELP and ToG."""
    names = {"LEGO-RoG (ChatGPT)": "rog", "LEGO-KELP (gpt-4o-mini)": "kelp", "LEGO-ToG (Llama3-8B)": "tog"}
    return graph_answers(settings, rows_of(names, settings))


def hybrid(kind: str) -> Build:
    """Return the builder of a search that combines two models; offline the second is the cross-encoder."""

    def build(ix: Snapshot, llm: LLM | None) -> Method:
        first, second = scorer(ix), MiniLMCrossEncoder()
        choose: Operator = Rerank(second) if llm is None else Choose(llm)
        best = BestByScore(second) if llm is None else BestByChoice(llm, BestByScore(first), SHOWN)
        rounds: Operator = Rerank(second) if llm is None else Choose(llm, SHOWN, rounds=3)
        searches: dict[str, Operator] = {
            "SBE+ISAR-EEMs": BeamSearch(first) % PATHS,
            "SBE+ISAR-EEMs (LLMs-R)": BeamSearch(first) >> choose % PATHS,
            "SBE+ISAR-LLMs": BeamSearch(choose) % PATHS,
            "SBE+ISAR-LLMs (EEMs-PF)": BeamSearch(Rerank(first) % POOL >> choose) % PATHS,
            "SBE+ISAR-LLMs (EEMs-S)": BeamSearch((choose % (PATHS // 8)) | Rerank(first)) % PATHS,
            "SBE+OSAR-LLMs": best(ShortestPaths(), PATHS),
            "SBE+OSAR-LLMs (M-LLMs)": ShortestPaths() >> Rerank(first) % SHOWN >> rounds % PATHS,
            "SBE+OSAR-LLMs (EEMs-S)": ShortestPaths() >> Rerank(first) % SHOWN >> (choose | Rerank(first)) % PATHS,
        }
        return answered(ix, cell("PPR", searches[kind]), llm=llm)

    return build


def lego_beams(settings: Settings) -> Ours:
    """Return F1 of the paths of beam searches by an encoder, a language model, and both."""
    kinds = ["SBE+ISAR-EEMs", "SBE+ISAR-EEMs (LLMs-R)"]
    kinds += [f"SBE+ISAR-LLMs{both}" for both in ("", " (EEMs-PF)", " (EEMs-S)")]
    return _second(settings, graph_answers(settings, {kind: hybrid(kind) for kind in kinds}, PATHS_FOUND, scale=1))


def lego_rounds(settings: Settings) -> Ours:
    """Return F1 of the paths that a language model chooses once, in rounds, and filled up."""
    if settings.llm is None:
        raise NotMeasured("needs a language model: a cross-encoder ranks all paths, and nothing has to be added.")
    kinds = ("SBE+OSAR-LLMs", "SBE+OSAR-LLMs (M-LLMs)", "SBE+OSAR-LLMs (EEMs-S)")
    return graph_answers(settings, {kind: hybrid(kind) for kind in kinds}, PATHS_FOUND, scale=1)


def _second(settings: Settings, ours: Ours) -> Ours:
    if settings.llm is not None:
        return ours
    return Ours(f"{ours.about} Offline the language model of the searches is the embedded cross-encoder.", ours.rows)


def reg_answers(settings: Settings) -> Ours:
    """Return the answers of ReG and of the systems compared, with a language model that reads their evidence."""
    if settings.llm is None:
        raise NotMeasured("is read from reg.json offline.")
    model = settings.model
    names = {
        f"RoG ({model})": "rog",
        f"ToG ({model})": "tog",
        f"G-Retriever ({model})": "g-retriever",
    }
    names |= {f"ReG, the encoder as its retriever ({model})": "reg"}
    return graph_answers(settings, rows_of(names, settings))


Asked = Callable[[Settings], Ours]
ASKED: dict[str, dict[str, Asked]] = {
    "bubblerag": {
        "Table 2": bubblerag_answers, "Table 3": bubblerag_ablations, "Table 4": bubblerag_sensitivity,
        "Table 5": bubblerag_costs,
    },
    "pathrag": {
        "Table 1": pathrag_wins, "Table 2": pathrag_orders, "Table 3": pathrag_forms, "Table 5": pathrag_models,
        "Table 6": pathrag_costs,
    },
    "fastinsight": {"Table 4": fastinsight_wins, "Table 5": fastinsight_times},
    "lego": {"Table 3": lego_systems, "Table 5": lego_beams, "Table 8": lego_rounds, "Figure 2": lego_instances},
    "reg": {"Table 3": reg_answers},
}  # fmt: skip
"""The measure of each table that is asked."""
