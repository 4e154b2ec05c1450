"""Results in the form that adapters share: metadata of passages, an answer with its sources as text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphwright.errors import OptionError
from graphwright.graph.columns import Passage
from graphwright.index_folder import Index
from graphwright.operators.state import Citation, State


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Return the error for a framework that is not installed.

    >>> str(missing_extra("langchain", ImportError("No module named 'langchain_core'")))
    'No module named \\'langchain_core\\'. Install it: pip install "graphwright[langchain]"'
    """
    return ImportError(f'{error}. Install it: pip install "graphwright[{extra}]"', name=error.name)


def opened(index: Index | str | Path) -> Index:
    """Return an index, opened where its folder is given. Raises OptionError for anything else."""
    if isinstance(index, str | Path):
        return Index.open(index)
    if not isinstance(index, Index):
        raise OptionError(f"index is {index!r}; give a graphwright.Index, or the path of its folder.")
    return index


def passages_of(state: State) -> list[Passage]:
    """Return the passages of a state, best first."""
    return [] if state.passages is None else list(state.passages)


def metadata_of(passage: Passage) -> dict[str, Any]:
    """Return what a framework may store beside a passage's text: all its other fields."""
    fields = passage.to_dict()
    return {name: fields[name] for name in fields if name != "text"}


def cited_passages(state: State) -> list[tuple[Citation, Passage | None]]:
    """Return each citation with the passage that it is in, None where the passage is not among those retrieved."""
    by_id = {passage.id: passage for passage in passages_of(state)}
    answer = state.answer
    return [(citation, by_id.get(citation.chunk)) for citation in (() if answer is None else answer.citations)]


def answer_with_sources(state: State) -> str:
    """Return the answer's text, and below it each citation: number, document, characters, quote."""
    if state.answer is None:
        return ""
    sources: Iterable[str] = (
        f"[{number}] {cited.document or cited.chunk}, characters {cited.start}-{cited.end}: {cited.text}"
        for number, cited in enumerate(state.answer.citations, 1)
    )
    return "\n".join([state.answer.text, *sources])
