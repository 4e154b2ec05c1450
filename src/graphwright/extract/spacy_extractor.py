"""Extraction by an installed spaCy pipeline: its named entities, and relations from its dependency parse."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from graphwright.constraints import Checked
from graphwright.errors import OptionError
from graphwright.extract.extraction import Excerpt, Extraction, Mention, Relation
from graphwright.extract.statements import proposition, sentence_relations
from graphwright.text.sentences import sentence_spans

_SUBJECTS, _OBJECTS = frozenset({"nsubj", "nsubjpass", "nsubj:pass"}), frozenset({"dobj", "obj", "attr", "oprd"})
_OBLIQUE = frozenset({"prep", "agent", "obl"})
_BATCH = 32


@dataclass(frozen=True)
class SpacyExtractor(Checked):
    """Extractor of the named entities of a spaCy pipeline, and of subject, verb and object where it parses.

    `pipeline`: the name of an installed one, such as en_core_web_sm, or the path of one. Where it has a parser, a verb
    joins the entity in its subject to those in its objects; other names of a sentence are joined as `LexicalExtractor`
    joins them. Needs `pip install 'graphwright[spacy]'` and the pipeline. Raises OptionError where either is missing.
    """

    pipeline: str

    @property
    def id(self) -> str:
        """Name of the pipeline with its version, and the version of spaCy."""
        meta = _loaded(self.pipeline).meta
        return f"spacy:{self.pipeline}:{meta.get('version', '')}:{version('spacy')}:1"

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        """Return one extraction per excerpt, in order."""
        documents = _loaded(self.pipeline).pipe([excerpt.text for excerpt in excerpts], batch_size=_BATCH)
        return [
            _extraction(excerpt.title.strip(), excerpt.text, document)
            for excerpt, document in zip(excerpts, documents, strict=True)
        ]


@cache
def _loaded(pipeline: str) -> Any:
    try:
        import spacy
    except ImportError as error:
        raise OptionError(f'spacy:{pipeline} needs spaCy. Install it: pip install "graphwright[spacy]"') from error
    try:
        return spacy.load(pipeline)
    except OSError as error:
        raise OptionError(
            f"spaCy has no pipeline {pipeline!r}. Install one (python -m spacy download en_core_web_sm), or give the "
            f"folder of one."
        ) from error


def _extraction(title: str, text: str, document: Any) -> Extraction:
    names = [
        Mention(entity.text, entity.start_char, entity.end_char, entity.label_.lower())
        for entity in document.ents
        if entity.text.strip() == entity.text and entity.text
    ]
    first = {} if not title else {title: Mention(title)}
    for mention in names:
        first.setdefault(mention.name, mention)
    parsed = document.has_annotation("DEP")
    relations: dict[tuple[str, str, str], Relation] = {}
    starts = [mention.start for mention in names]
    for start, end in sentence_spans(text):
        mentions = names[bisect_left(starts, start) : bisect_left(starts, end)]
        if parsed:
            statement = proposition(title, mentions, text, start, end)
            for head, predicate, tail in _clauses(document, mentions):
                relations.setdefault((head, tail, statement), Relation(head, predicate, tail, statement))
        for relation in sentence_relations(title, mentions, text, start, end):
            relations.setdefault((relation.head, relation.tail, relation.text), relation)
    return Extraction(tuple(first.values()), tuple(relations.values()))


def _clauses(document: Any, mentions: Sequence[Mention]) -> Iterator[tuple[str, str, str]]:
    """Yield subject, predicate and object of the verbs that join two of these names."""
    spans = [(mention, document.char_span(mention.start, mention.end)) for mention in mentions]
    subjects, objects = dict[Any, list[str]](), list[tuple[Any, str, str]]()
    for mention, span in spans:
        if span is None:
            continue
        token = span.root
        if token.dep_ in _SUBJECTS:
            subjects.setdefault(token.head, []).append(mention.name)
        elif token.dep_ in _OBJECTS:
            objects.append((token.head, token.head.text, mention.name))
        elif token.dep_ == "pobj" and token.head.dep_ in _OBLIQUE:
            verb = token.head.head
            objects.append((verb, f"{verb.text} {token.head.text}", mention.name))
    for verb, predicate, name in objects:
        for subject in subjects.get(verb, ()):
            if subject != name:
                yield subject, predicate.lower(), name
