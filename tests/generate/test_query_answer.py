"""Computed answers beside those that passages give."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.generate.scripted_reader import ScriptedReader

from graphwright import Graph, Index, start
from graphwright.data.documents import read_documents
from graphwright.generate.query_answer import QueryAnswer
from graphwright.generate.readers import answered
from graphwright.graph import Ranking
from graphwright.operators.operator import Operator
from graphwright.operators.query.parser import ScoredQuery
from graphwright.operators.query.query import Query
from graphwright.operators.query.result import AskedQuery, answer_of
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.search.facts import Facts


@dataclass(frozen=True)
class Says(Operator):
    """Answers with a citation of a document."""

    document: str
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        cited = Citation(self.document, f"{self.document}#0", 0, 11, "It says so.")
        return state.with_(answer=Answer("Bo: It says so. [1]", ("Bo",), (cited,)))


@dataclass(frozen=True)
class FindsNothing(Operator):
    """Answers that nothing is found."""

    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        cited = Citation("other.txt", "other.txt#0", 0, 11, "It says so.")
        answer = Answer("Nothing. Nearest text:\nIt says so. [1]", citations=(cited,), found=False)
        return answered(state, run, answer)


@dataclass(frozen=True)
class Parses:
    """Parses every question as one query."""

    query: Query
    probability: float

    def parse(self, question: str, facts: Facts) -> list[ScoredQuery]:
        return [ScoredQuery(self.query, 1.0, self.probability)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder: Path = tmp_path_factory.mktemp("boats")
    (folder / "boats.csv").write_text("boat,helm\nAurora,Ida\nLena,Eva\n")
    (folder / "other.txt").write_text("It says so.")
    index = Index.create(folder / "ix")
    index.add(list(read_documents([folder / "boats.csv", folder / "other.txt"], lambda skipped: None)))
    return index


LENA = '(boats where boat = "Lena").helm'


@pytest.mark.parametrize(
    ("query", "document", "probability", "short"),
    [
        (LENA, "boats.csv#3", 0.55, "Eva"),  # the same row
        (LENA, "boats.csv#2", 0.55, "Bo"),
        (LENA, "other.txt", 0.55, "Bo"),
        (LENA, "other.txt", 0.9, "Eva"),
        ('count(boats where boat = "Lena")', "boats.csv#2", 0.55, "1"),  # all rows decide
    ],
)
def test_query_answer_likely_value_is_the_answer_where_passages_quote_what_it_takes(
    index: Index, query: str, document: str, probability: float, short: str
) -> None:
    result = index.query(query)
    state = start("Who is at the helm of Lena?", index.graph)
    state = state.with_(query=AskedQuery(result.query, probability, result))
    answer = QueryAnswer(Says(document), threshold=0.65)(state).answer
    assert answer is not None and answer.short == (short,) and answer.found
    assert [cited.document for cited in answer.citations] == [document, "boats.csv#3"][short != "Bo" :]
    assert ("The records may say: Eva" in answer.text) == (short == "Bo")


@pytest.mark.parametrize(
    ("span", "score", "probability", "short"),
    [
        ("Eva", 0.4, 0.4, ("Eva",)),
        ("Eva", 0.4, 0.21, ()),
        ("Eva", 0.14, 0.4, ()),
        ("Lena", 0.4, 0.4, ()),
        ("Lena", 0.4, 0.19, ()),
    ],
)
def test_query_answer_less_likely_query_is_the_answer_where_the_best_span_is_its_result(
    index: Index, span: str, score: float, probability: float, short: tuple[str, ...]
) -> None:
    step = QueryAnswer(
        FindsNothing(), parser=Parses(index.query(LENA).query, probability), reader=ScriptedReader((span,), score)
    )
    passages = index.graph.passages
    assert passages is not None
    ranked = Ranking.of(passages.nodes, np.ones(len(passages.nodes)))
    state = start("Who is at the helm of Lena?", index.graph).with_(passages=ranked)
    found = step(state)
    assert found.answer is not None and found.answer.short == short and found.answer.found == bool(short)
    assert (found.query is not None) == bool(short)


def test_query_answer_likely_value_without_an_answer_of_passages_is_named_as_possible(index: Index) -> None:
    result = index.query(LENA)
    state = start("Who is at the helm?", index.graph).with_(query=AskedQuery(result.query, 0.55, result))
    answer = QueryAnswer(FindsNothing(), threshold=0.65)(state).answer
    assert answer is not None and not answer.found and answer.short == () and answer.headline == ""
    assert "The records may say: Eva" in answer.text and "probability of 0.55" in answer.text


@pytest.mark.parametrize(
    ("query", "probability", "named"),
    [
        ('count(boats where helm = "Eva")', 0.25, "1 (the number of boats whose helm is Eva) [2]"),
        ('count(boats where helm = "Eva")', 0.15, ""),
        ('exists(boats where helm = "Eva")', 0.25, ""),
    ],
)
def test_query_answer_names_what_records_may_say_where_nothing_is_found(
    index: Index, query: str, probability: float, named: str
) -> None:
    step = QueryAnswer(FindsNothing(), parser=Parses(index.query(query).query, probability))
    streamed: list[str] = []
    answer = step(start("How many boats has Eva?", index.graph), Run(on_text=streamed.append)).answer
    assert answer is not None and not answer.found and answer.short == () and streamed == [answer.text]
    more = f"\nThe records may say: {named}. This reading has a probability of {probability:.2f}." if named else ""
    assert answer.text == f"Nothing. Nearest text:\nIt says so. [1]{more}"
    assert [cited.document for cited in answer.citations] == ["other.txt", *(["boats.csv#3"] if named else [])]


@pytest.mark.parametrize(
    ("query", "short"),
    [
        ('(Gauges where Station = "Ulm").[Depth (m)]', ("2.4 m",)),
        ("sum(Gauges.[Depth (m)])", ("7.5 m",)),
        ('(Gauges where Station = "Ulm").[Flow (2024)]', ("90",)),  # a year is no unit
        ('(Gauges where Station = "Ulm").[Width (ft)]', ("31 m",)),
        ("Gauges.[Bottom (kind)]", ("mud", "sand")),
    ],
)
def test_query_answer_number_has_the_unit_that_its_column_names(query: str, short: tuple[str, ...]) -> None:
    names = ("Station", "Depth (m)", "Flow (2024)", "Width (ft)", "Bottom (kind)")
    rows = [("Ulm", "2.4", "90", "31 m", "mud"), ("Melk", "5.1", "70", "28 m", "sand")]
    facts = Facts.of_rows([dict(zip(names, row, strict=True)) for row in rows], "Gauges")
    result = answer_of(query, facts)
    state = start("How deep is it?", Graph(facts.columns))
    state = state.with_(query=AskedQuery(result.query, 0.9, result))
    answer = QueryAnswer(Says("other.txt"))(state).answer
    assert answer is not None and answer.short == short
