"""Times of statements: which hold at a date, by their fields, and queries as of it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.toys import knowledge

from graphwright import Graph, Index
from graphwright.build.imports.assembly import Qualifiers, with_statements
from graphwright.operators.query.execution import Execution
from graphwright.operators.query.parse_notation import parse_notation
from graphwright.operators.query.result import answer_of
from graphwright.search.facts import Facts
from graphwright.search.statement_times import snapshot_as_of, statement_times_of

Fields = dict[str, str]


def stated(*statements: tuple[str, str, str, Fields]) -> Graph:
    """Return the graph of statements, an edge each."""
    columns = Graph.from_triples([statement[:3] for statement in statements]).columns
    told: dict[int, list[Qualifiers]] = {
        at: [tuple((name, text, -1) for name, text in fields.items())]
        for at, (*_, fields) in enumerate(statements)
        if fields
    }
    return Graph(with_statements(columns, told))


def held(graph: Graph, date: str) -> list[str]:
    """Return the objects of the statements that are left as of a date."""
    columns = snapshot_as_of(knowledge(graph), date).graph.columns
    return [columns.names[tail] for tail in columns.tails.tolist()]


PLACES = [{"P580": "2001-05-01", "P582": "2009"}, {"P580": "2010", "P582": "2014-06-30"}, {"P580": "2015-01"}, {}]


@pytest.mark.parametrize("names", [("start time", "end time"), ("startDate", "endDate"), ("von", "bis"), ("a", "b")])
@pytest.mark.parametrize(
    ("date", "places"),
    [("2000", "3"), ("2001-05-02", "03"), ("2009-12-31", "03"), ("2011", "13"), ("2014", "3"), ("2020-02-02", "23")],
)
def test_snapshot_as_of_beginnings_and_ends_hold_between(names: tuple[str, str], date: str, places: str) -> None:
    renamed = dict(zip(("P580", "P582"), names, strict=True))
    graph = stated(
        *(
            ("Ida", "lives in", str(at), {renamed[name]: text for name, text in fields.items()} | {"note": "x"})
            for at, fields in enumerate(PLACES)
        )
    )
    assert held(graph, date) == list(places)


def test_snapshot_as_of_one_date_holds_from_then_on_and_point_in_time_too() -> None:
    for name in ("since", "point in time", "年"):
        graph = stated(("Graz", "inhabitants", "1", {name: "2010"}), ("Graz", "inhabitants", "2", {name: "2020"}))
        assert [held(graph, date) for date in ("2009", "2015", "2021")] == [[], ["1"], ["1", "2"]]


def test_statement_times_point_in_time_holds_in_its_period_alone() -> None:
    for name, expected in (("point in time", [True, False]), ("since", [True, True])):
        graph = stated(("a", "r", "b", {name: "2010"}), ("a", "r", "c", {name: "2030"}))
        times = statement_times_of(graph.columns)
        assert times is not None
        assert [bool(times.at(date)[0]) for date in ("2010-05", "2012")] == expected


def test_snapshot_as_of_dates_of_a_source_are_no_ends() -> None:
    rows = [("2001", "2024-05-01"), ("2010", "2024-05-01"), ("2019", "2024-05-02")]
    graph = stated(*(("a", "r", str(at), {"since": one, "seen": two}) for at, (one, two) in enumerate(rows)))
    assert held(graph, "2025") == ["0", "1", "2"]
    graph = stated(*(("a", "r", str(at), {"retrieved": two}) for at, (_, two) in enumerate(rows)))
    assert held(graph, "2001") == ["0", "1", "2"]


def test_snapshot_as_of_repeated_statement_holds_if_one_of_them_does() -> None:
    twice = [("a", "r", "b", {"from": "2001", "to": "2003"}), ("a", "r", "b", {"from": "2010", "to": "2012"})]
    assert [held(stated(*twice), date) for date in ("2002", "2005", "2011")] == [["b"], [], ["b"]]
    once = with_statements(
        Graph.from_triples([("a", "r", "b")]).columns,
        {0: [tuple((name, text, -1) for name, text in fields.items()) for *_, fields in twice]},
    )
    assert [held(Graph(once), date) for date in ("2002", "2005", "2011")] == [["b"], [], ["b"]]
    assert held(stated(*twice, ("a", "r", "b", {})), "2005") == ["b", "b", "b"]


def test_snapshot_as_of_graph_without_dates_is_unchanged() -> None:
    snapshot = knowledge(stated(("a", "r", "b", {"role": "clerk"})))
    assert snapshot_as_of(snapshot, "2020") is snapshot


_YEAR = st.integers(2000, 2009).map(str)
_DATED = st.one_of(st.just({}), st.fixed_dictionaries({"start time": _YEAR}, optional={"end time": _YEAR}))
_STATEMENTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("rs"), st.sampled_from("abcd"), _DATED),
    min_size=1, max_size=8, unique_by=lambda statement: statement[:3],
)  # fmt: skip
QUERIES = ('"a".r@Y', '"b".~r@Y', '"a".r+@Y', "(everything where has s@Y).r@Y", "everything where count(r@Y) > 1")


@settings(deadline=None)
@given(_STATEMENTS, st.integers(2000, 2009), st.sampled_from(QUERIES))
def test_execute_step_at_a_date_is_the_step_over_what_holds(
    statements: list[tuple[str, str, str, Fields]], year: int, query: str
) -> None:
    def holds(fields: Fields) -> bool:
        return int(fields.get("start time", 0)) <= year <= int(fields.get("end time", 9999))

    facts = Facts.of(stated(*statements, ("x", "r", "y", {}), ("a", "n", "b", {"end time": "1999"})))
    rest = [(*triple, {}) for *triple, fields in statements if holds(fields)]
    others = Facts.of(stated(*rest, ("x", "r", "y", {}), *((name, "-", name, {}) for name in "abcd")))  # type: ignore[arg-type]
    given, expected = (
        set(own.texts(Execution(own).things(parse_notation(query.replace("@Y", at)))))  # type: ignore[arg-type]
        for own, at in ((facts, f"@{year}"), (others, ""))
    )
    assert given - {"statement"} == expected


def test_answer_of_statements_that_differ_in_time_names_the_newest() -> None:
    graph = stated(("Ida", "works for", "Norden", {"since": "2019"}), ("Ida", "works for", "Sund", {"since": "2024"}))
    result = answer_of('"Ida".[works for]', Facts.of(graph))
    assert (result.names, result.dates, result.newest) == (("Norden", "Sund"), ("since 2019", "since 2024"), (1, 0))


STAR = """\
<http://e.org/Ida> <http://e.org/worksFor> <http://e.org/Norden> .
<< <http://e.org/Ida> <http://e.org/worksFor> <http://e.org/Norden> >> <http://e.org/since> "2019" .
<http://e.org/Ida> <http://e.org/worksFor> <http://e.org/Sund> .
<< <http://e.org/Ida> <http://e.org/worksFor> <http://e.org/Sund> >> <http://e.org/since> "2024" .
"""
FILES = {
    "a.nt": STAR,
    "a.csv": "head,relation,tail,since\nIda,worksFor,Norden,2019\nIda,worksFor,Sund,2024\n",
    "a.jsonl": '{"type":"node","id":"1","labels":["P"],"properties":{"name":"Ida"}}\n'
    '{"type":"node","id":"2","labels":["F"],"properties":{"name":"Norden"}}\n'
    '{"type":"node","id":"3","labels":["F"],"properties":{"name":"Sund"}}\n'
    '{"type":"relationship","id":"4","label":"worksFor","start":{"id":"1"},"end":{"id":"2"},'
    '"properties":{"since":"2019-01-01"}}\n'
    '{"type":"relationship","id":"5","label":"worksFor","start":{"id":"1"},"end":{"id":"3"},'
    '"properties":{"since":"2024-01-01"}}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_ask_as_of_a_date_over_an_imported_graph_answers_by_what_held(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name], "utf-8")
    with Index.from_graph(tmp_path / "ix", tmp_path / name) as index:
        question = "Who does Ida work for?"
        assert index.ask(question).answer.short == ("Sund", "Norden")  # type: ignore[union-attr]
        assert index.ask(question, filter={"as_of": "2020"}).answer.short == ("Norden",)  # type: ignore[union-attr]
        assert not index.ask(question, filter={"as_of": "2018"}).answer.found  # type: ignore[union-attr]
        assert index.query('"Ida".worksFor', filter={"as_of": "2020"}).names == ("Norden",)
        assert not len(index.query('"Ida".worksFor', filter={"as_of": "2018"}).things)
        assert "Sund" not in str(index.retrieve(question, filter={"as_of": "2020"}).items.texts(index.graph))


@pytest.mark.parametrize(
    ("time", "clubs"),
    [
        ("before 2012", ["Nord"]),
        ("until 2012", ["Nord", "Ost"]),
        ("since 2016", ["Ost", "West"]),
        ("after 2016", ["West"]),
    ],
)
def test_answer_of_an_open_time_gives_what_held_in_it(time: str, clubs: list[str]) -> None:
    club = [
        ("Nord", {"start": "2008", "end": "2011"}),
        ("Ost", {"start": "2012", "end": "2016"}),
        ("West", {"start": "2017"}),
    ]
    facts = Facts.of(stated(*(("Ute", "plays for", name, fields) for name, fields in club)))
    assert sorted(answer_of(f'"Ute".[plays for]@"{time}"', facts).names) == clubs


def test_answer_of_no_at_a_time_is_supported_by_what_held_at_another() -> None:
    facts = Facts.of(stated(("Ute", "plays for", "Ost", {"start": "2012", "end": "2016"})))
    result = answer_of('exists("Ute".[plays for]@2019 intersect "Ost")', facts)
    assert (result.value, result.citations[0].path) == (False, ("Ute", "plays for", "Ost"))


def rows_held(rows: list[dict[str, str]], date: str) -> str:
    """Return the first cells of the rows of a table that hold at a date, joined."""
    facts = Facts.of_rows(rows, "rows")
    times = statement_times_of(facts.columns)
    assert facts.records is not None
    holding = facts.hold(np.arange(len(facts.records.record)), date)
    firsts = np.searchsorted(facts.records.record, np.arange(len(rows)))
    return (
        "".join(row["name"] for row, first in zip(rows, firsts, strict=True) if holding[first]) if times.tables else ""
    )


@pytest.mark.parametrize(
    ("columns", "periods", "dates"),
    [
        (("a", "b"), ["2019-01-01 2019-12-31", "2020-01-01 2021-06-30", "2021-07-01 "], "2019=1 2021=23 2021-07-01=3"),
        (("ab", "bis"), ["1.2.2019 3.4.2020", "4.4.2020 offen", "5.5.2021 offen"], "2020=12 2021-01=2 2022=23"),
        (("from", "to"), ["2019-01-01 2020-01-01", "2020-01-01 2021-01-01", "2021-01-01 9999-12-31"], "2020=2 2025=3"),
        (("x", "y"), ["2003 2008", "2009 2012", "2013 "], "2008=1 2010=2 2030=3"),
    ],
)
def test_hold_rows_with_beginning_and_end_hold_between(
    columns: tuple[str, str], periods: list[str], dates: str
) -> None:
    cells = [dict(zip(columns, period.split(" "), strict=True)) for period in periods]
    rows = [{"name": str(at), "price": str(7 * at), **own} for at, own in enumerate(cells, 1)]
    for date, held in (pair.split("=") for pair in dates.split()):
        assert rows_held(rows, date) == held


def test_hold_rows_with_a_beginning_alone_hold_until_the_next_of_their_key() -> None:
    rows = [
        {"name": name, "fare": fare, "since": since}
        for name, fare, since in (
            ("T", "2.10", "2019-03-01"), ("T", "2.40", "2021-03-01"), ("B", "1.80", "2018-01-01"),
            ("B", "1.90", "2022-05-01"), ("T", "2.80", "2023-04-01"),
        )
    ]  # fmt: skip
    assert [rows_held(rows, date) for date in ("2017", "2018-06", "2020", "2022-06", "now")] == [
        "",
        "B",
        "TB",
        "TB",
        "BT",
    ]


def test_statement_times_of_rows_without_periods_have_none() -> None:
    tables = [
        [{"name": "a", "net": "100", "gross": "119"}, {"name": "b", "net": "200", "gross": "238"}],
        [
            {"name": "a", "due": "2024-03-01", "paid": "2024-02-01"},
            {"name": "b", "due": "2024-01-01", "paid": "2024-02-01"},
        ],
        [{"name": "a", "born": "1980-01-02"}, {"name": "b", "born": "1981-01-02"}],
        [{"name": "a", "laid": "1998", "tested": "2021-03-12"}, {"name": "b", "laid": "2005", "tested": "2024-11-02"}],
    ]
    assert all(rows_held(rows, "2024") == "" for rows in tables)
