"""Forms of candidate queries: what a question may ask, and what the query is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from graphwright.graph.evidence import Ints
from graphwright.operators.query import query as q
from graphwright.operators.query.graphs.matching import Literal, Mention

FORMS = (
    "things", "count", "exists", "largest", "smallest", "negated", "above", "below", "equal", "sum", "mean", "most",
    "least", "difference",
)  # fmt: skip
THINGS, COUNT, EXISTS, LARGEST, SMALLEST, NEGATED, ABOVE, BELOW, EQUAL, SUM, MEAN, MOST, LEAST, DIFFERENCE = range(
    len(FORMS)
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A query that a question may ask, and what it is made of.

    `form`: a row of FORMS. `names`: the relations and types in it as rows of the vocabulary, in the order of the path;
    `keys`: its steps; `mentions`, `literals`: what it uses. `ends`: a sample of its things, `size`: how many there are.
    `strength`: of its path; `last`: the step that led to its things, -1 for none.
    """

    query: q.Query
    form: int
    names: tuple[int, ...]
    keys: tuple[int, ...]
    mentions: tuple[Mention, ...]
    ends: Ints
    size: int
    strength: float
    literals: tuple[Literal, ...] = ()
    last: int = -1
    types: int = 0
    parts: int = 1

    @property
    def things(self) -> q.Things:
        """The query of a set of things."""
        assert not isinstance(self.query, (q.Count, q.Exists, q.Aggregate, q.Difference))
        return self.query

    def overlaps(self, other: Candidate) -> bool:
        """Return whether two candidates use the same words."""
        return any(one.words & two.words for one in self.mentions for two in other.mentions)

    def along(self, query: q.Query, form: int, row: int) -> Candidate:
        """Return the candidate that a further relation makes of this one."""
        return replace(self, query=query, form=form, names=(*self.names, row), keys=(*self.keys, 2 * row))

    def joined(self, other: Candidate, query: q.Query, form: int, ends: Ints) -> Candidate:
        """Return the candidate that two sets make."""
        a, b = self, other
        return Candidate(
            query, form, (*a.names, *b.names), (*a.keys, *b.keys), (*a.mentions, *b.mentions), ends, len(ends),
            (a.strength + b.strength) / 2, last=a.last, types=a.types + b.types, parts=a.parts + b.parts,
        )  # fmt: skip


def shape_of(candidate: Candidate) -> tuple[int, int, int, int, int]:
    """Return the shape of a candidate: steps up to 4, turns, first and last step backwards, named things up to 2."""
    keys = candidate.keys or (0,)
    turns = any(a == b ^ 1 for a, b in pairwise(keys))
    return min(len(candidate.keys), 4), int(turns), keys[0] & 1, keys[-1] & 1, min(len(candidate.mentions), 2)
