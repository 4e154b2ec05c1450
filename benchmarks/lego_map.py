"""Measure extractions, prunings, plans and published systems on MetaQA: the figures of docs/lego.md.

    python benchmarks/lego_map.py --data DIR [--only extractions plans systems prunings] [--questions 50]

Questions are drawn by seed, as many of each number of hops (--questions; 20 for the prunings); of the training set
where plans are ranked, because the default of LengthPenalty was chosen there, else of the dev set. Entities are the
gold ones. All is offline, with the embedded encoder. Writes `lego_map.json`, part by part.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import Record, arguments, parse, read_results, write_results

from graphwright.data.datasets import read_dataset
from graphwright.evaluate.measures import answer_quality
from graphwright.evaluate.metrics import hits_at_1, recall_at_k
from graphwright.generate.readers import TargetAnswer
from graphwright.graph.graph import Graph
from graphwright.kernels.hops import components
from graphwright.methods.papers.lego import cell, lego
from graphwright.methods.papers.lego_systems import explored, planned, selected
from graphwright.models.embedded.encoder import MiniLM
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.paths.paths import ShortestPaths
from graphwright.operators.paths.relation_paths import EdgesBy, Instances, RelationPaths, Relations
from graphwright.operators.rerank.mask import LengthPenalty, MaskEntities
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import BM25
from graphwright.operators.run import ModelMemory, Run
from graphwright.operators.state import State, start
from graphwright.operators.subgraph.narrow import Induce, InduceEdges
from graphwright.operators.subgraph.walk import KHop, PersonalizedPageRank

Measure = Callable[[Operator, Graph, int, Any], Record]
Part = tuple[Mapping[str, Operator], Measure, Sequence[tuple[int, Any]]]
MEMORY = ModelMemory(200_000)
REACHED = ShortestPaths() >> TargetAnswer()


def sample(folder: Path, count: int, split: str = "dev", seed: int = 0) -> list[tuple[int, Any]]:
    """Draw `count` questions of each number of hops."""
    drawn: list[tuple[int, Any]] = []
    for hops in (1, 2, 3):
        every = read_dataset(folder, f"{hops}hop_{split}").questions
        drawn += [(hops, question) for question in random.Random(seed + hops).sample(every, count)]
    return drawn


def run(operator: Operator, graph: Graph, question: Any) -> tuple[State, Run, float]:
    """Return the state after an operator, the run, and its milliseconds."""
    run, begun = Run(memory=MEMORY), time.perf_counter()
    state = operator(start(question.text, graph, entities=question.entities), run)
    return state, run, 1000 * (time.perf_counter() - begun)


def targets(state: State) -> list[str]:
    """Return the names that are answered."""
    return [] if state.answer is None else [citation.text for citation in state.answer.citations]


def summary(rows: Sequence[Record]) -> Record:
    """Return the mean of each figure, of times the median, and the first figure by hops."""
    names = [name for name in rows[0] if name != "hops"]
    result: Record = {
        n: round(float((np.median if n == "ms" else np.mean)([row[n] for row in rows])), 3) for n in names
    }
    by_hops = [[row[names[0]] for row in rows if row["hops"] == hops] for hops in (1, 2, 3)]
    return result | {f"{names[0]} by hops": [round(float(np.mean(values)), 3) for values in by_hops]}


def subgraph(operator: Operator, graph: Graph, hops: int, question: Any) -> Record:
    """Return the answers that an extraction keeps, those that a path leads to, and its cost."""
    state, _, milliseconds = run(operator, graph, question)
    names, gold = graph.names.take(state.graph.nodes), question.answers
    return {
        "answers left": recall_at_k(names, gold, max(len(names), 1)),
        "a path leads there": answer_quality(targets(REACHED(state)), gold).recall,
        "nodes": len(state.graph),
        "parts": int(components(*state.graph.adjacency).max(initial=-1)) + 1,
        "ms": milliseconds,
        "hops": hops,
    }


def extractions(folder: Path, count: int, encoder: MiniLM) -> Part:
    """Return extractions by structure."""
    operators = {name: cell(name, Keep()) for name in ("PPR", "KSE-PPR", "RW", "KSE", "communities")}
    operators["KSE, 2 hops"] = KHop(2) % 1000 >> Induce()
    return operators, subgraph, sample(folder, count)


def prunings(folder: Path, count: int, encoder: MiniLM) -> Part:
    """Return prunings of PPR-1000."""
    operators: dict[str, Operator] = {}
    ppr = PersonalizedPageRank(each=True) % 1000 >> Induce()
    for size in (64, 256):
        for name, model in (("E", encoder), ("BM25", BM25())):
            for kind in ("TP", "EP", "NP"):
                operators[f"{kind}-{name} {size}"] = cell(f"PPR+{kind}-{name}", Keep(), {name: model}, edges=size)
        masked = Relations() >> MaskEntities(Rerank(encoder)) >> EdgesBy() % size >> InduceEdges()
        operators[f"EP-E masked {size}"] = ppr >> masked
    return operators, subgraph, sample(folder, min(count, 20))


def first_plan(operator: Operator, graph: Graph, hops: int, question: Any) -> Record:
    """Return F1 of the nodes that the first relation path leads to."""
    state, _, _ = run(operator % 1 >> Instances() >> TargetAnswer(), graph, question)
    return {"F1": answer_quality(targets(state), question.answers).f1, "hops": hops}


def plans(folder: Path, count: int, encoder: MiniLM) -> Part:
    """Return rankings of relation paths."""
    ranked, paths = Rerank(encoder), RelationPaths(3)
    operators: dict[str, Operator] = {"as it is": paths >> ranked, "masked": paths >> MaskEntities(ranked)}
    for penalty in (0.1, 0.15, 0.2):
        operators[f"masked, shorter {penalty}"] = paths >> LengthPenalty(MaskEntities(ranked), penalty)
    return operators, first_plan, sample(folder, count, "train", seed=1)


def answers(operator: Operator, graph: Graph, hops: int, question: Any) -> Record:
    """Return the quality of the answers, and their cost."""
    state, usage, milliseconds = run(operator >> TargetAnswer(), graph, question)
    names, quality = targets(state), answer_quality(targets(state), question.answers)
    return {
        "Hits@1": hits_at_1(names, question.answers),
        "recall": quality.recall,
        "F1": quality.f1,
        "ms": milliseconds,
        "texts": usage.usage.texts,
        "hops": hops,
    }


def systems(folder: Path, count: int, encoder: MiniLM) -> Part:
    """Return published systems."""
    operators = {
        "rog": planned(encoder) >> Instances() % 100,
        "rog, one plan": planned(encoder, 1) >> Instances() % 100,
        "gsr": planned(encoder) >> Instances() >> InduceEdges() >> ShortestPaths() % 32,
        "tog": explored(encoder),
        "lego-1": lego(1, encoder),
        "kelp": selected(encoder, encoder),
    }
    return operators, answers, sample(folder, count, seed=7)


PARTS: Mapping[str, Callable[[Path, int, MiniLM], Part]] = {
    "extractions": extractions,
    "plans": plans,
    "systems": systems,
    "prunings": prunings,
}


def main() -> None:
    """Measure the parts asked for."""
    parser = arguments(__doc__, parts=list(PARTS))
    parser.add_argument("--questions", type=int, default=50)
    options = parse(parser)
    folder, path = options.data / "kgqa" / "metaqa", options.out / "lego_map.json"
    graph, encoder = Graph.from_triples(read_dataset(folder, "1hop_dev").triples or ()), MiniLM()
    results = read_results(path)
    for part in options.only:
        operators, measure, questions = PARTS[part](folder, options.questions, encoder)
        results[part] = {"questions": len(questions)}
        for name, operator in operators.items():
            measure(operator, graph, *questions[0])  # the first question pays for what is compiled and made once
            results[part][name] = summary([measure(operator, graph, *question) for question in questions])
            print(part, name, results[part][name], flush=True)
            write_results(path, results)


if __name__ == "__main__":
    main()
