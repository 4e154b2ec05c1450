"""IRCoT: retrieval interleaved with a chain of thought, each sentence the next query."""

from __future__ import annotations

from typing import Annotated

from graphwright.errors import OptionError
from graphwright.generate.passage_budget import CONTEXT_PASSAGES
from graphwright.methods.answering import answering
from graphwright.methods.house import DEPTH, both
from graphwright.methods.method import Method
from graphwright.methods.options import FirstSearch, Help, OptionalLLM, TopK
from graphwright.models.protocols import Reader
from graphwright.operators.control import Repeat
from graphwright.operators.operator import Operator
from graphwright.operators.search.feedback import FollowUp, HasThoughts, SentenceThought, SpanThought, Think
from graphwright.operators.select import ToPassages
from graphwright.search.snapshot import Snapshot


def ircot(
    ix: Snapshot,
    top_k: TopK = CONTEXT_PASSAGES,
    k: Annotated[int, Help("K, the passages of each search")] = 20,
    steps: Annotated[int, Help("the most thoughts")] = 3,
    shown: Annotated[int, Help("the best passages so far, from which the next thought comes")] = 5,
    *,
    first: FirstSearch = None,
    reader: Annotated[
        Reader | None, Help("the reader whose answer, instead of the nearest sentence, extends the next query offline")
    ] = None,
    llm: OptionalLLM = None,
) -> Method:
    """Rank passages of successive searches, by the question and then by each thought (IRCoT).

    A language model writes the thoughts, and stops when the passages are enough. Without a language model the next
    query is the question with the nearest sentence of the best passages, or with a reader's answer from them. The paper
    searches by BM25.
    """
    if steps < 1:
        raise OptionError(f"ircot(steps={steps!r}): steps must be at least 1.")
    search = FollowUp((first or both(ix, max(k, DEPTH))) % k)
    thought: Operator = SentenceThought(ix.encoder, shown) if reader is None else SpanThought(reader, shown)
    if llm is not None:
        thought = Think(llm, shown)
    loop = Repeat(thought >> search, until=HasThoughts(steps))
    return Method((search >> loop) % top_k >> ToPassages(), *answering(ix, llm))
