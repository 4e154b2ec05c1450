"""Examples that the embedded reader learns from: a question with one or two passages, the kind of answer, its spans.

Stage A is open question sets, none of which a reported figure uses. A part of the questions is read with a second
passage that shares their rarest words, or with such passages alone, so that the reader learns to choose and to abstain.
Stage B is the multihop sets, by family: a question with both of its passages, with one of them, or with neither.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NONE, SPAN, YES, NO, SEVERAL, DECIDED = range(6)
"""Kinds of answers, in the order of the network's outputs; DECIDED is yes or no, whichever."""

FAMILIES = {"hotpotqa": ("hotpotqa", "hotpotqa100"), "2wiki": ("2wiki",), "musique": ("musique",)}
"""Sets of one source: a fold leaves all of a family out."""

OPEN = (
    "squad_train_subset/data",
    "squadshifts/new_wiki",
    "squadshifts/reddit",
    "squadshifts/amazon_reviews",
    "squad2_dev_half/data",
    "nq_open_oracle/data",
    "quoref/data",
    "fairytaleqa/train",
    "fairytaleqa/val",
    "timeqa/easy",
    "timeqa/hard",
    "qamr/dev",
    "qamr/test",
    "boolq/data",
    "pubmedqa/data",
    "strategyqa/data",
)
REVIEWS = 0.5  # share of the questions on reviews and posts, whose answers are matters of taste
ARTICLES = ("timeqa", "quoref", "pubmedqa")  # long texts, read in windows
WINDOW, STEP = 1000, 700  # characters of a window
PAIRED, OTHER_ONLY = 0.3, 0.2  # shares of questions read with a second passage, and with other passages alone
CUT = 0.25  # share of the questions of two steps that are read without the passage that answers them


@dataclass(frozen=True, slots=True)
class Text:
    """A passage, and the characters of `whole` where an answer stands."""

    title: str
    text: str
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def whole(self) -> str:
        """The passage as it is read: title and text, each on a line."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    @classmethod
    def of(cls, title: str, text: str, spans: Iterable[tuple[int, int]]) -> Text:
        """Return a passage with answers at these characters of its text."""
        shift = len(title) + 1 if title else 0
        return cls(title, text, tuple((begin + shift, end + shift) for begin, end in spans))


@dataclass(frozen=True, slots=True)
class Example:
    """A question, the passages that are read with it, and the kind of its answer."""

    question: str
    passages: tuple[Text, ...]
    kind: int


@dataclass
class Words:
    """Passages by their words, to find those that share the rarest words of a question."""

    passages: list[Text]
    by_word: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for number, passage in enumerate(self.passages):
            for word in words_of(f"{passage.title} {passage.text}"):
                self.by_word[word].append(number)

    def near(self, question: str, k: int = 8, most: int = 400) -> list[Text]:
        """Return the k passages that share most of the question's rare words."""
        scores: dict[int, float] = defaultdict(float)
        for word in sorted(words_of(question)):
            numbers = self.by_word.get(word, ())
            if 0 < len(numbers) <= most:
                for number in numbers:
                    scores[number] += (1 + len(numbers)) ** -0.5
        best = sorted(scores, key=lambda number: (-scores[number], number))[:k]
        return [self.passages[number] for number in best]


def words_of(text: str) -> set[str]:
    """Return the distinct words of a text, in lower case."""
    return set(re.findall(r"\w+", text.lower()))


def open_examples(folder: Path, draw: random.Random) -> Iterator[Example]:
    """Yield the examples of stage A, set by set."""
    for name in OPEN:
        rows = list(read_rows(folder / f"{name}.jsonl.gz"))
        if name.startswith(("squadshifts/reddit", "squadshifts/amazon")):
            rows = draw.sample(rows, int(REVIEWS * len(rows)))
        yield from _composed(name, rows, draw)
    yield from _several(folder, draw)


