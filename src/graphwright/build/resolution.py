"""Resolution of entities: which names mean the same thing, by aliases, by vectors, and on request by a language model.

Names with one normal form are merged always. This step finds further pairs, decides about each, and groups them so
that no group holds two names that must stay apart. All of it is a function of the set of extractions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from graphwright.build.merge import MergedChunks
from graphwright.build.near_pairs import near_pairs
from graphwright.extract.extraction import ALSO_KNOWN_AS
from graphwright.extract.llm import Derived
from graphwright.models.protocols import Floats
from graphwright.prompts.templates import data_line
from graphwright.text.names import ARTICLES, PARTICLES, normal_form
from graphwright.text.words import words

_ROMAN = re.compile(r"(?=.)m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_SMALL = ARTICLES | PARTICLES
_MIN_TYPO = 7  # letters of a word that may differ in one letter
_STATEMENTS = 3  # of each name, that the language model reads
_BRACKETS = re.compile(r"([^\s()][^()]{0,120}?)\s*\(([^()]{2,80})\)")
_ACRONYM = re.compile(r"[^\W\d_][\w.&-]{1,9}")


class Candidate(NamedTuple):
    """Two normal forms, in order, that may mean the same thing; `likeness`: 2 where a text states it, else a cosine."""

    first: str
    second: str
    likeness: float

    @classmethod
    def of(cls, a: str, b: str, likeness: float) -> Candidate:
        """Return the candidate of two forms in any order."""
        return cls(min(a, b), max(a, b), likeness)


def resolve(
    merged: MergedChunks,
    vectors: Floats | None,
    by: Sequence[str],
    threshold: float,
    derived: Derived,
    apart: Collection[tuple[str, str]] = (),
) -> dict[str, str]:
    """Return the replacement of each merged form: the longest form of its group, of equals the first in order.

    `by`: some of aliases, vectors, llm (see `Settings`). `vectors`: of `merged.names`, for "vectors"; `threshold`:
    their minimal cosine. `apart`: pairs of forms, in order, that an edit keeps apart.
    """
    forms = list(merged.entities.forms)
    position = {form: at for at, form in enumerate(forms)}
    proposed = list[Candidate]()
    if "vectors" in by and vectors is not None:
        pairs = near_pairs(vectors, threshold).pairs
        cosines = np.minimum((vectors[pairs[:, 0]] * vectors[pairs[:, 1]]).sum(axis=1), 1.0)
        for (i, j), likeness in zip(pairs.tolist(), cosines.tolist(), strict=True):
            if numbers(forms[i]) == numbers(forms[j]):
                proposed.append(Candidate.of(forms[i], forms[j], likeness))
    if "aliases" in by:
        proposed += [Candidate.of(a, b, 2.0) for a, b in _stated(merged)]
    candidates = {candidate[:2]: candidate for candidate in proposed}
    decide = _judge(merged, position, derived) if "llm" in by else lambda candidate: None
    titles = set(map(normal_form, merged.chunks.document_titles)) - {""}
    same: dict[str, str] = {}
    for members in groups(candidates.values(), titles, decide, apart):
        first, *others = sorted(members, key=lambda form: (-len(form), form))
        same |= dict.fromkeys(others, first)
    return same


def groups(
    candidates: Iterable[Candidate],
    titles: Iterable[str] = (),
    decide: Callable[[Candidate], bool | None] = lambda candidate: None,
    apart: Collection[tuple[str, str]] = (),
) -> list[frozenset[str]]:
    """Return the groups of two or more forms that are merged.

    Stated pairs come first, then pairs by descending cosine. `decide`: the decision of a language model about a pair,
    None where there is none; then a pair is merged if it is stated or its words are compatible, unless one of its forms
    has two such partners that are not compatible with each other. Two forms with different numbers stay apart, as do
    two titles of documents that no model joined, and the pairs in `apart`, also where a third form is near both.

    >>> groups([Candidate.of("henry", "henry i", 2.0), Candidate.of("henry", "henry ii", 2.0)])
    []
    """
    ordered = sorted(candidates, key=lambda c: (-round(c.likeness, 4), c.first, c.second))
    decisions = {c[:2]: decide(c) for c in ordered if c[:2] not in apart} | dict.fromkeys(apart, False)
    proposed = [c for c in ordered if decisions[c[:2]] is None and (c.likeness > 1 or compatible(c.first, c.second))]
    ambiguous = _ambiguous(proposed)
    by_rule = {c for c in proposed if c.first not in ambiguous and c.second not in ambiguous}
    group_of: dict[str, set[str]] = {}
    for candidate in ordered:
        if decisions[candidate[:2]] or candidate in by_rule:
            a, b = (group_of.get(form, {form}) for form in candidate[:2])
            if a is not b and not any(_apart(x, y, set(titles), decisions) for x in a for y in b):
                union = a | b
                group_of |= dict.fromkeys(union, union)
    return list(dict.fromkeys(map(frozenset, group_of.values())))


def _apart(a: str, b: str, titles: set[str], decisions: Mapping[tuple[str, str], bool | None]) -> bool:
    decision = decisions.get((min(a, b), max(a, b)))
    if decision is not None:
        return not decision
    left, right = numbers(a), numbers(b)
    return (bool(left and right) and left != right) or (a in titles and b in titles)


def _ambiguous(candidates: Iterable[Candidate]) -> set[str]:
    """Return the forms with two partners that are not compatible with each other, as "j smith"."""
    partners = defaultdict[str, list[str]](list)
    for a, b, _ in candidates:
        partners[a].append(b)
        partners[b].append(a)
    return {
        form
        for form, others in partners.items()
        if any(not compatible(x, y) for at, x in enumerate(others) for y in others[:at])
        and any(len(form) < len(other) for other in others)
    }


@lru_cache(maxsize=100_000)
def numbers(form: str) -> tuple[str, ...]:
    """Return the words of a normal form that must agree exactly: with digits, and Roman numerals; sorted."""
    return tuple(sorted(word for word in form.split() if any(map(str.isdigit, word)) or _ROMAN.fullmatch(word)))


def compatible(a: str, b: str) -> bool:
    """Return whether the words of two normal forms may mean the same, each with one of the other.

    Numbers are equal; other words are equal in any order, or in their stems, or in all but one letter of seven, or one
    is the initial of the other, where another word is equal. Articles and small words do not count.

    >>> compatible("j r tolkien", "john r tolkien"), compatible("henry i", "henry ii")
    (True, False)
    """
    if numbers(a) != numbers(b):
        return False
    left, right = ([word for word in form.split() if word not in _SMALL] for form in (a, b))
    shared = {word for word in left if word in right}
    left, right = (sorted(word for word in side if word not in shared) for side in (left, right))
    if len(left) != len(right):
        return False
    return all(_alike(x, y, bool(shared)) for x, y in zip(left, right, strict=True))


def _alike(a: str, b: str, has_shared: bool) -> bool:
    if _ROMAN.fullmatch(a) or _ROMAN.fullmatch(b) or a[0] != b[0]:
        return False
    if min(len(a), len(b)) == 1:
        return has_shared
    if words(a) == words(b):
        return True
    return max(len(a), len(b)) >= _MIN_TYPO and Levenshtein.distance(a, b, score_cutoff=1) <= 1


def acronyms(text: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of an expansion and its acronym, where a text has one in brackets behind the other.

    The letters of the acronym begin words of the expansion in order (after Schwartz and Hearst, 2003).

    >>> list(acronyms("The World Health Organization (WHO) and NATO (North Atlantic Treaty Organization) met (again)."))
    [('World Health Organization', 'WHO'), ('North Atlantic Treaty Organization', 'NATO')]
    """
    for match in _BRACKETS.finditer(text):
        before, inside = match[1], match[2].strip()
        if _ACRONYM.fullmatch(inside) and (expansion := _expansion(before, inside)):
            yield expansion, inside
        last = before.rpartition(" ")[2]
        if _ACRONYM.fullmatch(last) and _expansion(inside, last) == inside:
            yield inside, last


