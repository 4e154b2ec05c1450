"""Helpers that adapters share: metadata of passages, an answer with its sources as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphwright import Citation, Graph, Index, State
from graphwright.errors import OptionError
from graphwright.graph import Passage


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Return the error for a framework that is not installed."""
    return ImportError(f'{error}. Install it: pip install "graphwright[{extra}]"', name=error.name)


def opened(index: Index | str | Path) -> Index:
    """Return an index; open it if its folder is given. Raises OptionError for anything else."""
    if isinstance(index, str | Path):
        return Index.open(index)
    if not isinstance(index, Index):
        raise OptionError(f"index is {index!r}; give a graphwright.Index, or the path of its folder.")
    return index


def passages_of(state: State) -> list[Passage]:
    """Return the passages of a state, best first."""
    return [] if state.passages is None else list(state.passages)


def metadata_of(index: Index, state: State) -> dict[str, dict[str, Any]]:
    """Return the metadata of each passage by its id.

    It has the metadata of the document, such as a date; all fields of the passage but its text, which have precedence;
    and its `location`, such as "page 3", if the document has places.
    """
    passages = passages_of(state)
    of_documents = index.metadata_by_document({passage.document for passage in passages})
    metadata: dict[str, dict[str, Any]] = {}
    for passage in passages:
        fields = passage.to_dict()
        del fields["text"]
        location = _location(state.graph, passage)
        metadata[passage.id] = (
            of_documents.get(passage.document, {}) | fields | ({"location": location} if location else {})
        )
    return metadata


def _location(graph: Graph, passage: Passage) -> str:
    """Return the page, slide, cells or lines of a passage, "" for a document without such places."""
    if graph.passages is None or (row := graph.passages.row(graph.id(passage.id))) < 0:
        return ""
    places = graph.passages.places_of(row)
    return "" if places is None else places.of(passage.start, passage.end)


def cited_passages(state: State) -> list[tuple[Citation, Passage]]:
    """Return each citation of a passage that was retrieved, with the passage."""
    by_id = {passage.id: passage for passage in passages_of(state)}
    citations = () if state.answer is None else state.answer.citations
    return [(citation, by_id[citation.chunk]) for citation in citations if citation.chunk in by_id]


def answer_with_sources(state: State) -> str:
    """Return the answer's text followed by its citations: number, document, place, characters, quote."""
    if state.answer is None:
        return ""
    sources: list[str] = []
    for number, cited in enumerate(state.answer.citations, 1):
        place = ", ".join(filter(None, (cited.document or cited.chunk, cited.location)))
        sources.append(f"[{number}] {place}, characters {cited.start}-{cited.end}: {cited.text}")
    return "\n".join([state.answer.text, *sources])
