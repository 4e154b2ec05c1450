"""What chunks are about, under which shorter names topics go, and where other chunks name them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from graphwright.index.names import aliases_of, name_words, normal_form
from graphwright.index.words import words

__all__ = ["claimed_aliases", "named_in", "topic_of"]

# A shorter name that more topics than this lay claim to says nothing about which of them is meant.
_CLAIMS = 5


def topic_of(title: str, mentions: Sequence[str]) -> str:
    """Return what a chunk is about: its document's title, else the first name in it.

    An encyclopedia's passage, a letter, a minute: most texts name what they are about first.

    >>> topic_of("", ["1974", "Hank Snow"]), topic_of("Hello Love", ["1974"])
    ('Hank Snow', 'Hello Love')
    """
    if normal_form(title):
        return title
    return next((name for name in mentions if len(name) > 2 and not name[0].isdigit()), "")


def claimed_aliases(topics: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the shorter normal forms that mean topics, and the entities that each may mean.

    `topics`: entity by surface form. A form claimed by more than five topics is left out.

    >>> claimed_aliases({"Lilu (mythology)": 3, "Graz": 4})
    {'lilu': [3]}
    """
    claims: defaultdict[str, set[int]] = defaultdict(set)
    own = {normal_form(topic): entity for topic, entity in topics.items()}
    for topic, entity in topics.items():
        for alias in aliases_of(topic):
            if len(alias) > 1 and own.get(alias) != entity:
                claims[alias].add(entity)
    return {alias: sorted(meant) for alias, meant in claims.items() if len(meant) <= _CLAIMS}


def named_in(texts: Sequence[str], sought: Mapping[str, int]) -> list[list[int]]:
    """Return for each text the entities whose form stands in it word by word, in any case.

    `sought`: entity by normal form; forms of one word are too common to be looked for. One pass over each
    text: a word that no form begins with costs one look-up.

    >>> named_in(["a demon algorithm, in short"], {"demon algorithm": 7, "algorithm": 8})
    [[7]]
    """
    lengths: defaultdict[str, set[int]] = defaultdict(set)
    for form in sought:
        parts = form.split()
        if len(parts) > 1 and words(form):
            lengths[parts[0]].add(len(parts))
    return [_named(name_words(text), sought, lengths) for text in texts]


def _named(text: list[str], sought: Mapping[str, int], lengths: Mapping[str, set[int]]) -> list[int]:
    found: dict[int, None] = {}
    for at, word in enumerate(text):
        for length in lengths.get(word, ()):
            entity = sought.get(" ".join(text[at : at + length]))
            if entity is not None and at + length <= len(text):
                found[entity] = None
    return list(found)
