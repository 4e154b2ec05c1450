"""Offline parser of questions over tables: candidate queries, scored by a trained model."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphwright.data.records.record import CLAUSE, DOCUMENT, MAIL, MESSAGE
from graphwright.errors import OptionError
from graphwright.graph.graph import Graph
from graphwright.models.protocols import AmountReader, Encoder, Floats
from graphwright.operators.query.amounts import Event, agreement, asks_now, time_of, times_by_events
from graphwright.operators.query.checks import parts
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.parser import Results, ScoredQuery, apportioned
from graphwright.operators.query.query import NOW, Compare, Comparison, Fields, Has, OfType, Step, Where, changed
from graphwright.operators.query.tables.candidates import Candidate, Enumeration
from graphwright.operators.query.tables.columns import Table
from graphwright.operators.query.tables.features import Features, QuestionFeatures, result_key
from graphwright.operators.query.tables.likeness import ColumnVectors, Pieces, TextVectors
from graphwright.operators.query.tables.links import Links, TableIndex, amounts_of, question_words
from graphwright.operators.query.tables.rows import RowSets
from graphwright.operators.query.tables.scorer import TableScorer, evidence_of, probability_about_texts, selects_texts
from graphwright.search.competing_versions import older_versions
from graphwright.search.facts import Facts
from graphwright.search.filter import is_date
from graphwright.search.snapshot import SnapshotCache
from graphwright.search.statement_times import statement_times_of
from graphwright.search.versions import versions_of
from graphwright.text.values import DATE, value_of
from graphwright.text.words import STOP_WORDS

_MOST = 2000  # candidates over one table
_SAID = 0.5  # share of the name of a column of dates that a question says where its date is one of them
_indexes: SnapshotCache[TableIndex] = SnapshotCache()


class TableCandidates(NamedTuple):
    """The candidates over one table with their features, and the vectors of its columns and type."""

    table: Table
    candidates: list[Candidate]
    features: Features
    vectors: Floats


def _superseded(question: str, facts: Facts) -> frozenset[str]:
    """Return the types of tables of which some are of an older version of a document that the question does not name.

    A table of several versions, as of workbooks with the same sheet, is left out whole: its sums count things twice.
    """
    documents = facts.kept("versions of tables", lambda: _versions_of_tables(facts))
    if not documents:
        return frozenset()
    graph, versions = Graph(facts.columns), versions_of(facts.columns)
    older = older_versions(graph, frozenset().union(*documents.values()), versions, question)
    return frozenset(type for type, own in documents.items() if not own.isdisjoint(older))


def _versions_of_tables(facts: Facts) -> dict[str, frozenset[str]]:
    """Return the documents of each type of rows whose records are all of documents with several versions."""
    records, passages, of = facts.records, facts.columns.passages, versions_of(facts.columns).of
    if records is None or passages is None or not of:
        return {}
    order = np.argsort(passages.nodes)
    rows = order[np.searchsorted(passages.nodes, records.chunk, sorter=order).clip(max=len(order) - 1)]
    documents = np.where(passages.nodes[rows] == records.chunk, passages.document[rows], -1)
    found = defaultdict[int, set[int]](set)
    for type, document in np.unique([records.type, documents], axis=1).T.tolist():
        found[type].add(document)
    versions = {number for number, document in enumerate(passages.documents) if document in of}
    return {
        records.types[type]: frozenset(passages.documents[number] for number in own)
        for type, own in found.items()
        if own <= versions and records.types[type] not in (CLAUSE, DOCUMENT, MAIL, MESSAGE)
    }


def _holding(table: Table, links: Links, execution: Execution, at: str) -> Where | None:
    """Return the rows of a table that hold at a date; None where none do, and where the date is another column's.

    It is so where the question names a column of dates, and asks what began, ended or was paid then.
    """
    told = statement_times_of(execution.facts.columns).tables.get(table.type, ())
    headers = zip(table.columns, links.headers, strict=True)
    said = [
        bits for column, (score, bits) in headers if score >= _SAID and (column.kind == DATE or column.name in told)
    ]
    words = {word.text for at, word in enumerate(links.words) if any(bits >> at & 1 for bits in said)} - STOP_WORDS
    if not told or (at != NOW and (words or (len(told) == 1 and value_of(at) is None))):
        return None
    holding = Where(OfType(table.type), Has((Step(told[0], at=at),)))
    return holding if at != NOW or len(execution.things(holding)) else None


def table_agreement(question: str, candidates: Sequence[Candidate], reader: AmountReader) -> Floats:
    """Return how far candidates agree with the amounts and names of a question (see `agreement`).

    A column that another one is compared with is read as an amount: "over budget" as "over 100".
    """
    total = agreement(question, [candidate.query for candidate in candidates], reader)
    compared: dict[int, list[int]] = defaultdict(list)
    for at, candidate in enumerate(candidates):
        bits = [part.bits for part in candidate.given if part.kind == "field"]
        if bits and bits[-1] and "difference" not in candidate.operators:
            compared[bits[-1]].append(at)
    for said, own in compared.items():
        text, amount = _with_amount(question, said)
        queries = [changed(candidates[at].query, partial(_with_fields_as, amount)) for at in own]
        total[own] = agreement(text, queries, reader)
    return total


def _with_amount(question: str, bits: int) -> tuple[str, str]:
    """Return a question with an amount in place of the last words that some bits say, and the amount."""
    words, tokens = question_words(question), [token.span() for token in re.finditer(r"\S+", question)]
    end = bits.bit_length()
    start = next(at for at in range(end, -1, -1) if not at or not bits >> (at - 1) & 1)
    amount = next(text for power in count(2) if (text := str(10**power)) not in question)
    first, last = tokens[words[start].token][0], tokens[words[end - 1].token][1]
    return question[:first] + amount + question[last:], amount


def _with_fields_as(amount: str, part: Any) -> Any:
    return Compare(part.path, part.comparison, amount) if isinstance(part, Fields) else part


def table_index_of(facts: Facts) -> TableIndex:
    """Return the tables of facts and their cells by words, made once for a snapshot."""
    return _indexes.get(facts.columns, "tables", lambda: TableIndex(facts))


@dataclass(eq=False)
class TableQueryParser:
    """Parse questions over the records of facts (tables are types, columns are relations).

    Candidates are enumerated over the tables of which the question names most; they are scored by what of the question
    they explain and by parts that occurred with its words in training (Pasupat and Liang 2015). Candidates that give
    the same are one, with the sum of their probabilities. Tables with rows of older versions of documents are left
    out, unless the question names the version. A query that chooses mails, messages, clauses or documents by
    words of their texts is the less probable, the less the question asks about texts (`probability_about_texts`).

    `encoder`: the embedded one, MiniLM(), whose vectors the weights are for; `amounts`: MiniLMAmounts(). `tables`: how
    many tables are searched; `limit`: how many results are returned, each with its best query.
    """

    encoder: Encoder
    amounts: AmountReader
    scorer: TableScorer = field(default_factory=TableScorer.load, repr=False)
    tables: int = 3
    limit: int = 10

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        """Return what a question may ask, best first; of rows that hold for a time, what it asks at its date or now."""
        execution = Execution(facts)
        whole = self._parsed(question, execution)
        if not statement_times_of(facts.columns).tables:
            return whole
        dates = [amount.text for amount in amounts_of(question, question_words(question)) if amount.is_date]
        times = [time_of(question, date, self.amounts) for date in dates]
        times += times_by_events(question, self._events(question, execution), self.amounts)
        if not times and asks_now(self.encoder.encode([question])[0]):
            times = [(NOW, question)]
        found = [query for at, rest in times for query in self._parsed(rest, execution, at)]
        told = {part for own in found for part in parts(own.query) if isinstance(part, OfType)}
        return apportioned([*found, *(own for own in whole if told.isdisjoint(parts(own.query)))])[: self.limit]

    def _events(self, question: str, execution: Execution) -> Iterator[Event]:
        """Yield how a question names one row that has one date, or that holds for a time."""
        facts = execution.facts
        index, times = table_index_of(facts), statement_times_of(facts.columns)
        tokens = [own.span() for own in re.finditer(r"\S+", question)]
        for number, links in index.links(question, self.scorer.frequency, self.tables).items():
            table = index.tables[number]
            for link in links.cells:
                comparison: Comparison = "=" if link.kind == "cell" else "contains"
                condition = Compare(table.columns[link.column].path, comparison, link.text)
                rows = execution.things(Where(OfType(table.type), condition))
                if len(rows) == 1:
                    row, is_dated = int(rows[0]), table.type in times.tables
                    beside = times.beside(times.of_record(row - facts.first_record)) if is_dated else {}
                    dates = [] if is_dated else list(filter(is_date, facts.row(row).values()))
                    if beside or len(dates) == 1:
                        start, end = (tokens[links.words[at].token] for at in (link.start, link.end - 1))
                        yield Event(question[start[0] : end[1]], next(iter([*beside.values(), *dates])), beside)

    def _parsed(self, question: str, execution: Execution, at: str = "") -> list[ScoredQuery]:
        vector = self.encoder.encode([question])[0]
        if len(vector) != self.scorer.dimension:
            raise OptionError(
                f"{self.encoder!r} gives vectors of {len(vector)} numbers, the weights of the parser are for "
                f"{self.scorer.dimension}. Use the embedded encoder, MiniLM()."
            )
        found = list(self.candidates(question, vector, execution, self.scorer.frequency, at))
        if not any(each.candidates for each in found):
            return []
        scores = np.concatenate([self.scorer.scores(each.features, vector, each.vectors) for each in found])
        dense = np.concatenate([each.features.dense for each in found])
        candidates = [(each.table, candidate) for each in found for candidate in each.candidates]
        scores += table_agreement(question, [candidate for _, candidate in candidates], self.amounts)
        about_texts = min(1.0, 2 * probability_about_texts(vector))
        return [
            query._replace(probability=query.probability * about_texts) if by_text else query
            for query, by_text in self._ranked(candidates, scores, dense)
        ]

    def candidates(
        self, question: str, vector: Floats, execution: Execution, frequency: dict[str, float], at: str = ""
    ) -> Iterator[TableCandidates]:
        """Yield the candidates of each table that is searched; with a date those over the rows that hold then."""
        facts = execution.facts
        index = table_index_of(facts)
        pieces = Pieces.of([word.text for word in question_words(question)], self._vectors)
        old = _superseded(question, facts)
        linked = {
            number: links
            for number, links in index.links(question, frequency, self.tables * (2 if old else 1)).items()
            if index.tables[number].type not in old
        }
        types = frozenset(index.tables[number].type for number in linked)
        for number, links in linked.items():
            table = index.tables[number]
            holding = _holding(table, links, execution, at) if at else None
            if at and holding is None:
                continue
            key = "vectors of columns", table.type, getattr(self.encoder, "id", repr(self.encoder))
            vectors = facts.kept(key, partial(ColumnVectors.of, table, self._vectors))  # encoded once for a snapshot
            said = np.array([score for score, _ in links.headers], np.float32)
            relevance = np.maximum(said, pieces.nearest(vectors.names[:-1], vectors.described[:-1] @ vector))
            sets = RowSets(table, links, execution, relevance, holding)
            met = {part.bits for rows in sets.single for part in rows.given}
            lacking = {own.given for own in sets.empty if own.given[0].kind == "cell" and own.given[0].bits not in met}
            made = islice(Enumeration(sets, tables=types), _MOST)
            candidates = [candidate for candidate in made if not lacking or candidate.given in lacking]
            if not candidates:
                continue
            features = QuestionFeatures(facts, table, links, vector, pieces, vectors, frequency).features(candidates)
            yield TableCandidates(table, candidates, features, vectors.mean)

    @cached_property
    def _vectors(self) -> TextVectors:
        return TextVectors(self.encoder)

    def _ranked(
        self, candidates: Sequence[tuple[Table, Candidate]], scores: NDArray[np.float32], dense: Floats
    ) -> list[tuple[ScoredQuery, bool]]:
        """Return the best query of each result, the likeliest result first, and whether it chooses texts by words."""
        results = Results.of(scores.astype(np.float64), [result_key(candidate) for _, candidate in candidates])
        ranked: list[tuple[ScoredQuery, bool]] = []
        for result, best in enumerate(results.best[: self.limit]):
            own = float(results.own[result]), float(results.scores[result])
            evidence = evidence_of(results.shares, result, *own, dense[best], len(candidates))
            share, probability = float(results.shares[result]), self.scorer.probability(evidence)
            query = ScoredQuery(candidates[best][1].query, share, probability)
            ranked.append((query, selects_texts(*candidates[best])))
        return ranked
