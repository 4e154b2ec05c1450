"""Grammar of questions: interrogatives, yes/no questions, superlatives, comparisons and negation, by closed classes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from graphwright.text.languages import in_english
from graphwright.text.names import ARTICLES, name_words
from graphwright.text.words import STOP_WORDS

Asks = Literal["person", "time", "place", "count", "amount", "truth", "thing"]


class Token(NamedTuple):
    """A word of a question as it is compared, and its span; a possessive is the word "'s"."""

    word: str
    start: int
    end: int


class Measure(NamedTuple):
    """A superlative or a comparative: its adjective, +1 for more (later) or -1 for less, and the words that express it.

    `adjective` is a key of DIMENSIONS. `limit`: whether it compares with something, as "longer than" does.
    """

    adjective: str
    sign: int
    words: tuple[int, ...]
    limit: bool

    @property
    def of_age(self) -> bool:
        """Whether the sign is that of a date, and the opposite of that of an age in numbers."""
        return self.adjective in ("old", "young")


@dataclass(frozen=True)
class QuestionForm:
    """What a question asks for, by its function words.

    `asks`: the kind of answer. `measure`: its superlative or comparative. `negated`: the position of the word that
    negates what follows it, or -1. `noun`: positions of the words directly after "which", "what" or "how many".
    `grammar`: positions of all words that are grammar rather than content.
    """

    asks: Asks
    grammar: frozenset[int]
    noun: tuple[int, ...] = ()
    measure: Measure | None = None
    negated: int = -1


_TOKEN = re.compile(r"['’]s\b|\d+(?:[.,]\d+)*|[^\W_]+")
_INTERROGATIVES: dict[str, Asks] = {
    "who": "person", "whom": "person", "whose": "person", "when": "time", "where": "place", "which": "thing",
    "what": "thing", "how": "thing", "why": "thing", "how many": "count", "how much": "amount",
}  # fmt: skip
_AUXILIARIES = frozenset(
    "is are was were be been do does did has have had can could will would shall should may might must".split()
)
_NEGATIONS = frozenset("no not never without none nor neither lack lacks lacking".split())
COPULAS = frozenset("is are was were".split())
UNITS_OF_TIME = frozenset("year date day month century decade time".split())
IDENTITY = frozenset("same share shares shared sharing common also other else another too both co".split())
"""Words that lead from a thing back to others like it: "films with the same director"."""
_REQUESTS = frozenset(
    "name list tell show give find me please many much there any all every each called named listed recorded known"
    " given exist kind sort type".split()
)
_FUNCTION_WORDS = STOP_WORDS | _REQUESTS | _NEGATIONS | IDENTITY | {"'s"}
_ORDER = {"first": -1, "last": 1, "latest": 1, "earliest": -1}
_LIMITS = {"more": 1, "after": 1, "since": 1, "over": 1, "above": 1, "less": -1, "fewer": -1, "before": -1, "until": -1}
_LIMITS |= {"under": -1, "below": -1}
DIMENSIONS: dict[str, tuple[str, int]] = {
    "long": ("length duration", 1), "short": ("length height duration", -1), "high": ("height elevation", 1),
    "tall": ("height", 1), "low": ("height elevation", -1), "deep": ("depth", 1), "wide": ("width", 1),
    "broad": ("width", 1), "narrow": ("width", -1), "heavy": ("weight mass", 1), "light": ("weight mass", -1),
    "big": ("size area population", 1), "large": ("size area population", 1), "small": ("size area population", -1),
    "old": ("date year birth age founded", -1), "young": ("date year birth age founded", 1),
    "new": ("date year", 1), "early": ("date year", -1), "late": ("date year", 1), "recent": ("date year", 1),
    "expensive": ("price cost", 1), "dear": ("price cost", 1), "cheap": ("price cost", -1), "fast": ("speed", 1),
    "slow": ("speed", -1), "hot": ("temperature", 1), "warm": ("temperature", 1), "cold": ("temperature", -1),
    "populous": ("population", 1), "rich": ("wealth income", 1), "poor": ("wealth income", -1), "far": ("distance", 1),
    "near": ("distance", -1), "close": ("distance", -1), "many": ("number count", 1), "few": ("number count", -1),
}  # fmt: skip
"""Adjectives of measure: the nouns of what they measure, and whether their superlative is its largest (+1) value.

