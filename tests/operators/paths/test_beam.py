"""Beam search against a beam in plain Python, and worked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared import GRAPHS

from graphwright import Anchor, BeamSearch, Evidence, Graph, Rerank, State, start
from graphwright.models import HashEncoder, OverlapCrossEncoder, ScriptedLLM
from graphwright.operators import Choose, Scorer, Steps
from graphwright.operators.rerank.scorer import ScoreFunction
from graphwright.operators.run import Run

QUESTION = "which a r b s c t d"
Path = tuple[tuple[int, ...], tuple[int, ...]]

triples = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("rst"), st.sampled_from("abcdefg")), min_size=1, max_size=16
)


def by_text(graph: Graph, score: Callable[[list[str]], list[float]]) -> Callable[[list[Path]], list[float]]:
    return lambda paths: score(["; ".join(graph.edge_text(e) for e in edges) for _, edges in paths])


def by_step(graph: Graph, score: Callable[[list[str]], list[float]]) -> Callable[[list[Path]], list[float]]:
    return lambda paths: [sum(score([graph.edge_text(e) for e in edges])) / len(edges) for _, edges in paths]


def cosine(texts: list[str]) -> list[float]:
    question, *vectors = HashEncoder().encode([QUESTION, *texts]).astype(float)
    norm = (question @ question) ** 0.5
    return [float(v @ question) / max((v @ v) ** 0.5 * norm, 1e-12) for v in vectors]


def overlap(texts: list[str]) -> list[float]:
    model = OverlapCrossEncoder()
    return model.head(model.latents(QUESTION, texts)).tolist()


Keeping = Callable[[list[tuple[float, Path]]], list[tuple[float, Path]]]


def plain(
    graph: Graph,
    sources: list[int],
    keep: Keeping | int,
    length: int,
    score: Callable[[list[Path]], list[float]],
) -> list[tuple[float, Path]]:
    """Prolong, score, sort, keep; from each source on its own. `keep` is given (-score, path), best first."""
    scored_beams: list[tuple[float, Path]] = []
    for source in sorted(set(sources)):
        beams: list[Path] = [((source,), ())]
        for _ in range(length):
            paths = []
            for nodes, edges in beams:
                for u in graph.nodes.tolist():
                    joining = graph.edges_between(nodes[-1], u)
                    if u not in nodes and len(joining):
                        paths.append(((*nodes, u), (*edges, int(joining[0]))))
            ranked = sorted((-s, path) for s, path in zip(score(paths) if paths else [], paths, strict=True))
            ranked = ranked[:keep] if isinstance(keep, int) else keep(ranked)
            scored_beams += [(-s, path) for s, path in ranked]
            beams = [path for _, path in ranked]
    return sorted(scored_beams, key=lambda scored: (-scored[0], scored[1]))


@given(triples, st.integers(0, 20), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_beam_search_equals_plain_beam(
    rows: list[tuple[str, str, str]], seed: int, width: int, length: int, cross: bool
) -> None:
    whole = Graph.from_triples(rows)
    graph = whole if seed % 2 else whole.part([v for v in range(len(whole)) if v % 5 != seed % 5])
    sources = [v for v in (seed % len(whole), seed // 2 % len(whole)) if v in graph]
    op = BeamSearch(OverlapCrossEncoder() if cross else HashEncoder(), width, length)
    evidence = op(start(QUESTION, graph, anchors=[Anchor("q", sources)])).evidence
    expected = plain(graph, sources, width, length, by_text(graph, overlap if cross else cosine))
    assert evidence is not None and evidence.scores is not None
    assert evidence.scores.tolist() == pytest.approx([s for s, _ in expected], abs=1e-6)
    assert sorted(evidence.identities()) == sorted(path for _, path in expected)


def searched(op: BeamSearch, rows: list[tuple[str, str, str]], source: int) -> tuple[list[float], list[Path]]:
    graph = Graph.from_triples(rows)
    evidence = op(start(QUESTION, graph, anchors=[Anchor("q", [source % len(graph)])])).evidence
    assert evidence is not None and evidence.scores is not None
    return evidence.scores.tolist(), evidence.identities()


def assert_equal_paths(paths: tuple[list[float], list[Path]], expected: list[tuple[float, Path]]) -> None:
    assert paths[0] == pytest.approx([s for s, _ in expected], abs=1e-6)
    assert sorted(paths[1]) == sorted(path for _, path in expected)


@given(triples, st.integers(0, 20), st.integers(1, 3), st.integers(1, 4))
def test_beam_by_steps_equals_plain_beam_of_mean_triples(
    rows: list[tuple[str, str, str]], source: int, width: int, length: int
) -> None:
    # Scores of one path come about in two ways that differ in the last bits, so ties are made sure of by rounding.
    graph = Graph.from_triples(rows)
    scores = by_step(graph, overlap)
    paths = searched(BeamSearch(Rounded(OverlapCrossEncoder()), width, length), rows, source)
    assert_equal_paths(
        paths, plain(graph, [source % len(graph)], width, length, lambda p: [round(s, 5) for s in scores(p)])
    )


@dataclass(frozen=True)
class Rounded(Steps):
    """Steps to five decimals."""

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        scorer = super().prepare(state, run)
        return lambda items: scorer(items).round(5)


@given(triples, st.integers(0, 20), st.integers(1, 2), st.integers(1, 3), st.sampled_from([0.0, 0.3, 1.0, 9.0]))
def test_beam_slack_keeps_paths_close_to_last(
    rows: list[tuple[str, str, str]], source: int, width: int, length: int, slack: float
) -> None:
    graph = Graph.from_triples(rows)

    def close(ranked: list[tuple[float, Path]]) -> list[tuple[float, Path]]:
        shown = ranked[: 4 * width]
        if len(shown) <= width:
            return shown
        least = -shown[width - 1][0] - slack * float(np.std([s for s, _ in shown]))
        return [item for item in shown if -item[0] >= least - 1e-12]

    expected = plain(graph, [source % len(graph)], close, length, by_text(graph, overlap))
    assert_equal_paths(searched(BeamSearch(OverlapCrossEncoder(), width, length, slack=slack), rows, source), expected)


@given(triples, st.integers(0, 20), st.integers(1, 3), st.integers(1, 3), st.integers(1, 5))
def test_beam_second_model_selects_from_first(
    rows: list[tuple[str, str, str]], source: int, width: int, length: int, shown: int
) -> None:
    graph = Graph.from_triples(rows)
    second = by_text(graph, overlap)

    def filtered(ranked: list[tuple[float, Path]]) -> list[tuple[float, Path]]:
        paths = [path for _, path in ranked[:shown]]
        return sorted((-s, path) for s, path in zip(second(paths) if paths else [], paths, strict=True))[:width]

    # What is found first by cosines of floats may not tie by chance: rounded as in Steps.
    expected = plain(graph, [source % len(graph)], filtered, length, exact(graph))
    step = Rerank(Exact()) % shown >> Rerank(OverlapCrossEncoder())
    assert_equal_paths(searched(BeamSearch(step, width, length), rows, source), expected)


@dataclass(frozen=True)
class Exact(Scorer):
    """Score an item by the sum of its ids, modulo 7: whole numbers, many ties."""

    def prepare(self, state: State, run: Run) -> ScoreFunction:
        return lambda items: np.array([(nodes.sum() + 3 * edges.sum()) % 7 for nodes, edges in items], np.float64)


def exact(graph: Graph) -> Callable[[list[Path]], list[float]]:
    return lambda paths: [float((sum(nodes) + 3 * sum(edges)) % 7) for nodes, edges in paths]


@given(triples, st.integers(0, 20), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_beam_second_model_fills_open_places(
    rows: list[tuple[str, str, str]], source: int, width: int, length: int, few: int
) -> None:
    graph = Graph.from_triples(rows)
    second = by_text(graph, overlap)

    def filled(ranked: list[tuple[float, Path]]) -> list[tuple[float, Path]]:
        paths = [path for _, path in ranked]
        by_second = sorted((-s, path) for s, path in zip(second(paths) if paths else [], paths, strict=True))
        chosen = list(dict.fromkeys([*paths[:few], *(path for _, path in by_second[:width])]))[:width]
        return [(-1 / rank, path) for rank, path in enumerate(chosen, 1)]

    expected = plain(graph, [source % len(graph)], filled, length, exact(graph))
    step = Rerank(Exact()) % few | Rerank(OverlapCrossEncoder())
    assert_equal_paths(searched(BeamSearch(step, width, length), rows, source), expected)


def numbers(user: str) -> dict[int, str]:
    lines = [json.loads(line) for line in user.split("\n") if line.startswith('{"number"')]
    return {line["number"]: line["text"] for line in lines}


def test_beam_encoder_filters_before_language_model() -> None:
    graph, seen = GRAPHS["club"], []

    def model(system: str, user: str) -> str:
        seen.append(list(numbers(user).values()))
        return '{"numbers": [2, 2, 1, 99]}'

    op = BeamSearch(Rerank(HashEncoder()) % 5 >> Choose(ScriptedLLM(model)), width=2, length=2)
    state = op(start("member 5 knows member 16", graph, entities=["member 0"]))
    best = BeamSearch(HashEncoder(), width=5, length=1)(start("member 5 knows member 16", graph, entities=["member 0"]))
    assert state.evidence is not None and best.evidence is not None
    assert len(seen) == 2 and len(seen[1]) <= 5 and seen[0] == best.evidence.texts(graph)
    firsts = [
        text for text, (_, edges) in zip(state.evidence.texts(graph), state.evidence, strict=True) if len(edges) == 1
    ]
    assert firsts == [seen[0][1], seen[0][0]]
    assert "2 of 4 selected numbers" in state.trace[-1].notes[0] and len(state.trace) == 1


@pytest.mark.parametrize("reply, chosen", [
    ('{"numbers": []}', []), ('{"numbers": [3, 3, 40, 0, -2]}', [3]), ('{"numbers": [4, 1]}', [4, 1]),
])  # fmt: skip
def test_beam_encoder_fills_after_language_model(reply: str, chosen: list[int]) -> None:
    graph, seen = GRAPHS["club"], []

    def model(system: str, user: str) -> str:
        seen.append(numbers(user))
        return reply

    state = start("member 5 knows member 16", graph, entities=["member 0"])
    op = BeamSearch(Choose(ScriptedLLM(model)) | Rerank(HashEncoder()), width=4, length=1)
    evidence, best = op(state).evidence, BeamSearch(HashEncoder(), width=4, length=1)(state).evidence
    assert evidence is not None and best is not None and evidence.scores is not None
    by_model = [seen[0][n] for n in chosen]
    filled = [text for text in best.texts(graph) if text not in by_model]
    assert evidence.texts(graph) == [*by_model, *filled][:4] and evidence.scores.tolist() == [1, 1 / 2, 1 / 3, 1 / 4]


def test_beam_with_invalid_reply_keeps_order_with_note() -> None:
    graph = GRAPHS["family"]
    for model in (Choose(ScriptedLLM(["the first", "the first!"])), Choose(ScriptedLLM(["{}", '{"numbers": "1"}']))):
        state = BeamSearch(model, width=9, length=1)(start("?", graph, entities=["Lothair II"]))
        assert state.evidence is not None and state.evidence.scores is not None
        neighbours = graph.adjacency.row(graph.id("Lothair II")).tolist()
        assert [nodes[-1] for nodes, _ in state.evidence] == neighbours
        assert state.evidence.scores.tolist() == [1 / rank for rank in range(1, len(neighbours) + 1)]
        assert state.trace[-1].notes == (
            "the model's reply did not fit the schema",
            "the step was done without a model",
        )


def test_language_model_refines_encoder_beam() -> None:
    graph = GRAPHS["family"]
    op = BeamSearch(HashEncoder(), width=3, length=2) >> Choose(ScriptedLLM(['{"numbers": [3, 1, 1]}'])) % 2
    state = start("Who are the children of Waldrada?", graph, entities=["Lothair II"])
    first = BeamSearch(HashEncoder(), width=3, length=2)(state).evidence
    evidence = op(state).evidence
    assert first is not None and evidence is not None
    assert evidence.identities() == [first.identities()[2], first.identities()[0]]


def test_beams_of_every_length_are_kept_per_entity() -> None:
    graph = GRAPHS["club"]
    state = BeamSearch(HashEncoder())(start("member 5 knows member 16", graph, entities=["member 0", "member 33"]))
    assert state.evidence is not None
    lengths = [(int(nodes[0]), len(edges)) for nodes, edges in state.evidence]
    assert all(lengths.count((v, n)) == 8 for v in (graph.id("member 0"), graph.id("member 33")) for n in (1, 2, 3, 4))
    assert len(lengths) == 64
    assert all(len(set(nodes.tolist())) == len(nodes) for nodes, _ in state.evidence)


@dataclass(eq=False)
class Counting:
    """An encoder that records the number of texts of each call."""

    sizes: list[int] = field(default_factory=list)

    def encode(self, texts: Sequence[str]) -> object:
        self.sizes.append(len(texts))
        return HashEncoder().encode(texts)


def test_beam_encodes_step_texts_and_question_once() -> None:
    star = Graph.from_triples([("hub", "r", f"leaf {i}") for i in range(150)] + [("leaf 149", "s", "end")])
    model = Counting()
    evidence = BeamSearch(model, length=2)(start("leaf 149", star, entities=["hub"])).evidence  # type: ignore[arg-type]
    assert model.sizes == [151, 1]
    assert evidence is not None and set(evidence.texts(star)[:2]) == {
        "hub r leaf 149",
        "hub r leaf 149; leaf 149 s end",
    }


def test_beam_language_model_selects_by_number() -> None:
    graph = GRAPHS["family"]
    seen: list[list[str]] = []

    def model(system: str, user: str) -> str:
        texts = [json.loads(line)["text"] for line in user.split("\n") if line.startswith('{"number"')]
        seen.append(texts)
        liked = [n for n, text in enumerate(texts, 1) if "Waldrada" in text]
        return json.dumps({"numbers": [*liked, 99]})

    op = BeamSearch(Choose(ScriptedLLM(model)), width=2, length=3)
    state = op(start("Who are the children of Waldrada?", graph, entities=["Lothair II"]))
    assert state.evidence is not None and state.evidence.scores is not None
    assert [len(texts) for texts in seen] == [4, 2]  # the children have no other neighbour to go on to
    assert state.evidence.texts(graph) == [
        "Lothair II spouse Waldrada",
        "Lothair II spouse Waldrada; Waldrada mother of Gisela",
        "Lothair II spouse Waldrada; Waldrada mother of Bertha",
    ]
    assert state.evidence.scores.tolist() == [1, 1, 1 / 2]
    assert "1 of 2 selected numbers" in state.trace[-1].notes[0]
    nothing = BeamSearch(Choose(ScriptedLLM(['{"numbers": []}'])))(start("?", graph, entities=["Gisela"]))
    assert nothing.evidence is not None and len(nothing.evidence) == 0


def test_beam_starts_at_anchors_or_evidence() -> None:
    graph = GRAPHS["line"]
    evidence = BeamSearch(HashEncoder(), length=1)(start("?", graph, evidence=Evidence.of_nodes([2]))).evidence
    assert evidence is not None and sorted(evidence.identities()) == [((2, 1), (1,)), ((2, 3), (2,))]
    for state in (start("?", graph, anchors=()), start("?", graph.part([0, 1]), anchors=[Anchor("out", [3])])):
        none = BeamSearch(HashEncoder())(state).evidence
        assert none is not None and len(none) == 0
