"""Fit the probabilities by which `Reword` corrects misspelt words and spells out acronyms.

    python scripts/fit_reword.py --data DIR [--draws 40]

`DIR/qa` has the sets of questions. In each draw an index is made of 4 to 1,500 passages of one set, and questions are
asked of it: with words misspelt, with an affix exchanged, so that a word means another thing, with a phrase replaced by
its initials, and as they are, also those of other passages, so that the index lacks words that are right. Acronyms that
texts define in brackets are asked too, and their definition is taken out. Prints, for each set, the figures of weights
that were fitted without it, then the weights of all, and the share of ALIKE that they read as one another.
"""

from __future__ import annotations

import argparse
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from reader_data import read_rows
from scipy.optimize import minimize

from graphwright.operators.search.reword import WORD
from graphwright.search.bm25_postings import WordIndex
from graphwright.search.unknown_words import (
    INITIALS,
    LIKELY,
    SPELLING,
    Context,
    Meaning,
    phrases_with,
    probability,
)
from graphwright.text.words import STOP_WORDS, words

SETS = ("squad_train_subset", "nq_open_oracle", "medquad", "pubmedqa", "fairytaleqa", "squadshifts")
CHARACTERS, QUESTIONS = 1500, 40
PENALTIES = (1e-6, 1e-3)  # of spelling and initials: of these there are fewer cases
PREFIXES = (
    "hyper hypo", "in ex", "im ex", "pre post", "ante post", "inter intra", "macro micro", "over under", "super sub",
    "pro anti", "homo hetero", "mono poly", "up down", "out in", "en de", "as de", " un", " in", " dis", " non", " mis",
    " re", " anti", " pre", " sub", " co", " semi",
)  # fmt: skip
SUFFIXES = ("ful less", "er ee", "ance or", "able ability", "ine one", "ide ate", "olol opril", "cillin mycin")
"""Exchanged affixes of which a word may have either; the first may be empty."""
ALIKE = (
    "hypotension hypertension", "hypoglycemia hyperglycemia", "hypothermia hyperthermia", "preoperative postoperative",
    "afferent efferent", "abduction adduction", "exothermic endothermic", "ingress egress", "inflow outflow",
    "asymptomatic symptomatic", "unstable stable", "prednisone prednisolone", "hydroxyzine hydralazine",
    "clonidine clonazepam", "dopamine dobutamine", "vinblastine vincristine", "chlorpromazine chlorpropamide",
    "metformin metronidazole", "lamivudine lamotrigine", "sulfadiazine sulfasalazine", "ephedrine epinephrine",
    "tramadol trazodone", "cyclosporine cycloserine", "fluoxetine duloxetine", "glipizide glyburide",
    "quinine quinidine", "nitrite nitrate", "mortgagor mortgagee", "assignor assignee", "stalagmite stalactite",
    "ethane ethene", "methane methanol", "ammonia ammonium", "upstream downstream", "deductible deduction",
)  # fmt: skip
"""Pairs of words that mean different things; each is asked of an index that has the other. None is fitted on."""
_DEFINED = re.compile(r"\(([A-Z]{2,6})\)")


class Case(NamedTuple):
    """The meanings of a word, which of them is right, and the kind of the word."""

    kind: str
    meanings: list[Meaning]
    right: list[bool]


def misspelt(word: str, draw: random.Random) -> str:
    """Return a word with one edit, with two in one case of five: as fingers and ears make them."""
    letters = list(word)
    for _ in range(1 + (draw.random() < 0.2)):
        at = draw.randrange(1, len(letters) - 1)
        kind = draw.choice(("drop", "double", "swap", "key", "vowel", "vowel"))
        if kind == "drop":
            del letters[at]
        elif kind == "double":
            letters.insert(at, letters[at])
        elif kind == "swap":
            letters[at - 1 : at + 1] = letters[at], letters[at - 1]
        elif kind == "key":
            letters[at] = draw.choice("abcdefghiklmnoprstuvyz")
        else:
            vowels = [n for n, letter in enumerate(letters) if letter in "aeiouy"] or [at]
            letters[draw.choice(vowels)] = draw.choice(["a", "e", "i", "o", "u", "y", "ai", "ie", "ei", "ou"])
    return "".join(letters)


