"""Which of two things a description fits, whether it fits both, and what two things are alike in, by their words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphwright.generate.comparing.attributes import Fact, country
from graphwright.generate.comparing.countries import countries
from graphwright.generate.comparing.things import Told, names_within, parted, spans_of
from graphwright.generate.reader import sentences_of
from graphwright.models.protocols import Span
from graphwright.text.words import words

__all__ = ["alike", "both", "fitting"]

_AUXILIARY = r"(?:are|were|is|was|do|did|does|have|has)"
_ARE = re.compile(r"\s*,?\s*(?:(?:are|were|both|all|each|a|an|the)\s+)*")
# More than a plain description: the reader is asked.
_BEYOND = re.compile(
    r"\b(?:same|or|and|before|after|not|never|still|than|what|which|who|whose|where|how|more|most|first|last|in|of|by|on|at|"
    r"from|for|with|to|made|born|located|published)\b"
)
_KIND = r"(?:type|kind|sort|category|breed|animal|occupation|profession|job|career|industry|genre)"
_COMMON = re.compile(
    rf"\bin common$|\bare both what$|^(?:what|which) (?:\w+ )?{_KIND}\b|\b(?:what|which) (?:\w+ )?(?:{_KIND}|country)$"
    rf"|\b(?:what|which) (?:{_KIND}) of \w+$|^(?:what|which) country (?:do|did|are|were)\b"
)
# They say of what kind a thing is only in the widest sense.
_WIDE = frozenset(("type", "kind", "sort", "category", "breed"))
_PREDICATE = re.compile(r"\b(?:is|was|are|were)\b\s+")
# The kind of a thing is told before these.
_CLAUSE = re.compile(
    r"\b(?:who|that|which|whose|where|known|best|from|in|by|with|at|for|to|on|formed|based|founded|published|described|led|born|"
    r"released|native)\b|;"
)


def fitting(names: Sequence[str], said: str, places: Sequence[list[int]], passages: Sequence[str]) -> list[Span]:
    """Generate which thing's passages hold more words of a description; nothing where both hold as many.

    `names` are two, `places` the passages of each.
    """
    if re.search(r"\b(?:still|not|never|no)\b", said):
        return []
    held = _held(names, said, places, passages)
    if len(held[0]) == len(held[1]):
        return []
    chosen = 0 if len(held[0]) > len(held[1]) else 1
    told = [_sentence_with(passages, place[0], one) for place, one in zip(places, held, strict=True)]
    return spans_of(names[chosen], [told[chosen], told[1 - chosen]], passages)


def both(question: str, passages: Sequence[str]) -> list[Span]:
    """Generate "Are A and B rock bands?": yes where the passages of both hold all the words.

    No where one lacks the noun or the country that is named. Other than a noun with one or two words before it is left
    to readers.

    >>> passages = ["Lyon\\nLyon is a large city.", "Mur\\nThe Mur is a river."]
    >>> both("Are both Lyon and the Mur rivers?", passages)[0].text
    'no'
    """
    text = re.sub(r",? is this true$", "", " ".join(question.split()).rstrip("?. "))
    found = names_within(text, passages)
    if found is None:
        return []
    (one, at_one), (_, at_other), rest = found
    # The names come first, or after an auxiliary verb.
    lead = text[: text.index(one)]
    asks = re.fullmatch(rf"(?:{_AUXILIARY}\s+)?(?:both\s+)?(?:the\s+)?", lead, re.I)
    said = rest[_ARE.match(rest).end() :]  # type: ignore[union-attr]
    if not asks or not 1 <= len(words(said)) <= 3 or _BEYOND.search(said):
        return []
    places = (at_one, at_other)
    wanted = words(said)
    held = [{word for i in place for word in words(passages[i])} for place in places]
    lacking = {word for word in wanted if not all(word in have for have in held)}
    # Who lacks the noun or the country is not so; of the words between, a passage may say the same in others.
    if lacking and wanted[-1] not in lacking and not any(countries(word.capitalize()) for word in lacking):
        return []
    told = [_sentence_with(passages, place[0], set(wanted) & have) for place, have in zip(places, held, strict=True)]
    return spans_of("no" if lacking else "yes", told, passages)


def alike(question: str, passages: Sequence[str]) -> list[Span]:
    """Generate "What do A and B have in common?": the longest words with which the passages of both say what they are.

    >>> passages = ["Interpol\\nInterpol is a rock band from New York.", "Lilys\\nLilys are an indie rock band."]
    >>> alike("What do Interpol and Lilys have in common?", passages)[0].text
    'rock band'
    """
    text = " ".join(question.split()).rstrip("?. ")
    text = text[:1].lower() + text[1:]
    found = names_within(text, passages) if _COMMON.search(text) else None
    if found is None:
        return []
    (_, [first, *_]), (_, [second, *_]), _ = found
    if re.search(r"\b(?:which|what) country\b", text):
        return _common_country(first, second, passages)
    asked = _WIDE.union(words(text))
    (kind, kinds), (_, others) = _kinds(passages[first], asked), _kinds(passages[second], asked)
    common = max((run for run in kinds if run in others), key=len, default=None)
    if common is None:
        return []
    held = set(common)
    start, end = kinds[common]
    told = [_sentence_with(passages, first, held), _sentence_with(passages, second, held)]
    return spans_of(kind[start:end], told, passages)


def _common_country(first: int, second: int, passages: Sequence[str]) -> list[Span]:
    told = []
    for place in (first, second):
        title, text = parted(passages[place])
        fact = country(text)
        if fact is None:
            return []
        told.append(Told(Fact(fact.value, fact.start + len(title), fact.end + len(title)), place))
    shared = told[0].fact.value & told[1].fact.value  # type: ignore[operator]
    return spans_of(min(shared), told, passages) if shared else []


def _kinds(passage: str, asked: frozenset[str]) -> tuple[str, dict[tuple[str, ...], tuple[int, int]]]:
    """Return what a passage says its thing is, and the runs of words there, later ones first, with their characters.

    Countries and the words that the question has part the runs, as all stops do.
    """
    spans = sentences_of(passage)
    sentence = passage[slice(*spans[0])] if spans else ""
    bare = re.sub(r"\([^()]*\)", lambda match: " " * len(match[0]), sentence)
    verb = _PREDICATE.search(bare)
    told = bare[verb.end() :] if verb else ""
    told = told[: clause.start()] if (clause := _CLAUSE.search(told)) else told
    for start, end, _ in countries(told):
        told = told[:start] + "," * (end - start) + told[end:]
    runs: dict[tuple[str, ...], tuple[int, int]] = {}
    tokens = [(words(match[0]), match.start(), match.end()) for match in re.finditer(r"[^\W_][\w'’-]*|\S", told)]
    for last in range(len(tokens) - 1, -1, -1):
        for begin in range(last, -1, -1):
            token = tokens[begin][0]
            if not token or asked.intersection(token):
                break
            run = tuple(word for found, *_ in tokens[begin : last + 1] for word in found)
            runs.setdefault(run, (tokens[begin][1], tokens[last][2]))
    return told, runs


def _held(names: Sequence[str], said: str, places: Sequence[list[int]], passages: Sequence[str]) -> list[set[str]]:
    """Return which words of a description, but for those of the names, the passages of each thing hold."""
    wanted = set(words(said)) - {word for name in names for word in words(name)}
    return [wanted & {word for i in place for word in words(passages[i])} for place in places]


def _sentence_with(passages: Sequence[str], place: int, wanted: set[str]) -> Told:
    """Return the first of the sentences of a passage that hold most of the wanted words."""
    passage = passages[place]
    sentences = sentences_of(passage) or [(0, len(passage))]
    start, end = max(sentences, key=lambda span: len(wanted.intersection(words(passage[slice(*span)]))))
    return Told(Fact("", start, end), place)
