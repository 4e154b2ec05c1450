"""IRCoT: retrieval interleaved with a chain of thought, each sentence the next query."""

from __future__ import annotations

from graphwright.errors import OptionError
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.house import DEPTH, both
from graphwright.methods.method import Method
from graphwright.models.protocols import LLM, Reader
from graphwright.operators.control import Repeat
from graphwright.operators.operator import Operator
from graphwright.operators.search.feedback import FollowUp, HasThoughts, SentenceThought, SpanThought, Think
from graphwright.operators.select import ToPassages
from graphwright.search.snapshot import Snapshot


def ircot(
    ix: Snapshot,
    top_k: int = CONTEXT_PASSAGES,
    k: int = 20,
    steps: int = 3,
    shown: int = 5,
    *,
    first: Operator | None = None,
    reader: Reader | None = None,
    llm: LLM | None = None,
) -> Method:
    """Rank passages of successive searches by the question and by one thought after the other (IRCoT).

    `k`: passages of each search, K; `steps`: the largest number of thoughts; `shown`: the best passages so far, from
    which the next thought comes. `first`: the search, by default that of `hybrid`; the paper's is BM25. A language
    model writes the thoughts, and stops when it needs none. Without one the next query is the question with the
    sentence of these passages that is nearest to it. `reader`: without a language model, what it answers from the
    passages takes the place of that sentence.
    """
    if steps < 1:
        raise OptionError(f"ircot(steps={steps!r}): steps must be at least 1.")
    search = FollowUp((first or both(ix, max(k, DEPTH))) % k)
    thought: Operator = SentenceThought(ix.encoder, shown) if reader is None else SpanThought(reader, shown)
    if llm is not None:
        thought = Think(llm, shown)
    loop = Repeat(thought >> search, until=HasThoughts(steps))
    return Method((search >> loop) % top_k >> ToPassages(), *answering(ix, llm))
