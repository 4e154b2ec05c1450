"""Haystack: a retriever and an answering component, both serialisable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphwright import Index
from graphwright.adapters.results import cited_passages, metadata_of, missing_extra, opened, passages_of
from graphwright.graph import Passage

try:
    from haystack import Document, GeneratedAnswer, component, default_from_dict, default_to_dict
except ImportError as error:
    raise missing_extra("haystack", error) from error


class _Component:
    """Base of both components: opens the index on first use, and converts the component to and from a dict."""

    def __init__(
        self, index: Index | str, method: str | None = None, top_k: int = 15, filter: dict[str, Any] | None = None
    ) -> None:
        self._index, self._given = None if isinstance(index, str) else index, index
        self._options: dict[str, Any] = {"method": method, "top_k": top_k, "filter": filter}

    def warm_up(self) -> Index:
        """Open the index, unless it is open, and return it."""
        if self._index is None:
            self._index = opened(self._given)
        return self._index

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a dict, with the path of the index folder."""
        path = self._given if isinstance(self._given, str) else str(self._given.path)
        record: dict[str, Any] = default_to_dict(self, index=path, **self._options)
        return record

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        return default_from_dict(cls, data)


def _document(passage: Passage, metadata: Mapping[str, dict[str, Any]]) -> Document:
    return Document(id=passage.id, content=passage.text, meta=metadata[passage.id], score=passage.score)


@component
class GraphwrightRetriever(_Component):
    """Retrieve passages of an index as Haystack documents.

    `index`: the path of an index folder, or an open index; `method`: a name of `graphwright methods`; `top_k`: number
    of documents; `filter`: the documents that are searched, as `{"folder": "reports"}` (see Filter).
    """

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the documents for a question."""
        options = self._options if top_k is None else {**self._options, "top_k": top_k}
        index = self.warm_up()
        state = index.retrieve(query, **options)
        meta = metadata_of(index, state)
        return {"documents": [_document(passage, meta) for passage in passages_of(state)]}


@component
class GraphwrightAnswerer(_Component):
    """Answer questions from an index, offline. The documents of an answer are its cited passages, in order.

    Metadata: `found`, `verified` and the citations with their characters. Arguments as in GraphwrightRetriever.
    """

    @component.output_types(answers=list[GeneratedAnswer])
    def run(self, query: str) -> dict[str, list[GeneratedAnswer]]:
        """Return one answer."""
        index = self.warm_up()
        state = index.ask(query, **self._options)
        output, metadata = state.to_dict(), metadata_of(index, state)
        documents = {passage.id: _document(passage, metadata) for _, passage in cited_passages(state)}
        meta = {name: output[name] for name in ("found", "verified", "short", "citations")}
        answer = GeneratedAnswer(data=output["answer"], query=query, documents=list(documents.values()), meta=meta)
        return {"answers": [answer]}
