"""Expressions are parsed into the pipelines that they describe, and no other code is run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.toys import FAMILY, corpus_index

import graphwright
from graphwright import (
    Graph,
    Index,
    PersonalizedPageRank,
    ToPassages,
    VectorIndex,
    VectorSearch,
    generate,
    models,
    operators,
)
from graphwright.errors import OptionError
from graphwright.generate import FlatPrompt
from graphwright.graph.graph import Kind
from graphwright.methods.expression import read_expression, read_options
from graphwright.methods.registry import METHODS
from graphwright.models import HashEncoder, ScriptedLLM
from graphwright.operators import HopFirst, LinkEntities, Operator
from graphwright.store import Settings

IX = corpus_index().snapshot
BY_CODE = ("Agent", "FunctionSearch", "ReportPrompt", "SparseSearch")  # which take what no expression makes


@pytest.mark.parametrize(
    "text",
    [
        "VectorSearch(ix.passages) % 10 >> ToPassages()",
        "LinkEntities(ix.names) >> PersonalizedPageRank(restart=0.5, each=True) % 100 >> Induce() >> Triples()",
        "(Keep() | VectorSearch(ix.passages) % 3) >> ToPassages(limit=5)",
        "Repeat(KHop(1), until=Reached(nodes=100))",
        "VectorSearch(ix.passages) % 9 >> Only(Kind.CHUNK) % 3 >> ToPassages()",
        "VectorSearch(ix.passages) % 4 >> Rerank(HashEncoder(dimension=64)) % -(-2) >> ToPassages()",
    ],
)
def test_what_is_written_is_what_python_makes_of_it(text: str) -> None:
    if "-(-2)" in text:
        with pytest.raises(OptionError, match="only operators"):
            read_expression(text, IX)
        return
    names = {name: getattr(room, name) for room in (graphwright, models, operators) for name in dir(room)}
    made = read_expression(text, IX)
    assert made == eval(text, {**names, "Kind": Kind, "ix": IX}) and isinstance(made, Operator)


def test_every_part_of_an_index_can_be_named() -> None:
    made = read_expression("LinkEntities(ix.names) >> PersonalizedPageRank() % 5 >> ToPassages()", IX)
    assert made == LinkEntities(IX.names) >> PersonalizedPageRank() % 5 >> ToPassages()
    assert read_expression("VectorSearch(ix.passages)", IX) == VectorSearch(IX.passages)


def test_further_names_are_those_given() -> None:
    llm = ScriptedLLM(lambda system, user: "Graz")
    text = "VectorSearch(ix.passages) >> ToPassages() >> Generate(llm)"
    assert "ScriptedLLM" in repr(read_expression(text, IX, llm=llm))
    with pytest.raises(OptionError, match="no language model is given; name one, as --llm MODEL"):
        read_expression("Generate(llm)", IX)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("VectorSerch(ix.passages)", "Did you mean 'VectorSearch'"),
        ("VectorSearch(ix.passages", "not an expression of operators"),
        ("", "not an expression"),
        ("3", "is of type int"),
        ("pathrag(k=3) >> Keep()", "pathrag is a method, and no operator: give it alone"),
        ("pathrg(k=3)", "there is no 'pathrg' here. Did you mean 'pathrag'"),
        ("VectorSearch(ix.passages) + ToPassages()", "only operators"),
        ("VectorSearch(ix.lease)", "only operators"),
        ("KHop(1).run", "only operators"),
        ("Index('x')", "there is no 'Index'"),
        ("open('/etc/passwd')", "there is no 'open'"),
        ("__import__('os')", "there is no '__import__'"),
        ("[KHop(1) for _ in (1, 2)][0]", "only operators"),
        ("(lambda: KHop(1))()", "only operators"),
        ("KHop(**{'k': 1})", "only operators"),
        ("KHop(hops=1)", r"missing a required argument: 'k'. It is written KHop\(k\), such as KHop\(10\)"),
        (
            "Quote()",
            r"missing a required argument: 'reader'. It is written Quote\(reader.*such as Quote\(MiniLMReader\(\)\)",
        ),
        ("Only('CHUNK')", "Only: kind is 'CHUNK'"),
        ("Only(Kind.chunk)", "only operators"),
        ("KHop(-1)", "KHop"),
        ("KHop(1) % 0", "k is 0"),
        ("KHop(1) >> 3", "is not an operator"),
        ("VectorSearch(ix.names)", "has no vectors of names"),
        ("'%999999999999d' % 5 >> KHop(1)", "str before >>, % or | is not an operator"),
        ("KHop(1 | 2)", r"'1' of 'KHop\(1 \| 2\)' \(character 6\): int before"),
        ("KHop('a' * 10**9)", "only operators"),
        ("KHop(k=1, k=2)", "given twice"),
        ("KHop(f'{1}')", "only operators"),
        ("(a := KHop(1))", "only operators"),
        ("KHop(1) < KHop(2)", "only operators"),
        ("KHop(*[1])", "only operators"),
        ("ix.graph.columns", "only operators"),
        ("KHop.__class__(1)", "only operators"),
        ("OptionError('x')", "there is no 'OptionError' here"),
        ("ToPassages('ä\u2028ö\x0c',\r\n 'é',\r 'ö', nowhere)", r"'nowhere' of .* \(character 7\)"),
        ("ToPassages('äöü', nowhere)", r"'nowhere' of .* \(character 19\)"),
        (" >> ".join(["KHop(1)"] * 5_000), "nested too deeply"),
        ("-" * 5_000 + "1", "nested too deeply"),
        ("(" * 300 + "KHop(1)" + ")" * 300, "not an expression of operators"),
        ("KHop(" + "9" * 5_000 + ")", "not an expression of operators"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        read_expression(text, replace(IX, names=None))


@pytest.fixture(scope="module")
def over_passages_alone(tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = Index(
        tmp_path_factory.mktemp("few") / "index", encoder=HashEncoder(), settings=Settings(embed=("passages",))
    )
    index.add([{"title": "Graz", "text": "Graz lies on the Mur. Linz lies on the Danube."}])
    return index


@pytest.fixture(scope="module")
def over_a_graph(tmp_path_factory: pytest.TempPathFactory) -> Index:
    graph = Graph.from_triples(FAMILY)
    return Index.from_graph(tmp_path_factory.mktemp("family") / "index", graph, encoder=HashEncoder())


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.required])
def test_the_repr_of_every_method_is_its_source(name: str, over_passages_alone: Index, over_a_graph: Index) -> None:
    for index in (corpus_index(), over_passages_alone, over_a_graph):
        pipeline = index.pipeline(name)
        text = repr(pipeline)
        assert read_expression(text, index.snapshot) == pipeline and "ix." in text
        assert repr(read_expression(text, index.snapshot)) == text


def test_an_index_that_belongs_to_no_snapshot_prints_what_it_is() -> None:
    alone = VectorIndex.from_array([[1.0], [2.0]])
    assert repr(VectorSearch(alone)).startswith("VectorSearch(VectorIndex(2 × 1, ")
    one, other = replace(IX, passages=alone), replace(IX, passages=VectorIndex.from_array([[1.0], [3.0]]))
    assert repr(VectorSearch(one.passages)) == repr(VectorSearch(other.passages)) == "VectorSearch(ix.passages)"
    assert VectorSearch(one.passages) == VectorSearch(alone) != VectorSearch(other.passages)
    assert hash(VectorSearch(one.passages)) == hash(VectorSearch(alone))
    assert repr(alone).startswith("VectorIndex") and one.fingerprints["passages"] == repr(alone)


def test_vectors_that_an_expression_makes_print_as_their_expression() -> None:
    for text in (
        "VectorSearch(dense_index(ix.graph, HashEncoder(dimension=8))) % 10 >> ToPassages()",
        "VectorSearch(joined(ix.passages, ix.names)) % 10 >> ToPassages()",
    ):
        assert repr(read_expression(text, IX)) == text


def test_nothing_is_written_by_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError):
        read_expression("Path('made').write_text('x')", IX)
    assert not list(tmp_path.iterdir())


def test_options_are_plain_values_or_expressions() -> None:
    assert read_options("ppr(...)", "restart=0.5, nodes=100, name='a, b', length=None, on=True") == {
        "restart": 0.5,
        "nodes": 100,
        "name": "a, b",
        "length": None,
        "on": True,
    }
    options = read_options("...", "order=HopFirst(), prompt=FlatPrompt, first=VectorSearch(ix.names) % 3, n=[1, -1]")
    assert (
        repr(options)
        == "{'order': HopFirst(), 'prompt': FlatPrompt, 'first': VectorSearch(ix.names) % 3, 'n': [1, -1]}"
    )
    assert options["order"].value("order", None) == HopFirst() and options["prompt"].value("prompt", IX) is FlatPrompt
    assert options["first"].value("first", IX) == VectorSearch(IX.names) % 3
    for wrong in ("0.5", "**{}", "restart=", "a=1)(b=2", "a=1, a=2"):
        with pytest.raises(OptionError, match="name=value, each name once"):
            read_options("ppr(...)", wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("restart=open('x')", r"restart: 'open' of \"open\('x'\)\" .*: there is no 'open' here"),
        ("order=HopFrst()", "order: .*there is no 'HopFrst' here. Did you mean 'HopFirst'"),
        ("a={[]: 1}", "a: .*only operators"),
        ("a=" + "-" * 5_000 + "1", "name=value|nested too deeply"),
        ("order=Shuffled('x', 3, 4)", "order: .*too many positional arguments. It is written Shuffled"),
    ],
)
def test_an_option_that_cannot_be_read_is_named(wrong: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        read_options("ppr(...)", wrong)


def public_operators() -> list[str]:
    rooms = (graphwright, operators, generate)
    classes = {name: getattr(room, name) for room in rooms for name in dir(room)}
    return sorted(
        n for n, c in classes.items() if isinstance(c, type) and issubclass(c, Operator) and not c.__abstractmethods__
    )


@pytest.mark.parametrize("name", public_operators())
def test_an_operator_without_its_arguments_is_an_error_with_an_example(name: str) -> None:
    llm = ScriptedLLM(lambda system, user: "Graz")
    try:
        assert isinstance(read_expression(f"{name}()", IX, llm=llm), Operator)
        return
    except OptionError as error:
        message = str(error)
    if name in BY_CODE or "missing a required argument" not in message:
        assert name in (*BY_CODE, "ReciprocalRank", "ScoreSum")  # which have an error of their own
        return
    example = re.search(rf"It is written {name}\(.*\), such as (.*)\.$", message)
    assert example, message
    assert isinstance(read_expression(example[1], IX, llm=llm), Operator)
