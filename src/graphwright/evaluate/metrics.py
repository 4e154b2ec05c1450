"""Metrics of rankings, of answers, and of nearness in a graph, each of one question.

Rankings: f(ranked_ids, gold_ids, k). A repeated id counts once, at its first rank; a k beyond the end of the list takes
all of it; without gold ids the value is 0, as in trec_eval (leave such questions out of a mean).

Answers: f(predicted, gold). `predicted` is a text, or a list of texts with the best first; `gold` the accepted texts.
Both are normalised as in SQuAD (`normalised`). For a question without an accepted answer, `exact_match` and the F1
metrics give 1 to an empty prediction and 0 to any other, as in SQuAD 2.0; `hits_at_1` and `hit` give 0.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphwright.errors import OptionError

if TYPE_CHECKING:
    from graphwright.graph import Graph
    from graphwright.kernels.csr import Csr

Texts = str | Sequence[str]
Item = TypeVar("Item", bound=Hashable)

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def recall_at_k(ranked_ids: Iterable[Hashable], gold_ids: Iterable[Hashable], k: int) -> float:
    """Return the share of the gold ids among the first k: |top k ∩ gold| / |gold|.

    >>> recall_at_k(["p4", "p1", "p9"], ["p1", "p2"], 2)
    0.5
    """
    gold = set(gold_ids)
    return _hits(ranked_ids, gold, k) / len(gold) if gold else 0.0


def capped_recall_at_k(ranked_ids: Iterable[Hashable], gold_ids: Iterable[Hashable], k: int) -> float:
    """Return recall relative to the best possible in k places: |top k ∩ gold| / min(k, |gold|).

    BEIR (Thakur et al., 2021); the R@k of FastInsight, section 4.3.1.

    >>> capped_recall_at_k(["p4", "p1", "p9"], ["p1", "p2", "p4"], 2)
    1.0
    """
    gold = set(gold_ids)
    return _hits(ranked_ids, gold, k) / min(k, len(gold)) if gold else 0.0


def ndcg_at_k(ranked_ids: Iterable[Hashable], gold_ids: Iterable[Hashable], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first k, the gain of a gold id being 1.

    DCG = Σ 1/log2(1 + rank) over the gold ids in the list, ranks from 1, divided by the DCG of a list that
    begins with all gold ids (Järvelin and Kekäläinen, 2002).

    >>> round(ndcg_at_k(["p4", "p1", "p9"], ["p1"], 10), 4)  # 1/log2(3)
    0.6309
    """
    gold = set(gold_ids)
    gain = sum(1 / math.log2(1 + rank) for rank, item in enumerate(_top(ranked_ids, k), 1) if item in gold)
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(k, len(gold)) + 1))
    return gain / ideal if gold else 0.0


def mrr_at_k(ranked_ids: Iterable[Hashable], gold_ids: Iterable[Hashable], k: int) -> float:
    """Return 1 over the rank of the first gold id among the first k, 0 where there is none.

    Its mean over questions is the mean reciprocal rank (Voorhees, 1999).

    >>> mrr_at_k(["p4", "p1", "p9"], ["p1", "p9"], 10)
    0.5
    """
    gold = set(gold_ids)
    return next((1 / rank for rank, item in enumerate(_top(ranked_ids, k), 1) if item in gold), 0.0)


def _hits(ranked_ids: Iterable[Hashable], gold: set[Hashable], k: int) -> int:
    return len(gold.intersection(_top(ranked_ids, k)))


def _top(ranked_ids: Iterable[Hashable], k: int) -> list[Hashable]:
    if isinstance(k, bool) or not hasattr(k, "__index__") or k < 1:
        raise OptionError(f"k is {k!r}; it must be a whole number, 1 or more.")
    return list(dict.fromkeys(ranked_ids))[:k]


def normalised(text: str) -> str:
    """Normalise a text for comparison: lower case, no punctuation, no articles, single spaces.

    The normalisation of SQuAD (Rajpurkar et al., 2016). One that would be empty only loses case and outer spaces.

    >>> normalised("The  Battle of Dürnkrut, 1278!"), normalised("A")
    ('battle of dürnkrut 1278', 'a')
    """
    lowered = " ".join(text.lower().split())
    return " ".join(_ARTICLES.sub(" ", lowered.translate(_PUNCTUATION)).split()) or lowered


