"""The network of the entity retriever compared with plain loops over nodes and arcs, and its scores of walks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.learn.plain_rows import above, plus, times
from tests.learn.test_training import samples, tensors, torch_here, trained
from tests.shared import GRAPHS

from graphwright import Evidence, Graph, start
from graphwright.learn import EntityRetriever, load_retriever
from graphwright.learn.graph_retrievers import entity_logits
from graphwright.learn.network import (
    Batch,
    GraphView,
    WalkScores,
    best_walks,
    directed_edges,
    gate_logits,
    open_gates,
    view_graph,
)
from graphwright.learn.retriever import Checkpoint
from graphwright.models import HashEncoder
from graphwright.operators.run import Run

H, ROUNDS, LAYERS, DEGREE = 3, 2, 2, 1.3
NEAR = 1 + 3 * ROUNDS + LAYERS + 1
Table = list[list[float]]


def weights(dimension: int, named: bool = False) -> dict[str, np.ndarray]:
    shapes: dict[str, tuple[int, ...]] = {"near": (NEAR, H), "question": (dimension, H), "start": (H,)}
    shapes |= {"last weights": (H, 1), "last near": (NEAR, 1), "last": (1,)}
    shapes |= {"gate question": (dimension, H), "gate asked": (H,), "gate relation": (dimension, 8)}
    for layer in range(LAYERS):
        shapes |= {f"relation {layer}": (dimension, 2 * H), f"ask {layer}": (dimension, H)}
        shapes |= {f"self {layer}": (H, H), f"bias {layer}": (H,), f"said {layer}": (4 * H, 3 * H)}
        shapes |= {f"gate {layer}": (H, 4), f"gate end {layer}": (H, 1), f"gate bias {layer}": (1,)}
    rng = np.random.default_rng(7)
    names = {"name": (dimension, H)} if named else {}
    return {name: rng.normal(0, 0.7, shape).astype(np.float32) for name, shape in (shapes | names).items()}


def untrained() -> EntityRetriever:
    about = {"rounds": ROUNDS, "layers": LAYERS, "degree": DEGREE}
    made = load_retriever(Checkpoint("entity", weights(64), about), HashEncoder())
    assert isinstance(made, EntityRetriever)
    return made


def plain_pna(w: dict[str, np.ndarray], asked: list[float], relations: Table, names: Table | None, at: GraphView,
              near: Table) -> list[float]:  # fmt: skip
    """Principal neighbourhood aggregation, node by node and number by number (Corso et al., 2020, Eq. 8)."""
    triples = list(zip(at.heads.tolist(), at.relation.tolist(), at.tails.tolist(), strict=True))
    arcs = [(h, t, 2 * r + 1) for h, r, t in triples] + [(t, h, 2 * r) for h, r, t in triples]
    x = []
    for v, row in enumerate(near):
        begun = plus(times(row, w["near"]), w["start"].tolist(), times(asked, w["question"]))
        x.append(above(plus(begun, times(names[v], w["name"])) if names is not None else begun))
    for layer in range(LAYERS):
        after = []
        for v in range(len(near)):
            messages = []
            for u, end, way in arcs:
                if end == v:
                    both = times(relations[way >> 1], w[f"relation {layer}"])
                    gate = above(plus(both[H:] if way & 1 else both[:H], times(asked, w[f"ask {layer}"])))
                    messages.append([a * b for a, b in zip(x[u], gate, strict=True)])
            count, columns = max(len(messages), 1), list(zip(*messages, strict=True)) or [(0.0,)] * H
            mean = [sum(some) / count for some in columns]
            spread = [
                math.sqrt(sum((m - middle) ** 2 for m in some) / count + 1e-6) if messages else 0.0
                for some, middle in zip(columns, mean, strict=True)
            ]
            message = [*mean, *map(max, columns), *map(min, columns), *spread]
            scale = math.log(count + 1) / DEGREE
            mixed = plus(times(x[v], w[f"self {layer}"]), w[f"bias {layer}"].tolist())
            for i, by in enumerate((1.0, scale, 1 / scale)):
                mixed = plus(mixed, times([by * item for item in message], w[f"said {layer}"][:, i * H : (i + 1) * H]))
            after.append(above(mixed))
        x = after
    last = [times(row, w["last weights"])[0] + float(w["last"][0]) for row in x]
    return plus(last, [times(row, w["last near"])[0] for row in near])


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", ["family", "apart", "loops", "star"])
def test_entity_scores_equal_principal_neighbourhood_aggregation(name: str, named: bool) -> None:
    graph, dimension, rng = GRAPHS[name], 5, np.random.default_rng(8)
    at, relation_ids = view_graph(graph, np.array([0, 1]), ROUNDS)
    w, width = weights(dimension, named), NEAR - LAYERS - 1
    asked, relations, names, near = (
        rng.normal(0, 0.7, (rows, columns)).astype(np.float32)
        for rows, columns in (
            (1, dimension),
            (len(relation_ids), dimension),
            (len(graph), dimension),
            (len(graph), NEAR),
        )
    )
    batch = Batch([at], directed_edges([at]), near[:, :width], asked, relations, names if named else None)
    columns = np.split(near[:, width:], LAYERS + 1, axis=1)
    walks = WalkScores([], columns, [np.ones_like(column) for column in columns])
    result = entity_logits(w, batch, walks, DEGREE, LAYERS)
    wanted = plain_pna(w, asked[0].tolist(), relations.tolist(), names.tolist() if named else None, at, near.tolist())
    assert result.shape == (len(graph),) and result == pytest.approx(wanted, rel=1e-4, abs=1e-4)


ASKED = start("Who was the mother of Lothair II?", GRAPHS["family"], entities=["Lothair II"])


def by_hand(retriever: EntityRetriever, graph: Graph) -> tuple[np.ndarray, WalkScores, GraphView]:
    """The probability of each node, how probable walks are, and what was seen."""
    at, _ = view_graph(graph, np.array([graph.id("Lothair II")]), ROUNDS)
    asked = HashEncoder().encode(["Who was the mother of x?"])
    batch = Batch.of([at], asked, HashEncoder().encode(["spouse", "mother of", "father of"]))
    walks = best_walks(gate_logits(retriever.weights, asked, batch.relations, LAYERS), batch.edges, batch.start)
    logits = entity_logits(retriever.weights, batch, walks, DEGREE, LAYERS)
    return 1 / (1 + np.exp(-logits)), walks, at


def test_entity_triple_probability_is_product_of_ends() -> None:
    retriever, graph = untrained(), GRAPHS["family"]
    chance, _, at = by_hand(retriever, graph)
    judge = retriever.prepare(ASKED, Run())
    assert judge(Evidence.of_nodes(graph.nodes)) == pytest.approx(chance, rel=1e-5)
    both = chance[at.heads] + chance[at.tails]
    assert judge(Evidence.of_edges(graph.edges)) == pytest.approx(both, rel=1e-5)
    # Parallel triples are not told apart, so more of them are taken.
    result = retriever.search(3)(ASKED).evidence
    assert result is not None and len(result.edges) == len(graph.edges)


def test_single_triple_probability_combines_node_and_reach() -> None:
    retriever, graph = untrained(), GRAPHS["family"]
    chance, walks, at = by_hand(retriever, graph)
    through = walks.edges(at.heads, at.tails, at.relation)
    for ends, reached in (((at.heads, at.tails), at.tails), ((at.tails, at.heads), at.heads)):
        model, walk = retriever.step_model(ASKED, Run()), (np.stack(ends, axis=1), graph.edges[:, None])
        assert model.probabilities(*walk)[:, 0] == pytest.approx(chance[reached], rel=1e-5)
        assert model.reach(*walk)[:, 0] == pytest.approx(through, rel=1e-5)
    assert len(set(through.tolist())) > 2


def test_walk_step_probability_combines_node_and_reach() -> None:
    retriever, graph = untrained(), GRAPHS["family"]
    chance, walks, _ = by_hand(retriever, graph)
    names = ["Lothair II", "Waldrada", "Bertha", "Waldrada"]
    nodes = np.array([[graph.id(name) for name in names]])
    # Lothair's second marriage, the mother of Bertha, and back; relations in their order: spouse, mother, father.
    edges, ways = np.array([[4, 6, 6]]), (1, 3, 2)
    model = retriever.step_model(ASKED, Run())
    assert model.probabilities(nodes, edges)[0] == pytest.approx(chance[nodes[0, 1:]], rel=1e-5)
    wanted = [float(walks.steps(step, nodes[0, step], nodes[0, step + 1], ways[step])) for step in range(LAYERS)]
    # A network of two layers knows walks of two steps.
    assert model.reach(nodes, edges)[0].tolist() == pytest.approx([*wanted, 0.0], rel=1e-5) and all(
        value > 0 for value in wanted
    )


def test_relation_path_likelihood_combines_gates_and_end() -> None:
    asked = HashEncoder().encode(["Who was the mother of x?"])
    relations = HashEncoder().encode(["spouse", "mother of", "father of"])
    logits = [np.append(*step) for step in gate_logits(untrained().weights, asked, relations, LAYERS)]
    chances = [np.exp(step) / np.exp(step).sum() for step in logits]
    log_likelihood = untrained().step_model(ASKED, Run()).log_likelihood
    assert log_likelihood((1,)) == pytest.approx(np.log(chances[0][1] * chances[1][-1]), abs=1e-5)
    assert log_likelihood((1, 3)) == pytest.approx(np.log(chances[0][1] * chances[1][3]), abs=1e-5)
    # No gate tells of a third step.
    assert log_likelihood((1, 3, 2)) == pytest.approx(np.log(chances[0][1] * chances[1][3] * 0.001), abs=1e-5)


def test_narrowed_nodes_have_no_reach() -> None:
    retriever, graph = untrained(), GRAPHS["family"]
    part = graph.part(graph.nodes[:3])
    gone = np.setdiff1d(graph.edges, part.edges)[:, None]
    narrow = retriever.step_model(ASKED.with_(graph=part), Run()).reach
    assert len(gone) and not narrow(np.tile(part.nodes[:2], (len(gone), 1)), gone).any()
    assert not narrow(np.tile(part.nodes[:3], (len(gone), 1)), np.repeat(gone, 2, axis=1)).any()


def test_gates_distinguish_parallel_relations() -> None:
    films = Graph.from_triples([("film", "directed by", "Mann"), ("film", "written by", "Mann")])
    retriever = untrained()
    asked = start("Who directed film?", films, entities=["film"])
    walk = np.array([[films.id("film"), films.id("Mann")]] * 2)
    directed, written = retriever.step_model(asked, Run()).reach(walk, films.edges[:, None])[:, 0]
    assert directed != written


def test_entity_retriever_without_edges_is_empty() -> None:
    lone = ASKED.with_(graph=ASKED.graph.part([ASKED.graph.id("Lothair II")]))
    judged = untrained().prepare(lone, Run())(Evidence.of_nodes(lone.graph.nodes))
    assert judged.tolist() == [0.0]
    walk = np.array([[lone.graph.nodes[0]] * 2])
    for nodes, edges in ((walk, [[0]]), (walk[:, [0, 1, 0]], [[0, 1]])):
        model = untrained().step_model(lone, Run())
        assert not model.probabilities(nodes, np.array(edges)).any() and not model.reach(nodes, np.array(edges)).any()


def test_entity_scores_equal_in_numpy_and_torch() -> None:
    made, every, torch = trained("entity"), samples(), torch_here()
    degree, layers = made.about["degree"], made.about["layers"]

    def scored(w: Any, batch: Batch) -> tuple[Any, Any]:
        walks = best_walks(gate_logits(w, batch.questions, batch.relations, layers), batch.edges, batch.start)
        return entity_logits(w, batch, walks, degree, layers), walks.nodes()

    batch = every.batch(range(5), None, torch)
    together, walks = scored(tensors(torch, made), batch)
    for at in range(5):
        part = slice(*batch.edges.offsets[at : at + 2])
        alone, led = scored(made.weights, every.batch([at], None))
        assert np.concatenate(led, axis=1) == pytest.approx(torch.cat(walks, 1)[part].numpy(), abs=1e-6)
        assert alone == pytest.approx(together[part].numpy(), abs=2e-6 * float(together.abs().max()))


def test_learned_gates_match_relation_path() -> None:
    made, every = trained("entity"), samples()
    gates = [
        gate
        for gate, _ in open_gates(gate_logits(made.weights, every.questions, every.relations, made.about["layers"]))
    ]
    for at, row in enumerate(every.rows):
        for step, way in enumerate(row.paths[0]):
            assert int(np.argmax(gates[step][at])) == way and gates[step][at, way] == 1
