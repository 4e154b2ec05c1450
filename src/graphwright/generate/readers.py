"""Operators that answer from passages without a language model: a reader's answers, and clauses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.data.records.record import CLAUSE
from graphwright.generate.citations import (
    citation,
    numbered,
    overlap,
    passage_starts,
    passage_text,
    written_by,
)
from graphwright.generate.quoted_sentences import Sentence, around, quotations, sentences_of
from graphwright.generate.said_later import differs, places_in_series, said_later, value_asked
from graphwright.graph.evidence import Scores
from graphwright.graph.graph import Graph, Kind
from graphwright.models.protocols import AnsweringReader, PassageText, Reader, Span
from graphwright.operators.operator import Confident, Operator
from graphwright.operators.query.result import SURE
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State
from graphwright.search.competing_versions import without_date
from graphwright.search.versions import answered_mails, versions_of
from graphwright.text.dates import first_day, month_of
from graphwright.text.sentences import ASKS
from graphwright.text.values import value_of
from graphwright.text.words import words


class _Row(NamedTuple):
    passage: int
    span: tuple[int, int]
    asked: frozenset[str]  # words of the question in its values


def texts_read(state: State, run: Run, limit: int) -> tuple[list[int], list[PassageText]]:
    """Return the nodes of the best passages, and their texts, in which rows that others outdo hold no answer.

    A mail that itself asks the question and was answered is not read, unless nothing else is found. Of the answers to
    it the recipients are not read: the answer goes to who asked.
    """
    question, found = state.question.text, state.passage_nodes(limit).tolist()

    def read() -> tuple[list[int], list[PassageText]]:
        texts = {node: passage_text(state.graph, node) for node in found}
        answered, threads = answered_mails(state.graph.columns), versions_of(state.graph.columns).threads
        starts = dict(zip(found, passage_starts(state.graph, found), strict=True))
        mails = {node: document for node, (document, _) in starts.items()}
        asking = set[int]()
        for node in (node for node in found if mails[node] in answered):
            places = [starts[node][1] + at for at in _asking(question, texts[node])]
            own = written_by(state.graph, node, 0)
            asking |= {node for at in places if written_by(state.graph, node, at) == own}
        nodes = [node for node in found if node not in asking] or found
        asked = {threads[mails[node]] for node in asking}
        for node in nodes if asked else ():
            if threads.get(mails[node]) in asked:
                texts[node] = passage_text(state.graph, node, recipients=False)
        return nodes, of_asked_rows(question, [texts[node] for node in nodes])

    return run.once(("texts read", question, *found), read)


def _asking(question: str, passage: PassageText) -> Iterator[int]:
    """Yield where a sentence of a passage asks a question.

    It has a question mark and all words of the question, and at most as many others.
    """
    asked, text = set(words(question)), passage.text
    for sentence in sentences_of(passage) if asked else ():
        own = set(words(text[sentence.start : sentence.end]))
        if text.endswith(ASKS, sentence.start, sentence.end) and asked <= own and len(own) <= 2 * len(asked):
            yield sentence.start


def of_asked_rows(question: str, passages: Sequence[PassageText]) -> list[PassageText]:
    """Return passages in which no answer lies in a row that another row with the same names of fields outdoes.

    That row has all words of the question that this one has in its values, and more of them. So it is of two cells of a
    row whose names have the same spanning header, by the words of their own names.

    >>> rows = PassageText("", "boat: Mur; fee: 6\\nboat: Enns; fee: 8", (), ((0, 17), (18, 36)),
    ...                    labels=((0, 6), (11, 16), (18, 24), (30, 35)))
    >>> [text.labels[0] for text in of_asked_rows("What is the fee of the Enns?", [rows])]
    [(0, 17)]
    """
    asked = frozenset(words(question))
    tables: dict[tuple[str, ...], list[_Row]] = defaultdict(list)
    for number, passage in enumerate(passages):
        for span in passage.rows:
            labels = [label for label in passage.labels if span[0] <= label[0] < span[1]]
            names = tuple(passage.text[start:end].strip() for start, end in labels)
            values = passage.text[span[0] : span[1]]
            for start, end in reversed(labels):
                values = f"{values[: start - span[0]]} {values[end - span[0] :]}"
            tables[names].append(_Row(number, span, asked.intersection(words(values))))
    outdone: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for rows in tables.values():
        for row in rows:
            if any(row.asked < other.asked for other in rows):
                outdone[row.passage].append(row.span)
            else:
                outdone[row.passage] += _outdone_cells(asked, passages[row.passage], row.span)
    return [_masked(passage, outdone[at]) if at in outdone else passage for at, passage in enumerate(passages)]


def _outdone_cells(asked: frozenset[str], passage: PassageText, row: tuple[int, int]) -> Iterator[tuple[int, int]]:
    labels = [label for label in passage.labels if row[0] <= label[0] < row[1]]
    names = [passage.text[start:end].rpartition(" / ")[::2] for start, end in labels]
    own = [asked.intersection(words(name)) for _, name in names]
    for at, (header, _) in enumerate(names):
        if header and any(own[at] < more for (other, _), more in zip(names, own, strict=True) if other == header):
            yield labels[at][0], labels[at + 1][0] if at + 1 < len(labels) else row[1]


def _masked(passage: PassageText, rows: Sequence[tuple[int, int]]) -> PassageText:
    left = (label for label in passage.labels if not any(start <= label[0] < end for start, end in rows))
    return replace(passage, labels=tuple(sorted((*left, *rows))))


_NOTHING = "The documents give no sure answer."
_NOTHING_YET = "The documents that were read so far give no sure answer; others are still being read."

_LIKELY = 0.5  # probability of a sentence that is quoted with a span elsewhere
_MAX_CLAUSES = 4  # that are quoted
_Cited = tuple[int, int, int]  # a passage, with the first and the last character


def nothing(run: Run) -> str:
    """Return the sentence that no answer is sure, in all documents or in those read so far.

    >>> nothing(Run(incomplete=True))
    'The documents that were read so far give no sure answer; others are still being read.'
    """
    return _NOTHING_YET if run.incomplete else _NOTHING


class MayAnswer(Operator):
    """A step that sets the answer from passages, or leaves the state unchanged."""

    needs = ("passages",)
    gives = ("answer",)

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        """Return the fields that are set in either case."""
        return fields


@dataclass(frozen=True, repr=False)
class ReadSpans(MayAnswer, Confident):
    """Add a reader's best short answer, if its score reaches `threshold`; else leave the state unchanged.

    The text around it follows, at most so many `words`, and is cited. `passages`: the number of passages that are read.
    """

    reader: Annotated[Reader, Has("a reader, with read", "read")]
    threshold: Annotated[float, Between(0, 1)] = SURE
    passages: Annotated[int, AtLeast(1)] = 8
    words: Annotated[int, AtLeast(0)] = 40

    def apply(self, state: State, run: Run) -> State:
        answer = read_answer(self.reader, state, run, self.passages, self.threshold, self.words)
        if answer is None:
            run.note(f"no span has a score of {self.threshold:g} or more")
            return state
        return answered(state, run, answer)


@dataclass(frozen=True, repr=False)
class QuoteClauses(MayAnswer):
    """Quote whole the clauses that the question names ("4.2(b)", "§ 12 Abs. 3"), or leave the state unchanged.

    They are clauses of the passages. Each follows what stands above its parts: headings, and what announces it.
    """

    def apply(self, state: State, run: Run) -> State:
        graph, records, found = state.graph, state.graph.columns.records, list[tuple[int, int, bool, int, int]]()
        passages = graph.passages
        if records is None or passages is None:
            return state
        nodes = state.passage_nodes().tolist()
        document, shown = [passages.document[passages.row(node)] for node in nodes], list(map(graph.passage, nodes))
        texts = "\n".join(shown)
        for field in np.flatnonzero(np.isin(records.chunk[records.record], nodes)).tolist():
            record, label = int(records.record[field]), records.texts[int(records.text[field])]
            kind = records.types[int(records.type[record])], records.names[int(records.name[field])]
            if kind != (CLAUSE, "number"):
                continue
            rank = nodes.index(int(records.chunk[record]))
            own = "\n".join(text for text, other in zip(shown, document, strict=True) if other == document[rank])
            if match := _reference(label, state.question.text, texts, own):
                found.append((*match.span("number"), match["own"] is not None, rank, record))
        best = {each[0]: each[:3] for each in sorted(found)}  # the most parts, then the word of the label
        named = [each[-1] for each in sorted(found) if each[:3] == best[each[0]]][:_MAX_CLAUSES]
        citations, _ = numbered(state, [span for record in named for span in _whole(graph, record)])
        text = "\n".join(quotations(citations))
        return answered(state, run, Answer(text, citations=citations)) if citations else state


def _reference(label: str, question: str, texts: str, own_texts: str) -> re.Match[str] | None:
    """Return where a question names the clause of a label, by its word and number, or by a number that is no amount.

    `own_texts`: those of `texts` that are of the document of the clause.
    """
    if label.startswith("第"):
        return re.search(f"(?P<own>)(?P<number>{re.escape(label)})", question)
    first, *parts = re.findall(r"\d+(?:\.\d+)*|[^\W\d_]+", label.rpartition(" ")[2])
    if first not in question:
        return None
    before = r"[\s,]*(?:[^\W\d_]{2,}(?:\.\s*|\s+(?=[(\d]|\w\W*$)))?\(?"  # ", Abs. ", " lit. ", " paragraph ("
    below = "".join(before + part + r"\b\)?" for part in parts)
    shown = rf"(?P<number>{re.escape(first)}{below})(?![.,:]?\d|\w)"
    own = rf"§|(?i:{re.escape(label[:3])})[^\W\d_]*\.?"  # "Art." for "Article"
    named = rf"(?:(?P<word>(?P<own>{own})|[^\W\d_]{{3,}}\.?)\s*)?(?<![\w.,-]){shown}(?:\s+(?P<after>[^\W\d_]+))?"
    match = re.search(named, question)
    if match is None or match["own"]:
        return match
    after = match["after"] or ""
    # What an amount counts or measures follows a number within a line of the texts, too.
    is_amount = month_of(after) or re.search(rf"[^\W\d][^\n]*\d[ \xa0]{after or '$.'}\b", texts, re.IGNORECASE)
    if not (parts or "." in first):  # it needs a word before it, and none of the texts after it
        is_amount = is_amount or not words(match["word"] or "") or not set(words(after)).isdisjoint(words(texts))
        # "Cruise 4" is a thing that other documents name so, not clause 4 of a document that does not.
        name = re.compile(rf"\b{re.escape(match['word'] or '')}[ \xa0]{re.escape(first)}\b", re.IGNORECASE)
        is_amount = is_amount or bool(name.search(texts) and not name.search(own_texts))
    return None if is_amount or not first[0].isdecimal() else match


def _whole(graph: Graph, record: int) -> Iterator[tuple[int, int, int]]:
    """Yield passages of a clause, after what stands above its parts: nodes, with the first and last character."""
    records, passages = graph.columns.records, graph.passages
    assert records is not None and passages is not None  # they have the clause
    rows = passages.document == passages.document[passages.row(int(records.chunk[record]))]
    nodes, starts = passages.nodes[rows].tolist(), passages.start[rows].tolist()
    above = (records.span[:record, 1] >= records.span[record, 1]) & (records.type[:record] == records.type[record])
    higher = np.flatnonzero(above & np.isin(records.chunk[:record], nodes))
    spans = np.column_stack((records.span[higher, 0], records.span[higher + 1, 0]))
    for first, last in (*spans.tolist(), records.span[record].tolist()):
        for node, start in zip(nodes, starts, strict=True):
            begin = max(first - start, 0)
            if text := graph.passage(node)[begin : max(last - start, 0)].rstrip():
                yield node, begin, begin + len(text)


def answered(state: State, run: Run, answer: Answer) -> State:
    """Return the state with its answer, which is streamed in one piece."""
    if run.on_text is not None:
        run.on_text(answer.text)
    return state.with_(answer=answer)


def read_answer(
    reader: Reader, state: State, run: Run, passages: int, threshold: float = 0.0, words: int = 0
) -> Answer | None:
    """Return the best span of the best `passages` as an answer, None if it scores less than `threshold`.

    A second number or date follows if it is from another document and at least half as probable; each is then shown
    with the first day that its passage names. There is no answer where another value is said later in the same chat,
    thread of mails or series of minutes. The sentence that most probably holds the answer is quoted too, if its
    probability is above one half and no quotation has it; last the sentence over which the question leads to the
    answer's passage, if there is one. `words`: the most words of a quotation of several sentences.
    """
    nodes, texts = texts_read(state, run, passages)
    spans = _read(reader, state, run, nodes, texts)
    if not spans or spans[0].score < threshold:
        return None
    if spans[0].text and texts[spans[0].passage].rows:
        run.note("what two rows of tables say is not compared by reading")
        return None
    run.note(f"the span has a score of {spans[0].score:.2f}")
    shorts = [span.answer(texts) for span in spans]
    rival = next((n for n in range(1, len(spans)) if _disagrees(spans, shorts, n, state.graph, nodes)), None)
    if (
        rival is None
        and isinstance(reader, AnsweringReader)
        and _is_corrected(reader, state, run, nodes, texts, spans[0])
    ):
        run.note("another value is said later in the same conversation")
        return None
    cited, prefixes = [], []
    for at in (0,) if rival is None else (0, rival):
        span, text = spans[at], texts[spans[at].passage]
        cited.append((nodes[span.passage], *around(text, span.start, span.end, words)))
        day = None if rival is None else first_day(f"{text.title}\n{text.text}")
        prefixes.append(f"{shorts[at]} ({day[0]}): " if day else f"{shorts[at]}: ")
    if isinstance(reader, AnsweringReader) and (best := best_sentence(reader, state.question.text, texts, run)):
        node, wide = nodes[best.passage], around(texts[best.passage], best.start, best.end, words)
        alone, within = (citation(state, node, *span) for span in ((best.start, best.end), wide))
        others = [citation(state, *other) for other in cited]
        if not any(alone.text in other.text for other in others):
            near = any(overlap(within, other) for other in others)
            cited.append((node, best.start, best.end) if near else (node, *wide))
            prefixes.append("")
    if rival is None and (leading := _leading(state, nodes, texts, cited, shorts[0])) is not None:
        cited.append(leading)
        prefixes.append("")
    citations, numbers = numbered(state, cited)
    quotes = zip([prefixes[numbers.index(n)] for n in range(1, len(citations) + 1)], quotations(citations), strict=True)
    answer = "\n".join(quote if quote.startswith(f"{first[:-2]} [") else first + quote for first, quote in quotes)
    headline = f"{shorts[0]}: "
    return Answer(answer, (shorts[0],), citations, headline=headline if answer.startswith(headline) else "")


def _leading(
    state: State, nodes: Sequence[int], texts: Sequence[PassageText], cited: Sequence[_Cited], short: str
) -> _Cited | None:
    """Return the sentence over which the question leads to the first that is cited: the other hop of two.

    Both name an entity that is neither in the question nor the answer. Of the words of the question that nothing cited
    has, the sentence with its title has two or more, and at least half.
    """
    question, graph = state.question.text, state.graph
    shown = [(texts[nodes.index(node)], start, end) for node, start, end in cited]
    missing = set(words(question))
    for passage, start, end in shown:
        missing.difference_update(words(f"{passage.title} {passage.text[start:end]}"))
    first, start, end = shown[0]
    near = graph.columns.adjacency.row(cited[0][0])
    names = [graph.names[node] for node in near[graph.columns.kinds[near] == Kind.ENTITY].tolist()]
    own = [name for name in names if name in first.text[start:end] and name not in question and name not in short]
    best, most = None, max(2.0, len(missing) / 2)
    for at, passage in enumerate(texts if len(missing) > 1 and own else ()):
        for sentence in sentences_of(passage):
            text = passage.text[sentence.start : sentence.end]
            number = len(missing.intersection(words(f"{passage.title} {text}")))
            if number >= most and any(name in text for name in own):
                best, most = (nodes[at], sentence.start, sentence.end), number + 0.5  # the first of equals
    return best


def _read(reader: Reader, state: State, run: Run, nodes: Sequence[int], texts: Sequence[PassageText]) -> Sequence[Span]:
    """Return the spans of passages; of the versions that the question names by a date, those for it without the date.

    They are taken where they are more probable: that a version meets the date, its text need not say.
    """
    spans = run.read(reader, state.question.text, texts)
    documents = [document for document, _ in passage_starts(state.graph, nodes)]
    undated, named = without_date(state.graph, documents, state.question.text)
    more = run.read(reader, undated, [texts[at] for at in named]) if named else []
    if not more or (spans and more[0].score <= spans[0].score):
        return spans
    return [replace(span, passage=named[span.passage]) for span in more]


def best_sentence(reader: AnsweringReader, question: str, passages: Sequence[PassageText], run: Run) -> Sentence | None:
    """Return the sentence that most probably holds the answer, None if no probability is above one half."""
    sentences, scores = _scored(reader, question, passages, run)
    best = int(scores.argmax()) if len(scores) else 0
    return sentences[best] if len(scores) and scores[best] > _LIKELY else None


def _scored(
    reader: AnsweringReader, question: str, passages: Sequence[PassageText], run: Run
) -> tuple[list[Sentence], Scores]:
    sentences = [sentence for number, passage in enumerate(passages) for sentence in sentences_of(passage, number)]
    return sentences, run.sentence_scores(reader, question, passages, [(s.passage, s.start, s.end) for s in sentences])


def _is_corrected(
    reader: AnsweringReader, state: State, run: Run, nodes: Sequence[int], texts: Sequence[PassageText], span: Span
) -> bool:
    """Return whether what is said later of the same, in a chat, a thread or minutes, has another value than a span."""
    asked, series = value_asked(span, texts), places_in_series(state.graph, nodes)
    if asked is None or not series[span.passage].series:
        return False
    sentences, scores = _scored(reader, state.question.text, texts, run)
    said = [texts[s.passage].text[s.start : s.end] for s in sentences]
    at = next((n for n, s in enumerate(sentences) if s.passage == span.passage and s.start <= span.start < s.end), None)
    later = [] if at is None else np.flatnonzero(said_later(at, said, sentences, scores, series, asked)).tolist()
    return any(differs(said[n], asked) for n in later)


def _disagrees(spans: Sequence[Span], shorts: Sequence[str], at: int, graph: Graph, nodes: Sequence[int]) -> bool:
    """Return whether a span contradicts the best: another number or date, in another document, half as probable."""
    best, other = value_of(shorts[0]), value_of(shorts[at])
    if best is None or other is None or best.kind != other.kind or best.amount == other.amount:
        return False
    (first, _), (second, _) = passage_starts(graph, [nodes[spans[number].passage] for number in (0, at)])
    return spans[at].score >= spans[0].score / 2 and first != second
