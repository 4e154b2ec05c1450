"""Prompts that assistants offer to their users: common tasks, worded for the tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import mcp_types as types

_INDEX = ("index", "Name of the index, where there are several.", False)


@dataclass(frozen=True)
class Prompt:
    """A prompt. `arguments`: name, description, and whether it is required; `template` holds their names in braces."""

    name: str
    title: str
    about: str
    arguments: tuple[tuple[str, str, bool], ...]
    template: str

    @property
    def required(self) -> list[str]:
        """Names of the arguments that must be given."""
        return [name for name, _, is_required in self.arguments if is_required]

    def described(self) -> types.Prompt:
        """Return the prompt as the protocol lists it."""
        arguments = [
            types.PromptArgument(name=name, description=about, required=is_required)
            for name, about, is_required in self.arguments
        ]
        return types.Prompt(name=self.name, title=self.title, description=self.about, arguments=arguments)

    def text(self, given: Mapping[str, str]) -> str:
        """Return the message to the assistant.

        >>> PROMPTS["about_entity"].text({"entity": "Graz", "index": "wiki"}).splitlines()[0]
        'Describe Graz from the index "wiki" of graphwright.'
        """
        where = f'the index "{given["index"]}" of graphwright' if given.get("index") else "graphwright"
        values = {name: given.get(name, "") for name, _, _ in self.arguments}
        values["where"] = where
        return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], self.template)


_ALL = (
    Prompt(
        "cited_answer",
        "Answer with citations",
        "Answer a question from the documents, each statement with its source.",
        (("question", "The question.", True), _INDEX),
        "Answer this question from {where} alone:\n\n{question}\n\nCall `ask` first. If it does not answer "
        "the question, call `retrieve` with other words, and `read_passage` around what looks useful. Give the source "
        "of each statement as document and characters. If the documents do not answer the question, say so.",
    ),
    Prompt(
        "summarise_document",
        "Summarise a document",
        "Summarise one document with references to its text.",
        (("document", "Id of the document.", True), _INDEX),
        "Summarise the document {document} of {where}.\n\nRead it with `read_passage`, in parts if it is long. For "
        "each point give the characters that it rests on.",
    ),
    Prompt(
        "about_entity",
        "Describe an entity",
        "Describe an entity and what it is connected with, each statement with its source.",
        (("entity", "Name of the entity.", True), _INDEX),
        "Describe {entity} from {where}.\n\nFind it with `find_entities`, read its statements with `neighbours`, and "
        "check the ones that you use with `read_passage`. Give the source of each statement.",
    ),
)
PROMPTS: dict[str, Prompt] = {prompt.name: prompt for prompt in _ALL}
"""All prompts by name."""
