"""Questions over ordinary documents: manuals that are fetched, and papers of offices written for this.

`reader/questions.jsonl` has a question a line, with the document and the words that answer it, and its short answer
where one stands there; a quarter has no answer. `reader/sources.toml` names the packages of the manuals, and
`reader/written` holds the other documents. `HELD` sources are not read in training; on them the probabilities are
fitted and what was learned is measured.
"""

from __future__ import annotations

import json
import pickle
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from reader_data import DECIDED, NONE, SPAN, Example, Text
from sources.everyday import documents_of
from sources.packages import read_sources

from graphwright import Graph, Index, start
from graphwright.generate.citations import passage_text
from graphwright.generate.quoted_sentences import sentences_of
from graphwright.methods.registry import make_method
from graphwright.models.protocols import PassageText
from graphwright.operators.query.parser import ScoredQuery
from graphwright.search.facts import Facts
from graphwright.search.snapshot import Snapshot

OWN = Path(__file__).parent / "reader"
SETS = ("manuals", "written")
HELD = (
    "chrony",
    "gpg",
    "msmtp",
    "privoxy",
    "tmux",
    "dental-practice",
    "ferry-line",
    "map-publisher",
    "museum-archive",
    "swimming-pool",
    "taxi-cooperative",
    "veterinary-clinic",
    "weg-ulmensteg",
)
READ = 8  # passages of a question that training draws from
NEAR = 4  # of the others, those that are read alone
CUT = 0.4  # share of the questions that are read without the sentences that answer


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the documents that answer it, its answers, and the text that holds them, if it is known."""

    text: str
    gold: frozenset[str]
    answers: tuple[str, ...]
    evidence: str = ""
    source: str = ""
    decided: bool = False  # it asks for yes or no


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A question with the passages of its source that are near it, and which of them have its evidence."""

    asked: Asked
    passages: tuple[PassageText, ...]
    gold: tuple[bool, ...]

    def text(self, at: int) -> Text:
        """Return a passage with the places of the answer in it."""
        passage = self.passages[at]
        if not self.gold[at]:
            return Text(passage.title, passage.text)
        spans = answering(passage, self.asked)
        found = [place for span in spans for place in places(passage.text, span, self.asked.answers)]
        return Text.of(passage.title, passage.text, found or [(spans[0][0], spans[-1][1])])


def answering(passage: PassageText, asked: Asked) -> list[tuple[int, int]]:
    """Return the first and last characters of the sentences of a passage that are of the evidence."""
    spans = [(sentence.start, sentence.end) for sentence in sentences_of(passage)]
    return [span for span in spans if has_evidence(passage.text[slice(*span)], asked.evidence)]


class NoQueries:
    """A parser of questions that takes none for a query, so that passages are searched."""

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        """Return no query."""
        return []


def read_over_documents(name: str) -> list[Asked]:
    """Return the questions over manuals, or over the documents written for them."""
    written = {folder.name for folder in (OWN / "written").iterdir()}
    rows = map(json.loads, (OWN / "questions.jsonl").read_text("utf-8").splitlines())
    return [
        Asked(
            row["question"],
            frozenset(filter(None, [row["document"]])),
            tuple(filter(None, [row["answer"]])),
            " ".join(row["evidence"].split()),
            row["source"],
            row["kind"] == "yesno",
        )
        for row in rows
        if (row["source"] in written) == (name == "written")
    ]


def folder_of_documents(work: Path, name: str) -> Path:
    """Return the folder of the documents, of which the manuals are fetched."""
    if name == "written":
        return OWN / "written"
    for source in read_sources(OWN / "sources.toml"):
        documents_of(source, work)
    return work / "documents"


