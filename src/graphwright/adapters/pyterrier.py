"""PyTerrier: graphwright methods as transformers, and PyTerrier retrievers as operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphwright import Index
from graphwright.adapters.results import missing_extra, opened, passages_of
from graphwright.operators import FunctionSearch
from graphwright.operators.search.search import Result

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise missing_extra("pyterrier", error) from error

_HELP = "https://github.com/graphwright/graphwright/blob/main/docs/frameworks/pyterrier.md"
_COLUMNS = ["docno", "score", "rank", "title", "text", "start", "end", "passage"]


class GraphwrightTransformer(pt.Transformer):
    """Rank passages of an index for each row of a frame with the columns qid and query.

    `index`: an open index, or the path of its folder; `method`: a name of `graphwright methods`; `top_k`: passages per
    query; `documents`: return one row for each document, with its best passage, as relevance judgements need it; if
    false, one row for each passage, with its id in `passage`. `options`: further arguments of the method.
    """

    def __init__(
        self,
        index: Index | str | Path,
        method: str | None = None,
        *,
        top_k: int = 15,
        documents: bool = True,
        filter: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.index = opened(index)
        self.method, self.documents = method or self.index.default_method, documents
        self.options = {"top_k": top_k, "filter": filter, **options}

    def transform(self, inp: Any) -> Any:
        """Return the ranked documents for a frame of queries."""
        pt.validate.query_frame(inp, ["query"])
        names = [name for name in inp.columns if name not in _COLUMNS]
        queries = zip(*(inp[name].tolist() for name in names), strict=True)
        rows = [(*values, *row) for values in queries for row in self._rows(values[names.index("query")])]
        columns = zip(*rows, strict=True) if rows else [()] * (len(names) + len(_COLUMNS))
        # Building a frame from columns is much faster than from rows.
        return pd.DataFrame(dict(zip([*names, *_COLUMNS], map(list, columns), strict=True)))

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of _COLUMNS for each passage of a query."""
        passages = passages_of(self.index.retrieve(query, self.method, **self.options))
        if self.documents:
            best: dict[str, Any] = {}
            for passage in passages:
                best.setdefault(passage.document, passage)
            passages = list(best.values())
        for rank, p in enumerate(passages):
            yield p.document, p.score, rank, p.title, p.text, p.start, p.end, p.id

    @property
    def schematic(self) -> dict[str, str]:
        """The method's name and the address of its documentation, for drawings of pipelines."""
        return {"label": self.method, "help_url": _HELP}

    def __repr__(self) -> str:
        return f"GraphwrightTransformer({str(self.index.path)!r}, {self.method!r})"


@dataclass(frozen=True)
class _TransformerSearch:
    """Search function of a transformer; equal if the transformers are equal."""

    transformer: Any

    def __call__(self, question: str) -> list[Result]:
        ranked = self.transformer.search(_plain(question)).sort_values("rank", kind="stable")
        scores = ranked["score"].tolist() if "score" in ranked else [1 / (1 + at) for at in range(len(ranked))]
        return list(zip(ranked["docno"].astype(str).tolist(), scores, strict=True))


def from_pyterrier(transformer: Any) -> FunctionSearch:
    """Return a PyTerrier retriever as an operator: its documents become passages of the graph.

    A `docno` is the id of a passage, or of a document whose passages then share its rank.
    """
    return FunctionSearch(_TransformerSearch(transformer))


def _plain(question: str) -> str:
    """Return a question without the operators of Terrier's query language."""
    return "".join(character if character.isalnum() or character.isspace() else " " for character in question)
