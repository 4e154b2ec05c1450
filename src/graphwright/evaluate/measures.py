"""What is measured of a question asked: every metric of a run by its name, and which of them data can bear."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from graphwright.data.questions import QuestionRecord
from graphwright.errors import OptionError, meant
from graphwright.evaluate import metrics
from graphwright.evaluate.quality import answer_quality, path_quality, subgraph_quality
from graphwright.evaluate.summaries import SUMMARY_METRICS, summary_scores
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.operators.state import State
from graphwright.operators.subgraph.references import passage_graph

__all__ = ["MEASURES", "Measure", "Outcome", "chosen", "usual"]

PATHS = 32  # of the evidence, as LEGO-GraphRAG judges them


@dataclass(frozen=True)
class Outcome:
    """What came of a question.

    `graph`: the snapshot's, all of it; `documents`: ids, best first; `answers`: short texts, best first, None where
    nothing was to be answered; `answer`: the whole text; `wanted`: the nodes of each thing that should be found, none
    for one that is not there.
    """

    question: QuestionRecord
    state: State
    graph: Graph
    documents: Sequence[str]
    answers: Sequence[str] | None
    answer: str
    wanted: Sequence[Ints]


@dataclass(frozen=True)
class Measure:
    """A metric: `of` gives its value for one question, or two numbers of which a run divides the sums.

    `about`: a sentence; `kind`: what it is of (retrieval, answer, graph); `needs`: what the question has to have: gold
    (documents), answers (accepted ones), or "any", which is gold over documents and answers over a graph.
    """

    name: str
    about: str
    kind: str
    needs: str
    of: Callable[[Outcome], float | tuple[float, float]]

    def over(self, kind: str) -> Measure:
        """Return it as it is over documents or a graph: there is no "any" among its needs.

        >>> MEASURES["topological recall"].over("documents").needs, MEASURES["topological recall"].over("graph").needs
        ('gold', 'answers')
        """
        if self.needs != "any":
            return self
        return replace(self, needs="answers") if kind == "graph" else replace(self, needs="gold", kind="retrieval")

    def fits(self, question: QuestionRecord) -> bool:
        """Whether a question has what it needs; where that is "any", whether it has either."""
        return bool((self.needs != "answers" and question.gold) or (self.needs != "gold" and question.answers))


def _ranking(name: str, of: Callable[[Iterable[str], Iterable[str], int], float], k: int, about: str) -> Measure:
    return Measure(f"{name}@{k}", about.format(k=k), "retrieval", "gold", lambda o: of(o.documents, o.question.gold, k))


def _answering(name: str, of: Callable[[Sequence[str], Sequence[str]], float], about: str) -> Measure:
    return Measure(name, about, "answer", "answers", lambda o: of(o.answers or (), o.question.answers))


def _f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    return answer_quality(predicted, gold).f1


def _micro(outcome: Outcome) -> tuple[float, float]:
    return metrics.counted(outcome.answers or (), outcome.question.answers)


def _subgraph(part: str, outcome: Outcome) -> float:
    return float(getattr(subgraph_quality(outcome.state.graph, outcome.question.answers), part))


def _paths(part: str, outcome: Outcome) -> float:
    state = outcome.state
    if state.evidence is None:
        return 0.0
    return float(getattr(path_quality(state.with_(evidence=state.evidence.top(PATHS)), outcome.question.answers), part))


def _near(outcome: Outcome) -> float:
    """Return the topological recall of the first 10, the oracle nodes being all nodes of what should be found.

    FastInsight, Definition 7, on its corpus graph, where texts are joined with those that they refer to. Over documents
    that is `passage_graph`, with its usual settings: found are the first 10 passages, and wanted is every passage of
    every gold document (section 4.2.2), so a long document counts for more than a short one. Over a graph it is the
    graph itself: found are the nodes of the first 10 pieces of evidence, ends of triples too, wanted all nodes of an
    answer's very name. A document or an answer that is not there counts as one node that nothing is near to. So where
    each document is one passage, it is recall@10 and what is added for documents near by (Corollary 1).
    """
    evidence, graph = outcome.state.evidence, passage_graph(outcome.graph)
    wanted = np.concatenate([np.empty(0, np.int64), *outcome.wanted])
    found: Sequence[int] | Ints = [] if outcome.state.chunks is None else outcome.state.chunks.ids[:10]
    if graph.passages is None and evidence is not None:
        best = evidence.top(10)
        found = np.concatenate((best.nodes, graph.ends(best.edges)))
    absent = sum(not len(nodes) for nodes in outcome.wanted)
    return metrics.topological_recall(graph, found, wanted) * len(wanted) / max(len(wanted) + absent, 1)


def _summary(name: str, outcome: Outcome) -> float:
    return summary_scores(outcome.answer, outcome.question.answers)[name]


def _all() -> Iterable[Measure]:
    for k in (1, 2, 5, 10, 20, 100):
        yield _ranking("recall", metrics.recall_at_k, k, "Share of the gold documents among the first {k}.")
    yield _ranking(
        "capped recall", metrics.capped_recall_at_k, 10, "Gold documents among the first {k}, of as many as fit (BEIR)."
    )
    for k in (5, 10):
        yield _ranking("ndcg", metrics.ndcg_at_k, k, "Gain of the first {k}, discounted by rank; 1 for an ideal order.")
    yield _ranking("mrr", metrics.mrr_at_k, 10, "1 over the rank of the first gold document, 0 beyond the first {k}.")
    yield _answering("hits@1", metrics.hits_at_1, "Whether the first answer is an accepted one.")
    yield _answering("hit", metrics.hit, "Whether an answer contains an accepted one.")
    yield _answering("f1", _f1, "F1 between the sets of answers given and accepted; the mean of it is macro F1.")
    yield Measure("micro f1", "F1 of the answers of all questions taken together.", "answer", "answers", _micro)
    yield _answering("exact match", metrics.exact_match, "Whether the answer is an accepted one, to the word (SQuAD).")
    yield _answering("token f1", metrics.token_f1, "F1 between the words of the answer and of an accepted one (SQuAD).")
    for name in SUMMARY_METRICS:
        about = f"{name} of the answer against the accepted ones, as summaries are compared."
        yield Measure(name.lower(), about, "answer", "answers", partial(_summary, name))
    for part in ("precision", "recall", "f1"):
        about = f"{part.capitalize()} of the accepted answers among the nodes "
        yield Measure(f"subgraph {part}", f"{about}of the graph.", "graph", "answers", partial(_subgraph, part))
        yield Measure(
            f"path {part}", f"{about}that the first {PATHS} paths lead to.", "graph", "answers", partial(_paths, part)
        )
    yield Measure(
        "topological recall",
        "How near the first 10 passages are to those of the gold documents, on the graph of passages; over a graph, "
        "the nodes of the first 10 pieces to the answers, on that graph (FastInsight, Definition 7).",
        "graph",
        "any",
        _near,
    )


MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _all()}

_USUAL = {
    ("documents", "gold"): ("recall@2", "recall@5", "recall@10", "recall@20", "ndcg@10", "mrr@10"),
    ("documents", "answers"): ("exact match", "token f1", "hit"),
    ("graph", "answers"): ("hits@1", "hit", "f1", "micro f1"),
}


def usual(over: str, has: Iterable[str]) -> tuple[str, ...]:
    """Return the names of what is measured over documents or a graph where questions have gold or answers.

    The first is the one that a run is about. Of documents with gold, recall@5 is.

    >>> usual("graph", ["answers"])
    ('hits@1', 'hit', 'f1', 'micro f1')
    """
    held = set(has)
    return tuple(name for (kind, needs), names in _USUAL.items() if kind == over and needs in held for name in names)


def chosen(names: Sequence[str]) -> tuple[Measure, ...]:
    """Return measures by their names. Raises OptionError for one that is not there, with the nearest."""
    if isinstance(names, str):
        raise OptionError(f"metrics are {names!r}; give a list of names, as [{names!r}].")
    for name in names:
        if name not in MEASURES:
            raise OptionError(f"there is no metric {name!r}.{meant(name, MEASURES)} There are {', '.join(MEASURES)}.")
    return tuple(MEASURES[name] for name in dict.fromkeys(names))