def _expansion(text: str, acronym: str) -> str:
    """Return the last words of a text whose initials are an acronym, small words between them aside; "" for none."""
    letters = [letter for letter in acronym.casefold() if letter.isalnum()]
    if sum(map(str.isupper, acronym)) < 2:
        return ""
    parts, at = text.split(), len(letters)
    for start in range(len(parts) - 1, -1, -1):
        word = parts[start].casefold().lstrip("\"'“‘")
        if at and word.startswith(letters[at - 1]):
            at -= 1
            if not at:
                return " ".join(parts[start:])
        elif word not in _SMALL:
            return ""
    return ""


def _stated(merged: MergedChunks) -> Iterator[tuple[str, str]]:
    """Yield pairs of forms that a text states to be the same: by a relation, or as an acronym with its expansion."""
    forms, known = merged.entities.forms, set(merged.entities.forms)
    for head, label, tail in merged.statements():
        if label.casefold() == ALSO_KNOWN_AS and head != tail:
            yield forms[head], forms[tail]
    for text in merged.chunks.text:
        if "(" in text:
            for pair in acronyms(text):
                expansion, acronym = map(normal_form, pair)
                if expansion in known and acronym in known and expansion != acronym:
                    yield expansion, acronym


def _judge(merged: MergedChunks, position: Mapping[str, int], derived: Derived) -> Callable[[Candidate], bool | None]:
    """Return the decisions of a language model about pairs of names, from the statements of the documents."""
    statements = defaultdict[int, dict[str, None]](dict)
    for (head, _, tail), text in zip(merged.statements(), merged.statement_texts(), strict=True):
        for entity in (head, tail):
            if len(statements[entity]) < _STATEMENTS:
                statements[entity][text] = None

    def line(form: str) -> str:
        at = position[form]
        return data_line({"name": merged.names[at], "about": merged.texts[at], "statements": list(statements[at])})

    def decision(candidate: Candidate) -> bool | None:
        value = derived.get("same_entity", "\n".join(map(line, candidate[:2])))
        return None if value is None else value == "yes"

    return decision
