"""Questions that need two documents of which one refers to the other, for corpora that have links and no questions.

FastInsight (section 4.2.1) asks a language model for them: that of a pair a question describes the document that
refers, and wants to know what only the other one tells, without naming it. Offline, words take the place of that: those
that say most in the most central sentence of each.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from graphwright.data.document import Document
from graphwright.data.questions import QuestionRecord
from graphwright.errors import DataError, LLMResponseError, OptionError
from graphwright.generate.quotes import find
from graphwright.models.protocols import LLM
from graphwright.prompts import data_line, messages
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import words

__all__ = ["TermWriter", "linked_pairs", "model_writer", "needs_both", "two_document_questions"]

Draft = tuple[str, tuple[str, ...]]
"""A question and its answers, none where nobody wrote one."""

_SHOWN = 4096  # characters of a document that a model reads, as many as a node of ACL-OCL has
_TRIES = 3  # pairs that a model is asked about for each question that is wanted
_OWN = 2  # words of a question that each document has to hold and the other not
_RUN = 8  # words in a row that a question may not share with a document
_FEWEST = 3  # words of either document in a question of words
_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_FORMS = (
    "Which results on {target} does work on {source} build on?",
    "What do methods for {target} contribute to {source}?",
    "How does {source} make use of {target}?",
)


def two_document_questions(
    documents: Sequence[Document], count: int = 200, seed: int = 0, *, llm: LLM | None = None
) -> list[QuestionRecord]:
    """Write questions that need two linked documents each: `gold` is the one that refers, then the other.

    Pairs are drawn by `seed`, and no document is in two questions; a larger `count` gives the same first ones. `llm`
    writes them, with an answer each; without one they are made of words (see TermWriter) and have no answer. Those that
    do not need both documents are left out (see needs_both), so that there may be fewer than `count`; a model is asked
    about three pairs at most for each that is wanted.

    Raises DataError where no document refers to another, OptionError for a count below 1, and what a model raises,
    save that a reply without the right form only costs its pair.
    """
    if count < 1:
        raise OptionError(f"two_document_questions(count={count!r}): a number of questions, 1 or more.")
    pairs = linked_pairs(documents, seed)
    if not pairs:
        raise DataError(
            f"none of the {len(documents):,} documents refers to another one of them. Links are read from links.tsv "
            f"beside corpus.jsonl, and from the field links of its rows."
        )
    write = TermWriter(documents) if llm is None else model_writer(llm)
    found: list[QuestionRecord] = []
    used: set[str] = set()
    tried = 0
    for source, target in pairs:
        if len(found) == count or (llm is not None and tried == _TRIES * count):
            break
        if used & {source.id, target.id}:
            continue
        tried += 1
        draft = write(source, target)
        if draft is not None and needs_both(draft[0], source, target):
            used |= {source.id, target.id}
            name = f"two-{len(found) + 1}"
            found.append(QuestionRecord(name, draft[0], draft[1], (source.id, target.id), "two documents"))
    return found


def linked_pairs(documents: Iterable[Document], seed: int = 0) -> list[tuple[Document, Document]]:
    """Return the pairs of a document and another that it refers to, each two once, in an order drawn by `seed`.

    >>> docs = [Document("a", "x", links=("b", "c")), Document("b", "y", links=("a",))]
    >>> [(one.id, other.id) for one, other in linked_pairs(docs)]
    [('a', 'b')]
    """
    known = {document.id: document for document in documents}
    pairs = sorted((name, link) for name, d in known.items() for link in set(d.links) if link in known and link != name)
    kept = list({frozenset(pair): pair for pair in reversed(pairs)}.values())
    kept.sort()
    random.Random(seed).shuffle(kept)
    return [(known[source], known[target]) for source, target in kept]


def needs_both(question: str, source: Document, target: Document) -> bool:
    """Whether a question can only be answered from two documents together, as far as words tell.

    Each of them holds two words or more of the question that the other does not; the question does not name the target,
    which would be found at once; and it copies neither, no sentence and no eight words in a row.

    >>> boat, hull = Document("a", "Racing boats in Oslo."), Document("b", "Carbon hulls bend under load.", "Hulls")
    >>> needs_both("How much does what Oslo's racing boats are made of, carbon, bend?", boat, hull)
    True
    >>> needs_both("Do carbon hulls of Oslo's racing boats bend?", boat, hull)  # names it
    False
    """
    asked = set(words(question))
    one, other = (set(words(f"{d.title}\n{d.text}")) for d in (source, target))
    title = set(words(target.title))
    if min(len(asked & one - other), len(asked & other - one)) < _OWN or (title and title <= asked):
        return False
    return not any(_copies(question, document.text) for document in (source, target))


def _copies(question: str, text: str) -> bool:
    """Whether a question holds a sentence of a text, of four words or more, or eight of its words in a row."""
    asked, whole = _line(question), _line(text)
    tokens = asked.split()
    if any(f" {' '.join(tokens[at : at + _RUN])} " in whole for at in range(len(tokens) - _RUN + 1)):
        return True
    sentences = (_line(text[start:end]) for start, end in sentence_spans(text))
    return any(sentence in asked for sentence in sentences if sentence.count(" ") > 4)


def _line(text: str) -> str:
    """Return the words of a text with single spaces between and around them."""
    return f" {' '.join(_TOKEN.findall(text.lower()))} "


class TermWriter:
    """Writes questions of words: of the most central sentence of each document, those that say most of it.

    A word weighs its count in the document times log(N/df), and one that no other document holds weighs nothing: it
    would be a name, not a subject. The most central sentence has the largest cosine with its document. Of the document
    that refers `words_of_source` words are taken, of the other `words_of_target`, none of them of its title, so that it
    is the harder one to find; they stand in the order of the sentence, in one of three forms. As they are the very
    words of the documents, a search for words has it easier here than with what people ask.

    >>> docs = [Document("a", "Racing boats need light hulls."), Document("b", "Carbon hulls bend under heavy load.")]
    >>> docs += [Document("c", "Light boats, carbon masts, racing under heavy load.")]
    >>> TermWriter(docs)(docs[0], docs[1])
    ('How does Racing boats light hulls make use of Carbon hulls heavy?', ())
    """

    def __init__(self, documents: Sequence[Document], words_of_source: int = 5, words_of_target: int = 3) -> None:
        self._counts = {d.id: Counter(words(d.text)) for d in documents}
        held = Counter(word for counts in self._counts.values() for word in counts)
        self._rarity = {word: math.log(len(documents) / df) for word, df in held.items() if df > 1}
        self._sizes = words_of_source, words_of_target

    def __call__(self, source: Document, target: Document) -> Draft | None:
        """Return a question, None where a document says too little."""
        parts = [self._terms(source, "", self._sizes[0]), self._terms(target, target.title, self._sizes[1])]
        if min(map(len, parts)) < _FEWEST:
            return None
        form = random.Random(f"{source.id}\0{target.id}").choice(_FORMS)
        return form.format(source=" ".join(parts[0]), target=" ".join(parts[1])), ()

    def _terms(self, document: Document, title: str, most: int) -> list[str]:
        """Return the words of the most central sentence that say most, as they are written there, in its order."""
        text = document.text
        weights = {word: n * self._rarity.get(word, 0.0) for word, n in self._counts[document.id].items()}
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        central = max(sentences, key=lambda sentence: self._centrality(sentence, weights), default="")
        left_out, first = set(words(title)), dict[str, str]()
        for token in _TOKEN.findall(central):
            for word in words(token)[:1]:
                if word not in left_out and weights.get(word, 0.0) > 0:
                    first.setdefault(word, token)
        chosen = set(sorted(first, key=lambda word: -weights[word])[:most])  # of equals the first ones
        return [token for word, token in first.items() if word in chosen]

    def _centrality(self, sentence: str, weights: dict[str, float]) -> float:
        here = {word: n * self._rarity.get(word, 0.0) for word, n in Counter(words(sentence)).items()}
        length = math.sqrt(sum(weight * weight for weight in here.values()))
        return sum(weight * weights.get(word, 0.0) for word, weight in here.items()) / length if length else 0.0


def model_writer(llm: LLM) -> Callable[[Document, Document], Draft | None]:
    """Return a writer that asks a language model, and takes what it says only where it quotes both documents."""

    def write(source: Document, target: Document) -> Draft | None:
        shown = [data_line({"title": d.title, "text": d.text[:_SHOWN]}) for d in (source, target)]
        try:
            said = llm.complete(*messages("two_documents", first=shown[0], second=shown[1]), schema=_schema()).value
        except LLMResponseError:
            return None
        quotes = ((said.from_first, source), (said.from_second, target))
        if not said.question.strip() or any(find(quote, d.text[:_SHOWN]) is None for quote, d in quotes):
            return None
        return " ".join(said.question.split()), tuple(filter(None, [said.answer.strip()]))

    return write


@cache
def _schema() -> type[Any]:
    """Return what a reply must be, as a pydantic model."""
    from pydantic import create_model

    fields = dict.fromkeys(("question", "answer", "from_first", "from_second"), (str, ...))
    return create_model("TwoDocumentQuestion", **fields)  # type: ignore[call-overload, no-any-return]
