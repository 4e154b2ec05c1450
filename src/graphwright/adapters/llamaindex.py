"""LlamaIndex: a retriever, and a query engine whose sources have character spans."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphwright import Citation, Index, State
from graphwright.adapters.results import cited_passages, metadata_of, missing_extra, opened, passages_of
from graphwright.graph import Passage

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.response.schema import Response
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise missing_extra("llamaindex", error) from error


class GraphwrightRetriever(BaseRetriever):
    """Retrieve passages of an index as text nodes with scores and character spans."""

    def __init__(
        self,
        index: Index | str | Path,
        *,
        method: str | None = None,
        top_k: int = 15,
        filter: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
        **options: Any,
    ) -> None:
        """Take an open index or the path of its folder.

        `method`: a name of `graphwright methods`; `top_k`: number of nodes; `filter`: see Filter; `options`:
        further arguments of the method.
        """
        self._index = opened(index)
        self._options = {"method": method, "top_k": top_k, "filter": filter, **options}
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        state = self._index.retrieve(query_bundle.query_str, **self._options)
        metadata = metadata_of(self._index, state)
        return [_node(passage, metadata) for passage in passages_of(state)]


class GraphwrightQueryEngine(BaseQueryEngine):
    """Answer questions from an index.

    The response's text is the answer with markers [1], [2]; its source nodes are the cited sentences in that order,
    with the characters of the document in `start_char_idx` and `end_char_idx`. Its metadata has `found` and `verified`.
    """

    def __init__(
        self, index: Index | str | Path, *, callback_manager: CallbackManager | None = None, **options: Any
    ) -> None:
        """Take an open index or the path of its folder. `options`: arguments of Index.ask, such as `method`, `llm`."""
        self._index, self._options = opened(index), options
        super().__init__(callback_manager=callback_manager)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Response:
        return _response(self._index, self._index.ask(query_bundle.query_str, **self._options))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return _response(self._index, await self._index.ask_async(query_bundle.query_str, **self._options))


def _node(passage: Passage, metadata: Mapping[str, dict[str, Any]], citation: Citation | None = None) -> NodeWithScore:
    """Return a passage, or a citation in it, as a node."""
    place = passage if citation is None else citation
    fields = metadata[passage.id]
    if citation is not None and citation.location:
        fields = {**fields, "location": citation.location}
    node = TextNode(
        id_=passage.id,
        text=place.text,
        start_char_idx=place.start,
        end_char_idx=place.end,
        metadata=fields,
        excluded_embed_metadata_keys=["id", "start", "end", "score"],
        excluded_llm_metadata_keys=["id", "start", "end", "score"],
    )
    return NodeWithScore(node=node, score=passage.score)


def _response(index: Index, state: State) -> Response:
    answer, metadata = state.answer, metadata_of(index, state)
    if answer is None:
        return Response(response=None, source_nodes=[_node(passage, metadata) for passage in passages_of(state)])
    sources = [_node(passage, metadata, citation) for citation, passage in cited_passages(state)]
    facts = {"found": answer.found, "verified": answer.verified, "short": list(answer.short)}
    return Response(response=answer.text, source_nodes=sources, metadata=facts)