def read_rows(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a compressed file of JSON lines."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _composed(name: str, rows: Sequence[dict[str, Any]], draw: random.Random) -> Iterator[Example]:
    """Yield the examples of a set: its own passage, this with another, or others alone."""
    gold = [_gold(row, name.startswith(ARTICLES), draw) for row in rows]
    whole = [Text(row["passages"][0]["title"], row["passages"][0]["text"]) for row in rows]
    distinct = {text: None for text in (whole if not name.startswith(ARTICLES) else [w for g in gold for w in g[2]])}
    others = Words(list(distinct))
    for row, (passage, kind, _) in zip(rows, gold, strict=True):
        if kind is None:
            continue
        drawn = draw.random()
        if drawn >= PAIRED + OTHER_ONLY:
            yield Example(row["question"], (passage,), kind)
            continue
        answers = [answer.lower() for answer in row["answers"]] if kind == SPAN else []
        near = [
            text
            for text in others.near(row["question"])
            if text.text != passage.text and not any(answer in text.text.lower() for answer in answers)
        ]
        if not near:
            yield Example(row["question"], (passage,), kind)
        elif drawn < PAIRED:
            yield Example(row["question"], _shuffled((passage, draw.choice(near[:4])), draw), kind)
        else:
            count = min(len(near), 1 + (draw.random() < 0.4))
            yield Example(row["question"], tuple(draw.sample(near, count)), NONE)


def _gold(row: dict[str, Any], windows: bool, draw: random.Random) -> tuple[Text, int | None, list[Text]]:
    """Return the passage of a row, the kind of its answer (None: of no use), and the windows of a long text."""
    title, text = row["passages"][0]["title"], row["passages"][0]["text"]
    spans = tuple((begin, end) for _, begin, end in row["spans"] or ())
    pieces = [Text.of(title, text, spans)]
    if windows:
        pieces = [_window(title, text, at, spans) for at in range(0, max(1, len(text) - 300), STEP)]
    with_spans = [piece for piece in pieces if piece.spans]
    if not row["answerable"]:
        return draw.choice(pieces), NONE, pieces
    if with_spans:
        return draw.choice(with_spans), SPAN, pieces
    kind = {"yes": YES, "no": NO}.get(row["answers"][0].strip().lower())
    return Text(title, text[: 2 * WINDOW]), kind, pieces


def _window(title: str, text: str, at: int, spans: Iterable[tuple[int, int]]) -> Text:
    inside = [(begin - at, end - at) for begin, end in spans if at <= begin and end <= at + WINDOW]
    return Text.of(title, text[at : at + WINDOW], inside)


def _several(folder: Path, draw: random.Random) -> Iterator[Example]:
    """Yield questions about the parts of a sentence, with one or several answers."""
    for row in read_rows(folder / "openie_qasrl_gs/data.jsonl.gz"):
        ends: list[tuple[int, int]] = []
        at = 0
        for token in row["tokens"]:
            ends.append((at, at + len(token)))
            at += len(token) + 1
        spans = []
        for part in row["answer_ranges"].split("~!~"):
            first, _, last = part.partition(":")
            if int(last) > int(first):
                spans.append((ends[int(first)][0], ends[int(last) - 1][1]))
        apart = _apart(spans)
        if len(apart) > 1 or (apart and draw.random() < 0.25):
            text = Text("", " ".join(row["tokens"]), tuple(apart))
            yield Example(row["question"], (text,), SEVERAL if len(apart) > 1 else SPAN)


def _apart(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans that overlap none before them."""
    apart: list[tuple[int, int]] = []
    for begin, end in sorted(set(spans)):
        if not apart or begin >= apart[-1][1]:
            apart.append((begin, end))
    return apart


def _shuffled(passages: tuple[Text, ...], draw: random.Random) -> tuple[Text, ...]:
    return tuple(draw.sample(passages, len(passages)))


_CHAINED = ("squad_train_subset/data", "squadshifts/new_wiki", "squad2_dev_half/data", "qamr/dev", "qamr/test")
_RELATIVE = (
    (re.compile(r"^(?:who|whom)\b", re.IGNORECASE), "the one who"),
    (
        re.compile(
            r"^(?:what|which) (?=(?:is|was|are|were|did|does|do|has|had|have|can|could|would|will)\b)", re.IGNORECASE
        ),
        "the one that ",
    ),
    (re.compile(r"^(?:what|which)\b", re.IGNORECASE), "the"),
    (re.compile(r"^where\b", re.IGNORECASE), "the place where"),
)


def chained_examples(folder: Path, draw: random.Random) -> Iterator[Example]:
    """Yield questions of two steps: the name in one question is replaced by the question that it answers.

    "When was Ida of Elten born?" and "Who founded the abbey?" (Ida of Elten) become "When was the one who founded the
    abbey born?". The wording is rough, but only both passages answer it. Some are read without the passage that holds
    the answer, with one that shares their rarest words in its place.
    """
    for name in _CHAINED:
        rows = [row for row in read_rows(folder / f"{name}.jsonl.gz") if row["spans"] and row["answerable"]]
        distinct = {Text(row["passages"][0]["title"], row["passages"][0]["text"]): None for row in rows}
        others = Words(list(distinct))
        by_name: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            passage, begin, end = row["spans"][0]
            answer = row["passages"][passage]["text"][begin:end].strip()
            if re.match(r"[A-Z]\w+( \w+){0,4}$", answer) and answer.lower() not in ("the", "yes", "no"):
                by_name[answer].append(row)
        for row in rows:
            names = [answer for answer in _names(row["question"]) if answer in by_name]
            first = draw.choice(by_name[draw.choice(names)]) if names else None
            if first is not None and first["passages"][0]["text"] != row["passages"][0]["text"]:
                for example in _chained(row, first, draw):
                    yield example if draw.random() >= CUT else _cut(example, others, draw)


def _cut(example: Example, others: Words, draw: random.Random) -> Example:
    """Return a question of two steps without the passage that answers it."""
    answers = {text.whole[begin:end].lower() for text in example.passages for begin, end in text.spans}
    first = next(text for text in example.passages if not text.spans)
    near = [
        text
        for text in others.near(example.question)
        if text != first and not any(answer in text.whole.lower() for answer in answers)
    ]
    return Example(example.question, _shuffled((first, draw.choice(near)), draw) if near else (first,), NONE)


def _names(question: str) -> list[str]:
    """Return the runs of capitalised words of a question, after its first word."""
    return re.findall(r"(?<=\s)[A-Z][\w'’-]+(?: (?:(?:of|the|de|van) )?[A-Z][\w'’-]+)*", question)


def _chained(row: dict[str, Any], first: dict[str, Any], draw: random.Random) -> Iterator[Example]:
    _, begin, end = first["spans"][0]
    answer = first["passages"][0]["text"][begin:end].strip()
    clause = first["question"].rstrip(" ?.")
    for pattern, replacement in _RELATIVE:
        if pattern.match(clause):
            clause = pattern.sub(replacement, clause)
            break
    else:
        return
    question = row["question"].replace(answer, clause, 1)
    if len(question.split()) < 8:
        return
    spans = tuple((begin, end) for _, begin, end in row["spans"])
    last = Text.of(row["passages"][0]["title"], row["passages"][0]["text"], spans)
    before = Text(first["passages"][0]["title"], first["passages"][0]["text"])
    yield Example(question, _shuffled((last, before), draw), SPAN)


def for_confidence(question: str) -> bool:
    """Return whether a question is one of the fifth that the confidence is fitted on, not the network."""
    return hashlib.sha256(question.encode()).digest()[0] % 5 == 0


def multihop_examples(folder: Path, family: str, draw: random.Random, rounds: int = 2) -> Iterator[Example]:
    """Yield the examples of a family of multihop sets: pairs that hold the answer, and passages that do not."""
    for name in FAMILIES[family]:
        with (folder / name / "corpus.jsonl").open(encoding="utf-8") as lines:
            passages = {row["id"]: (row["title"], row["text"]) for row in map(json.loads, lines)}
        with (folder / name / "questions.jsonl").open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                for _ in range(0 if for_confidence(row["question"]) else rounds):
                    yield from _multihop(row, passages, draw)


def _multihop(row: dict[str, Any], passages: dict[str, tuple[str, str]], draw: random.Random) -> Iterator[Example]:
    gold = [Text(*passages[key], _places(Text(*passages[key]).whole, row["answers"])) for key in row["gold_ids"]]
    others = [Text(*passages[key]) for key in row["candidate_ids"] if key not in row["gold_ids"]]
    kind = {"yes": YES, "no": NO}.get(row["answers"][0].strip().lower(), SPAN)
    if kind == SPAN and not any(text.spans for text in gold):
        return
    both = tuple(gold) if len(gold) <= 2 else _linked(gold, draw)
    if kind != SPAN or any(text.spans for text in both):
        yield Example(row["question"], _shuffled(both, draw), kind)
    single = draw.choice(gold)
    if kind == SPAN and single.spans:
        yield Example(row["question"], _shuffled((single, draw.choice(others)), draw), SPAN)
    without = [*others, *(text for text in gold if not text.spans)]
    yield Example(row["question"], tuple(draw.sample(without, 2)), NONE)


def _linked(gold: Sequence[Text], draw: random.Random) -> tuple[Text, ...]:
    """Return two of several gold passages: where the answer stands, and another."""
    answering = draw.choice([text for text in gold if text.spans] or list(gold))
    return answering, draw.choice([text for text in gold if text is not answering])


def _places(text: str, answers: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Return where an answer stands as whole words in a title, a line break and a text."""
    places = []
    for answer in answers:
        if answer.strip().lower() not in ("", "yes", "no"):
            pattern = rf"(?<!\w){re.escape(answer.strip())}(?!\w)"
            places += [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    return tuple(_apart(places))
