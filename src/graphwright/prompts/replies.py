"""Replies that prompts ask for, as pydantic models; imported when a language model is first used.

Each has limits, so that a reply that keeps them ends by itself before `max_tokens` of OpenAILLM: at most 6,144
characters, three a token. Only the reply to `extract`, descriptions of all names of a passage, may be longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic_core import core_schema


@dataclass(frozen=True)
class AtMost:
    """Limit the characters of a text or the items of a list in the JSON schema, which a server enforces by a grammar.

    A reply of another server that has more is not refused: a longer list is cut, and a longer text is read whole.

    >>> from pydantic import TypeAdapter
    >>> numbers = TypeAdapter(Annotated[list[int], AtMost(2)])
    >>> numbers.json_schema()["maxItems"], numbers.validate_python([3, 1, 2])
    (2, [3, 1])
    """

    limit: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return the schema that cuts a list."""
        return core_schema.no_info_before_validator_function(self._first, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        """Return the JSON schema with the limit."""
        made: dict[str, Any] = handler(schema)
        return made | {"maxItems" if made["type"] == "array" else "maxLength": self.limit}

    def _first(self, value: Any) -> Any:
        return value[: self.limit] if isinstance(value, list) else value


def _at_most(items: int) -> Any:
    """Return a limit of a list that a server's grammar enforces; a longer list of another server is read whole."""
    return Field(json_schema_extra={"maxItems": items})


Name = Annotated[str, AtMost(80)]
"""A name, a keyword, or another few words."""
Sentence = Annotated[str, AtMost(400)]
"""One sentence or two."""
Paragraph = Annotated[str, AtMost(1_500)]
"""Several sentences."""
Number = Annotated[int, Field(json_schema_extra={"minimum": 0, "maximum": 9_999})]
"""Number of an element that a prompt lists."""
Numbers = Annotated[list[Number], AtMost(100)]
"""Numbers of elements that a prompt lists."""
Some = Annotated[list[Number], _at_most(20)]
"""Numbers of a few elements."""
Names = Annotated[list[Name], AtMost(20)]
"""A short list of names."""


class PlainAnswer(BaseModel):
    """An answer without citations (`vanilla`, `chain_of_thought`); in the order of writing: the reasoning first."""

    reasoning: Annotated[str, AtMost(800)] = ""
    found: bool
    text: Paragraph
    answers: Names = []


class QuotedPassage(BaseModel):
    """A quote from a passage, by number."""

    passage: Number
    quote: Annotated[str, AtMost(200)]


class WrittenAnswer(PlainAnswer):
    """An answer from passages, with the quotes that its markers number (`answer`)."""

    reasoning: Annotated[str, AtMost(400)] = ""
    text: Annotated[str, AtMost(1_200)]
    answers: Annotated[list[Name], _at_most(12)] = []
    citations: Annotated[list[QuotedPassage], _at_most(8)]


class ExtractedEntity(BaseModel):
    """An entity of a passage."""

    name: Name
    type: Name = ""
    description: Sentence = ""


class ExtractedRelation(BaseModel):
    """A relation between two entities of a passage."""

    source: Name
    relation: Name
    target: Name
    description: Sentence = ""
    keywords: Annotated[list[Name], _at_most(5)] = []


class ExtractionReply(BaseModel):
    """Entities and relations of a passage, with descriptions (`extract`)."""

    entities: Annotated[list[ExtractedEntity], _at_most(40)]
    relations: Annotated[list[ExtractedRelation], _at_most(40)]


_Triple = Annotated[list[Name], Field(json_schema_extra={"minItems": 3, "maxItems": 3})]


class TriplesReply(BaseModel):
    """Triples of a passage, and its names that are in none (`extract_triples`)."""

    triples: Annotated[list[_Triple], _at_most(20)]
    names: Annotated[list[Name], _at_most(10)] = []

    @property
    def entities(self) -> list[ExtractedEntity]:
        """The names as entities without descriptions."""
        return [ExtractedEntity(name=name) for name in self.names]

    @property
    def relations(self) -> list[ExtractedRelation]:
        """The triples as relations without descriptions; lists of another length than three are dropped."""
        whole = (triple for triple in self.triples if len(triple) == 3)
        return [ExtractedRelation(source=head, relation=label, target=tail) for head, label, tail in whole]


class ReferencesReply(BaseModel):
    """Works that a part of a document cites, as written (`references`)."""

    references: Annotated[list[Annotated[str, AtMost(160)]], _at_most(30)]


class SameEntityReply(BaseModel):
    """Whether two names mean the same thing (`same_entity`)."""

    reason: Sentence = ""
    same: bool

    @property
    def value(self) -> str:
        """The decision as it is stored."""
        return "yes" if self.same else "no"


class DescriptionReply(BaseModel):
    """One description in place of many (`describe`)."""

    description: Paragraph

    @property
    def value(self) -> str:
        """The description on one line."""
        return " ".join(self.description.split())


class KeywordsReply(BaseModel):
    """Names and themes of a question (`pathrag_keywords`)."""

    names: Names
    themes: Names


class LatentKeywordsReply(BaseModel):
    """Names of a question, names that it only implies, and relations (`bubblerag_keywords`)."""

    names: Names
    implied: Names
    relations: Names


class Constraint(BaseModel):
    """A keyword, by number, and its specific wording."""

    keyword: Number
    text: Name


class ConstraintsReply(BaseModel):
    """Specific wordings of loose keywords (`bubblerag_constraints`)."""

    constraints: Annotated[list[Constraint], AtMost(20)]


class Match(BaseModel):
    """A keyword and the entries that it may mean, all by number."""

    keyword: Number
    entries: Some


class MatchesReply(BaseModel):
    """Entries of the first passages that keywords may mean (`bubblerag_relax`)."""

    matches: Annotated[list[Match], AtMost(20)]


class Group(BaseModel):
    """Candidates, by number, with the same meaning, and their weight."""

    intent: Name
    numbers: Some
    weight: float


class GroupsReply(BaseModel):
    """Groups of anchors (`bubblerag_groups`)."""

    groups: Annotated[list[Group], AtMost(20)]


class GrowReply(BaseModel):
    """Neighbours to add to an item, by number, and whether the item is enough (`bubblerag_grow`)."""

    numbers: Numbers
    enough: bool


class EnoughReply(BaseModel):
    """Whether the facts read so far answer the question (`structgpt`)."""

    enough: bool


class ChoiceReply(BaseModel):
    """Numbers of the chosen candidates, best first (`choose`, `choose_again`)."""

    numbers: Numbers


class Rating(BaseModel):
    """Helpfulness of a summary, a fact or a path, by number, from 0 to 100."""

    number: Number
    helpful: Number


class RatingsReply(BaseModel):
    """Helpfulness of community summaries (`helpful`), or of facts and paths (`rate`)."""

    ratings: Annotated[list[Rating], AtMost(100)]


class SummaryReply(BaseModel):
    """Summary of a community or a cluster (`community`, `cluster`)."""

    summary: Annotated[str, AtMost(3_000)]


class PlansReply(BaseModel):
    """Relation paths that may lead to an answer (`plan`)."""

    plans: Annotated[list[Annotated[list[Name], AtMost(6)]], AtMost(10)]


class RefineReply(BaseModel):
    """Numbers of the relation paths that explain the answers, after a short reasoning (`refine`)."""

    reasoning: Sentence = ""
    paths: Numbers


class PassageReply(BaseModel):
    """A passage that could answer the question (`hypothetical_passage`)."""

    passage: Paragraph


class ThoughtReply(BaseModel):
    """The next sentence of a chain of thought, or its end (`ircot`)."""

    enough: bool
    thought: Sentence


class CondenseReply(BaseModel):
    """The last question of a conversation, as it can be asked alone (`condense`)."""

    question: Paragraph


class AgentReply(BaseModel):
    """The passages that an agent keeps, and its next call, or that it has enough (`agent`)."""

    thought: Sentence = ""
    keep: Annotated[list[Number], AtMost(30)]
    enough: bool
    tool: Name = ""
    arguments: Annotated[list[Name], AtMost(3)] = []


REPLIES: dict[str, type[BaseModel]] = {
    "agent": AgentReply,
    "answer": WrittenAnswer,
    "bubblerag_constraints": ConstraintsReply,
    "bubblerag_groups": GroupsReply,
    "bubblerag_grow": GrowReply,
    "bubblerag_keywords": LatentKeywordsReply,
    "bubblerag_relax": MatchesReply,
    "chain_of_thought": PlainAnswer,
    "choose": ChoiceReply,
    "choose_again": ChoiceReply,
    "cluster": SummaryReply,
    "community": SummaryReply,
    "condense": CondenseReply,
    "describe": DescriptionReply,
    "extract": ExtractionReply,
    "extract_triples": TriplesReply,
    "helpful": RatingsReply,
    "hypothetical_passage": PassageReply,
    "ircot": ThoughtReply,
    "pathrag_keywords": KeywordsReply,
    "plan": PlansReply,
    "rate": RatingsReply,
    "references": ReferencesReply,
    "refine": RefineReply,
    "same_entity": SameEntityReply,
    "structgpt": EnoughReply,
    "vanilla": PlainAnswer,
}
"""The reply of each prompt that asks for JSON, by the prompt's name."""
