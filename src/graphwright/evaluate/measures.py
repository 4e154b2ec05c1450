"""Metrics of a run by name: of rankings, answers, subgraphs and paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import Checked, OneOf
from graphwright.data import QuestionRecord
from graphwright.errors import OptionError, meant
from graphwright.evaluate import metrics
from graphwright.evaluate.metrics import Texts, answer_set
from graphwright.generate import TargetAnswer
from graphwright.graph import Graph
from graphwright.graph.evidence import Ints
from graphwright.operators import PassageGraph, State

PATHS = 32  # items of the evidence that count as paths, as in LEGO-GraphRAG


@dataclass(frozen=True)
class Outcome:
    """The result of a question.

    `graph`: the whole graph of the snapshot; `documents`: ids, best first; `answers`: short texts, best first, None
    where the method does not answer; `answer`: the whole text; `targets`: the nodes of each gold document or accepted
    answer, empty for one that the graph lacks.
    """

    question: QuestionRecord
    state: State
    graph: Graph
    documents: Sequence[str]
    answers: Sequence[str] | None
    answer: str
    targets: Sequence[Ints]


@dataclass(frozen=True)
class Measure(Checked):
    """A metric: `of` returns its value for one question, or numerator and denominator of a ratio of sums over a run.

    `about`: a sentence; `kind`: retrieval, answer or graph; `needs`: gold data that a question must have: gold
    (documents), answers (accepted ones), or "any", which is gold over documents and answers over a graph.
    """

    name: str
    about: str
    kind: Annotated[str, OneOf("retrieval", "answer", "graph")]
    needs: Annotated[str, OneOf("gold", "answers", "any")]
    of: Callable[[Outcome], float | tuple[float, float]]

    def over(self, kind: str) -> Measure:
        """Return the metric for documents or a graph, with "any" resolved."""
        if self.needs != "any":
            return self
        return replace(self, needs="answers") if kind == "graph" else replace(self, needs="gold", kind="retrieval")

    def fits(self, question: QuestionRecord) -> bool:
        """Return whether a question has the data that the metric needs."""
        return bool((self.needs != "answers" and question.gold) or (self.needs != "gold" and question.answers))


class Quality(NamedTuple):
    """Precision, recall and F1, each from 0 to 1 (LEGO-GraphRAG, footnote 11).

    Precision = |C ∩ A|/|C|, recall = |C ∩ A|/|A|, F1 their harmonic mean, where A are the accepted answers and C the
    candidates, both sets of names, normalised as in `evaluate.metrics`. Without both all three are 1, as in SQuAD 2.0.
    """

    precision: float
    recall: float
    f1: float


def answer_quality(predicted: Texts, gold: Texts) -> Quality:
    """Return the quality of the predicted names as the accepted answers, whatever their order.

    >>> answer_quality(["Graz", "Linz", "Wels", "graz"], ["Graz", "Wien"])
    Quality(precision=0.3333333333333333, recall=0.5, f1=0.4)
    """
    candidates, accepted = answer_set(predicted), answer_set(gold)
    common, both = len(candidates & accepted), len(candidates) + len(accepted)
    if not both:
        return Quality(1.0, 1.0, 1.0)
    # |C ∩ A| is 0 where a side is empty, and 2PR/(P + R) is 2|C ∩ A|/(|C| + |A|).
    return Quality(common / max(len(candidates), 1), common / max(len(accepted), 1), 2 * common / both)


def subgraph_quality(graph: Graph, gold: Texts) -> Quality:
    """Return the quality of all nodes of a subgraph as the accepted answers (LEGO-GraphRAG, 4.1, a.1)."""
    return answer_quality(graph.names.take(graph.nodes), gold)


def path_quality(state: State, gold: Texts) -> Quality:
    """Return the quality of the nodes that the evidence leads to as the accepted answers (LEGO-GraphRAG, 4.1, a.2).

    A path leads to its last node that the question does not name, as in TargetAnswer, so a query entity is never
    found by a path. Raises OptionError for a state without evidence.
    """
    if state.evidence is None:
        raise OptionError(f"The state has no evidence; run a step such as ShortestPaths() first: {state}.")
    answer = TargetAnswer()(state.with_(answer=None)).answer
    return answer_quality([] if answer is None else [cited.text for cited in answer.citations], gold)


def _topological_recall(outcome: Outcome) -> float:
    """Return the topological recall of the first 10 results (FastInsight, Definition 7).

    Over documents: on the graph of passages with its default settings, from the first 10 passages to all passages of
    the gold documents (section 4.2.2). Over a graph: on the graph itself, from the nodes of the first 10 items of
    evidence, ends of triples included, to all nodes with the name of an answer. A document or an answer that the index
    lacks counts as one unreachable node.
    """
    evidence, graph = outcome.state.evidence, PassageGraph()(outcome.graph)
    oracle = np.concatenate([np.empty(0, np.int64), *outcome.targets])
    nodes: Sequence[int] | Ints = [] if outcome.state.passages is None else outcome.state.passages.ids[:10]
    if graph.passages is None and evidence is not None:
        best = evidence.top(10)
        nodes = np.concatenate((best.nodes, graph.ends(best.edges)))
    absent = sum(not len(target) for target in outcome.targets)
    return metrics.topological_recall(graph, nodes, oracle) * len(oracle) / max(len(oracle) + absent, 1)


def _subgraph(part: str, outcome: Outcome) -> float:
    return float(getattr(subgraph_quality(outcome.state.graph, outcome.question.answers), part))


def _paths(part: str, outcome: Outcome) -> float:
    state = outcome.state
    if state.evidence is None:
        return 0.0
    return float(getattr(path_quality(state.with_(evidence=state.evidence.top(PATHS)), outcome.question.answers), part))


def _micro(outcome: Outcome) -> tuple[float, float]:
    return metrics.f1_terms(answer_set(outcome.answers or ()), answer_set(outcome.question.answers))


def _retrieval(name: str, of: Callable[[Iterable[str], Iterable[str], int], float], k: int, about: str) -> Measure:
    return Measure(f"{name}@{k}", about.format(k=k), "retrieval", "gold", lambda o: of(o.documents, o.question.gold, k))


def _answer(name: str, of: Callable[[Sequence[str], Sequence[str]], float], about: str) -> Measure:
    return Measure(name, about, "answer", "answers", lambda o: of(o.answers or (), o.question.answers))


def _all() -> Iterable[Measure]:
    for k in (1, 2, 5, 10, 15, 20, 100):
        yield _retrieval("recall", metrics.recall_at_k, k, "Share of the gold documents among the first {k}.")
    capped = "Gold documents among the first {k}, relative to the largest possible number (BEIR)."
    yield _retrieval("capped recall", metrics.capped_recall_at_k, 10, capped)
    for k in (5, 10):
        about = "Gain of the first {k}, discounted by rank; 1 for an ideal order."
        yield _retrieval("ndcg", metrics.ndcg_at_k, k, about)
    yield _retrieval("mrr", metrics.mrr_at_k, 10, "1 over the rank of the first gold document, 0 beyond the first {k}.")
    yield _answer("hits@1", metrics.hits_at_1, "Whether the first answer is an accepted one.")
    yield _answer("hit", metrics.hit, "Whether an answer contains an accepted one.")
    yield _answer(
        "f1",
        lambda answers, accepted: answer_quality(answers, accepted).f1,
        "F1 between the sets of given and accepted answers; its mean is macro F1.",
    )
    yield Measure("micro f1", "F1 of the answers of all questions taken together.", "answer", "answers", _micro)
    yield _answer("exact match", metrics.exact_match, "Whether the answer is an accepted one, to the word (SQuAD).")
    yield _answer("token f1", metrics.token_f1, "F1 between the words of the answer and of an accepted one (SQuAD).")
    for part in ("precision", "recall", "f1"):
        about = f"{part.capitalize()} of the accepted answers among the nodes "
        ends = f"{about}that the first {PATHS} paths lead to."
        yield Measure(f"subgraph {part}", f"{about}of the graph.", "graph", "answers", partial(_subgraph, part))
        yield Measure(f"path {part}", ends, "graph", "answers", partial(_paths, part))
    about = (
        "Nearness of the first 10 passages to those of the gold documents, on the graph of passages; over a graph, of "
        "the nodes of the first 10 items to the answers, on that graph (FastInsight, Definition 7)."
    )
    yield Measure("topological recall", about, "graph", "any", _topological_recall)


MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _all()}  # all metrics of a run

_DEFAULTS = {
    ("documents", "gold"): ("recall@2", "recall@5", "recall@10", "recall@15", "ndcg@10", "mrr@10"),
    ("documents", "answers"): ("exact match", "token f1", "hit"),
    ("graph", "answers"): ("hits@1", "hit", "f1", "micro f1"),
}


def default_metrics(over: str, has: Iterable[str]) -> tuple[str, ...]:
    """Return the default metrics over documents or a graph, where questions have gold or answers."""
    has = set(has)
    return tuple(name for (kind, needs), names in _DEFAULTS.items() if kind == over and needs in has for name in names)


def select_measures(metrics: Sequence[str | Measure]) -> tuple[Measure, ...]:
    """Return metrics, each once, given by name or as values of your own.

    Raises OptionError for an unknown name, with the nearest known one, and for two metrics of one name.
    """
    if isinstance(metrics, str):
        raise OptionError(f"metrics is {metrics!r}; give a list of names, as [{metrics!r}].")
    selected: dict[str, Measure] = {}
    for metric in metrics:
        name = metric.name if isinstance(metric, Measure) else metric
        known = {**MEASURES, **selected}
        if not isinstance(metric, Measure):
            if name not in known:
                raise OptionError(f"There is no metric {name!r}.{meant(name, MEASURES)} Known: {', '.join(MEASURES)}.")
            metric = known[name]
        elif known.get(name, metric) is not metric:
            raise OptionError(f"There are two metrics {name!r}; give yours another name.")
        selected[name] = metric
    return tuple(selected.values())
