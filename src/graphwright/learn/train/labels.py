"""Labels: what a retriever learns to find, made of questions and answers, and kept in a file (ReG, section 4.1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.errors import DataError, OptionError
from graphwright.files import growing, whole, whole_lines
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph
from graphwright.graph.relation_paths import labelled_edges, walks_along
from graphwright.graph.walks import relation_label
from graphwright.learn.train.candidates import Candidate, Pool, pool, surroundings
from graphwright.learn.train.examples import Example, Examples
from graphwright.learn.train.refine import Chosen, Kept, Refiner

__all__ = ["Label", "Labels", "common", "expanded", "make_labels", "read_labels", "united", "write_labels"]

FORMAT = 2
_CALLS = 8  # of a language model, at a time
_WALKS = 20_000  # by one relation path, that are looked at for positive triples

Progress = Callable[[str, int, int], None]
"""What is done, how much of it, and of how much."""


@dataclass(frozen=True, slots=True)
class Label:
    """What explains the answers of one question: the relation paths that were kept, of how many candidates.

    `paths`: the candidates before merging, `candidates`: after it (Table 1 of ReG).
    """

    example: Example
    kept: tuple[Kept, ...]
    paths: int
    candidates: int


@dataclass(frozen=True)
class Labels:
    """The labels of a set of questions; `about`: over which graph, by what, and within what bounds."""

    about: Mapping[str, Any]
    rows: tuple[Label, ...]

    def summary(self) -> dict[str, float]:
        """Return what there is: questions, candidates before and after merging, what refinement kept."""
        raw, merged, kept = (
            np.array([value(row) for row in self.rows] or [0])
            for value in (lambda r: r.paths, lambda r: r.candidates, lambda r: len(r.kept))
        )
        return {
            "questions": len(self.rows),
            "paths, mean": float(raw.mean()),
            "paths, most": int(raw.max()),
            "candidates, mean": float(merged.mean()),
            "candidates, most": int(merged.max()),
            "kept, mean": float(kept.mean()),
            "without any": int((kept == 0).sum()) if self.rows else 0,
        }


def make_labels(
    graph: Graph,
    examples: Examples | Sequence[Example],
    refiner: Refiner,
    into: Path | str,
    *,
    nodes: int = 1000,
    length: int = 4,
    progress: Progress | None = None,
) -> Labels:
    """Make the labels of questions and write them to a file, row by row; one that was broken off is gone on with.

    `nodes`: of the PPR subgraph in which candidates are looked for; `length`: edges of a path at most. A file that
    holds labels of another graph, refiner or bounds is refused with OptionError, and nothing is written. What a
    language model was paid for is kept whatever ends the work.
    """
    found = examples.found if isinstance(examples, Examples) else tuple(examples)
    about = {"labels": FORMAT, "graph": graph.columns.checksum, "refiner": refiner.id, "nodes": nodes, "length": length}
    path = Path(into)
    done = {row.example.id: row for row in _resumed(path, about)}
    show = progress or (lambda what, at, most: None)
    for example in found:
        if example.id in done and done[example.id].example != example:
            raise OptionError(
                f"{path} holds labels of another question {example.id!r}. Give the question an id of its own, or "
                "another path."
            )
    left = [at for at, example in enumerate(found) if example.id not in done]
    if done and not left:
        return Labels(about, tuple(done[example.id] for example in found))
    # All questions are looked at, also those that are done: they are judged among each other.
    pools = list(_pools(graph, found, nodes, length, show))
    judged = refiner.prepare(graph, found, pools)
    with growing(path) as add:
        if not path.stat().st_size:
            add(about)

        def one(at: int) -> tuple[int, list[Kept]]:
            return at, judged(at)

        for count, (at, kept) in enumerate(_each(one, left, refiner), 1):
            row = Label(found[at], tuple(kept), pools[at].paths, len(pools[at].candidates))
            add(_record(graph, row))
            done[row.example.id] = row
            show("choose paths", count, len(left))
    return Labels(about, tuple(done[example.id] for example in found if example.id in done))


def _pools(graph: Graph, found: Sequence[Example], nodes: int, length: int, show: Progress) -> Iterator[Pool]:
    for at, example in enumerate(found, 1):
        yield pool(surroundings(graph, example, nodes), example, length)
        show("collect paths", at, len(found))


def _each(
    work: Callable[[int], tuple[int, list[Kept]]], items: Sequence[int], refiner: Refiner
) -> Iterator[tuple[int, list[Kept]]]:
    """Do the work for each in order; several at a time where a model is waited for. Errors come last."""
    if not isinstance(refiner, Chosen):
        yield from map(work, items)
        return
    with ThreadPoolExecutor(_CALLS) as threads:
        for begin in range(0, len(items), _CALLS):
            waiting = [threads.submit(work, item) for item in items[begin : begin + _CALLS]]
            failed: Exception | None = None
            for future in waiting:
                try:
                    yield future.result()
                except Exception as error:  # what the others were paid for comes first
                    failed = failed or error
            if failed is not None:
                raise failed


def write_labels(path: Path | str, graph: Graph, labels: Labels) -> None:
    """Write labels whole, in the place of what the file held."""
    with whole(path) as draft, growing(draft) as add:
        add(labels.about)
        for row in labels.rows:
            add(_record(graph, row))


def read_labels(path: Path | str, graph: Graph) -> Labels:
    """Read labels. Raises DataError where the file holds none, or those of another graph."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: there is no such file. Make labels with make_labels (graphwright train labels).")
    about, rows = _parsed(path)
    if about.get("graph") != graph.columns.checksum:
        raise DataError(
            f"{path} holds labels over graph {about.get('graph')}; this is {graph.columns.checksum}. Nodes are told "
            "apart by number, so make labels over this graph anew."
        )
    return Labels(about, tuple(rows))


