"""Examples of short texts for the embedded reader: a question, and a text that holds its answer or does not.

`reader/statements.jsonl` has a text a line with a title, and questions with their answers: "yes", "no", "=" and words
of the text, or nothing where the text does not tell. The others are the sentences that the reader, as it is, takes for
the best of a question over documents (scripts/reader_documents.py), each with its neighbours; and questions of SQuAD
with an answer to be confirmed.
"""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reader_data import DECIDED, NO, NONE, SPAN, YES, Example, Text, read_rows
from reader_documents import OWN, Retrieved, answering, examples_of, learned_from, may_answer, places

from graphwright.generate.quoted_sentences import sentences_of
from graphwright.models.embedded.reader import MiniLMReader
from graphwright.models.protocols import PassageText

Place = tuple[int, int, int]  # a sentence: its passage, and its first and last character

BEST = 8  # sentences of a question
WORDS = 45  # of a sentence with its neighbours
RIGHT, WRONG = 3, 3  # quotations of a question that hold the answer, and that do not: the best, and one of the rest
KEPT = 0.75  # share of those that do not
CONFIRMED = 8000  # questions with an answer to be confirmed
ASKED_AGAIN = (
    "{question} {answer}?",
    "{answer}? {question}",
    "Is it {answer}? {question}",
    "{question} Is {answer} right?",
)
STATEMENTS = OWN / "statements.jsonl"
HELD_TEXTS = (slice(-45, None), slice(932, 1054))  # texts that training leaves out


def quotation_examples(work: Path, draw: random.Random) -> Iterator[Example]:
    """Yield quotations of each question with all passages and without those that answer, and one of its passages."""
    reader = MiniLMReader(paired=0)
    for row in learned_from(work):
        yield from _quoted(row, reader, draw)
        others = [(passage, False) for passage, gold in zip(row.passages, row.gold, strict=True) if not gold]
        if others and len(others) < len(row.passages):
            yield from _quoted(Retrieved(row.asked, *zip(*others, strict=True)), reader, draw)
        if of_passages := list(examples_of(row, draw)):
            yield draw.choice(of_passages)


def _quoted(row: Retrieved, reader: MiniLMReader, draw: random.Random) -> Iterator[Example]:
    question, passages = row.asked.text, row.passages
    sentences: list[Place] = [
        (number, sentence.start, sentence.end)
        for number, passage in enumerate(passages)
        for sentence in sentences_of(passage)
    ]
    scores = reader.sentence_scores(question, passages, sentences)
    held = [set(answering(p, row.asked)) if gold else set() for p, gold in zip(passages, row.gold, strict=True)]
    right, wrong = list[Text](), list[Text]()
    for at in np.argsort(-scores, kind="stable")[:BEST].tolist():
        number, start, end = quotation(passages, sentences, at)
        passage = passages[number]
        spans = [(b, e) for b, e in held[number] if start <= b and e <= end]
        text = Text(passage.title, passage.text[start:end])
        if spans:
            found = [place for span in spans for place in places(passage.text, span, row.asked.answers)] or spans
            right.append(Text.of(text.title, text.text, [(b - start, e - start) for b, e in found]))
        elif not may_answer(text, row.asked):
            wrong.append(text)
    for text in right[:RIGHT]:
        yield Example(question, (text,), DECIDED if row.asked.decided else SPAN)
    for text in [*wrong[: WRONG - 1], *draw.sample(wrong[WRONG - 1 :], min(1, len(wrong[WRONG - 1 :])))]:
        if draw.random() < KEPT:
            yield Example(question, (text,), NONE)


def quotation(passages: Sequence[PassageText], sentences: Sequence[Place], at: int) -> Place:
    """Return a sentence with its neighbours, of at most 45 words; a row of a table stands alone."""
    number, start, end = sentences[at]
    passage, ends = passages[number], {-1: at, 1: at}
    room = -1 if _is_row(passage, start) else WORDS - len(passage.text[start:end].split())
    for side in (-1, 1, -1, 1):
        beside = ends[side] + side
        if 0 <= beside < len(sentences) and sentences[beside][0] == number:
            size = len(passage.text[slice(*sentences[beside][1:])].split())
            if size <= room and not _is_row(passage, sentences[beside][1]):
                ends[side], room = beside, room - size
    return number, sentences[ends[-1]][1], sentences[ends[1]][2]


def _is_row(passage: PassageText, start: int) -> bool:
    return any(begin <= start < end for begin, end in passage.rows)


def statement_examples() -> Iterator[Example]:
    """Yield the questions of the written texts, without those that are held out."""
    rows = [json.loads(line) for line in STATEMENTS.read_text("utf-8").splitlines()]
    for held in HELD_TEXTS:
        del rows[held]
    for row in rows:
        yield from asked_of(row)


def asked_of(row: dict[str, Any]) -> Iterator[Example]:
    """Yield the questions of one written text."""
    for question, answer in row["asked"]:
        if answer.startswith("="):
            at = row["text"].index(answer[1:])
            yield Example(question, (Text.of(row["title"], row["text"], [(at, at + len(answer) - 1)]),), SPAN)
        else:
            kind = {"yes": YES, "no": NO, "": NONE}[answer]
            yield Example(question, (Text(row["title"], row["text"]),), kind)


def confirmed_examples(folder: Path, draw: random.Random) -> Iterator[Example]:
    """Yield questions that ask whether an answer is right, with the sentence that holds the right one.

    A wrong answer is one to another question about the same article, of the same form: with digits, with a capital
    letter, or neither.
    """
    rows = [row for row in read_rows(folder / "squad_train_subset/data.jsonl.gz") if row["spans"] and row["answerable"]]
    texts = [row["passages"][0]["text"][slice(*row["spans"][0][1:])] for row in rows]
    keys = [(row["passages"][0]["title"], _form(text)) for row, text in zip(rows, texts, strict=True)]
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key, text in zip(keys, texts, strict=True):
        alike[key].append(text)
    for at in draw.sample(range(len(rows)), min(CONFIRMED, len(rows))):
        passage, right = rows[at]["passages"][0], draw.random() < 0.5
        others = [text for text in alike[keys[at]] if text.lower() not in texts[at].lower()]
        if right or others:
            answer = texts[at] if right else draw.choice(others)
            question = draw.choice(ASKED_AGAIN).format(question=rows[at]["question"].strip(), answer=answer)
            text = _around(PassageText(passage["title"], passage["text"]), rows[at]["spans"][0][1])
            yield Example(question, (Text("", text),), YES if right else NO)


def _form(text: str) -> str:
    return "digits" if re.search(r"\d", text) else "name" if re.search(r"[A-Z]", text) else "words"


def _around(passage: PassageText, start: int) -> str:
    sentences: list[Place] = [(0, sentence.start, sentence.end) for sentence in sentences_of(passage)]
    at = next((n for n, (_, begin, end) in enumerate(sentences) if begin <= start < end), 0)
    return passage.text[slice(*quotation([passage], sentences, at)[1:])]
