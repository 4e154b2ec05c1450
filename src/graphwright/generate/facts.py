"""Questions that ask for one fact: known by their form, answered in a few words, cited by the whole sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphwright.errors import OptionError
from graphwright.generate.reader import asks, sentences_of, title_of
from graphwright.models.protocols import Reader, Span
from graphwright.operators.operator import source_of
from graphwright.text.words import words

__all__ = ["FactReader", "asked_about", "asks_for_fact"]

_MEASURED = "many much old long far tall large big high deep wide heavy fast often late early"
_FACT = re.compile(
    rf"""\b (who | whom | whose | when | where | which) \b
    | \b how \s+ ({"|".join(_MEASURED.split())}) \b
    | \b what \s+ (is|are|was|were|'s|’s) \s+ .* \b (of|in|for|on|at|by|from|that|which|called|named|\w+['’]s?) \s
    | \b what \s+ (?!(is|are|was|were|do|does|did|has|have|had|can|could|should|would|will|happen(s|ed)?|cause[sd]?
        |make[s]?|made|if|about|kinds?\s+of\s+things)\b) \w+
    | \b (in|on|at|to|from|by|of|for) \s+ what \b""",
    re.IGNORECASE | re.VERBOSE,
)
# Asked of a whole, or for an account of something: a name or a number is no answer.
_ACCOUNT = re.compile(
    r"""^ \s* (why | how \s+ (do|does|did|is|are|was|were|can|could|to|should|would|has|have)) \b
    | \b (explain | describe | discuss | summari[sz]e | tell \s+ (me|us) \s+ about | significance | importance
    | relationship | difference | role | impact | effects? | consequences? | reasons? | purpose | meaning | advantages?
    | disadvantages? | examples? | similarit(y|ies)) \b""",
    re.IGNORECASE | re.VERBOSE,
)


_WHO_IS = re.compile(r"who (?:is|was|are|were) (?P<name>.+?) ?\??", re.IGNORECASE)
_LINKS = frozenset(["of", "de", "von", "van", "di", "da", "la", "the", "and"])
_OFFICE = re.compile(
    r"\b(?:President|CEO|King|Queen|Emperor|Pope|Head|Chair|Director|Mayor|Governor|Minister|Captain) of\b"
)
_EITHER = re.compile(r"[,:] (?P<listed>(?:(?!\b(?:who|what|which|when|where|how)\b)[^?]){1,400}\bor [^?,]+)\??$")
_LONGEST = 1000  # characters of a question whose form is looked at
_WORD = re.compile(r"\w+")
_ASKING = frozenset(words("who whom whose when where which what how many much name date year"))


def asks_for_fact(question: str) -> bool:
    """Return whether a question asks for a name, a date, a number or another few words, by its form (in English).

    >>> asks_for_fact("When was the university of Graz founded?"), asks_for_fact("Why did the abbey decline?")
    (True, False)
    """
    asked = _plain(question)
    return not (_FACT.search(asked) is None or _ACCOUNT.search(asked) or _is_about_one(asked))


def _is_about_one(question: str) -> bool:
    """Whether nothing is asked of a person but who it is, and so for an account: "Who is Ada Lovelace?"."""
    asked = _WHO_IS.fullmatch(question)
    if asked is None or _OFFICE.search(asked["name"]):
        return False
    first, *others = asked["name"].split()
    return first[0].isupper() and all(word[0].isupper() or word in _LINKS for word in others)


def asked_about(question: str) -> list[str]:
    """Return the words of a question for matching, each once, without those that only ask.

    >>> asked_about("In which year was the university of Graz founded?")
    ['university', 'graz', 'founded']
    """
    return [word for word in dict.fromkeys(words(question)) if word not in _ASKING]


@dataclass(frozen=True, repr=False)
class FactReader:
    """Answers a question that asks for one fact by the best span of `spans` that can be trusted, else by `sentences`.

    What is quoted is the sentence that the span stands in; its `text` is the answer. A `spans` reader that gives a text
    of its own (see ComparingReader) is taken at its word. A span is trusted whose score is `least` or more, that says
    something which the question does not, or one of what it gives to choose from, and that stands in one sentence, no
    question. With its passage's title the sentence holds the share `support` or more of the question's words, and
    alone the share `stated` of those that the title lacks: what stands beside nothing that was asked about is a guess.
    All three were chosen on questions held out of training. Without `sentences` a question for which no span can be
    trusted has no answer.

    >>> from graphwright import MiniLM, MiniLMReader, SentenceReader
    >>> reader = FactReader(MiniLMReader(), SentenceReader(MiniLM()))
    >>> passage = "Graz\\nGraz lies on the Mur. Its university was founded in 1585 by Archduke Charles II."
    >>> [span.text for span in reader.read("When was the university of Graz founded?", [passage])]
    ['1585']
    """

    spans: Reader
    sentences: Reader | None = None
    least: float = 0.3
    support: float = 0.6
    stated: float = 0.5

    def __post_init__(self) -> None:
        for name in ("support", "stated"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"FactReader({name}={getattr(self, name)!r}): a share, from 0 to 1.")

    def __repr__(self) -> str:
        return source_of(self)

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        """Return the sentence that answers, or what `sentences` finds."""
        found = self.spans.read(question, passages) if asks_for_fact(question) else []
        if found and found[0].text:
            return found
        if found and found[0].score >= self.least:
            quoted = _in_sentence(question, found[0], passages[found[0].passage])
            if quoted and self._supported(question, passages[quoted.passage], quoted):
                return [quoted]
        return [] if self.sentences is None else self.sentences.read(question, passages)

    def _supported(self, question: str, passage: str, quoted: Span) -> bool:
        """Whether title and quote hold enough of the question's words, those that only ask left out."""
        asked, title = asked_about(question), set(words(title_of(passage)))
        said = {*words(passage[quoted.start : quoted.end])}
        lacking = [word for word in asked if word not in title]
        stated = sum(word in said for word in lacking)
        whole = len(asked) - len(lacking) + stated
        return bool(asked) and stated >= self.stated * len(lacking) and whole >= self.support * len(asked)


def _answers(question: str, said: str) -> bool:
    """Whether a text says what the question does not, or names one of the things that it gives to choose from."""
    if either := _EITHER.search(_plain(question)):
        return not set(words(said)).isdisjoint(words(either["listed"]))
    # Every word counts: a band may be called The Who.
    return not set(_WORD.findall(said.lower())) <= set(_WORD.findall(question.lower()))


def _plain(question: str) -> str:
    """Return a question on one line, its white space single: what has a form is not long."""
    return " ".join(question[:_LONGEST].split())


def _in_sentence(question: str, span: Span, passage: str) -> Span | None:
    """Return the sentence that a span stands in, with the span as what is answered; None where it answers nothing."""
    around = [(b, e) for b, e in sentences_of(passage) if b < span.end and e > span.start]
    text = passage[span.start : span.end]
    while text.count("(") > text.count(")"):
        text = text[: text.rindex("(")].rstrip()
    if len(around) != 1 or "\n" in text or asks(passage[slice(*around[0])]) or not _answers(question, text):
        return None
    return replace(span, start=min(around[0][0], span.start), end=max(around[0][1], span.end), text=text)
