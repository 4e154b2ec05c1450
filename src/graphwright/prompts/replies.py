"""Replies that prompts ask for, as pydantic models; imported when a language model is first used."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

__all__ = ["REPLIES"]


def _at_most(**limits: int) -> Any:
    """Return limits that a server's grammar enforces; a longer reply of another server is cut, not refused."""
    return Field(json_schema_extra=dict(limits))


_ShortText = Annotated[str, _at_most(maxLength=120)]
_Sentence = Annotated[str, _at_most(maxLength=400)]


class ExtractedEntity(BaseModel):
    """An entity of a passage."""

    name: _ShortText
    type: _ShortText = ""
    description: _Sentence = ""


class ExtractedRelation(BaseModel):
    """A relation between two entities of a passage."""

    source: _ShortText
    relation: _ShortText
    target: _ShortText
    description: _Sentence = ""
    keywords: Annotated[list[_ShortText], _at_most(maxItems=5)] = []


class ExtractionReply(BaseModel):
    """Entities and relations of a passage, with descriptions (`extract`)."""

    entities: Annotated[list[ExtractedEntity], _at_most(maxItems=40)]
    relations: Annotated[list[ExtractedRelation], _at_most(maxItems=40)]


_Triple = Annotated[list[_ShortText], _at_most(minItems=3, maxItems=3)]


class TriplesReply(BaseModel):
    """Triples of a passage, and its names that are in none (`extract_triples`)."""

    triples: Annotated[list[_Triple], _at_most(maxItems=40)]
    names: Annotated[list[_ShortText], _at_most(maxItems=40)] = []

    @property
    def entities(self) -> list[ExtractedEntity]:
        """The names as entities without descriptions."""
        return [ExtractedEntity(name=name) for name in self.names]

    @property
    def relations(self) -> list[ExtractedRelation]:
        """The triples as relations without descriptions; lists of another length than three are dropped."""
        whole = (triple for triple in self.triples if len(triple) == 3)
        return [ExtractedRelation(source=head, relation=label, target=tail) for head, label, tail in whole]


class KeywordsReply(BaseModel):
    """Names and themes of a question (`pathrag_keywords`)."""

    names: list[str]
    themes: list[str]


class LatentKeywordsReply(BaseModel):
    """Names of a question, names that it only implies, and relations (`bubblerag_keywords`)."""

    names: list[str]
    implied: list[str]
    relations: list[str]


class Constraint(BaseModel):
    """A keyword, by number, and its specific wording."""

    keyword: int
    text: str


class ConstraintsReply(BaseModel):
    """Specific wordings of loose keywords (`bubblerag_constraints`)."""

    constraints: list[Constraint]


class Match(BaseModel):
    """A keyword and the entries that it may mean, all by number."""

    keyword: int
    entries: list[int]


class MatchesReply(BaseModel):
    """Entries of the first passages that keywords may mean (`bubblerag_relax`)."""

    matches: list[Match]


class Group(BaseModel):
    """Candidates, by number, that mean one thing, and the weight of that."""

    intent: str
    numbers: list[int]
    weight: float


class GroupsReply(BaseModel):
    """Groups of anchors (`bubblerag_groups`)."""

    groups: list[Group]


class GrowReply(BaseModel):
    """Neighbours to add to an item, by number, and whether the item is enough (`bubblerag_grow`)."""

    numbers: list[int]
    enough: bool


class ChoiceReply(BaseModel):
    """Numbers of the chosen candidates, best first (`choose`, `choose_again`)."""

    numbers: list[int]


class Rating(BaseModel):
    """Helpfulness of a summary, by number, from 0 to 100."""

    number: int
    helpful: int


class RatingsReply(BaseModel):
    """Helpfulness of community summaries (`helpful`)."""

    ratings: list[Rating]


class SummaryReply(BaseModel):
    """Summary of a community or a cluster (`community`, `cluster`)."""

    summary: str


class PlansReply(BaseModel):
    """Relation paths that may lead to an answer (`plan`)."""

    plans: list[list[str]]


class RefineReply(BaseModel):
    """Numbers of the relation paths that explain the answers (`refine`)."""

    paths: list[int]


class PassageReply(BaseModel):
    """A passage that could answer the question (`hypothetical_passage`)."""

    passage: str


class ThoughtReply(BaseModel):
    """The next sentence of a chain of thought, or its end (`ircot`)."""

    enough: bool
    thought: str


REPLIES: dict[str, type[BaseModel]] = {
    "bubblerag_constraints": ConstraintsReply,
    "bubblerag_groups": GroupsReply,
    "bubblerag_grow": GrowReply,
    "bubblerag_keywords": LatentKeywordsReply,
    "bubblerag_relax": MatchesReply,
    "choose": ChoiceReply,
    "choose_again": ChoiceReply,
    "cluster": SummaryReply,
    "community": SummaryReply,
    "extract": ExtractionReply,
    "extract_triples": TriplesReply,
    "helpful": RatingsReply,
    "hypothetical_passage": PassageReply,
    "ircot": ThoughtReply,
    "pathrag_keywords": KeywordsReply,
    "plan": PlansReply,
    "refine": RefineReply,
}
"""The reply of each prompt that asks for JSON, by the prompt's name."""
