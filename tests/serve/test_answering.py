"""Work that is sent to other processes."""

from __future__ import annotations

import pickle
from functools import partial

from graphwright.models import OpenAILLM
from graphwright.serve.answering import Asking, compare


def test_unpickled_work_shares_connections_and_limits_of_its_model() -> None:
    asked = Asking("Who?", "bm25", None, None, OpenAILLM("any", "http://127.0.0.1:9/v1", "key"), history=())
    first, second = (pickle.loads(pickle.dumps(partial(compare, (asked, asked)))) for _ in range(2))
    assert first.args == second.args == ((asked, asked),)
    assert first.args[0][0].llm is second.args[0][1].llm is not asked.llm
