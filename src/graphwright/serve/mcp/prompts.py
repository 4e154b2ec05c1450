"""MCP prompts for common tasks with the tools."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

Question = Annotated[str, Field(description="The question.")]
DocumentId = Annotated[str, Field(description="Id of the document.")]
EntityName = Annotated[str, Field(description="Name of the entity.")]
IndexName = Annotated[str, Field(description="Name of the index, where there are several.")]


def cited_answer(question: Question, index: IndexName = "") -> str:
    """Answer a question from the documents, each statement with its source."""
    return (
        f"Answer this question from {_place(index)} alone:\n\n{question}\n\nCall `ask` first. If it does not answer "
        "the question, call `retrieve` with other words, and `read_passage` around what looks useful. Give the source "
        "of each statement as document and characters. If the documents do not answer the question, say so."
    )


def summarise_document(document: DocumentId, index: IndexName = "") -> str:
    """Summarise one document with references to its text."""
    return (
        f"Summarise the document {document} of {_place(index)}.\n\nRead it with `read_passage`, in parts if it is "
        "long. For each point give the characters that it rests on."
    )


def about_entity(entity: EntityName, index: IndexName = "") -> str:
    """Describe an entity and what it is connected with, each statement with its source.

    >>> about_entity("Graz", "wiki").splitlines()[0]
    'Describe Graz from the index "wiki" of graphwright.'
    """
    return (
        f"Describe {entity} from {_place(index)}.\n\nFind it with `find_entities`, read its statements with "
        "`neighbours`, and check the ones that you use with `read_passage`. Give the source of each statement."
    )


def _place(index: str) -> str:
    return f'the index "{index}" of graphwright' if index else "graphwright"


PROMPTS = tuple(
    Prompt.from_function(function, title=title, description=str(function.__doc__).partition("\n")[0])
    for function, title in (
        (cited_answer, "Answer with citations"),
        (summarise_document, "Summarise a document"),
        (about_entity, "Describe an entity"),
    )
)
"""All prompts."""
