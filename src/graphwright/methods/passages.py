"""Methods that rank passages: by vectors, by words, by both, and by walks from them through the graph."""

from __future__ import annotations

from graphwright.generate.answer import Answer
from graphwright.generate.broad import Broad
from graphwright.generate.central import CentralReader, CentralSearch
from graphwright.generate.comparing.reader import ComparingReader
from graphwright.generate.facts import FactReader
from graphwright.generate.prompt import PassagePrompt
from graphwright.generate.reader import SentenceReader
from graphwright.graph.graph import Kind
from graphwright.index.snapshot import Snapshot
from graphwright.models.base import LLM
from graphwright.models.reader import MiniLMReader
from graphwright.operators.anchors.link_entities import Link
from graphwright.operators.fusion import ScoreSum
from graphwright.operators.operator import Keep, Operator
from graphwright.operators.search.search import VectorSearch, WordSearch
from graphwright.operators.search.support import SupportSearch
from graphwright.operators.select.pairs import Pairs
from graphwright.operators.select.passages import Sources
from graphwright.operators.subgraph.narrow import Only
from graphwright.operators.subgraph.walk import PersonalizedPageRank

__all__ = ["answering", "bm25", "both", "connected", "hybrid", "ppr", "vector"]


def answering(
    ix: Snapshot,
    passages: int = 20,
    llm: LLM | None = None,
    *,
    sources: Operator | None = None,
    prompt: Operator | None = None,
) -> Operator:
    """Return what every method ends with: from its evidence to an answer.

    A broad question that names nothing is given the most central of all passages instead of what was found. With a
    language model, that writes the answer; without one it is found: a few words where the question asks for one fact,
    or compares; else a few sentences, for a broad question of as many passages. Unless given, `sources` is Sources(),
    from the evidence to passages, and `prompt` is PassagePrompt(), what a language model is shown.
    """
    found = (sources or Sources()) >> Broad(CentralSearch(ix.passages) % passages >> Sources(), unnamed=True)
    if llm is not None:
        return found >> (prompt or PassagePrompt()) >> Answer(llm)
    broad = Broad(Answer(CentralReader(ix.encoder), passages=20))
    spans = MiniLMReader()
    facts = ComparingReader(spans, FactReader(spans, SentenceReader(ix.encoder)))
    return found >> broad >> Answer(facts)


def vector(ix: Snapshot, passages: int = 20, *, llm: LLM | None = None) -> Operator:
    """Passages by the cosine of their vector with the question's."""
    return VectorSearch(ix.passages) % passages >> answering(ix, passages, llm)


def bm25(ix: Snapshot, passages: int = 20, *, llm: LLM | None = None) -> Operator:
    """Passages by BM25."""
    return WordSearch(ix.words) % passages >> answering(ix, passages, llm)


def both(ix: Snapshot, depth: int) -> Operator:
    """Return the search by vectors and by words, each to that depth and over its largest score, summed."""
    return ScoreSum(VectorSearch(ix.passages) % depth, WordSearch(ix.words) % depth)


def hybrid(ix: Snapshot, passages: int = 20, depth: int = 200, *, llm: LLM | None = None) -> Operator:
    """Passages by vectors and by words, their scores summed, each over its largest."""
    return both(ix, depth) % passages >> answering(ix, passages, llm)


def ppr(
    ix: Snapshot, passages: int = 20, seeds: int = 20, pool: int = 100, restart: float = 0.5, *, llm: LLM | None = None
) -> Operator:
    """Passages and entities in one graph, walked from the best passages; what is reached is judged in pairs."""
    return connected(ix, passages, seeds, pool, restart) >> answering(ix, passages, llm)


def connected(ix: Snapshot, k: int, seeds: int = 20, pool: int = 100, restart: float = 0.5) -> Operator:
    """Return the search of `ppr` for k passages: from the best of them a walk, and what it reaches in pairs."""
    begin = Link(ix.names) >> SupportSearch(ix.passages, ix.words) % seeds
    # About one node in three that a walk reaches is a passage.
    reached = PersonalizedPageRank(restart) % (5 * pool) >> Only(Kind.CHUNK) % pool | Keep()
    return begin >> reached >> Pairs(ix.passages, ix.words) % k