def hits_at_1(predicted: Texts, gold: Texts) -> float:
    """Return 1 if the first prediction equals an accepted answer, else 0.

    Hits@1 of LEGO-GraphRAG (section 4.1, outputs that exactly match the ground truth) and Hit@1 of ReG.

    >>> hits_at_1(["The Vltava", "Elbe"], ["Vltava", "Moldau"]), hits_at_1(["Elbe", "Vltava"], ["Vltava"])
    (1.0, 0.0)
    """
    return float(_first(predicted) in {normalised(text) for text in _texts(gold)})


def hit(predicted: Texts, gold: Texts) -> float:
    """Return 1 if a prediction contains an accepted answer, else 0.

    Hit of ReG, as in RoG: the normalised answer is a substring of the normalised text, not always a whole word.

    >>> hit("It lies on the Vltava.", ["Vltava"]), hit(["Elbe", "Danube"], ["Vltava"])
    (1.0, 0.0)
    """
    accepted = [text for text in map(normalised, _texts(gold)) if text]
    return float(any(text in other for other in map(normalised, _texts(predicted)) for text in accepted))


def exact_match(predicted: Texts, gold: Texts) -> float:
    """Return 1 if the best prediction equals an accepted answer, else 0 (SQuAD, Rajpurkar et al., 2016).

    >>> exact_match("the Vltava", ["Vltava"]), exact_match("Vltava river", ["Vltava"]), exact_match("", [])
    (1.0, 0.0, 1.0)
    """
    return float(_first(predicted) in ({normalised(text) for text in _texts(gold)} or {""}))


def token_f1(predicted: Texts, gold: Texts) -> float:
    """Return the F1 of words between the best prediction and the nearest accepted answer.

    F1 = 2PR/(P + R) with P and R over words, repeats counted (SQuAD, Rajpurkar et al., 2016).

    >>> round(token_f1("the river Vltava", ["Vltava", "Moldau"]), 4)  # P = 1/2, R = 1
    0.6667
    """
    words = Counter(_first(predicted).split())
    return max(_f1(words, Counter(normalised(text).split())) for text in _texts(gold) or ("",))


def macro_f1(predicted: Sequence[Texts], gold: Sequence[Texts]) -> float:
    """Return the mean over questions of the F1 between the sets of predicted and of accepted answers.

    `predicted` and `gold` hold one list of texts for each question; for a single question the lists
    themselves may be given. F1 = 2|P ∩ G| / (|P| + |G|) over normalised texts.
    Macro-F1 of ReG; F1 of LEGO-GraphRAG, footnote 11. Raises OptionError if the numbers of questions differ.

    >>> macro_f1([["Graz", "Linz"], ["Mur"]], [["Graz"], ["Mur"]])  # (2/3 + 1) / 2
    0.8333333333333333
    """
    each = [_f1(Counter(answers), Counter(accepted)) for answers, accepted in _questions(predicted, gold)]
    return sum(each) / len(each)


def micro_f1(predicted: Sequence[Texts], gold: Sequence[Texts]) -> float:
    """Return the F1 of all predicted answers of all questions taken together: 2Σ|P ∩ G| / Σ(|P| + |G|).

    Micro-F1 of ReG: unlike in `macro_f1`, a question counts by the number of its answers. Arguments as there.

    >>> micro_f1([["Graz", "Linz"], ["Mur"]], [["Graz"], ["Mur"]])  # 2 * 2 / (3 + 2)
    0.8
    """
    common, both = zip(*(f1_terms(*pair) for pair in _questions(predicted, gold)), strict=True)
    return sum(common) / sum(both) if sum(both) else 1.0


def f1_terms(predicted: set[str], gold: set[str]) -> tuple[float, float]:
    """Return 2|P ∩ G| and |P| + |G| of one question, whose sums give `micro_f1`."""
    return 2.0 * len(predicted & gold), float(len(predicted) + len(gold))


def answer_set(texts: Texts) -> set[str]:
    """Return the distinct normalised answers."""
    return {text for text in map(normalised, _texts(texts)) if text}


