"""IRCoT: retrieval and a chain of thought in turn, each sentence the next query."""

from __future__ import annotations

from graphwright.errors import OptionError
from graphwright.index.snapshot import Snapshot
from graphwright.methods.passages import answering, both
from graphwright.models.protocols import LLM
from graphwright.operators.operator import Operator, Repeat
from graphwright.operators.search.thoughts import FollowUp, Think, Thoughts

__all__ = ["ircot"]

_DEPTH = 200  # of each part of the search, as in `hybrid`


def ircot(
    ix: Snapshot,
    passages: int = 20,
    k: int = 20,
    steps: int = 3,
    shown: int = 5,
    *,
    first: Operator | None = None,
    llm: LLM | None = None,
) -> Operator:
    """Passages found by the question, then by one thought after the other, in turn by rank (IRCoT).

    `k`: passages found at each step, K; `steps`: thoughts at most; `shown`: the best passages so far, from which the
    next thought comes. `first`: the search, by default vectors and words, their scores summed; the paper's is BM25. A
    language model writes the thoughts, and ends when it needs none; without one the next thought is the sentence of
    these passages that is nearest to the question, and what is searched with the question and that sentence.
    """
    if steps < 1:
        raise OptionError(f"ircot(steps={steps!r}): a number of thoughts, 1 or more.")
    search = FollowUp((first or both(ix, max(k, _DEPTH))) % k)
    turns = Repeat(Think(llm or ix.encoder, shown) >> search, until=Thoughts(steps))
    return (search >> turns) % passages >> answering(ix, passages, llm)
