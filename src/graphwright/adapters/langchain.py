"""LangChain: a retriever, and a tool that answers with citations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphwright import Index, State
from graphwright.adapters.results import answer_with_sources, metadata_of, missing_extra, opened, passages_of

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, StructuredTool
    from pydantic import ConfigDict, Field, field_validator
except ImportError as error:
    raise missing_extra("langchain", error) from error


class GraphwrightRetriever(BaseRetriever):
    """Retrieve passages of an index as LangChain documents.

    `index`: an open index, or the path of its folder; `method`: a name of `graphwright methods`, by default that of the
    index; `top_k`: number of documents; `filter`: the documents that are searched (see Filter); `options`: further
    arguments of the method. The metadata of a document has the id of its passage, document, title, characters (start,
    end), `location` (as "page 3") and score, and the metadata of the file, such as its date. `invoke(question,
    top_k=3)` changes `top_k` for one call.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: Index
    method: str | None = None
    top_k: int = Field(default=15, ge=1)
    filter: Mapping[str, Any] | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @field_validator("index", mode="before")
    @classmethod
    def _open(cls, index: Any) -> Index:
        return opened(index)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, top_k: int | None = None
    ) -> list[Document]:
        state = self.index.retrieve(
            query, self.method, top_k=self.top_k if top_k is None else top_k, filter=self.filter, **self.options
        )
        metadata = metadata_of(self.index, state)
        return [Document(passage.text, id=passage.id, metadata=metadata[passage.id]) for passage in passages_of(state)]


def answer_tool(
    index: Index | str,
    *,
    name: str = "ask_documents",
    description: str = "Answer a question from the indexed documents, with citations.",
    **options: Any,
) -> BaseTool:
    """Return a tool that answers questions from an index.

    Its content, which a model reads, is the answer with its sources; its artifact is the output of
    `graphwright ask --json`. `options`: arguments of Index.ask, such as `method` and `llm`.
    """
    source = opened(index)

    def reply(state: State) -> tuple[str, dict[str, Any]]:
        return answer_with_sources(state), state.to_dict(method=options.get("method"), top_k=options.get("top_k"))

    def ask(question: str) -> tuple[str, dict[str, Any]]:
        return reply(source.ask(question, **options))

    async def ask_async(question: str) -> tuple[str, dict[str, Any]]:
        return reply(await source.ask_async(question, **options))

    return StructuredTool.from_function(
        ask, ask_async, name=name, description=description, response_format="content_and_artifact"
    )
