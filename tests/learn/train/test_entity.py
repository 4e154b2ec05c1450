"""The entity retriever, trained: the same with numpy as with torch, and gates that know the paths."""

from __future__ import annotations

import numpy as np
import pytest
from tests.learn.train.test_training import samples, seen_of, side_by_side, tensors, trained

from graphwright.learn.retrievers.arcs import arcs_of
from graphwright.learn.retrievers.entity import entity_logits, scaled
from graphwright.learn.retrievers.gates import gate_logits, gates_of, walked


def test_entities_score_the_same_with_numpy_as_with_torch_many_graphs_at_a_time() -> None:
    made, every = trained("entity"), samples()
    rows = every.rows[:5]
    torch, arcs, offsets = side_by_side(*rows)
    degree, layers = made.about["degree"], made.about["layers"]
    owner = torch.from_numpy(np.repeat(np.arange(5), np.diff(offsets)))
    near = torch.from_numpy(np.concatenate([row.near for row in rows]).astype(np.float32))
    asked, relations = (torch.from_numpy(part) for part in (every.questions[:5], every.relations))
    w, scales = tensors(torch, made), torch.from_numpy(scaled(arcs, degree))
    walks = walked(gate_logits(w, asked, relations, layers), arcs, near[:, :1], owner, arcs.owner).nodes()
    near = torch.cat((near, *walks), 1)
    together = entity_logits(w, asked, relations, near, arcs, scales, layers, None, owner, arcs.owner).numpy()
    for at, row in enumerate(rows):
        seen, question = seen_of(row), every.questions[at : at + 1]
        own, part = arcs_of(seen), slice(offsets[at], offsets[at + 1])
        led = walked(gate_logits(made.weights, question, every.relations, layers), own, seen.start).nodes()
        assert np.concatenate(led, axis=1) == pytest.approx(torch.cat(walks, 1)[part].numpy(), abs=1e-6)
        read = np.concatenate((seen.near, *led), axis=1)
        alone = entity_logits(made.weights, question, every.relations, read, own, scaled(own, degree), layers)
        assert alone == pytest.approx(together[part], abs=1e-6 * float(np.abs(together).max()))


def test_the_gates_of_a_question_that_was_learned_are_those_of_its_path() -> None:
    made, every = trained("entity"), samples()
    gates = gates_of(gate_logits(made.weights, every.questions, every.relations, made.about["layers"]))
    for at, row in enumerate(every.rows):
        for step, way in enumerate(row.ways[0]):
            assert int(np.argmax(gates[step][at])) == way and gates[step][at, way] == 1
