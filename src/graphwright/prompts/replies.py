"""Replies that prompts ask for, as pydantic models; imported when a language model is first used.

Each has limits, so that a reply that keeps them ends by itself before `max_tokens` of OpenAILLM: at most 6,144
characters, three a token. Only the reply to `extract`, descriptions of all names of a passage, may be longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from graphwright.prompts.limits import AtMost, Name, Names, Number, Numbers, Paragraph, Sentence, Some, at_most
from graphwright.prompts.query_reply import QueryReply


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
    answers: Annotated[list[Name], at_most(12)] = []
    citations: Annotated[list[QuotedPassage], at_most(8)]


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
    keywords: Annotated[list[Name], at_most(5)] = []


class ExtractionReply(BaseModel):
    """Entities and relations of a passage, with descriptions (`extract`)."""

    entities: Annotated[list[ExtractedEntity], at_most(40)]
    relations: Annotated[list[ExtractedRelation], at_most(40)]


def typed_reply(types: Sequence[str], relations: Sequence[str]) -> type[ExtractionReply]:
    """Return the reply to `extract` whose JSON schema allows these types and relations alone; without any, all.

    A server that does not enforce the schema may reply others, which are read all the same.
    """

    def one_of(names: Sequence[str]) -> Any:
        return Annotated[str, Field(json_schema_extra={"enum": list(names)})] if names else Name

    entity = create_model("ExtractedEntity", __base__=ExtractedEntity, type=(one_of(types), ""))
    relation = create_model("ExtractedRelation", __base__=ExtractedRelation, relation=(one_of(relations), ...))
    return create_model(
        "ExtractionReply",
        __base__=ExtractionReply,
        entities=(Annotated[list[entity], at_most(40)], ...),  # type: ignore[valid-type, arg-type]
        relations=(Annotated[list[relation], at_most(40)], ...),  # type: ignore[valid-type, arg-type]
    )


_Triple = Annotated[list[Name], Field(json_schema_extra={"minItems": 3, "maxItems": 3})]


class TriplesReply(BaseModel):
    """Triples of a passage, and its names that are in none (`extract_triples`)."""

    triples: Annotated[list[_Triple], at_most(20)]
    names: Annotated[list[Name], at_most(10)] = []

    @property
    def entities(self) -> list[ExtractedEntity]:
        """The names as entities without descriptions."""
        return [ExtractedEntity(name=name) for name in self.names]

    @property
    def relations(self) -> list[ExtractedRelation]:
        """The triples as relations without descriptions; lists of another length than three are dropped."""
        whole = (triple for triple in self.triples if len(triple) == 3)
        return [ExtractedRelation(source=head, relation=label, target=tail) for head, label, tail in whole]


_TypeName = Annotated[str, AtMost(40)]
_TypeDescription = Annotated[str, AtMost(120)]


class SuggestedEntity(BaseModel):
    """A type of entities that a model suggests."""

    name: _TypeName
    description: _TypeDescription = ""
    examples: Annotated[list[Name], AtMost(2)] = []


class SuggestedRelation(BaseModel):
    """A type of relations that a model suggests, with pairs of types."""

    name: _TypeName
    description: _TypeDescription = ""
    pairs: Annotated[list[Annotated[list[_TypeName], at_most(2)]], AtMost(3)] = []


class SchemaReply(BaseModel):
    """Types of entities and relations of a collection (`suggest_schema`)."""

    entities: Annotated[list[SuggestedEntity], AtMost(8)]
    relations: Annotated[list[SuggestedRelation], AtMost(6)] = []


class ReferencesReply(BaseModel):
    """Works that a part of a document cites, as written (`references`)."""

    references: Annotated[list[Annotated[str, AtMost(160)]], at_most(30)]


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


class ChoiceReply(BaseModel):
    """Numbers of the chosen candidates, best first (`choose`, `choose_again`)."""

    numbers: Numbers


class Rating(BaseModel):
    """Helpfulness of a summary, a fact or a path, by number, from 0 to 100."""

    number: Number
    helpful: Number


class RatingsReply(BaseModel):
    """Helpfulness of community summaries (`helpful`)."""

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


REPLIES: dict[str, type[BaseModel]] = {  # the reply of each prompt that asks for JSON, by the prompt's name
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
    "query": QueryReply,
    "references": ReferencesReply,
    "refine": RefineReply,
    "same_entity": SameEntityReply,
    "suggest_schema": SchemaReply,
    "vanilla": PlainAnswer,
}
