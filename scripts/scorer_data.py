"""Collections that the passage scorer learns from: the development sets, and open sets made into collections.

The open sets are questions with the passage that answers them (SQuAD, Natural Questions, MedQuAD, PubMedQA); their
passages are pooled. Questions of two steps are composed of two of one step, as for the embedded reader. For questions
about identifiers (codes, options, versions, paths), one is put into each passage of SQuAD: few parts make many that are
alike.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from reader_data import chained_examples, read_rows

from graphwright.data.document import Document
from graphwright.data.question_sets.questions import QuestionRecord

FAMILIES = {
    "musique": ("musique-openie", "musique", "musique-openie-untitled", "musique-untitled"),
    "hotpotqa": (
        "hotpotqa",
        "hotpotqa100",
        "hotpotqa-untitled",
        "hotpotqa100-untitled",
    ),
    "2wiki": ("2wiki", "2wiki-untitled"),
    "scifact": ("scifact",),
    "cranfield": ("cranfield",),
    "cisi": ("cisi",),
}
"""Collections by source: those of one source are left out together."""
OPEN = ("squad", "nq", "medquad", "pubmedqa", "chained", "identifiers")
"""Collections made of open sets, which no result is about."""

_FILES = {"squad": "squad_train_subset", "nq": "nq_open_oracle", "medquad": "medquad", "pubmedqa": "pubmedqa"}
_QUESTIONS = 400  # the most of each collection
_CHARACTERS = 1500  # of a passage

Row = tuple[str, list[tuple[str, str]]]
"""A question, and the titles and texts of the passages that answer it."""


def open_collection(folder: Path, name: str, passages: int) -> tuple[list[Document], list[QuestionRecord]]:
    """Return up to `passages` documents of an open collection, and its questions; `folder` has the sets (`DIR/qa`)."""
    draw = random.Random(0)
    made = {"chained": _chained, "identifiers": _identified}
    rows = list(made[name](folder, draw) if name in made else _plain(folder / _FILES[name], name == "pubmedqa"))
    draw.shuffle(rows)
    documents: dict[str, Document] = {}
    questions: dict[str, QuestionRecord] = {}
    for question, texts in rows:
        if len(documents) >= passages:
            break
        ids = [hashlib.blake2b("\n".join(passage).encode(), digest_size=6).hexdigest() for passage in texts]
        for key, (title, text) in zip(ids, texts, strict=True):
            documents.setdefault(key, Document(key, text, title, whole=True))
        if len(questions) < _QUESTIONS and len(set(ids)) == len(ids):
            questions.setdefault(question, QuestionRecord(str(len(questions)), question, gold=tuple(ids)))
    return list(documents.values()), list(questions.values())


def _plain(folder: Path, joined: bool) -> Iterator[Row]:
    """Yield questions with their first passage, or with all joined: the parts of one abstract."""
    for file in sorted(folder.glob("*.gz")):
        for row in read_rows(file):
            if parts := row["passages"]:
                text = " ".join(part["text"] for part in parts) if joined else parts[0]["text"]
                yield row["question"], [("" if joined else parts[0]["title"], text[:_CHARACTERS])]


def _chained(folder: Path, draw: random.Random) -> Iterator[Row]:
    """Yield questions of two steps with both passages."""
    for example in chained_examples(folder, draw):
        if len(example.passages) == 2:
            yield example.question, list(map(_parts, (text.whole for text in example.passages)))


_PARTS = ("reset", "pool", "read", "write", "flush", "sync", "lock", "wait")
_STATED = (
    "The entry {} belongs to this case.",
    "It was logged as {} by the system.",
    "See {} for that.",
    "Use {} here.",
)
_ASKED = (
    "{}",
    "What does {} mean?",
    "How can I fix {} when it appears again and again?",
    "{} not working",
    "Is {} new?",
)


def _identified(folder: Path, draw: random.Random) -> Iterator[Row]:
    """Yield questions about identifiers, each in one passage."""
    texts = dict.fromkeys(texts[0] for _, texts in _plain(folder / _FILES["squad"], False))
    used = set[str]()
    for at, (_, text) in enumerate(draw.sample(list(texts), len(texts))):
        name = _identifier(at, draw)
        if name not in used:
            used.add(name)
            sentences = text[:700].split(". ")
            sentences.insert(draw.randrange(len(sentences) + 1), draw.choice(_STATED).format(name))
            yield draw.choice(_ASKED).format(name), [("", ". ".join(sentences))]


def _identifier(kind: int, draw: random.Random) -> str:
    """Return an identifier of one of seven kinds."""
    parts, number = draw.sample(_PARTS, draw.choice((2, 2, 3))), draw.randrange
    forms = (
        "_".join(("ERR", *parts)).upper(),
        "--" + "-".join(parts),
        f"v{number(1, 4)}.{number(10)}.{number(20)}",
        f"CVE-20{number(28, 32)}-{number(1000, 1060)}",
        f"{draw.choice('AB')}-{number(100, 112)}/{draw.choice('ABCD')}",
        f"/{draw.choice(('etc', 'var', 'opt'))}/{'/'.join(parts)}{draw.choice(('.conf', '.log', '.d'))}",
        "get" + "".join(part.title() for part in parts),
    )
    return forms[kind % len(forms)]


def _parts(whole: str) -> tuple[str, str]:
    title, _, text = whole.partition("\n")
    return (title, text[:_CHARACTERS]) if text else ("", whole[:_CHARACTERS])


def source_of_set(name: str) -> str:
    """Return the source of a multihop set.

    >>> source_of_set("hotpotqa100")
    'hotpotqa'
    """
    return "hotpotqa" if name.startswith("hotpotqa") else name


def families_without(family: str | None) -> Iterable[str]:
    """Return the collections of all families but one, and the open ones."""
    return [label for name, labels in FAMILIES.items() if name != family for label in labels] + list(OPEN)