def spelling_cases(question: str, index: WordIndex, draw: random.Random) -> Iterator[Case]:
    """Yield the words that the index lacks, of the question as it is and with some words misspelt."""
    right: dict[str, str] = {}

    def wrong(match: re.Match[str]) -> str:
        form = words(match.group())
        if len(form) != 1 or len(form[0]) < 4 or not len(index.postings(form[0])[0]) or draw.random() < 0.6:
            return match.group()
        changed = misspelt(match.group().lower(), draw)
        right.update({other: form[0] for other in words(changed)})
        return changed

    for text, kind in ((question, "right"), (WORD.sub(wrong, question), "misspelt")):
        context = Context(index, text)
        for word in dict.fromkeys(words(text)):
            if word.isalpha() and not len(index.postings(word)[0]) and (kind == "right" or word in right):
                meanings = context.near_words(word)
                yield Case(kind, meanings, [meaning.text == right.get(word) for meaning in meanings])


def other_words(word: str) -> Iterator[str]:
    """Yield a word with an affix exchanged, added or taken away."""
    for affixes, at_end in ((PREFIXES, False), (SUFFIXES, True)):
        for pair in affixes:
            for old, new in (pair.split(" "), pair.split(" ")[::-1]):
                if len(word) > len(old) + 3 and (word.endswith(old) if at_end else word.startswith(old)):
                    yield word[: len(word) - len(old)] + new if at_end else new + word[len(old) :]


def opposite_cases(question: str, index: WordIndex, draw: random.Random) -> Iterator[Case]:
    """Yield words that the index has, each replaced by another word that it lacks."""
    for word in dict.fromkeys(words(question)):
        if word.isalpha() and len(word) > 4 and len(index.postings(word)[0]):
            others = [other for other in other_words(word) if len(other) > 4 and not len(index.postings(other)[0])]
            if others:
                other = draw.choice(others)
                asked = re.sub(rf"\b{re.escape(word)}\b", other, question, flags=re.IGNORECASE)
                meanings = Context(index, asked).near_words(other)
                yield Case("opposite", meanings, [False] * len(meanings))


def alike_cases() -> list[Case]:
    """Return the meanings of each of ALIKE in a small index that has its counterpart."""
    texts = ["The report has a value for each day.", "The pump is checked in March.", "Call the office at noon."]
    cases = []
    for pair in ALIKE:
        for asked, known in (pair.split(), pair.split()[::-1]):
            index = WordIndex.of([f"The page on {known} explains {known}.", *texts], np.arange(4))
            meanings = Context(index, f"What is {asked}?").near_words(asked)
            cases.append(Case("alike", meanings, [False] * len(meanings)))
    return cases


def initials_case(
    question: str, phrase: str, letters: str, texts: Sequence[str], index: WordIndex, kind: str
) -> Case | None:
    """Return the meanings of an acronym in a question."""
    meanings = Context(index, question).phrases(letters, texts, range(len(texts)))
    right = [words(meaning.text) == words(phrase) for meaning in meanings]
    return Case(kind, meanings, right) if kind == "absent" or any(right) else None


def shortened(question: str, text: str, draw: random.Random) -> tuple[str, str, str] | None:
    """Return a question with a phrase of the text replaced by its initials, the phrase, and the initials."""
    parts = question.rstrip(" ?").split()
    spans = [(a, b) for a in range(len(parts)) for b in range(a + 2, min(a + 5, len(parts)) + 1)]
    draw.shuffle(spans)
    for a, b in spans:
        phrase = " ".join(parts[a:b])
        ends = {parts[a].lower(), parts[b - 1].lower()}
        inner = [part for part in parts[a:b] if part.lower() not in STOP_WORDS]
        if ends & STOP_WORDS or not all(part.isalpha() for part in parts[a:b]) or len(inner) < 2:
            continue
        if phrase.lower() in text.lower():
            letters = "".join(part[0].upper() for part in inner)
            return " ".join((*parts[:a], letters, *parts[b:])), phrase, letters
    return None


