"""The passages that are about a thing, found by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from graphwright.generate.comparing.attributes import Fact
from graphwright.generate.reader import sentences_of
from graphwright.models.protocols import Span
from graphwright.text.names import name_words

__all__ = ["Told", "bare_name", "leading_name", "names_within", "parted", "passages_of", "spans_of"]

_WORDS = 24  # of a name, at most
_GO_ON = frozenset(("is", "was", "are", "were", "also", "known", "born", "or"))


class Told(NamedTuple):
    """A fact, the passage that tells it, and how sure it is, from 0 to 1."""

    fact: Fact
    passage: int
    score: float = 1.0


def spans_of(answer: str, told: Sequence[Told], passages: Sequence[str]) -> list[Span]:
    """Return the sentences that tell facts, the first with the answer, all with the least of the scores."""
    score = min(one.score for one in told)
    spans: list[Span] = []
    for one in told:
        held = [s for s in sentences_of(passages[one.passage]) if s[0] < one.fact.end and one.fact.start < s[1]]
        start, end = (held[0][0], held[-1][1]) if held else (one.fact.start, one.fact.end)
        spans.append(Span(one.passage, start, end, score, "" if spans else answer))
    return spans


def parted(passage: str) -> tuple[str, str]:
    """Return the title's line with its end, and the text; a passage of one line has no title.

    >>> parted("Graz\\nGraz lies on the Mur."), parted("Graz lies on the Mur.")
    (('Graz\\n', 'Graz lies on the Mur.'), ('', 'Graz lies on the Mur.'))
    """
    line, end, rest = passage.partition("\n")
    return (line + end, rest) if rest.strip() else ("", passage)


def bare_name(name: str, brackets: bool = False) -> list[str]:
    """Return the words by which a name is known, without an article and, unless asked for, what brackets hold.

    >>> bare_name("The Base (film)"), bare_name("The Base (film)", brackets=True)
    (['base'], ['base', 'film'])
    """
    found = name_words(name if brackets else re.sub(r"\s*\([^()]*\)", "", name))
    return found[1:] if len(found) > 1 and found[0] in ("the", "a", "an") else found


def passages_of(name: str, passages: Sequence[str]) -> list[int]:
    """Return the passages whose title is the name, else is but for brackets, else whose text begins with it."""
    titles = [parted(passage)[0] for passage in passages]
    for brackets in (True, False):
        wanted = bare_name(name, brackets)
        found = [i for i, title in enumerate(titles) if wanted and bare_name(title, brackets) == wanted]
        if found:
            return found
    wanted = bare_name(name)
    size = len(wanted)
    begun = [bare_name(parted(passage)[1][:200]) for passage in passages]
    # A longer name that begins so is another's.
    return [
        i
        for i, said in enumerate(begun)
        if size and said[:size] == wanted and _GO_ON.intersection(said[size : size + 1])
    ]


def leading_name(text: str, passages: Sequence[str]) -> tuple[str, list[int]] | None:
    """Return the longest run of words, from the beginning of a text, that is a title, and the passages it is of."""
    keys = [bare_name(parted(passage)[0]) for passage in passages]
    ends = [match.end() for match in islice(re.finditer(r"\S+?(?=[,\s]|$)", text), _WORDS)]
    for end in reversed(ends):
        wanted = bare_name(text[:end])
        found = [i for i, key in enumerate(keys) if wanted and key == wanted]
        if found:
            return text[:end], found
    return None


def names_within(text: str, passages: Sequence[str]) -> tuple[tuple[str, list[int]], tuple[str, list[int]], str] | None:
    """Return the first two titles that a text names with "and" or "or" between them, and what follows.

    >>> names_within("are both Lyon and the Mur rivers", ["Mur\\nA river.", "Lyon\\nA city."])
    (('Lyon', [1]), ('Mur', [0]), ' rivers')
    """
    for joiner in re.finditer(r"\s*,?\s+(?:and|or)\s+(?:the\s+)?", text):
        second = leading_name(text[joiner.end() :], passages)
        starts = [match.start() for match in re.finditer(r"(?<!\S)\S", text[: joiner.start()])]
        for start in starts[-_WORDS:] if second else ():
            first = leading_name(text[start : joiner.start()], passages)
            if second and first and first[0] == text[start : joiner.start()] and first[1] != second[1]:
                return first, second, text[joiner.end() + len(second[0]) :]
    return None
