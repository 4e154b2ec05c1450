"""Everyday questions over graphs: every accepted answer is computed from the triples."""

from __future__ import annotations

import json
import operator
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from questions.graphs import ask_graphs, file_of
from questions.score import read_everyday, verdict

from graphwright import Index
from graphwright.models import HashEncoder
from graphwright.operators.state import Answer, Citation

Triple = tuple[str, str, str]
Row = tuple[dict[str, str], tuple[Triple, ...]]

FOLDER = Path(__file__).parents[2] / "benchmarks" / "everyday"
QUESTIONS = {question.id: question for question in read_everyday(FOLDER / "graphs.jsonl")}
CHECKS = {
    row["id"]: row for row in map(json.loads, (FOLDER / "graphs" / "checks.jsonl").read_text("utf-8").splitlines())
}
COMPARISONS = {"<": operator.lt, ">": operator.gt, "=": operator.eq, "!=": operator.ne}


@cache
def triples(name: str) -> tuple[Triple, ...]:
    (path,) = (path for path in (FOLDER / "graphs").glob(f"{name}.*") if path.suffix != ".LICENSE")
    with TemporaryDirectory() as folder:
        graph = Index.from_graph(Path(folder) / "index", path, encoder=HashEncoder()).graph
        return tuple(graph.triple(int(edge)) for edge in graph.edges)


def order(text: str) -> tuple[int, float, str]:
    """Return a key that sorts numbers by value, and other texts (dates) by their characters."""
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


def bind(pattern: Sequence[str], triple: Triple, values: Mapping[str, str]) -> dict[str, str] | None:
    """Return the values with those of a pattern's variables in a triple, None where it does not match."""
    bound = dict(values)
    for term, text in zip(pattern, triple, strict=True):
        if (bound.setdefault(term, text) if term.startswith("?") else term) != text:
            return None
    return bound


def matches(graph: Sequence[Triple], patterns: Iterable[Sequence[str]], values: Mapping[str, str]) -> list[Row]:
    """Return the values of the variables, and the triples, of each match of all patterns."""
    rows: list[Row] = [(dict(values), ())]
    for pattern in patterns:
        pairs = [(bind(pattern, triple, row[0]), (*row[1], triple)) for row in rows for triple in graph]
        rows = [(bound, path) for bound, path in pairs if bound is not None]
    return rows


def rows_of(graph: Sequence[Triple], check: Mapping[str, Any]) -> list[Row]:
    """Return the matches of a check after its conditions."""
    rows = matches(graph, check["where"], {})
    if "among" in check:
        rows = [row for row in rows if row[0]["?x"] in check["among"]]
    for left, sign, right in check.get("compare", ()):
        rows = [r for r in rows if COMPARISONS[sign](order(r[0].get(left, left)), order(r[0].get(right, right)))]
    if "without" in check:
        rows = [row for row in rows if not matches(graph, check["without"], row[0])]
    for name, best in (("most", max), ("least", min)):
        if name in check and rows:
            value = best(order(row[0][check[name]]) for row in rows)
            rows = [row for row in rows if order(row[0][check[name]]) == value]
    return rows


def answers(graph: Sequence[Triple], check: Mapping[str, Any]) -> set[str]:
    """Return the answers that a check computes."""
    if "any" in check:
        return set().union(*(answers(graph, part) for part in check["any"]))
    rows = rows_of(graph, check)
    if check.get("exists"):
        return {"yes" if bool(rows) != check.get("invert", False) else "no"}
    values = {row[0][check["find"]] for row in rows}
    return {str(len(values))} if check.get("count") else values


@pytest.mark.parametrize("name", sorted({question.source for question in QUESTIONS.values()}))
def test_accepted_answers_follow_from_triples(name: str) -> None:
    graph = triples(name)
    for question in (QUESTIONS[key] for key in CHECKS if QUESTIONS[key].source == name):
        computed = answers(graph, CHECKS[question.id])
        named = [{alternative for alternative in group if alternative in computed} for group in question.accept]
        assert computed and computed == set().union(*named), question.id
        assert not computed.intersection(question.reject), question.id


@pytest.mark.parametrize("name", sorted({question.source for question in QUESTIONS.values()}))
def test_evidence_is_in_graph(name: str) -> None:
    evidence = {tuple(triple) for q in QUESTIONS.values() if q.source == name for triple in q.evidence}
    assert evidence and evidence <= set(triples(name))


def test_answerable_questions_have_checks() -> None:
    assert CHECKS.keys() == {key for key, question in QUESTIONS.items() if question.kind != "unanswerable"}


def test_accepted_words_make_answer_good() -> None:
    for question in QUESTIONS.values():
        short = tuple(group[0] for group in question.accept)
        path = tuple(question.evidence[0]) if question.evidence else ()
        answer = Answer(" ".join(short), short, (Citation("", "", 0, 0, "", path),), found=bool(short))
        assert verdict(question, answer) == "good", question.id
        nothing = Answer("The graph does not tell.", found=False)
        assert verdict(question, nothing) == ("missed" if short else "good"), question.id


def test_every_graph_is_imported_and_asked() -> None:
    chosen = [next(q for q in QUESTIONS.values() if q.source == name) for name in ("cabinet", "vienna")]
    rows, graphs = ask_graphs(chosen, Namespace(method=None, llm=None, show=False))
    assert [row["id"] for row in rows] == [question.id for question in chosen]
    assert {name: graph["triples"] for name, graph in graphs.items()} == {"cabinet": 367, "vienna": 309}
    with pytest.raises(FileNotFoundError, match=r"no graph 'mars' .*expected one of mars\.nt"):
        file_of("mars")
