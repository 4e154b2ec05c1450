"""Extractors that need no language model, by name: rules, and the mention detector."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from graphwright.data.document import Labels
from graphwright.errors import OptionError, meant
from graphwright.extract.extraction import Excerpt, Extraction, Extractor, Mention
from graphwright.extract.rules import LexicalExtractor, assembled, topic_of, unlabelled, with_phrases
from graphwright.models.embedded.encoder import MiniLM
from graphwright.models.embedded.mentions import Found, mentions_id, read_mentions
from graphwright.models.protocols import Floats, NamedEncoder, Usage
from graphwright.text.names import aliases_of, capitals_problem, dates_and_quotes, is_boilerplate, normal_form

_SAMPLE = 400  # characters that tell whether the detector can read a text
_MIN_DIGITS = 3  # of a number that is a node: a shorter one would connect unrelated passages
_MIN_TITLE = 3  # characters of a title that is looked for in its text
_FEW_NAMES = 3  # a text with fewer names is also joined by the phrases that it repeats
_EDGES = " \t\n.,;:!?\"'“”‘’«»„`()[]{}-–—*"
_ABBREVIATED = re.compile(r"\b(?:\w|Jr|Sr|Inc|Ltd|Co|Corp|Bros|St)\.$")
_SMALL = "of|the|a|an|and|or|in|at|on|for|to|by|as|from|with|per|is|was"  # words that do not begin or end a name
_SMALL_FIRST, _SMALL_LAST = re.compile(rf"(?:{_SMALL})\s+"), re.compile(rf"\s(?:{_SMALL})$")
Span = tuple[int, int]


@dataclass(frozen=True)
class MentionExtractor:
    """Extractor of names by the embedded mention detector, which links the names of one sentence.

    Entities are the title, the names that the detector finds, dates, figures, quoted titles, and in a text with hardly
    any name the phrases that it repeats. A shorter form of a person's name stands for the full name of the same
    passage, or for the title. The detector was trained on English; texts in scripts without capitals are read by the
    rules. Relations are those of `LexicalExtractor`.

    >>> text = "Hello Love is a 1974 single by hank snow. Snow wrote it in Nashville."
    >>> extraction, = MentionExtractor().extract([Excerpt("d1", "Hello Love", text)])
    >>> [mention.name for mention in extraction.mentions]
    ['Hello Love', '1974', 'hank snow', 'Nashville']
    """

    rules: LexicalExtractor = field(default_factory=LexicalExtractor, init=False, repr=False)

    @property
    def id(self) -> str:
        """Name, version, and the checksum of the detector's weights."""
        return f"{mentions_id()}:7"

    @property
    def encoder(self) -> NamedEncoder:
        """The encoder whose vectors `extract_encoded` returns."""
        return MiniLM()

    def unsuitable(self, text: str) -> str | None:
        """Return the reason why names are not found in a text, None if they are."""
        problem = capitals_problem(text[:_SAMPLE])
        return problem if problem is not None and problem.startswith("a script") else None

    def extract(self, excerpts: Sequence[Excerpt]) -> list[Extraction]:
        """Return one extraction per excerpt, in order."""
        suitable = [excerpt for excerpt in excerpts if self.unsuitable(excerpt.text) is None]
        read = iter(self.extract_encoded(suitable, Usage())[0])
        others = iter(self.rules.extract([excerpt for excerpt in excerpts if self.unsuitable(excerpt.text)]))
        return [next(others if self.unsuitable(excerpt.text) else read) for excerpt in excerpts]

    def extract_encoded(self, excerpts: Sequence[Excerpt], usage: Usage) -> tuple[list[Extraction], Floats]:
        """Return one extraction per excerpt, and the vectors of the excerpts, each read after its title."""
        texts = [excerpt.reading for excerpt in excerpts]
        titles = [len(text) - len(excerpt.text) for text, excerpt in zip(texts, excerpts, strict=True)]
        readings = read_mentions(texts, titles, usage)
        extractions = []
        for excerpt, title, reading in zip(excerpts, titles, readings, strict=True):
            if self.unsuitable(excerpt.text):
                extractions += self.rules.extract([excerpt])
                continue
            names = [Found(start - title, end - title, kind) for start, end, kind in reading.names]
            extractions.append(_detected(excerpt, list(_after_labels(names, excerpt.labels))))
        vectors = np.stack([reading.vector for reading in readings]) if readings else np.empty((0, 0), np.float32)
        return extractions, vectors


def _detected(excerpt: Excerpt, spans: Sequence[Found]) -> Extraction:
    title, text = topic_of(excerpt.title), excerpt.text
    sentences = excerpt.sentences()
    united = _united(title, text, _within(spans, sentences))
    mentions = _full_names(title, [Mention(text[start:end], start, end, kind) for start, end, kind in united])
    names = unlabelled(mentions, excerpt.labels)
    starts = [mention.start for mention in names]
    by_sentence = [(span, names[bisect_left(starts, span[0]) : bisect_left(starts, span[1])]) for span in sentences]
    whole = [mention for mention in names if text[mention.start : mention.end] == mention.name]  # no short forms
    extraction = assembled(title, text, by_sentence, whole)
    return with_phrases(extraction, excerpt) if len(extraction.mentions) < _FEW_NAMES else extraction


