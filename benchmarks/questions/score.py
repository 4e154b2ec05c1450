"""Score answers to the everyday questions, without a judge: good, half, useless, missed or wrong.

A question names what a right answer contains (`accept`: groups of alternatives, of which every group must be met), what
makes it wrong (`reject`: the superseded value, the near miss), and its evidence. Texts are compared as whole words,
without case, articles, punctuation and thousands separators. A leading dash counts where the alternative has one
(`--delete`); a bare yes or no counts as a short answer or as the first word of the text.

- good: every group is met, no reject stands, the evidence is cited, and the text is short enough; `exact`: the short
  answers are this set and no other. Unanswerable: `found` is False, without a short answer.
- half: the groups are met but the text is too long, the evidence is not cited, the set is not exact, or the short
  answers meet no group while the text does; or some groups are met, not all.
- wrong: a reject stands in the short answers, or in the text while a group is not met; a short answer while no group is
  met; an answer to an unanswerable question.
- useless: an answer that meets no group.
- missed: `found` is False although the question can be answered.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphwright.operators.state import Answer, Citation

VERDICTS = ("good", "half", "useless", "missed", "wrong")
KINDS = (
    *("fact", "howto", "compare", "list", "count", "date", "yesno", "broad", "superlative", "negation"),
    "unanswerable",
)

_THOUSANDS = re.compile(r"(?<=\d)[,\u00a0\u202f](?=\d{3}(?!\d))")
_WORD = re.compile(r"(?<![\w-])--?\w[\w-]*|\d+(?:[.:]\d+)+|\w+")
_MARKER = re.compile(r"\[\d+\]")
_ARTICLES = frozenset(("a", "an", "the"))
_BARE = frozenset(("yes", "no", "ja", "nein", "oui", "non", "sí", "si"))
INVERSE = "⁻¹"
"""Mark of a relation that a path takes backwards."""


@dataclass(frozen=True)
class Question:
    """An everyday question; `evidence` are texts of documents, or triples of a graph."""

    id: str
    source: str
    half: str
    kind: str
    variant: str
    question: str
    accept: tuple[tuple[str, ...], ...]
    reject: tuple[str, ...]
    exact: bool
    evidence: tuple[Any, ...]
    max_words: int
    good: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Question:
        """Return the question of a row of the file. Raises ValueError where a field is missing, unknown or unfit."""
        names = {field.name for field in fields(cls)}
        if set(row) != names:
            raise ValueError(f"question {row.get('id')!r}: fields missing or unknown: {sorted(names ^ set(row))}.")
        question = cls(
            **{
                **row,
                "accept": tuple(map(tuple, row["accept"])),
                "reject": tuple(row["reject"]),
                "evidence": tuple(row["evidence"]),
            }
        )
        if faults := list(question.faults()):
            raise ValueError(f"question {question.id!r}: {'; '.join(faults)}.")
        return question

    def faults(self) -> Iterable[str]:
        """Yield what is unfit in the fields."""
        if self.half != half_of(self.id):
            yield f"half is {self.half!r}, its id makes it {half_of(self.id)!r}"
        if self.kind not in KINDS:
            yield f"kind {self.kind!r} is none of {', '.join(KINDS)}"
        if (self.kind == "unanswerable") != (not self.accept):
            yield "accept must be empty exactly where the kind is unanswerable"
        if not all(self.accept):
            yield "a group of accept has no alternative"


def half_of(identity: str) -> str:
    """Return the half of a question, decided by its id.

    >>> half_of("rsync-01"), half_of("rsync-02")
    ('closed', 'open')
    """
    return "closed" if int(sha256(identity.encode()).hexdigest(), 16) % 2 else "open"


def read_everyday(path: Path) -> list[Question]:
    """Return the questions of a file of JSON lines. Raises ValueError for an unfit or a repeated question."""
    questions = [Question.of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line]
    if repeated := [name for name, count in Counter(question.id for question in questions).items() if count > 1]:
        raise ValueError(f"{path}: repeated ids: {', '.join(repeated)}.")
    return questions


def words(text: str) -> list[str]:
    """Return the words of a text as they are compared.

    >>> words("The limit is 1,000 bytes: use --max-size, or -m 2.5!")
    ['limit', 'is', '1000', 'bytes', 'use', '--max-size', 'or', '-m', '2.5']
    """
    plain = unicodedata.normalize("NFKC", _THOUSANDS.sub("", text)).casefold()
    return [word for word in _WORD.findall(plain) if word not in _ARTICLES]


def contains(text: str, phrase: str) -> bool:
    """Return whether a phrase stands in a text as whole words.

    >>> contains("Use --delete.", "delete"), contains("Do not delete.", "--delete"), contains("13 seconds", "3 seconds")
    (True, False, False)
    """
    wanted, given = words(phrase), words(text)
    if not wanted:  # a phrase of punctuation only
        return phrase.strip() in text
    starts = range(len(given) - len(wanted) + 1)
    return any(all(map(_same, wanted, given[start : start + len(wanted)])) for start in starts)


def _same(wanted: str, given: str) -> bool:
    return wanted == given or (wanted[0].isalpha() and wanted == given.lstrip("-"))


def evidence_cited(evidence: Sequence[Any], citations: Sequence[Citation], text_of: Callable[[str], str]) -> bool:
    """Return whether a citation overlaps a text of the evidence, or its path shows a triple of it.

    `text_of` returns the text of a document by its id. A row of a table is read with the names of its columns; where
    the text of the evidence does not stand in the document as it is written, lines with all of its words are meant.
    """
    triples = [tuple(item) for item in evidence if not isinstance(item, Mapping)]
    places = [item for item in evidence if isinstance(item, Mapping)]
    shown = {triple for citation in citations for triple in path_triples(citation.path)}
    return (
        not evidence
        or not shown.isdisjoint(triples)
        or any(_overlaps(place, citation, text_of) for place in places for citation in citations)
    )


def path_triples(path: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the triples of a path of names and relations in turn; a relation marked as inverse is turned round.

    >>> path_triples(("Mur", "flows into", "Drava", "about⁻¹", "report"))
    [('Mur', 'flows into', 'Drava'), ('report', 'about', 'Drava')]
    """
    steps = zip(path[:-2:2], path[1:-1:2], path[2::2], strict=False)
    return [
        (tail, relation.removesuffix(INVERSE), head) if relation.endswith(INVERSE) else (head, relation, tail)
        for head, relation, tail in steps
    ]