The sign of an adjective of age is that of dates; for an age in numbers it is the opposite.
"""


def tokens(text: str) -> list[Token]:
    """Return the words of a question, folded as names are compared.

    >>> [token.word for token in tokens("Who is Émile's mother?")]
    ['who', 'is', 'emile', "'s", 'mother']
    """
    found = []
    for match in _TOKEN.finditer(text):
        word = "'s" if match[0][0] in "'’" else " ".join(name_words(match[0]))
        if word:
            found.append(Token(word, *match.span()))
    return found


def translated(question: str, words: Sequence[Token], mentioned: frozenset[int] = frozenset()) -> list[Token] | None:
    """Return the words of a German, French or Spanish question, function words in English; None for an English one.

    `mentioned`: positions of words that name entities; they are not translated.

    >>> [token.word for token in translated("Wo ist Graz?", tokens("Wo ist Graz?")) or []]
    ['where', 'is', 'graz']
    """
    free = [at for at in range(len(words)) if at not in mentioned]
    raw = [question[words[at].start : words[at].end].casefold() for at in free]
    english = in_english([words[at].word for at in free], raw)
    if english is None:
        return None
    own = dict(zip(free, english, strict=True))
    return [token._replace(word=own.get(at, token.word)) for at, token in enumerate(words)]


def question_form(words: Sequence[str], mentioned: frozenset[int] = frozenset()) -> QuestionForm:
    """Return the form of a question from its words; `mentioned`: positions of words that name entities.

    >>> question_form("how many rivers flow into the Mur".split()).asks, question_form("is it so".split()).asks
    ('count', 'truth')
    >>> question_form("which is the longest river".split()).measure
    Measure(adjective='long', sign=1, words=(3,), limit=False)
    """
    free = {at: None for at in range(len(words)) if at not in mentioned}  # in order, and quick to look up
    asks, grammar = _asked(words, free)
    measure = _extreme(words, free) or _comparative(words, free)
    negated = next((at for at in free if words[at] in _NEGATIONS), -1)
    used = {at for at in free if words[at] in _FUNCTION_WORDS}
    used |= {*grammar, *(measure.words if measure else ())}
    noun = _noun(words, free, used)
    return QuestionForm(asks, frozenset(used), noun, measure, negated)


def _asked(words: Sequence[str], free: Collection[int]) -> tuple[Asks, set[int]]:
    """Return the kind of answer, and the positions of the interrogative."""
    at = next((i for i in free if words[i] in _INTERROGATIVES), -1)
    if 0 in free and words[0] in _AUXILIARIES and not (at > 0 and words[at] not in ("who", "which", "when")):
        return "truth", {0}
    if at < 0:
        return "thing", set()
    following = words[at + 1] if at + 1 < len(words) and at + 1 in free else ""
    if words[at] == "how":
        if following == "many":
            return "count", {at, at + 1}
        amount = following == "much" or following in DIMENSIONS
        return ("amount" if amount else "thing"), ({at, at + 1} if following == "much" else {at})
    if words[at] in ("which", "what") and _singular(following) in UNITS_OF_TIME:
        return "time", {at}
    return _INTERROGATIVES[words[at]], {at}


def _noun(words: Sequence[str], free: Collection[int], used: set[int]) -> tuple[int, ...]:
    """Return the words that name the kind of answer: after "which", or after a superlative, up to a function word."""
    at = next((i for i in free if words[i] in _INTERROGATIVES), -1)
    if not words:
        return ()
    start = at + 1 + (words[at : at + 2] == ["how", "many"])
    skipped = list[str]()
    of = start < len(words) and words[start] == "of"  # "which of the rivers"
    while start in used and (words[start] in COPULAS | ARTICLES or (of and words[start] == "of")):
        skipped.append(words[start])
        start += 1
    first = start
    while (
        start < len(words)
        and words[start] not in COPULAS
        and start in used
        and start in free
        and words[start] not in STOP_WORDS
    ):
        start += 1
    if (words[at] not in ("which", "what", "how", "how many") or not COPULAS.isdisjoint(skipped)) and start == first:
        return ()  # in "what is the capital of", the noun is a relation
    end = start
    while end < len(words) and end in free and end not in used:
        end += 1
    following = words[end] if end < len(words) else ""
    if end - start > 1 and following not in _AUXILIARIES | {"of", ""} and not words[end - 1].endswith("s"):
        end -= 1  # the last word is the verb, as in "which museum opened"
    if words[at] in ("which", "what") and not following and first == start and not skipped and end - start > 1:
        # nothing follows: the verb and its object are among the words, as in "which drugs treat fever"
        is_verb_second = words[start].endswith("s") or (end - start > 2 and words[start + 1].endswith("s"))
        end = start + 1 if is_verb_second else end
    return tuple(range(start, end))


def _extreme(words: Sequence[str], free: Collection[int]) -> Measure | None:
    """Return a superlative: "longest", "most populous", "first", "most recently", "most" before a noun."""
    for at in free:
        word, following = words[at], words[at + 1] if at + 1 in free else ""
        if word in ("most", "least", "fewest") and words[at - 1 : at] != ["at"]:
            sign, base = (1 if word == "most" else -1), _positive(following) or _positive(following.removesuffix("ly"))
            if base:
                return Measure(base, sign * DIMENSIONS[base][1], (at, at + 1), False)
            return Measure("many", sign, (at,), False)
        if word.endswith("est") and (base := _positive(word[:-3])):
            return Measure(base, DIMENSIONS[base][1], (at,), False)
        if word in _ORDER:
            return Measure("late" if _ORDER[word] > 0 else "early", _ORDER[word], (at,), False)
    return None


def _comparative(words: Sequence[str], free: Collection[int]) -> Measure | None:
    """Return a comparative: "longer than", "more than", "after", "at least", or "longer" where things are offered."""
    for at in free:
        word, following = words[at], words[at + 1] if at + 1 < len(words) else ""
        base = _positive(word[:-2]) if word.endswith("er") else ""
        if base:
            return Measure(base, DIMENSIONS[base][1], (at,), True)
        if word == "at" and following in ("least", "most"):
            return Measure("many", 1 if following == "least" else -1, (at, at + 1), True)
        if word in ("after", "since", "before", "until") and (following[:1].isdigit() or at + 1 not in free):
            return Measure("late" if word in ("after", "since") else "early", _LIMITS[word], (at,), True)
        if word in _LIMITS and (following == "than" or following[:1].isdigit() or word in ("more", "fewer", "less")):
            return Measure("many", _LIMITS[word], (at,), True)
    return None


def _positive(stem: str) -> str:
    """Return the adjective of measure whose comparative or superlative has this stem, "" if there is none.

    >>> _positive("long"), _positive("bigg"), _positive("larg"), _positive("heavi"), _positive("inter")
    ('long', 'big', 'large', 'heavy', '')
    """
    if not stem:
        return ""
    candidates = (stem, f"{stem}e", stem[:-1] if stem[-1:] == stem[-2:-1] else "", f"{stem[:-1]}y")
    return next((form for form in candidates if form in DIMENSIONS), "")


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") else word


def content(words: Sequence[str], form: QuestionForm, mentioned: frozenset[int]) -> list[int]:
    """Return the positions of the words that are neither grammar nor part of a mention."""
    return [at for at in range(len(words)) if at not in form.grammar and at not in mentioned]


_ENDINGS = frozenset(
    " s es d ed er ers or ors r rs ing ings ion ions ation ations al ally ly ment ments y ies ied ier e n en ee ees age"
    " ages ance ances ancy ancies ence ences ency encies ant ants ent ents ive able ible ist ists ship ity ality".split(
        " "
    )
)

_IRREGULAR = tuple(
    frozenset(forms.split())
    for forms in (
        "born birth births", "die dies died dead death deaths", "write writes wrote written writer writers",
        "win wins won winner winners", "make makes made maker", "build builds built builder", "speak spoken speaker",
        "sing sang sung singer", "lead leads led leader", "teach taught teacher", "grow grew grown", "eat ate eaten",
        "buy bought buyer", "sell sold seller", "live lives lived life", "wed wedding",
    )
)  # fmt: skip
_CLEAR_ENDINGS = frozenset(["", "s", "es", "ed", "ers", "or", "ors", "ing", "ings", "ion", "ions"])


def inflections_match(a: str, b: str) -> bool:
    """Return whether two words are forms of one: they have a stem in common, and each ends in an English ending.

    >>> inflections_match("directed", "director"), inflections_match("married", "marriage")
    (True, True)
    >>> inflections_match("mother", "month"), inflections_match("actors", "act"), inflections_match("car", "care")
    (False, True, False)
    """
    if a == b or any(a in forms and b in forms for forms in _IRREGULAR):
        return True
    size = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    for cut in (size, size - 1):
        endings = {a[cut:], b[cut:]}
        # Three letters are a stem before endings that are hardly ever the end of another word.
        least = 3 if endings <= _CLEAR_ENDINGS else 4
        if cut >= least and endings <= _ENDINGS:
            return True
    return False
