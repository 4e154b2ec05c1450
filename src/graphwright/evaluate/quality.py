"""How much of the answers a subgraph, paths or names hold, and how much else: footnote 11 of LEGO-GraphRAG.

Precision = |C ∩ A|/|C|, recall = |C ∩ A|/|A|, F1 their harmonic mean, where A are the accepted answers and C what was
found, both sets of names, normalised as in `evaluate.metrics`. So nodes that share a name are one thing found, and an
answer that they share is one answer; an answer that the graph does not hold stays in A and counts as not found.
Nothing found where nothing is accepted is 1 in all three, as in SQuAD 2.0; else a share of nothing is 0.
"""

from __future__ import annotations

from typing import NamedTuple

from graphwright.errors import OptionError
from graphwright.evaluate.metrics import Texts, normalised
from graphwright.generate.targets import TargetAnswer
from graphwright.graph.graph import Graph
from graphwright.operators.state import State

__all__ = ["Quality", "answer_quality", "path_quality", "subgraph_quality"]


class Quality(NamedTuple):
    """Precision, recall and F1 of what was found, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def answer_quality(predicted: Texts, gold: Texts) -> Quality:
    """Return how well the predicted names are the accepted answers, whatever their order.

    >>> answer_quality(["Graz", "Linz", "Wels", "graz"], ["Graz", "Wien"])
    Quality(precision=0.3333333333333333, recall=0.5, f1=0.4)
    """
    found, right = _names(predicted), _names(gold)
    common, both = len(found & right), len(found) + len(right)
    if not both:
        return Quality(1.0, 1.0, 1.0)
    # |C ∩ A| is 0 where a side is empty, and 2PR/(P + R) is 2|C ∩ A|/(|C| + |A|).
    return Quality(common / max(len(found), 1), common / max(len(right), 1), 2 * common / both)


def subgraph_quality(graph: Graph, gold: Texts) -> Quality:
    """Return how well the nodes of a part of a graph are the accepted answers (a.1 of section 4.1).

    All nodes count, those that the question names too: they are part of what is searched next.

    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Ida", "spouse", "Udo"), ("Udo", "ally", "Otto")])
    >>> subgraph_quality(kin.part([0, 1]), ["Ida", "Udo"])
    Quality(precision=0.5, recall=0.5, f1=0.5)
    """
    return answer_quality(graph.names.take(graph.nodes), gold)


def path_quality(state: State, gold: Texts) -> Quality:
    """Return how well the nodes that the evidence leads to are the accepted answers (a.2 of section 4.1).

    A path leads to the last of its nodes that the question does not name, as for TargetAnswer: so a query entity is
    never found by a path, though it be an answer. Raises OptionError where nothing has looked for evidence.

    >>> from graphwright.operators.paths.paths import ShortestPaths; from graphwright.operators.state import start
    >>> kin = Graph.from_triples([("Bertha", "child", "Ida"), ("Ida", "spouse", "Udo"), ("Udo", "ally", "Otto")])
    >>> path_quality((ShortestPaths() % 2)(start("Who?", kin, entities=["Bertha"])), ["Udo", "Bertha"])
    Quality(precision=0.5, recall=0.5, f1=0.5)
    """
    if state.evidence is None:
        raise OptionError(f"the state has no evidence: paths are judged after a step such as ShortestPaths(), {state}.")
    reply = TargetAnswer()(state.with_(answer=None)).answer
    return answer_quality([] if reply is None else [cited.text for cited in reply.citations], gold)


def _names(given: Texts) -> set[str]:
    texts = (given,) if isinstance(given, str) else given
    return {name for name in map(normalised, texts) if name}