def _after_labels(spans: Iterable[Found], labels: Labels) -> Iterator[Found]:
    """Yield spans without the name of a column or key that they begin with, if they go on after it.

    >>> [tuple(span) for span in _after_labels([Found(0, 11, "organisation")], ((0, 4),))]  # Firm: Dobl
    [(4, 11, 'organisation')]
    """
    for start, end, kind in spans:
        at = bisect_right(labels, start, key=itemgetter(0)) - 1
        after = labels[at][1] if at >= 0 else start
        yield Found(after if start < after < end else start, end, kind)


def _within(spans: Sequence[Found], sentences: Sequence[Span]) -> Iterator[Found]:
    ends = [end for _, end in sentences]
    for start, end, kind in spans:
        while (at := bisect_left(ends, start + 1)) < len(sentences) and ends[at] < end:
            yield Found(start, ends[at], kind)
            start = sentences[at + 1][0] if at + 1 < len(sentences) else end
        if start < end:
            yield Found(start, end, kind)


def _united(title: str, text: str, spans: Iterable[Found]) -> list[Found]:
    """Return names, the title where it is named, dates, figures and quoted titles; the longer of two that overlap."""
    plain = title.split(" (")[0]
    named = re.finditer(rf"(?<!\w){re.escape(plain)}(?!\w)", text) if len(plain) >= _MIN_TITLE else ()
    candidates = [Found(*match.span(), "") for match in named]
    for start, end, kind in spans:
        span = _trimmed(text, start, end)
        if _is_entity(text[slice(*span)], kind):
            candidates.append(Found(*span, kind))
    for start, end, kind in dates_and_quotes(text):
        if kind != "work" or _is_title(text[start:end]):
            candidates.append(Found(start, end, kind))
    united: list[Found] = []  # by start
    for name in sorted(candidates, key=lambda n: (n.start - n.end, n.start)):
        at = bisect_left(united, name)
        before, after = united[at - 1 : at] if at else [], united[at : at + 1]
        if all(name.end <= other.start or other.end <= name.start for other in (*before, *after)):
            united.insert(at, name)
    return united


def _trimmed(text: str, start: int, end: int) -> Span:
    """Return the span without punctuation, a possessive and small words at its ends."""
    before = (-1, -1)
    while (start, end) != before:
        before = start, end
        if text[end - 2 : end] in ("'s", "’s"):
            end -= 2
        while start < end and text[start] in _EDGES:
            start += 1
        while start < end and text[end - 1] in _EDGES and not _ABBREVIATED.search(text, start, end):
            end -= 1
        if (small := _SMALL_FIRST.match(text, start, end)) is not None:
            start = small.end()
        if (small := _SMALL_LAST.search(text, start, end)) is not None:
            end = small.start()
    return start, end


def _is_entity(name: str, kind: str) -> bool:
    """Return whether a name is worth a node: not boilerplate, a lone letter, nor a number or date of few digits."""
    if kind != "person" and is_boilerplate(name):
        return False
    if kind in ("date", "number"):
        return sum(map(str.isdigit, name)) >= _MIN_DIGITS
    return len(name) > 1 and any(map(str.isalpha, name))


def _is_title(phrase: str) -> bool:
    """Return whether a quoted phrase is written as a title: it begins with a capital, and so do most of its words."""
    words = [word for word in phrase.split() if word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return bool(words) and phrase[0].isupper() and 2 * capitals > len(words) and phrase[-1] not in ".,;:"


def _full_names(title: str, mentions: list[Mention]) -> list[Mention]:
    """Return mentions in which a part of a person's name is replaced by the full name of the passage or the title."""
    persons = {m.name: normal_form(m.name).split() for m in mentions if m.type == "person"}
    plain = title.split(" (")[0]
    full = {name: form for name, form in persons.items() if len(form) > 1}
    short = {name: form for name, form in persons.items() if len(form) == 1 or name not in full}
    whole: dict[str, str] = {}
    for name, form in short.items():
        words = normal_form(plain).split()
        if title and (normal_form(name) in aliases_of(title) or (len(words) > 1 and form[0] in (words[0], words[-1]))):
            whole[name] = title
            continue
        longer = [other for other, parts in full.items() if form[0] in (parts[0], parts[-1])]
        if len(longer) == 1 or (longer and len({tuple(full[other]) for other in longer}) == 1):
            whole[name] = longer[0]
    return [mention._replace(name=whole.get(mention.name, mention.name)) for mention in mentions]


EXTRACTORS: dict[str, Callable[[], Extractor]] = {"mentions": MentionExtractor, "rules": LexicalExtractor}
"""Name of each extractor, as users give it."""


def extractor_of(extractor: Extractor | str | None, encoder: object = None) -> Extractor:
    """Return an extractor by name, or the given one; by default the one that suits the encoder of the index.

    That is the mention detector with the embedded encoder, which has read the passages anyway, else the rules.

    >>> extractor_of("rules"), extractor_of(None, MiniLM())
    (LexicalExtractor(), MentionExtractor())
    """
    if extractor is None:
        return MentionExtractor() if encoder == MiniLM() else LexicalExtractor()
    if not isinstance(extractor, str):
        return extractor
    if extractor not in EXTRACTORS:
        raise OptionError(
            f"There is no extractor {extractor!r}; choose from {', '.join(EXTRACTORS)}.{meant(extractor, EXTRACTORS)}"
        )
    return EXTRACTORS[extractor]()
