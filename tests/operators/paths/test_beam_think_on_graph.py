"""ToG's search against the same search in plain Python, and with unusual replies of language models."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwright import Graph, start
from graphwright.models import OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import Choose, Explore, Rerank

Path = tuple[tuple[int, ...], tuple[int, ...]]
MODEL = OverlapCrossEncoder()


def plainly(graph: Graph, question: str, source: int, width: int, depth: int) -> list[tuple[float, Path]]:
    """Relations, then entities, at every step: all candidates written out, scored one by one and sorted."""

    def score(text: str) -> float:
        return float(MODEL.head(MODEL.latents(question, [text]))[0])

    def text(edges: tuple[int, ...]) -> list[str]:
        return [graph.edge_text(edge) for edge in edges]

    beams: list[Path] = [((source,), ())]
    all_paths = []
    for _ in range(depth):
        steps: dict[tuple[Path, str], list[Path]] = {}
        for nodes, edges in beams:
            seen = set()
            around = [(e, int(graph.columns.tails[e]), "") for e in graph.edges if graph.columns.heads[e] == nodes[-1]]
            around += [
                (e, int(graph.columns.heads[e]), " of") for e in graph.edges if graph.columns.tails[e] == nodes[-1]
            ]
            for edge, other, way in around:
                relation = graph.columns.relations[int(graph.columns.relation[edge])] + way
                if other not in nodes and (relation, other) not in seen:
                    seen.add((relation, other))
                    steps.setdefault(((nodes, edges), relation), []).append(((*nodes, other), (*edges, int(edge))))
        best_relations = sorted(
            steps,
            key=lambda step: (
                -score("; ".join([*text(step[0][1]), f"{graph.names[step[0][0][-1]]} {step[1]}"])),
                steps[step][0],
            ),
        )[:width]
        best_paths = sorted(
            ((score("; ".join(text(path[1]))), path) for step in best_relations for path in steps[step]),
            key=lambda scored: (-scored[0], scored[1]),
        )[:width]
        all_paths += best_paths
        beams = [path for _, path in best_paths]
    return sorted(all_paths, key=lambda scored: (-scored[0], scored[1]))


@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.sampled_from(["rules", "likes", "knows"]), st.sampled_from("abcde")),
        min_size=1,
        max_size=14,
    ),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_think_on_graph_equals_plain_search(rows: list[tuple[str, str, str]], width: int, depth: int) -> None:
    graph = Graph.from_triples(rows)
    question = "whom does b like, who likes c, and rules d of e"
    first = graph.names[0]
    evidence = Explore(Rerank(MODEL), width, depth)(start(question, graph, entities=[first])).evidence
    expected = plainly(graph, question, 0, width, depth)
    assert evidence is not None and evidence.identities() == [path for _, path in expected]
    assert not expected or evidence.scores.tolist() == pytest.approx([score for score, _ in expected])  # type: ignore[union-attr]


KIN = Graph.from_triples(
    [("Bertha", "child", "Ida"), ("Bertha", "child", "Ava"), ("Bertha", "ally", "Otto"), ("Ida", "spouse", "Udo")]
)


def test_think_on_graph_selects_relations_then_entities() -> None:
    prompts: list[list[str]] = []

    def model(system: str, user: str) -> str:
        prompts.append([json.loads(line)["text"] for line in user.split("\n") if line.startswith('{"number"')])
        return json.dumps({"numbers": [[1], [1, 7], [1, 1], [1], []][len(prompts) - 1]})

    state = start("Who is her son-in-law?", KIN, entities=["Bertha", "Otto"])
    evidence = Explore(Choose(ScriptedLLM(model)))(state).evidence
    assert prompts == [
        ["Bertha child", "Bertha ally"],
        ["Bertha child Ida", "Bertha child Ava"],
        ["Bertha child Ida; Ida spouse"],
        ["Bertha child Ida; Ida spouse Udo"],
        ["Otto ally of"],
    ]
    assert evidence is not None and evidence.texts(KIN) == ["Bertha child Ida", "Bertha child Ida; Ida spouse Udo"]


def test_think_on_graph_notes_hubs_and_searches_per_entity() -> None:
    state = Explore(Rerank(MODEL), width=2, depth=1, max_nodes=1)(start("Who?", KIN, entities=["Bertha", "Udo"]))
    assert state.evidence is not None
    assert {KIN.names[nodes[0]] for nodes, _ in state.evidence} == {"Bertha", "Udo"}
    assert state.trace[-1].notes == ("only the first 1 of 3 candidate nodes of a step were ranked",)
    state = Explore(Rerank(MODEL), width=2, depth=1, max_relations=1)(start("Who?", KIN, entities=["Bertha"]))
    assert state.trace[-1].notes == ("only the first 1 of 2 candidate relations of a step were ranked",)
    assert state.evidence is not None and len({edges[0] for _, edges in state.evidence}) == len(state.evidence)
