"""Graph retrieval for entities, adapted to the nodes of a corpus graph: LightRAG, PathRAG and HippoRAG 2.

FastInsight compares with them on corpus graphs, whose nodes are passages or entities with texts. There (its section
4.1) LightRAG and PathRAG search vectors by the keywords of the question, then search the graph. Offline the keywords
are names and phrases of the question.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from graphwright.operators.anchors.keywords import NamesAndPhrases
from graphwright.operators.control import ReciprocalRank
from graphwright.operators.operator import Composite, Keep, Operator
from graphwright.operators.paths.node_paths import FlowPaths
from graphwright.operators.run import Run
from graphwright.operators.search.search import VectorSearch
from graphwright.operators.search.seeds import PhraseSeeds
from graphwright.operators.state import State
from graphwright.operators.subgraph.narrow import Frontier
from graphwright.operators.subgraph.pagerank import PersonalizedPageRank
from graphwright.search.vector_index import VectorIndex

NODES = 40  # of all keywords, in LightRAG's code and PathRAG's paper
PATHS = 15
Kind = Literal["entity", "theme"]


@dataclass(frozen=True, repr=False)
class ByKeywords(Composite):
    """Run a step on the keywords of one kind, joined, in the place of the question, as LightRAG's code joins them.

    Without keywords of the kind the question stays.
    """

    step: Operator
    kind: Kind = "entity"

    def ranked(self, state: State, run: Run, k: int | None) -> State:
        """Run the step, and restore the question."""
        text = ", ".join(anchor.text for anchor in state.anchors or () if anchor.kind == self.kind)
        asked = replace(state.question, text=text) if text else state.question
        return self.step.execute(state.with_(question=asked), run, k).with_(question=state.question)


def adapted(method: str, vectors: VectorIndex) -> Operator:
    """Return a method over the nodes that have these vectors, from a question to a ranking of nodes or paths.

    `lightrag`: the nodes nearest to the names and phrases, those nearest to the theme, and the neighbours of the first,
    in turns, as its context shows entities, relations and their ends. `pathrag`: the most reliable paths between the
    nodes nearest to the names and phrases, then these nodes. `hipporag2`: a walk from the nearest nodes, without
    triples.
    """
    near = VectorSearch(vectors) % NODES
    low, high = ByKeywords(near), ByKeywords(near, "theme")
    searches: dict[str, Operator] = {
        "lightrag": NamesAndPhrases() >> ReciprocalRank(low, high, low >> Frontier(), constant=0),
        "pathrag": NamesAndPhrases() >> low >> (FlowPaths() % PATHS | Keep()),
        "hipporag2": VectorSearch(vectors) % 5 >> PhraseSeeds(vectors) >> PersonalizedPageRank(0.5),
    }
    return searches[method]