def acronym_cases(
    asked: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], texts: list[str], draw: random.Random
) -> Iterator[Case | None]:
    """Yield acronyms of questions and of texts; `others`: questions and texts that are not in the index."""
    index = WordIndex.of(texts, np.arange(len(texts)))
    for rows, kind in ((asked, "acronym"), (others, "absent")):
        for question, text in rows:
            if short := shortened(question, text, draw):
                yield initials_case(short[0].replace(short[2], ""), short[1], short[2], texts, index, kind)
            for match in _DEFINED.finditer(text):
                if phrases := list(phrases_with(match[1], [text[max(0, match.start() - 80) : match.start()]])):
                    bare = [re.sub(rf"\(?\b{match[1]}s?\b\)?", "", other) for other in texts]
                    named = question if draw.random() < 0.5 else ""
                    yield initials_case(named, phrases[-1][1], match[1], bare, index, f"{kind} defined")


def cases_of(folder: Path, draws: int) -> tuple[list[Case], list[Case]]:
    """Return the cases of a set: of spelling, and of initials."""
    draw = random.Random(zlib.crc32(folder.name.encode()))
    rows = [
        (row["question"], " ".join(part["text"] for part in row["passages"])[:CHARACTERS])
        for file in sorted(folder.glob("*.gz"))
        for _, row in zip(range(4000), read_rows(file), strict=False)
        if row["passages"]
    ]
    spelling, initials = list[Case](), list[Case | None]()
    for _ in range(draws):
        draw.shuffle(rows)
        size = int(np.exp(draw.uniform(np.log(4), np.log(1500))))
        inside, outside = rows[:size], rows[-QUESTIONS // 2 :]
        texts = list(dict.fromkeys(text for _, text in inside))
        index = WordIndex.of(texts, np.arange(len(texts)))
        for question, _ in (*inside[:QUESTIONS], *outside):
            spelling += spelling_cases(question, index, draw)
        for question, _ in inside[:QUESTIONS]:
            spelling += opposite_cases(question, index, draw)
        initials += acronym_cases(inside[:QUESTIONS], outside, texts, draw)
    return [case for case in spelling if case.meanings], [case for case in initials if case and case.meanings]


def fitted(cases: Sequence[Case], count: int, penalty: float) -> list[float]:
    """Return the weights of a logistic regression over all meanings."""
    rows = np.array([meaning.features for case in cases for meaning in case.meanings], np.float64)
    right = np.array([right for case in cases for right in case.right], np.float64)
    weight = np.concatenate([np.full(len(case.right), 1 / len(case.right)) for case in cases])
    scale = np.abs(rows).max(0) + 1e-9

    def loss(weights: Any) -> tuple[float, Any]:
        logits = (rows / scale) @ weights
        value = weight @ (np.logaddexp(0, logits) - right * logits) / weight.sum() + penalty * weights @ weights
        slope = (rows / scale).T @ (weight * (1 / (1 + np.exp(-logits)) - right)) / weight.sum() + 2 * penalty * weights
        return float(value), slope

    return [round(float(value), 3) for value in minimize(loss, np.zeros(count), jac=True).x / scale]


def figures(cases: Sequence[Case], weights: Sequence[float]) -> str:
    """Return by kind the share of words that are replaced rightly and wrongly."""
    parts = []
    for kind in sorted({case.kind for case in cases}):
        of_kind = [case for case in cases if case.kind == kind]
        best = [probability(case.meanings, weights) for case in of_kind]
        changed = [float(chances.max(initial=0)) >= LIKELY for chances in best]
        good = [bool(c and case.right[int(p.argmax())]) for c, p, case in zip(changed, best, of_kind, strict=True)]
        parts.append(
            f"{kind}: {len(of_kind)} words, {np.mean(good):.0%} right, {np.mean(changed) - np.mean(good):.0%} wrong"
        )
    return "; ".join(parts)


def main() -> None:
    """Fit, and print figures and weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--draws", type=int, default=40, help="indexes of each set")
    options = parser.parse_args()
    data = {name: cases_of(options.data / "qa" / name, options.draws) for name in SETS}
    for part, (names, penalty) in enumerate(zip((SPELLING, INITIALS), PENALTIES, strict=True)):
        for left_out in SETS:
            weights = fitted(
                [case for name in SETS if name != left_out for case in data[name][part]], len(names), penalty
            )
            print(f"{left_out}: {figures(data[left_out][part], weights)}", flush=True)
        weights = fitted([case for name in SETS for case in data[name][part]], len(names), penalty)
        print(dict(zip(names, weights, strict=True)))
        if names is SPELLING:
            print(figures(alike_cases(), weights))


if __name__ == "__main__":
    main()