def index_over_documents(work: Path, name: str) -> Index:
    """Return the index of the documents, built where it is not there yet."""
    folder = work / "indexes" / name
    if folder.is_dir():
        return Index.open(folder)
    index = Index.create(folder)
    index.sync(folder_of_documents(work, name))
    return index


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, numbers without what groups their digits."""
    return re.findall(r"\w+", re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.lower()))


def has_evidence(text: str, evidence: str) -> bool:
    """Return whether a sentence or row is of the evidence.

    One has the other, of which a sentence has at least a third of the words; or the text has all its words, as a row
    has that is read with the names of its columns.
    """
    wanted, given = words_of(evidence), words_of(text)
    first, second = f" {' '.join(wanted)} ", f" {' '.join(given)} "
    if not wanted or not given:
        return False
    return first in second or (3 * len(given) >= len(wanted) and second in first) or Counter(wanted) <= Counter(given)


def retrieved(work: Path, name: str) -> list[Retrieved]:
    """Return the questions with passages of their own source, kept in a file for each source.

    Other sources answer some of them, too, and rightly: "How long is lost property kept?".
    """
    by_source: dict[str, list[Asked]] = defaultdict(list)
    for asked in read_over_documents(name):
        by_source[asked.source].append(asked)
    files = {
        source: work / "rows" / f"{source}-{sha256(repr(questions).encode()).hexdigest()[:12]}.pickle"
        for source, questions in by_source.items()
    }
    if any(not file.is_file() for file in files.values()):
        (work / "rows").mkdir(parents=True, exist_ok=True)
        with index_over_documents(work, name) as index:
            for source, file in files.items():
                if not file.is_file():
                    snapshot = index.filtered({"folder": source})
                    file.write_bytes(pickle.dumps(list(_retrieved(snapshot, by_source[source]))))
    return [row for file in files.values() for row in pickle.loads(file.read_bytes())]


def _retrieved(snapshot: Snapshot, questions: Sequence[Asked]) -> Iterator[Retrieved]:
    search = make_method("multihop", snapshot, top_k=READ, parser=NoQueries()).search

    def found(asked: Asked, text: str) -> list[tuple[PassageText, bool]]:
        nodes = search(start(text, snapshot.graph)).passage_nodes().tolist()
        return [each for node in nodes if (each := _passage(snapshot.graph, node, asked))[0].text.strip()]

    for asked in questions:
        passages = found(asked, asked.text)
        if asked.evidence and not any(gold for _, gold in passages):  # the passage that answers was not found
            passages += [each for each in found(asked, f"{asked.text} {asked.evidence}") if each[1]][:1]
        if passages:
            yield Retrieved(asked, *zip(*passages, strict=True))


def _passage(graph: Graph, node: int, asked: Asked) -> tuple[PassageText, bool]:
    """Return a passage, and whether it has the evidence."""
    passage, place = passage_text(graph, node), None if graph.passages is None else graph.passages.of(node)
    gold = bool(asked.evidence) and place is not None and place.document in asked.gold
    return passage, gold and bool(answering(passage, asked))


def places(text: str, span: tuple[int, int], answers: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where an answer stands within a span, whatever white space its words have between them."""
    for answer in answers:
        pattern = r"\s+".join(map(re.escape, answer.split()))
        for match in re.compile(pattern, re.IGNORECASE).finditer(text, *span):
            yield match.span()


def document_examples(work: Path, draw: random.Random) -> Iterator[Example]:
    """Yield the examples of the sources that are not held out.

    A question is read with the passage that answers it, alone and beside another that is near, with such a passage
    alone, and with its own without the sentences that answer.
    """
    for row in learned_from(work):
        yield from examples_of(row, draw)


def learned_from(work: Path) -> list[Retrieved]:
    """Return the questions of the sources that are not held out, with their passages."""
    return [row for name in SETS for row in retrieved(work, name) if row.asked.source not in HELD]


def examples_of(row: Retrieved, draw: random.Random) -> Iterator[Example]:
    """Yield the examples of a question."""
    question, texts = row.asked.text, [row.text(at) for at in range(len(row.passages))]
    gold = [text for text, is_gold in zip(texts, row.gold, strict=True) if is_gold]
    others = [text for text, is_gold in zip(texts, row.gold, strict=True) if not is_gold]
    near = [text for text in others if not may_answer(text, row.asked)][:NEAR]
    if gold:
        kind, best = DECIDED if row.asked.decided else SPAN, draw.choice(gold)
        yield Example(question, (best,), kind)
        if draw.random() < CUT:
            yield Example(question, (_cut(best),), NONE)
        if near:
            yield Example(question, tuple(draw.sample((best, draw.choice(near)), 2)), kind)
    elif row.asked.evidence:
        return
    for text in draw.sample(near, min(len(near), 1 if gold else 2)):
        yield Example(question, (text,), NONE)
    if not gold and len(near) > 1:
        yield Example(question, tuple(draw.sample(near, 2)), NONE)


def may_answer(text: Text, asked: Asked) -> bool:
    """Return whether a passage has a short answer in words that the evidence has around it."""
    words = f" {' '.join(words_of(text.text))} "
    return any(f" {' '.join(words_of(answer))} " in words for answer in asked.answers)


def _cut(text: Text) -> Text:
    """Return a passage without the lines in which its answers stand."""
    whole, kept, at = text.whole, [], 0
    for line in whole.splitlines(keepends=True):
        if not any(begin < at + len(line) and at < end for begin, end in text.spans):
            kept.append(line)
        at += len(line)
    return Text("", "".join(kept))
