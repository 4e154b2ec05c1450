"""Beam search against a beam in plain Python, and worked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.toys import GRAPHS

from graphwright import (
    Anchor,
    BeamSearch,
    Evidence,
    Graph,
    HashEncoder,
    OptionError,
    OverlapCrossEncoder,
    ScriptedLLM,
    start,
)

QUESTION = "which a r b s c t d"
Path = tuple[tuple[int, ...], tuple[int, ...]]

triples = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("rst"), st.sampled_from("abcdefg")), min_size=1, max_size=16
)


def cosine(texts: list[str]) -> list[float]:
    question, *vectors = HashEncoder().encode([QUESTION, *texts]).astype(float)
    norm = (question @ question) ** 0.5
    return [float(v @ question) / max((v @ v) ** 0.5 * norm, 1e-12) for v in vectors]


def overlap(texts: list[str]) -> list[float]:
    model = OverlapCrossEncoder()
    return model.head(model.latents(QUESTION, texts)).tolist()


def plain(
    graph: Graph, sources: list[int], width: int, length: int, score: Callable[[list[str]], list[float]]
) -> list[tuple[float, Path]]:
    """Prolong, score, sort, keep; from each source on its own."""
    kept: list[tuple[float, Path]] = []
    for source in sorted(set(sources)):
        beams: list[Path] = [((source,), ())]
        for _ in range(length):
            paths = []
            for nodes, edges in beams:
                for u in graph.nodes.tolist():
                    joining = graph.edges_between(nodes[-1], u)
                    if u not in nodes and len(joining):
                        paths.append(((*nodes, u), (*edges, int(joining[0]))))
            texts = ["; ".join(graph.edge_text(e) for e in edges) for _, edges in paths]
            ranked = sorted((-s, path) for s, path in zip(score(texts) if texts else [], paths, strict=True))[:width]
            kept += [(-s, path) for s, path in ranked]
            beams = [path for _, path in ranked]
    return sorted(kept, key=lambda one: (-one[0], one[1]))


@settings(deadline=None, max_examples=60)
@given(triples, st.integers(0, 20), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_it_is_the_plain_beam(
    rows: list[tuple[str, str, str]], seed: int, width: int, length: int, cross: bool
) -> None:
    whole = Graph.from_triples(rows)
    graph = whole if seed % 2 else whole.part([v for v in range(len(whole)) if v % 5 != seed % 5])
    sources = [v for v in (seed % len(whole), seed // 2 % len(whole)) if v in graph]
    op = BeamSearch(OverlapCrossEncoder() if cross else HashEncoder(), width, length, batch=3)
    found = op(start(QUESTION, graph, anchors=[Anchor("q", sources)])).evidence
    expected = plain(graph, sources, width, length, overlap if cross else cosine)
    assert found is not None and found.scores is not None
    assert found.scores.tolist() == pytest.approx([s for s, _ in expected], abs=1e-6)
    assert sorted(found.identities()) == sorted(path for _, path in expected)


def test_beams_of_every_length_are_kept_for_each_query_entity() -> None:
    graph = GRAPHS["club"]
    found = BeamSearch(HashEncoder())(start("member 5 knows member 16", graph, entities=["member 0", "member 33"]))
    assert found.evidence is not None
    lengths = [(int(nodes[0]), len(edges)) for nodes, edges in found.evidence]
    assert all(lengths.count((v, n)) == 8 for v in (graph.id("member 0"), graph.id("member 33")) for n in (1, 2, 3, 4))
    assert len(lengths) == 64
    assert all(len(set(nodes.tolist())) == len(nodes) for nodes, _ in found.evidence)


@dataclass
class Counting:
    """An encoder that remembers how many texts each call had."""

    sizes: list[int] = field(default_factory=list)

    def encode(self, texts: Sequence[str]) -> object:
        self.sizes.append(len(texts))
        return HashEncoder().encode(texts)


def test_a_call_has_64_texts_and_the_question() -> None:
    star = Graph.from_triples([("hub", "r", f"leaf {i}") for i in range(150)])
    model = Counting()
    found = BeamSearch(model, length=1)(start("leaf 149", star, entities=["hub"])).evidence  # type: ignore[arg-type]
    assert model.sizes == [65, 65, 23]
    assert found is not None and found.texts(star)[0] == "hub r leaf 149"


def test_a_language_model_chooses_by_number() -> None:
    graph = GRAPHS["family"]
    seen: list[list[str]] = []

    def model(system: str, user: str) -> str:
        texts = [json.loads(line)["text"] for line in user.split("\n") if line.startswith('{"number"')]
        seen.append(texts)
        liked = [n for n, text in enumerate(texts, 1) if "Waldrada" in text]
        return json.dumps({"numbers": [*liked, 99]})

    op = BeamSearch(ScriptedLLM(model), width=2, length=3)
    state = op(start("Who are the children of Waldrada?", graph, entities=["Lothair II"]))
    assert state.evidence is not None and state.evidence.scores is not None
    assert [len(texts) for texts in seen] == [4, 2]  # the children have no other neighbour to go on to
    assert state.evidence.texts(graph) == [
        "Lothair II spouse Waldrada",
        "Lothair II spouse Waldrada; Waldrada mother of Gisela",
        "Lothair II spouse Waldrada; Waldrada mother of Bertha",
    ]
    assert state.evidence.scores.tolist() == [1, 1, 1 / 2]
    assert "1 of 2 numbers" in state.trace[-1].notes[0]
    nothing = BeamSearch(ScriptedLLM(['{"numbers": []}']))(start("?", graph, entities=["Gisela"]))
    assert nothing.evidence is not None and len(nothing.evidence) == 0


def test_it_begins_at_anchors_or_else_at_the_evidence() -> None:
    graph = GRAPHS["line"]
    found = BeamSearch(HashEncoder(), length=1)(start("?", graph, evidence=Evidence.of_nodes([2]))).evidence
    assert found is not None and sorted(found.identities()) == [((2, 1), (1,)), ((2, 3), (2,))]
    for state in (start("?", graph, anchors=()), start("?", graph.part([0, 1]), anchors=[Anchor("out", [3])])):
        none = BeamSearch(HashEncoder())(state).evidence
        assert none is not None and len(none) == 0


@pytest.mark.parametrize("make", [
    lambda: BeamSearch(None),  # type: ignore[arg-type]
    lambda: BeamSearch(HashEncoder(), width=0),
    lambda: BeamSearch(HashEncoder(), length=True),
    lambda: BeamSearch(HashEncoder(), length=1.5),  # type: ignore[arg-type]
    lambda: BeamSearch(HashEncoder(), batch=1),
])  # fmt: skip
def test_options_out_of_range_are_refused(make: object) -> None:
    with pytest.raises(OptionError, match="BeamSearch"):
        make()  # type: ignore[operator]
