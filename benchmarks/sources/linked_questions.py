"""Make questions that need two linked documents, for a corpus that has links and no questions.

In FastInsight (section 4.2.1) a language model writes the questions. Here a question is made of the most informative
words of the most central sentence of each document; so word search is easier on them than on real questions.
"""

from __future__ import annotations

import json
import math
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import DataError
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import words

_OWN = 2  # words of a question that only one of the documents holds, for each of them
_RUN = 8  # words in a row that a question may not share with a document
_SOURCE_WORDS, _TARGET_WORDS = 5, 3  # words of each document in a question made of words
_MIN_WORDS = 3
_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_FORMS = (
    "Which results on {target} does work on {source} build on?",
    "What do methods for {target} contribute to {source}?",
    "How does {source} make use of {target}?",
)


def two_document_questions(documents: Sequence[Document], count: int = 200, seed: int = 0) -> list[QuestionRecord]:
    """Return questions that need two linked documents: `gold` is the one that refers, then the other.

    Pairs are drawn by `seed`, and no document is in two questions; a larger `count` gives the same first ones. Those
    that do not need both documents are left out (see needs_both), so that there may be fewer than `count`.

    Raises DataError where no document refers to another.
    """
    pairs = linked_pairs(documents, seed)
    if not pairs:
        raise DataError(
            f"None of the {len(documents):,} documents refers to another one. Links are read from links.tsv "
            f"beside corpus.jsonl, and from the field links of its rows."
        )
    write = TermWriter(documents)
    questions: list[QuestionRecord] = []
    used: set[str] = set()
    for source, target in pairs:
        if len(questions) == count:
            break
        text = None if used & {source.id, target.id} else write(source, target)
        if text is not None and needs_both(text, source, target):
            used |= {source.id, target.id}
            name = f"two-{len(questions) + 1}"
            questions.append(QuestionRecord(name, text, (), (source.id, target.id), "two documents"))
    return questions


def write_linked_questions(data: Path, out: Path, count: int = 200, seed: int = 0) -> int:
    """Copy a linked corpus to another folder, write questions beside it, and return their number."""
    out.mkdir(parents=True, exist_ok=True)
    for path in data.glob("*.[jt]s*"):
        shutil.copyfile(path, out / path.name)
    questions = two_document_questions(list(read_documents([*out.glob("corpus.jsonl*")], print)), count, seed)
    rows = (
        {"id": q.id, "question": q.text, "answers": q.answers, "gold_ids": q.gold, "type": q.type} for q in questions
    )
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    (out / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    return len(lines)


def linked_pairs(documents: Iterable[Document], seed: int = 0) -> list[tuple[Document, Document]]:
    """Return the linked pairs of documents, referring one first and each pair once, in random order.

    >>> docs = [Document("a", "x", links=("b", "c")), Document("b", "y", links=("a",))]
    >>> [(source.id, target.id) for source, target in linked_pairs(docs)]
    [('a', 'b')]
    """
    known = {document.id: document for document in documents}
    pairs = sorted((name, link) for name, d in known.items() for link in set(d.links) if link in known and link != name)
    distinct = list({frozenset(pair): pair for pair in reversed(pairs)}.values())
    distinct.sort()
    random.Random(seed).shuffle(distinct)
    return [(known[source], known[target]) for source, target in distinct]


def needs_both(question: str, source: Document, target: Document) -> bool:
    """Return whether a question needs both documents, judged by its words.

    Each of them holds two words or more of the question that the other does not; the question does not name the target,
    which would be found at once; and it copies neither, no sentence and no eight words in a row.

    >>> boat, hull = Document("a", "Racing boats in Oslo."), Document("b", "Carbon hulls bend under load.", "Hulls")
    >>> needs_both("How much does what Oslo's racing boats are made of, carbon, bend?", boat, hull)
    True
    >>> needs_both("Do carbon hulls of Oslo's racing boats bend?", boat, hull)  # names it
    False
    """
    terms, title = set(words(question)), set(words(target.title))
    of_source, of_target = (set(words(f"{document.title}\n{document.text}")) for document in (source, target))
    if min(len(terms & of_source - of_target), len(terms & of_target - of_source)) < _OWN:
        return False
    if title and title <= terms:
        return False
    return not any(_copies(question, document.text) for document in (source, target))


def _copies(question: str, text: str) -> bool:
    """Return whether a question holds a sentence of a text, of four words or more, or eight of its words in a row."""
    line, whole = _line(question), _line(text)
    tokens = line.split()
    if any(f" {' '.join(tokens[at : at + _RUN])} " in whole for at in range(len(tokens) - _RUN + 1)):
        return True
    sentences = (_line(text[start:end]) for start, end in sentence_spans(text))
    return any(sentence in line for sentence in sentences if sentence.count(" ") > 4)


def _line(text: str) -> str:
    """Return the words of a text with single spaces between and around them."""
    return f" {' '.join(_TOKEN.findall(text.lower()))} "


class TermWriter:
    """Make questions of the most informative words of the most central sentence of each document.

    The weight of a word is its count in the document times log(N/df), and 0 for a word of one document only, which
    would be a name. The most central sentence has the largest cosine with its document. No word is from the title of
    the target. Words keep the order of the sentence, in one of three forms.

    >>> docs = [Document("a", "Racing boats need light hulls."), Document("b", "Carbon hulls bend under heavy load.")]
    >>> docs += [Document("c", "Light boats, carbon masts, racing under heavy load.")]
    >>> TermWriter(docs)(docs[0], docs[1])
    'How does Racing boats light hulls make use of Carbon hulls heavy?'
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._counts = {d.id: Counter(words(d.text)) for d in documents}
        frequencies = Counter(word for counts in self._counts.values() for word in counts)
        self._rarity = {word: math.log(len(documents) / df) for word, df in frequencies.items() if df > 1}

    def __call__(self, source: Document, target: Document) -> str | None:
        """Return a question, None where a document has too few words."""
        parts = [self._terms(source, "", _SOURCE_WORDS), self._terms(target, target.title, _TARGET_WORDS)]
        if min(map(len, parts)) < _MIN_WORDS:
            return None
        form = random.Random(f"{source.id}\0{target.id}").choice(_FORMS)
        return form.format(source=" ".join(parts[0]), target=" ".join(parts[1]))

    def _terms(self, document: Document, title: str, max_words: int) -> list[str]:
        """Return the words of largest weight of the most central sentence, as written, in its order."""
        text = document.text
        weights = {word: n * self._rarity.get(word, 0.0) for word, n in self._counts[document.id].items()}
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        central = max(sentences, key=lambda sentence: self._centrality(sentence, weights), default="")
        excluded, first = set(words(title)), dict[str, str]()
        for token in _TOKEN.findall(central):
            for word in words(token)[:1]:
                if word not in excluded and weights.get(word, 0.0) > 0:
                    first.setdefault(word, token)
        chosen = set(sorted(first, key=lambda word: -weights[word])[:max_words])
        return [token for word, token in first.items() if word in chosen]

    def _centrality(self, sentence: str, weights: dict[str, float]) -> float:
        vector = {word: n * self._rarity.get(word, 0.0) for word, n in Counter(words(sentence)).items()}
        length = math.sqrt(sum(weight * weight for weight in vector.values()))
        return sum(weight * weights.get(word, 0.0) for word, weight in vector.items()) / length if length else 0.0
