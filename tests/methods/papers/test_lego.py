"""The fifteen LEGO-GraphRAG instances: their expressions, and answers from a small graph of films."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.shared import corpus_index
from tests.toys import same

from graphwright import Graph, Induce, Keep, KHop, ShortestPaths, Triples, VectorIndex, start
from graphwright.errors import OptionError
from graphwright.generate import TargetAnswer
from graphwright.methods.papers.lego import (
    EXTRACTIONS,
    INSTANCES,
    PRUNINGS,
    Beams,
    BestByChoice,
    BestByScore,
    cell,
    lego,
)
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import BM25, Composed, EdgeSearch, InduceEdges

E, L = HashEncoder(), OverlapCrossEncoder()
FILMS = Graph.from_triples(
    [
        ("Heat", "directed_by", "Mann"),
        ("Heat", "starred_actors", "Pacino"),
        ("Insider", "directed_by", "Mann"),
        ("Insider", "starred_actors", "Crowe"),
        ("Scarface", "starred_actors", "Pacino"),
        ("Scarface", "directed_by", "De Palma"),
    ]
)
PPR = "PersonalizedPageRank(each=True) % 1000 >> Induce()"
SAE = {"PPR": PPR} | {
    name: f"{PPR} >> Relations() >> Rerank({model!r}) >> EdgesBy() % 64 >> InduceEdges()"
    for name, model in (("E", E), ("L", L))
}


@pytest.mark.parametrize(
    ("numbers", "se", "pr"),
    [
        ([1, 10, 11], ["PPR", "E", "L"], "ShortestPaths() % 32"),
        ([2, 4, 12], ["E", "L", "PPR"], f"ShortestPaths() >> Rerank({E!r}) % 32"),
        ([3, 5, 13], ["E", "L", "PPR"], f"ShortestPaths() >> Rerank({L!r}) % 32"),
        ([6, 8, 14], ["E", "L", "PPR"], f"BeamSearch({E!r}) % 32"),
        ([7, 9, 15], ["E", "L", "PPR"], f"BeamSearch({L!r}) % 32"),
    ],
)
def test_lego_instances_equal_paper(numbers: list[int], se: list[str], pr: str) -> None:
    for number, extraction in zip(numbers, se, strict=True):
        assert repr(lego(number, E, L)) == f"{SAE[extraction]} >> {pr}"
        # Walks seed by evidence or anchors; paths begin at anchors, as narrowing clears the evidence.
        assert lego(number, E, L).needs == ("evidence|anchors", "anchors|evidence")


@pytest.mark.parametrize("number", INSTANCES)
def test_lego_instances_answer(number: int) -> None:
    state = start("Who starred in a film directed by Mann?", FILMS, entities=["Mann"])
    after = (lego(number, E, L) >> TargetAnswer())(state)
    assert after.answer is not None and after.evidence is not None
    assert {"Heat", "Insider", "Pacino", "Crowe"} <= {c.text for c in after.answer.citations}
    # Every path begins at the query entity; none is without an edge.
    assert all(nodes[0] == FILMS.id("Mann") and len(edges) for nodes, edges in after.evidence)


def test_lego_budgets_hold() -> None:
    state = start("Who starred in a film directed by Mann?", FILMS, entities=["Mann"])
    after = lego(2, E, nodes=6, edges=3, paths=1)(state)
    assert after.evidence is not None and len(after.evidence) == 1 and len(after.graph.edges) == 3


def test_lego_model_sees_encoder_best_in_one_call() -> None:
    calls: list[int] = []

    def model(system: str, user: str) -> str:
        calls.append(user.count('{"number"'))
        return json.dumps({"numbers": [1, 2]})

    state = start("Who starred in a film directed by Mann?", FILMS, entities=["Mann"])
    best = BestByChoice(ScriptedLLM(model), BestByScore(E), shown=4)
    after = (best(Triples(), 64) >> InduceEdges() >> best(ShortestPaths(), 32))(state)
    assert calls == [4, 2] and after.evidence is not None and len(after.evidence) == 2
    assert len(after.graph.edges) == 2


def test_lego_relations_are_read_where_vectors_are_of_triples() -> None:
    vectors = VectorIndex.from_array(E.encode([FILMS.edge_text(e) for e in FILMS.edges.tolist()]), E)
    stored, read = (lego(10, by, edges=3) for by in (Composed(triples=vectors), E))
    assert repr(stored) == repr(read) and "Relations() >> Rerank(HashEncoder" in repr(stored)


def test_lego_answer_is_quoted_on_index_and_named_on_graph() -> None:
    snapshot = corpus_index().snapshot
    asked = "Which abbey did the mother of Lothair II found?"
    for number in (1, 6, 13):
        state = make_method(f"lego-{number}", snapshot)(start(asked, snapshot.graph))
        assert state.answer is not None and state.answer.citations[0].document and state.passages is not None
        assert state.graph.whole and any(len(edges) > 1 for _, edges in state.evidence or ())
    films = replace(snapshot, graph=FILMS, names=None, triples=None)
    for number in (1, 12, 15):
        state = make_method(f"lego-{number}", films)(start("Who starred in a film directed by Mann?", FILMS))
        assert state.answer is not None and {"Heat", "Pacino"} <= {c.text for c in state.answer.citations}
    llm = ScriptedLLM(['{"numbers": [2, 1]}', '{"found": true, "text": "Heat.", "citations": []}'])
    state = make_method("lego-13", films, llm=llm)(start("Who starred in a film directed by Mann?", FILMS))
    assert state.answer is not None and state.answer.text == "Heat." and len(state.evidence or ()) == 2


def test_lego_reuses_known_vectors() -> None:
    vectors = E.encode([FILMS.edge_text(e) for e in FILMS.edges.tolist()])
    known = EdgeSearch(VectorIndex.from_array(vectors, E))
    state = start("Who starred in a film directed by Mann?", FILMS, entities=["Mann"])
    read, looked_up = (lego(2, E, edges=3, triples=triples, pruning="TP")(state) for triples in (None, known))
    assert same(read.evidence, looked_up.evidence) and read.graph.edges.tolist() == looked_up.graph.edges.tolist()
    assert sum(s.usage.texts for s in looked_up.trace) < sum(s.usage.texts for s in read.trace)


def test_lego_with_missing_model_raises() -> None:
    with pytest.raises(OptionError, match="lego-13 needs L"):
        lego(13, E)
    with pytest.raises(OptionError, match=r"no instance 16; it has 1 to 15"):
        lego(16, E)
    assert {number for number, made in INSTANCES.items() if "-L" not in "".join(made)} == {1, 2, 6, 10, 12, 14}


@pytest.mark.parametrize("retrieval", ["SPR", "EPR", "OSAR-E", "OSAR/EPR-L", "ISAR-E", "ISAR-BM25"])
@pytest.mark.parametrize(
    "extraction",
    [*EXTRACTIONS, *(f"PPR+{kind}-{by}" for kind in PRUNINGS for by in ("BM25", "E", "L", "LLM", "R")), "KSE+TP-E"],
)
def test_lego_cells_find_paths_from_entities(extraction: str, retrieval: str) -> None:
    models, llms = {"E": E, "L": L, "BM25": BM25()}, {"LLM": ScriptedLLM(lambda system, user: '{"numbers": [1, 2]}')}
    result = cell(extraction, retrieval, models, llms, nodes=6, edges=4, paths=3)
    state = result(start("Who starred in a film directed by Mann?", FILMS, entities=["Mann"]))
    assert state.evidence is not None and len(state.evidence) <= 3
    assert all(nodes[0] == FILMS.id("Mann") and len(edges) for nodes, edges in state.evidence)
    assert len(state.graph) <= 7 or extraction == "none"
    # Which nodes or relations a model prefers may leave no edge at the query entity.
    assert len(state.evidence) or "+" in extraction


def test_lego_cell_composes_extraction_and_retrieval() -> None:
    models = {"E": E, "L": L}
    assert repr(cell("KSE", "SPR")) == "KHop(3) % 1000 >> Induce() >> ShortestPaths() % 32"
    assert repr(cell("none", "ISAR-E", models)) == f"BeamSearch({E!r}) % 32"
    own = KHop(1) >> Induce()
    assert cell(own, ShortestPaths(), models) == own >> ShortestPaths()
    assert cell(own, Keep()) == own and cell("none", own) == own
    assert repr(cell(own, "OSAR-L", models)).startswith("KHop(1) >> Induce() >> ShortestPaths() >> Rerank(")


@pytest.mark.parametrize(
    ("extraction", "retrieval", "message"),
    [
        ("PRR", "SPR", "no extraction named 'PRR'. There are: none, RW, KSE, PPR"),
        ("PPR+XP-E", "SPR", "no pruning named 'XP'. There are: NP, EP, TP"),
        ("PPR+TP-Q", "SPR", "no model named 'Q'. There are: R, E, L"),
        ("PPR+TP", "SPR", "no model named ''"),
        ("PPR", "ASAR-E", "no path retrieval named 'ASAR'"),
        ("PPR", "OSAR", "OSAR needs a model. Name one, as in 'OSAR-E'"),
    ],
)
def test_lego_unknown_cell_raises(extraction: str, retrieval: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        cell(extraction, retrieval, {"E": E, "L": L})


@pytest.mark.parametrize("number", range(2, 12))
def test_lego_instances_prune_triples_or_nodes_on_request(number: int) -> None:
    by = E if INSTANCES[number][0].endswith("-E") else L
    triples = f"{PPR} >> Triples() >> Rerank({by!r}) % 64 >> InduceEdges()"
    nodes = f"{PPR} >> (Nodes() >> Rerank({by!r}) % 64 | KHop(0)) >> Induce()"
    assert repr(lego(number, E, L, pruning="TP")).startswith(triples)
    assert repr(lego(number, E, L, pruning="NP")).startswith(nodes)
    with pytest.raises(OptionError, match="There is no pruning named 'XP'"):
        lego(number, E, L, pruning="XP")


def test_lego_beam_switches_apply() -> None:
    by_step = Beams(by_step=True, slack=0.25)
    assert repr(lego(14, E, beams=by_step)).endswith(f"BeamSearch(Steps({E!r}), slack=0.25) % 32")
    assert repr(lego(15, E, L, beams=Beams(by_step=True))).endswith(f"BeamSearch(Steps({L!r})) % 32")
    # BM25 scores texts that are read together, and a language model ranks whole paths.
    assert repr(BestByScore(BM25()).beam_search(by_step)) == "BeamSearch(BM25(), slack=0.25)"
    by_choice = BestByChoice(ScriptedLLM(["{}"]))
    assert repr(by_choice.beam_search(by_step)) == repr(by_choice.beam_search(Beams()))
    assert lego(12, E, beams=by_step) == lego(12, E)


def test_lego_prunes_relations_of_graphs_and_triples_of_documents() -> None:
    documents = corpus_index().snapshot
    graph = replace(documents, graph=FILMS, names=None, triples=None)
    assert "Relations()" in repr(make_method("lego-2", graph).pipeline)
    assert "Relations()" not in repr(make_method("lego-2", documents).pipeline)


def test_lego_registered_instances_take_switches() -> None:
    index = corpus_index().snapshot
    bare = replace(index, encoder=E, names=None, triples=None)
    expression = repr(make_method("lego-6", bare, pruning="EP", by_step=True, slack=0.5).pipeline)
    assert "EdgesBy() % 64" in expression and f"BeamSearch(Steps({E!r}), slack=0.5)" in expression
    two = make_method(
        "lego-13", bare, retrieval_llm=ScriptedLLM(["{}"], "selecting"), llm=ScriptedLLM(["{}"], "reader")
    )
    assert "selecting" in repr(two) and "reader" in repr(two)
