"""Models of LEGO-GraphRAG's cells: the best items of a pool by a model, and the switches of a beam search."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphwright.models.protocols import LLM, CrossEncoder, Encoder
from graphwright.operators.operator import Operator
from graphwright.operators.paths.beam import BeamSearch
from graphwright.operators.rerank.choose import Choose
from graphwright.operators.rerank.rerank import Rerank
from graphwright.operators.rerank.scorer import Scorer, Steps
from graphwright.operators.subgraph.narrow import Triples

Model = Encoder | CrossEncoder | Scorer | LLM | Operator


@dataclass(frozen=True)
class Best:
    """An expression for the best items of a pool by one model: `best(pool, k)`.

    A language model selects from the `shown` best by `encoder`, if there is one, in one call (section 3.2.2 b.1). A
    model may also be an operator that ranks evidence. `stored`: a search that ranks the triples of the graph by
    `encoder` with stored vectors.

    >>> from graphwright.models import HashEncoder
    >>> from graphwright.operators import ShortestPaths
    >>> Best(HashEncoder())(ShortestPaths(), 32)
    ShortestPaths() >> Rerank(HashEncoder(dimension=64)) % 32
    """

    model: Model
    encoder: Model | None = None
    shown: int = 256
    stored: Operator | None = None

    def __call__(self, pool: Operator, k: int | None = None) -> Operator:
        """Return the pool ranked by the model, cut to k."""
        if isinstance(self.model, LLM):
            ranking: Operator = Choose(self.model, self.shown)
            if self.encoder is not None:
                pool = replace(self, model=self.encoder)(pool, self.shown)
        elif self.stored is not None and self.model is self.encoder and pool == Triples():
            return self.stored if k is None else self.stored % k
        else:
            ranking = self.model if isinstance(self.model, Operator) else Rerank(self.model)
        return pool >> (ranking if k is None else ranking % k)


@dataclass(frozen=True)
class Beams:
    """The switches of a beam search (section 4.2): the unit that is scored, and how many paths stay.

    `by_step`: score each new triple alone instead of the whole path (triple-level scoring, see Steps), by an encoder or
    a cross-encoder; other models stay as they are: scorers by stored vectors of triples score triple by triple
    already. `slack`: dynamic pruning, by all models but a language model (see BeamSearch).

    >>> from graphwright.models import HashEncoder
    >>> Beams(by_step=True, slack=0.5)(HashEncoder())
    BeamSearch(Steps(HashEncoder(dimension=64)), slack=0.5)
    """

    by_step: bool = False
    slack: float | None = None

    def __call__(self, model: Model) -> Operator:
        """Return the beam search by a model."""
        if isinstance(model, LLM):
            return BeamSearch(model)
        if self.by_step and isinstance(model, Encoder | CrossEncoder):
            model = Steps(model)
        return BeamSearch(model, slack=self.slack)


WHOLE_PATHS = Beams()
"""Beam searches as section 4.1 sets them: whole paths are scored, and the width is fixed."""
