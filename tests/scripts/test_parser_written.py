"""The graphs with questions written for training: each query is read and gives an answer over its graph."""

from pathlib import Path

import pytest
from parser_written import answer_of, read_graphs

from graphwright.errors import OptionError
from graphwright.graph.graph import Graph
from graphwright.search.facts import Facts

_PARSER = Path(__file__).parents[2] / "scripts" / "parser"
_FOLDERS = pytest.mark.parametrize("folder", ["graphs", "open_graphs"])


@_FOLDERS
def test_written_graphs_each_query_gives_an_answer(folder: str) -> None:
    for name, facts, asked in read_graphs(_PARSER / folder):
        assert any(query is None for _, query in asked), name
        for question, query in asked:
            assert query is None or answer_of(query, facts), f"{name}: {question}"


@_FOLDERS
def test_written_graphs_each_question_stands_once_in_its_graph(folder: str) -> None:
    for name, _, asked in read_graphs(_PARSER / folder):
        assert len({question for question, _ in asked}) == len(asked), name


@pytest.mark.parametrize("query", ['"Graz".crosses', '"Graz"."lies on"', '"Mur".[lies on]'])
def test_answer_of_a_wrong_query_is_an_error(query: str) -> None:
    with pytest.raises(OptionError):
        answer_of(query, Facts.of(Graph.from_triples([("Graz", "lies on", "Mur")])))