def _overlaps(place: Mapping[str, str], citation: Citation, text_of: Callable[[str], str]) -> bool:
    if place["document"] != citation.document:
        return False
    text = text_of(citation.document)
    spans = spans_of(place["text"], text) or _lines_with(place["text"], text)
    return any(start < citation.end and citation.start < end for start, end in spans)


def spans_of(passage: str, text: str) -> list[tuple[int, int]]:
    """Return where a passage stands in a text; line breaks and runs of spaces count as one space.

    >>> spans_of("three seconds", "It waits three\\n    seconds.")
    [(9, 26)]
    """
    pattern = r"\s+".join(map(re.escape, passage.split()))
    return [match.span() for match in re.finditer(pattern, text)] if pattern else []


def _lines_with(passage: str, text: str) -> list[tuple[int, int]]:
    """Return the lines of a text that have every word of a passage."""
    wanted, lines = Counter(words(passage)), re.finditer(".+", text)
    return [line.span() for line in lines if wanted and wanted <= Counter(words(line[0]))]


def verdict(question: Question, answer: Answer, text_of: Callable[[str], str] = str) -> str:
    """Return the verdict on an answer, one of `VERDICTS`."""
    if question.kind == "unanswerable":
        return "wrong" if answer.found or answer.short else "good"
    if not answer.found:
        return "missed"
    text = _MARKER.sub(" ", answer.text)
    met = [any(_stands(phrase, answer.short, text) for phrase in group) for group in question.accept]
    refused = any(_stands(phrase, answer.short, "" if all(met) else text) for phrase in question.reject)
    if refused or (answer.short and not any(met)):
        return "wrong"
    if not any(met):
        return "useless"
    neat = _set_is_exact(question, answer) if question.exact else _is_brief(question, answer, text)
    return "good" if all(met) and neat and evidence_cited(question.evidence, answer.citations, text_of) else "half"


def _stands(phrase: str, short: Sequence[str], text: str) -> bool:
    """Return whether a phrase stands in a short answer or in the text."""
    if any(contains(item, phrase) for item in short):
        return True
    wanted = words(phrase)
    return words(text)[:1] == wanted if wanted and wanted[0] in _BARE and len(wanted) == 1 else contains(text, phrase)


def _is_brief(question: Question, answer: Answer, text: str) -> bool:
    """Return whether the text is short enough, and a short answer, where there is one, meets a group."""
    phrases = [phrase for group in question.accept for phrase in group]
    matching = not answer.short or any(contains(item, phrase) for item in answer.short for phrase in phrases)
    return matching and len(text.split()) <= question.max_words


def _set_is_exact(question: Question, answer: Answer) -> bool:
    """Return whether the short answers are one member of each group and nothing else."""
    groups = [{tuple(words(phrase)) for phrase in group} for group in question.accept]
    given = {tuple(words(item)) for item in answer.short}
    return all(group & given for group in groups) and given <= set().union(*groups)