def _f1(predicted: Counter[Item], gold: Counter[Item]) -> float:
    """Return the harmonic mean of precision and recall, 1 where both are empty."""
    total = predicted.total() + gold.total()
    return 2 * (predicted & gold).total() / total if total else 1.0


def _texts(texts: Texts) -> tuple[str, ...]:
    texts = (texts,) if isinstance(texts, str) else tuple(texts)
    wrong = [text for text in texts if not isinstance(text, str)]
    if wrong:
        raise OptionError(f"An answer is {wrong[0]!r}; give a string or a list of strings.")
    return texts


def _first(predicted: Texts) -> str:
    texts = _texts(predicted)
    return normalised(texts[0]) if texts else ""


def _questions(predicted: Sequence[Texts], gold: Sequence[Texts]) -> list[tuple[set[str], set[str]]]:
    """Return predicted and accepted answers as sets, question by question."""
    if isinstance(gold, str) or all(isinstance(text, str) for text in gold):
        predicted, gold = [predicted], [gold]  # type: ignore[list-item]
    if len(predicted) != len(gold):
        raise OptionError(
            f"There are predictions for {len(predicted)} questions and accepted answers for {len(gold)}; "
            f"give one list of texts per question in both, an empty one where there is none."
        )
    return [(answer_set(texts), answer_set(accepted)) for texts, accepted in zip(predicted, gold, strict=True)]


def topological_recall(graph: Graph, retrieved: ArrayLike, oracle: ArrayLike) -> float:
    """Return the nearness of the retrieved nodes to the oracle nodes, from 0 to 1 (FastInsight, Definition 7).

    The mean over oracle nodes of 1/(1 + u). u is the least sum of ln(1 + deg) over the nodes of a hop-shortest path
    from a retrieved node; that node counts, the oracle node does not. A retrieved one counts 1, one out of reach 0.

    Ids, degrees (distinct neighbours) and paths are the snapshot's, whatever part of it `graph` is. For the corpus
    graph of the paper give `PassageGraph()(graph)`. Raises OptionError for an id that is not a node.

    >>> from graphwright.graph.graph import Graph
    >>> path = Graph.from_triples([("a", "r", "b"), ("b", "r", "c")])
    >>> round(topological_recall(path, [0], [0, 2]), 6)  # (1 + 1 / (1 + ln 2 + ln 3)) / 2
    0.679099
    """
    adjacency = graph.columns.adjacency
    reached, targets = (_nodes(ids, len(graph.names)) for ids in (retrieved, oracle))
    if not len(targets):
        return 0.0
    return float(np.mean([1 / (1 + _uncertainty(adjacency, reached, node)) for node in targets]))


def _nodes(ids: ArrayLike, n: int) -> NDArray[np.int64]:
    nodes = np.unique(np.asarray(ids))
    if nodes.size and (nodes.dtype.kind not in "iu" or nodes[0] < 0 or nodes[-1] >= n):
        raise OptionError(
            f"The ids run from {nodes[0]} to {nodes[-1]}; give ids of this snapshot's nodes, 0 to {n - 1}."
        )
    return nodes.astype(np.int64)


def _uncertainty(adjacency: Csr, retrieved: NDArray[np.int64], oracle: np.int64) -> float:
    """Return the least cost of a path to a retrieved node, by a search from the oracle node level by level.

    No array of the size of the graph is needed: neighbours of a level lie in it, in the one before or in the next.
    """
    best = math.inf
    before, level, cost = np.empty(0, np.int64), np.array([oracle]), np.zeros(1)
    while len(level):
        best = min(best, cost[np.isin(level, retrieved)].min(initial=math.inf))
        # Each further level adds at least ln 2.
        if cost.min() + math.log(2) >= best:
            break
        reached = adjacency.rows(level)
        through = np.repeat(cost, adjacency.indptr[level + 1] - adjacency.indptr[level])
        new = ~(np.isin(reached, before) | np.isin(reached, level))
        before = level
        level, at = np.unique(reached[new], return_inverse=True)
        cost = np.full(len(level), math.inf)
        np.minimum.at(cost, at, through[new])
        cost += np.log1p(adjacency.indptr[level + 1] - adjacency.indptr[level])
    return best
