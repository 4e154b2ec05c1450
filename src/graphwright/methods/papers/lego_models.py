"""Models of LEGO-GraphRAG's cells: the best items of a pool by a model, and the switches of a beam search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from graphwright.methods.options import Help
from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.beam import BeamSearch
from graphwright.operators.paths.relation_paths import Relations
from graphwright.operators.rerank.choose import Choose, RateItems
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import Composed, Scorer, Steps
from graphwright.operators.subgraph.narrow import Triples

Model = Encoder | CrossEncoder | Scorer | Operator
"""A model that scores texts, or an operator that ranks evidence."""
RetrievalLLM = Annotated[
    LLM | None, Help("the language model of the retrieval, by default the one that answers, if no other model is given")
]


def retrieval_llm_of(given: LLM | None, model: object, answering: LLM | None) -> LLM | None:
    """Return the language model of a retrieval: `given`, else `answering` if no other `model` is given."""
    return answering if given is None and model is None else given


def ranker(model: Model) -> Operator:
    """Return the operator that ranks evidence by a model."""
    return model if isinstance(model, Operator) else Rerank(model)


@dataclass(frozen=True)
class Beams:
    """The switches of a beam search (section 4.2): the unit that is scored, and how many paths stay.

    `by_step`: an encoder or a cross-encoder scores each new triple instead of the whole path (triple-level scoring, see
    Steps). Other models are not changed; scorers by stored vectors of triples score triple by triple already.
    `slack`: dynamic pruning (see BeamSearch). A language model ranks whole paths, without dynamic pruning.

    >>> from graphwright.models import HashEncoder
    >>> Beams(by_step=True, slack=0.5)(HashEncoder())
    BeamSearch(Steps(HashEncoder(dimension=64)), slack=0.5)
    """

    by_step: bool = False
    slack: float | None = None

    def __call__(self, model: Model) -> Operator:
        """Return the beam search by a model."""
        if self.by_step and isinstance(model, Encoder | CrossEncoder):
            model = Steps(model)
        return BeamSearch(model, slack=self.slack)


WHOLE_PATHS = Beams()
"""Beam searches as section 4.1 sets them: whole paths are scored, and the width is fixed."""


@dataclass(frozen=True)
class BestByScore:
    """The best items of a pool by a model that scores them, or by an operator that ranks evidence.

    `stored`: a search that ranks the triples of the graph by the same model with stored vectors. A scorer by stored
    vectors has none of relations: its encoder reads their texts.

    >>> from graphwright.models import HashEncoder
    >>> from graphwright.operators import ShortestPaths
    >>> BestByScore(HashEncoder())(ShortestPaths(), 32)
    ShortestPaths() >> Rerank(HashEncoder(dimension=64)) % 32
    """

    model: Model
    stored: Operator | None = None

    def __call__(self, pool: Operator, k: int | None = None) -> Operator:
        """Return the pool ranked by the model, cut to k."""
        if self.stored is not None and pool == Triples():
            return self.stored if k is None else self.stored % k
        by_text = self.model.encoder if isinstance(self.model, Composed) and pool == Relations() else self.model
        ranking = ranker(by_text)
        return pool >> (ranking if k is None else ranking % k)

    def beam_search(self, beams: Beams) -> Operator:
        """Return the beam search by the model."""
        return beams(self.model)


@dataclass(frozen=True)
class Selection:
    """The switches of a selection by a language model (section 3.2.2 b.1).

    `prefilter`: the name of the model whose best the language model is shown; "R" draws them at random, the paper's
    simplest filter. `by_score`: it rates each item (RateItems) instead of listing the best (Choose).
    """

    prefilter: str = "E"
    by_score: bool = False

    def of(self, llm: LLM, batch: int = 64) -> Operator:
        """Return the operator by which a language model selects."""
        return RateItems(llm, min(batch, 100)) if self.by_score else Choose(llm, batch)


LISTED = Selection()
"""A list of the best, from what the encoder prefers."""


@dataclass(frozen=True)
class BestByChoice:
    """The items of a pool that a language model selects (section 3.2.2 b.1), in one call unless it rates them.

    It selects from the `shown` best by `first`, if given.
    """

    llm: LLM
    first: Best | None = None
    shown: int = 256
    selection: Selection = LISTED

    def __call__(self, pool: Operator, k: int | None = None) -> Operator:
        """Return the items of the pool that the model selects, at most k."""
        candidates = pool if self.first is None else self.first(pool, self.shown)
        choice = self.selection.of(self.llm, self.shown)
        return candidates >> (choice if k is None else choice % k)

    def beam_search(self, beams: Beams) -> Operator:
        """Return the beam search by the model."""
        return BeamSearch(self.selection.of(self.llm))


Best = BestByScore | BestByChoice
"""The best items of a pool by one model: `best(pool, k)`, and the beam search by it."""
