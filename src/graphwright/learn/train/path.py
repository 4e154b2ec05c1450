"""Training the path retriever (ReG, Eq. 35)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphwright.errors import DataError
from graphwright.learn.retrievers.path import directed, next_logits, opened, stepped
from graphwright.learn.train.fit import Schedule, fitted, parted, torch_or_error, weight
from graphwright.learn.train.samples import Samples
from graphwright.models.protocols import Floats

__all__ = ["train_path"]


def train_path(
    samples: Samples,
    *,
    hidden: int = 128,
    schedule: Schedule | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[dict[str, Floats], dict[str, Any]]:
    """Return the weights of a path retriever, and what is to be said about them.

    The likelihood of each kept relation path and of its end, at every step against all ways that any question has; the
    epoch is chosen by how often the most probable first way, and each after it, is one that was kept.
    """
    torch, plan = torch_or_error(), schedule or Schedule()
    samples = samples.part([at for at, row in enumerate(samples.rows) if row.ways])
    if not samples.rows:
        raise DataError("no label has a path from what its question names, so nothing is learned.")
    learned, held = parted(samples, plan)
    draw = torch.Generator().manual_seed(plan.seed)
    dimension = samples.questions.shape[1]
    tables = {
        "question": (dimension, hidden),
        "again": (dimension, hidden),
        "relation": (dimension, hidden),  # two halves: against a relation and along it
        "step": (hidden // 2, hidden),
        "carry": (hidden, hidden),
        "write": (hidden, hidden // 2),
        "end weights": (hidden, 1),
    }
    start = {name: weight(torch, draw, *size, unit=size[0] == dimension) for name, size in tables.items()}
    start |= {"start": torch.zeros(hidden), "bias": torch.zeros(hidden), "end": torch.zeros(1)}
    relations = torch.from_numpy(samples.relations)

    def chances(w: Mapping[str, Any], asked: Any, paths: Any, ways: Any) -> Any:
        """Return the log-probabilities of what comes next, [paths, steps + 1, ways + 1], along these paths."""
        state, said = opened(w, asked), []
        for step in range(paths.shape[1] + 1):
            on, end = next_logits(w, state, ways)
            said.append(torch.log_softmax(torch.cat((on, end), 1), 1))
            if step < paths.shape[1]:
                state = stepped(w, asked, state, ways[paths[:, step].clip(0, len(ways) - 1)])
        return torch.stack(said, 1)

    def likelihood(w: Mapping[str, Any], part: Samples, batch: list[int]) -> tuple[Any, Any, Any]:
        ways = directed(w, relations)
        table, owner = _table(part, batch, len(ways))
        found = chances(w, torch.from_numpy(part.questions)[batch][owner], torch.from_numpy(table[:, :-1]), ways)
        return found, torch.from_numpy(table), owner

    def loss(w: Mapping[str, Any], batch: list[int], rng: np.random.Generator) -> Any:
        found, wanted, _ = likelihood(w, learned, batch)
        told = found.gather(2, wanted.clip(min=0)[:, :, None])[:, :, 0]
        return -(told * (wanted >= 0)).sum(1).mean()

    def measure(w: Mapping[str, Floats]) -> float:
        with torch.no_grad():
            every = list(range(len(held.rows)))
            found, wanted, owner = likelihood({n: torch.from_numpy(v) for n, v in w.items()}, held, every)
            right = ((found.argmax(2) == wanted) | (wanted < 0)).all(1).numpy()
        return float(np.mean([right[owner == at].any() for at in every]))

    weights, measured = fitted(start, learned, loss, measure, plan, progress)
    length = max((len(one) for row in samples.rows for one in row.ways), default=1)
    return weights, {"length": length, "first path kept": measured}


def _table(samples: Samples, batch: list[int], ways: int) -> tuple[Any, Any]:
    """Return the relation paths of a batch with their ends, one a row, -1 behind these; and the question of each."""
    paths = [(at, one) for at, i in enumerate(batch) for one in samples.rows[i].ways]
    table = np.full((len(paths), max((len(one) for _, one in paths), default=0) + 1), -1, np.int64)
    for row, (_, one) in enumerate(paths):
        table[row, : len(one)] = one
        table[row, len(one)] = ways
    return table, np.array([at for at, _ in paths], np.int64)
