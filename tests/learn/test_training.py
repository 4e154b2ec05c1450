"""Training: each level learns a toy task, answers the same without torch, and is reproducible for a seed."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from tests.learn.torch_here import torch_here
from tests.toys import knowledge

from graphwright import Evidence, Graph, VectorIndex, start
from graphwright.errors import DataError, NeedsError, OptionError
from graphwright.graph.walks import Ways
from graphwright.learn import Checkpoint, NeighbourRefiner, PathRetriever, load_retriever, make_labels, train_retriever
from graphwright.learn.candidates import ANSWER, SHORTEST, Candidate, Example
from graphwright.learn.graph_retrievers import triple_logits
from graphwright.learn.labels import Label, Labels
from graphwright.learn.network import Batch, gate_logits, open_gates
from graphwright.learn.path import Decoder
from graphwright.learn.refine import LabelledPath
from graphwright.learn.training import Samples, Schedule, Training, samples_of
from graphwright.methods.registry import make_method
from graphwright.models import HashEncoder
from graphwright.operators.run import Run
from graphwright.operators.state import State

ENCODER = HashEncoder()
BY, WRITTEN = 0, 1
KINDS: dict[str, Ways] = {
    "who directed {}": (2 * BY + 1,),
    "who wrote {}": (2 * WRITTEN + 1,),
    "which films did {} direct": (2 * BY,),
    "which films has {} written": (2 * WRITTEN,),
    "who wrote what {} directed": (2 * BY, 2 * WRITTEN + 1),
}
ENOUGH = {
    "triple": Schedule(epochs=30, batch=4, patience=30),
    "entity": Schedule(epochs=30, batch=8, patience=30),
    "path": Schedule(epochs=15, batch=8, patience=15),
}


def world() -> Graph:
    """Twenty films by a few people who direct, write, or both."""
    draw, rows = np.random.default_rng(3), []
    for n in range(20):
        director = draw.integers(6)
        writer = director if draw.random() < 0.3 else draw.integers(6)
        rows += [(f"film{n}", "directed_by", f"person{director}"), (f"film{n}", "written_by", f"person{writer}")]
        rows += [(f"film{n}", "release_year", f"{1990 + draw.integers(5)}")]
        rows += [(f"film{n}", "has_genre", f"genre{draw.integers(4)}")]
    return Graph.from_triples(rows)


FILMS = world()
SNAPSHOT = knowledge(FILMS)


def led_to(node: int, ways: Ways) -> tuple[int, ...]:
    c, nodes = FILMS.columns, {node}
    for way in ways:
        ends = (c.heads, c.tails) if way & 1 else (c.tails, c.heads)
        taken = [at for at in range(len(c.heads)) if c.relation[at] == way >> 1 and int(ends[0][at]) in nodes]
        nodes = {int(ends[1][at]) for at in taken}
    return tuple(sorted(nodes - {node}))


def questions() -> list[Example]:
    """All questions that have an answer, called by their kind and node, in an order that was drawn."""
    result = []
    for kind, ways in KINDS.items():
        for node, name in enumerate(FILMS.names):
            if answers := led_to(node, ways):
                result.append(Example(f"{kind}|{node}", kind.format(name), (node,), answers))
    return [result[at] for at in np.random.default_rng(0).permutation(len(result))]


ASKED = questions()
LEARNED, HELD = ASKED[:40], ASKED[40:]


@cache
def labels() -> Labels:
    return make_labels(
        FILMS, LEARNED, NeighbourRefiner(ENCODER), Path(mkdtemp(prefix="graphwright-test-")) / "labels.jsonl"
    )


@cache
def trained(level: str) -> Checkpoint:
    torch_here()
    return train_retriever(SNAPSHOT, labels(), level, schedule=ENOUGH[level])


@cache
def samples() -> Samples:
    return samples_of(FILMS, labels(), ENCODER)


def asked_of(example: Example) -> State:
    return start(example.text, FILMS, entities=FILMS.names.take(np.array(example.entities)))


def answered(retriever: Checkpoint | str) -> list[set[str]]:
    """What the method answers to the questions that nobody learned from."""
    op = make_method("reg", SNAPSHOT, retriever=retriever)
    answers = [op(start(item.text, FILMS)).answer for item in HELD]
    return [set(answer.text.splitlines()) if answer is not None else set() for answer in answers]


LEVELS = ["triple", "entity", "path"]


def test_training_learns_relation_path_per_question_kind() -> None:
    for row in labels().rows:
        assert [item.candidate.ways for item in row.paths] == [KINDS[row.example.id.partition("|")[0]]]


@pytest.mark.parametrize("level", LEVELS)
def test_trained_retriever_answers_unseen_questions(level: str) -> None:
    wanted = [{FILMS.names[node] for node in item.answers} for item in HELD]
    right = sum(result == answers for result, answers in zip(answered(trained(level)), wanted, strict=True))
    assert len(HELD) == 18 and right >= 17
    # Before it has learned it answers few of them.
    fresh = train_retriever(SNAPSHOT, labels(), level, schedule=Schedule(epochs=1, rate=1e-9, seed=1))
    assert sum(result == answers for result, answers in zip(answered(fresh), wanted, strict=True)) <= 9


@pytest.mark.parametrize("level", LEVELS)
def test_training_on_forty_questions_succeeds_with_defaults(level: str) -> None:
    torch_here()
    wanted = [{FILMS.names[node] for node in item.answers} for item in HELD]
    result = answered(train_retriever(SNAPSHOT, labels(), level))
    assert sum(item == answers for item, answers in zip(result, wanted, strict=True)) >= 15


@pytest.mark.parametrize("level", LEVELS)
def test_checkpoint_answers_equally_without_torch(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = trained(level)
    made.save(tmp_path / "films.gwr")
    before = answered(made)
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        monkeypatch.setitem(sys.modules, name, None)
    assert answered(str(tmp_path / "films.gwr")) == before


@pytest.mark.parametrize("level", LEVELS)
def test_training_without_torch_names_extra(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(NeedsError, match=r"pip install 'graphwright\[train\]'\. Asking does not need"):
        train_retriever(SNAPSHOT, labels(), level)


@pytest.mark.parametrize("level", LEVELS)
def test_training_repeats_per_seed(level: str) -> None:
    torch_here()
    few = Schedule(epochs=2, batch=16)
    item, again, other = (
        train_retriever(SNAPSHOT, labels(), level, schedule=plan) for plan in (few, few, replace(few, seed=1))
    )
    assert item == again and item.about == again.about and item != other


@pytest.mark.parametrize("level", LEVELS)
def test_checkpoint_records_inputs_and_origin(level: str) -> None:
    made = trained(level)
    about = made.about
    assert made.level == level and about["encoder"] == ENCODER.id and about["dimension"] == 64
    assert about["labels"] == labels().about and about["questions"] == 40
    assert about["schedule"]["epochs"] == ENOUGH[level].epochs and about["schedule"]["negatives"] == 6
    measured = about["first path kept" if level == "path" else "recall@2R"]
    assert 1 <= len(measured) <= ENOUGH[level].epochs and all(0 <= m <= 1 for m in measured) and max(measured) == 1
    assert all(value.dtype == np.float32 and np.isfinite(value).all() for value in made.weights.values())


@pytest.mark.parametrize("level", ["triple", "entity"])
def test_retriever_trained_with_names_reads_names(level: str) -> None:
    torch_here()
    names = VectorIndex.from_array(ENCODER.encode(list(FILMS.names)), ENCODER)
    with pytest.raises(OptionError, match="Make the index with --embed names"):
        train_retriever(SNAPSHOT, labels(), level, names=True)
    few = Schedule(epochs=2)
    made = train_retriever(replace(SNAPSHOT, names=names), labels(), level, names=True, schedule=few)
    assert made.about["names"] and any(name.endswith("name") for name in made.weights)
    with pytest.raises(OptionError, match="needs vectors of node names"):
        load_retriever(made, ENCODER)
    result = load_retriever(made, ENCODER, names).prepare(asked_of(HELD[0]), Run())(Evidence.of_edges([0, 1]))
    assert result.shape == (2,) and np.isfinite(result).all()


def tensors(torch: Any, made: Checkpoint) -> dict[str, Any]:
    return {name: torch.from_numpy(value) for name, value in made.weights.items()}


def test_triple_scores_equal_in_numpy_and_torch() -> None:
    made, every, torch = trained("triple"), samples(), torch_here()

    def scored(w: Any, batch: Batch) -> Any:
        triples = [
            (row.heads[i] + offset, row.tails[i] + offset, row.relation[i], at)
            for at, (row, offset) in enumerate(zip(batch.views, batch.edges.offsets, strict=False))
            for i in range(len(row.heads))
        ]
        columns = np.array(triples, np.int64).T.copy()
        gates = [gate for gate, _ in open_gates(gate_logits(w, batch.questions, batch.relations, made.about["steps"]))]
        return triple_logits(w, batch, gates, *(columns if batch.edges.torch is None else torch.from_numpy(columns)))

    together = scored(tensors(torch, made), every.batch(range(5), None, torch)).numpy()
    alone = np.concatenate([scored(made.weights, every.batch([at], None)) for at in range(5)])
    assert alone == pytest.approx(together, abs=1e-5, rel=1e-5)


def test_path_scores_equal_in_numpy_and_torch() -> None:
    made, every = trained("path"), samples()
    torch = torch_here()
    w, asked = tensors(torch, made), torch.from_numpy(every.questions[:1])
    state, path = asked_of(LEARNED[0]), (2 * BY, 2 * WRITTEN + 1)
    retriever = load_retriever(made, ENCODER)
    assert isinstance(retriever, PathRetriever)
    writer = retriever.decoder(state, Run())
    vectors = retriever.relation_vectors(FILMS, range(len(FILMS.columns.relations)), Run())
    other = Decoder(w, asked, torch.from_numpy(vectors))
    hidden, mine = other.begin(), writer.begin()
    total = 0.0
    for way in (*path, None):
        messages = torch.log_softmax(torch.cat(other.logits(hidden), 1), 1)[0].numpy()
        on, end = writer.log_probabilities(mine)
        assert np.append(on, end) == pytest.approx(messages, abs=1e-5 * float(np.abs(messages).max()))
        total += float(messages[-1 if way is None else way])
        if way is not None:
            hidden, mine = other.advance(hidden, [way]), writer.advance(mine, [writer.row_of[way]])
    assert writer.path_log_probability(path) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("level", ["triple", "entity"])
def test_sampled_softmax_estimates_full_probabilities(level: str) -> None:
    torch_here()
    plan = replace(ENOUGH[level], negatives=1, epochs=20)
    retriever = load_retriever(train_retriever(SNAPSHOT, labels(), level, schedule=plan), ENCODER)
    messages, there = 0.0, 0
    for row, sample in zip(labels().rows, samples().rows, strict=True):
        state = asked_of(row.example)
        every = Evidence.of_edges(FILMS.edges) if level == "triple" else Evidence.of_nodes(FILMS.nodes)
        messages += float(retriever.prepare(state, Run())(every).sum())
        ends = np.concatenate((sample.heads[sample.positive], sample.tails[sample.positive]))
        there += int(sample.positive.sum()) if level == "triple" else len(np.unique(ends))
    assert messages == pytest.approx(there, rel=0.35)


def test_sample_holds_visible_graph_and_labels() -> None:
    every = samples()
    assert len(every.rows) == len(LEARNED)
    assert np.linalg.norm(every.questions, axis=1) == pytest.approx(1) and every.relations.shape == (4, 64)
    for row, sample in zip(labels().rows, every.rows, strict=True):
        assert sample.distances.shape == (len(sample.nodes), 10) and sample.distances[:, 0].sum() == len(
            row.example.entities
        )
        ends = set(sample.nodes[sample.heads[sample.positive]]) | set(sample.nodes[sample.tails[sample.positive]])
        assert {*row.example.entities, *row.example.answers} <= ends
        # Rows of relations are numbered as they were met; their vectors tell which they are.
        names = [FILMS.columns.relations[item.candidate.ways[0] >> 1].replace("_", " ") for item in row.paths]
        first = every.relations[[item[0] >> 1 for item in sample.paths]]
        assert first == pytest.approx(ENCODER.encode(names), abs=1e-6)
        assert [[way & 1 for way in item] for item in sample.paths] == [
            [way & 1 for way in item.candidate.ways] for item in row.paths
        ]


def test_training_without_labels_raises() -> None:
    torch_here()
    rows = tuple(replace(row, paths=()) for row in labels().rows)
    with pytest.raises(DataError, match="None of 40 labelled questions has a path that explains its answers"):
        train_retriever(SNAPSHOT, Labels(labels().about, rows), "triple")
    with pytest.raises(DataError, match="None of 0 labelled questions"):
        train_retriever(SNAPSHOT, Labels(labels().about, ()), "path")


def test_path_training_ignores_end_edges() -> None:
    torch_here()
    example = LEARNED[0]
    at_answer = LabelledPath(Candidate(example.answers[0], (2 * BY,), ANSWER), 1.0, 0.0)
    only = Labels(labels().about, (Label(example, (at_answer,), 1, 1),))
    with pytest.raises(DataError, match="there is nothing to learn"):
        train_retriever(SNAPSHOT, only, "path")


def test_training_on_one_question_starts() -> None:
    torch_here()
    example = next(item for item in LEARNED if item.text.startswith("who directed"))
    selected = LabelledPath(Candidate(example.entities[0], (2 * BY + 1,), SHORTEST), 1.0, 0.0)
    item = Labels(labels().about, (Label(example, (selected,), 1, 1),))
    for level in LEVELS:
        made = train_retriever(SNAPSHOT, item, level, schedule=Schedule(epochs=2))
        assert all(np.isfinite(value).all() for value in made.weights.values())


def test_training_with_unknown_level_raises() -> None:
    with pytest.raises(OptionError, match="level is 'graph'; it must be one of triple, entity, path"):
        train_retriever(SNAPSHOT, labels(), "graph")


def test_held_out_samples_are_not_trained_on() -> None:
    torch_here()
    training = Training(samples(), Schedule(held_out=0.2))
    learned, record = training.learned, training.held_out
    assert (len(learned.rows), len(record.rows)) == (32, 8)
    assert {id(row) for row in (*learned.rows, *record.rows)} == {id(row) for row in samples().rows}
    for part in (learned, record):
        for row, question in zip(part.rows, part.questions, strict=True):
            at = next(i for i, other in enumerate(samples().rows) if other is row)
            assert np.array_equal(question, samples().questions[at])
    alone = Training(samples().part([3]), Schedule())
    assert (len(alone.learned.rows), len(alone.held_out.rows)) == (1, 1)


def test_gates_start_with_weight_per_step() -> None:
    torch_here()
    begun = Training(samples(), Schedule()).gate_weights(6, 5, 2)
    assert {f"{name} {step}" for name in ("gate", "gate end", "gate bias") for step in range(2)} < set(begun)
    assert begun["gate question"].shape == (6, 5) and begun["gate 1"].shape[0] == 5


def test_best_epoch_is_kept_and_training_stops_early() -> None:
    torch = torch_here()
    selected: list[float] = []
    measures = iter([0.1, 0.7, 0.3, 0.7, 0.2, 0.2, 0.2, 0.9])

    def loss(w: Any, batch: list[int], rng: np.random.Generator) -> Any:
        assert len(batch) <= 16
        return w["x"].sum()

    def measure(w: Any) -> float:
        selected.append(float(w["x"][0]))
        return next(measures)

    messages: list[tuple[str, int, int]] = []
    plan = Schedule(epochs=8, patience=3, batch=16)
    training = Training(samples(), plan, lambda *now: messages.append(now))
    best, measured = training.fit({"x": torch.ones(1)}, loss, measure)
    # Of two epochs that measured the same the later one, which learned more; three after the first of them it ends.
    assert measured == [0.1, 0.7, 0.3, 0.7, 0.2] and float(best["x"][0]) == selected[3]
    assert selected == sorted(selected, reverse=True) and messages == [("train", n, 8) for n in range(1, 6)]