def united(one: Labels, other: Labels) -> Labels:
    """Return labels with what either kept (Table 6 of ReG, the union); of questions in both the first's counts."""
    return _combined(one, other, "|", lambda a, b: [*a, *(k for k in b if _key(k) not in set(map(_key, a)))])


def common(one: Labels, other: Labels) -> Labels:
    """Return labels with what both kept (Table 6 of ReG, the intersection)."""
    return _combined(one, other, "&", lambda a, b: [k for k in a if _key(k) in set(map(_key, b))])


def _combined(
    one: Labels, other: Labels, sign: str, kept: Callable[[Sequence[Kept], Sequence[Kept]], list[Kept]]
) -> Labels:
    if one.about.get("graph") != other.about.get("graph"):
        raise OptionError(
            "these labels are over two graphs, whose nodes are numbered differently; combine those of one."
        )
    beside = {row.example.id: row for row in other.rows}
    rows = []
    for row in one.rows:
        there = beside.pop(row.example.id, None)
        rows.append(Label(row.example, tuple(kept(row.kept, there.kept if there else ())), row.paths, row.candidates))
    if sign == "|":
        rows += beside.values()
    name = f"({one.about.get('refiner')} {sign} {other.about.get('refiner')})"
    return Labels({**one.about, "refiner": name}, tuple(rows))


def _key(kept: Kept) -> tuple[int, tuple[int, ...]]:
    return kept.candidate.source, kept.candidate.ways


def expanded(graph: Graph, row: Label, edges: Any = None) -> Ints:
    """Return the triples that a label makes positive (Ĝ+ of ReG), by edge id, ascending.

    A kept path labels every instance of it from its query entity to any answer; one that ends at no answer, as those
    around an entity do that a language model may keep, every instance of it. `edges`: `labelled_edges(graph)`, if
    known.
    """
    known = labelled_edges(graph) if edges is None else edges
    positive = [np.empty(0, np.int64)]
    for kept in row.kept:
        nodes, by = walks_along(graph, kept.candidate.source, kept.candidate.ways, _WALKS, known)
        ends = np.isin(graph.at(nodes[:, -1]), row.example.answers)
        positive.append(graph.edges[by[ends] if ends.any() else by].ravel())
    found = np.unique(np.concatenate(positive))
    return np.unique(np.concatenate([found, *(_repeats(graph, int(edge)) for edge in found)]))


def _repeats(graph: Graph, edge: int) -> Ints:
    """Return the edges that state what this one does; a walk takes the first of them."""
    c = graph.columns
    beside = c.out.row(int(c.heads[edge]))
    same = (c.tails[beside] == c.tails[edge]) & (c.relation[beside] == c.relation[edge])
    found: Ints = beside[same].astype(np.int64)
    return found


def _record(graph: Graph, row: Label) -> dict[str, Any]:
    example = row.example
    return {
        "id": example.id,
        "question": example.text,
        "entities": list(example.entities),
        "answers": list(example.answers),
        "paths": row.paths,
        "candidates": row.candidates,
        "kept": [
            {
                "from": kept.candidate.source,
                "path": " → ".join(
                    [
                        graph.names[kept.candidate.source],
                        *(f"[{relation_label(graph, way >> 1, bool(way & 1))}]" for way in kept.candidate.ways),
                    ]
                ),
                "ways": list(kept.candidate.ways),
                "pool": kept.candidate.pool,
                "support": round(kept.support, 4),
                "near": round(kept.near, 4),
            }
            for kept in row.kept
        ],
    }


def _row(record: Mapping[str, Any]) -> Label:
    example = Example(record["id"], record["question"], tuple(record["entities"]), tuple(record["answers"]))
    kept = tuple(
        Kept(Candidate(one["from"], tuple(one["ways"]), one["pool"]), one["support"], one["near"])
        for one in record["kept"]
    )
    return Label(example, kept, record["paths"], record["candidates"])


def _parsed(path: Path) -> tuple[dict[str, Any], list[Label]]:
    """Return what a file of labels says, and its whole lines."""
    lines = whole_lines(path)
    try:
        about = json.loads(lines[0]) if lines else {}
        if not isinstance(about, dict) or not isinstance(about.get("labels"), int):
            raise ValueError
        if about["labels"] != FORMAT:
            raise DataError(
                f"{path} holds labels of format {about['labels']}, and this version makes and reads format {FORMAT}. "
                f"Give another path, or remove it; the labels are made anew."
            )
        return about, [_row(json.loads(line)) for line in lines[1:]]
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path} is no file of labels (format {FORMAT}). Give another path, or remove it.") from None


def _resumed(path: Path, about: Mapping[str, Any]) -> Iterable[Label]:
    """Return the rows that are there already."""
    if not path.exists() or not path.stat().st_size:
        return []
    known, rows = _parsed(path)
    other = [name for name, value in about.items() if known.get(name) != value]
    if other:
        said = ", ".join(f"{name} {known.get(name)!r} (asked: {about[name]!r})" for name in other)
        raise OptionError(f"{path} holds labels made otherwise: {said}. Give another path, or remove it.")
    return rows
