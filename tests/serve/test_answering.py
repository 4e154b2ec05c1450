"""Work that is sent to other processes."""

from __future__ import annotations

import pickle

from graphwright.models import OpenAILLM
from graphwright.serve.answering import Asking, Comparing


def test_unpickled_work_shares_connections_and_limits_of_its_model() -> None:
    asked = Asking("Who?", "bm25", None, None, OpenAILLM("any", "http://127.0.0.1:9/v1", "key"), history=())
    first, second = (pickle.loads(pickle.dumps(Comparing((asked, asked)))) for _ in range(2))
    assert first == second == Comparing((asked, asked))
    assert first.asked[0].llm is second.asked[1].llm is not asked.llm
