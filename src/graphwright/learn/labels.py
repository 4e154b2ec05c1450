"""Labels: the relation paths that explain the answers of questions, stored in a file (ReG, section 4.1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphwright.data.records.read import checked
from graphwright.errors import DataError, OptionError
from graphwright.files import growing, whole_lines
from graphwright.graph import Graph
from graphwright.graph.evidence import Ints
from graphwright.graph.walks import relation_label, walks_along
from graphwright.learn.candidates import Candidate, Example, Examples, candidate_pool, ppr_subgraph
from graphwright.learn.refine import LabelledPath, LLMRefiner, RefineOne, Refiner

if TYPE_CHECKING:
    from graphwright.learn.label_rows import LabelRow

FORMAT = 2
_MAX_CALLS = 8  # of a language model at a time
_MAX_HEADER = 100_000  # bytes
_MAX_WALKS = 20_000  # labelled walks of one relation path

Progress = Callable[[str, int, int], None]  # called with the name of a phase, the items done and their total


@dataclass(frozen=True, slots=True)
class Label:
    """The relation paths that explain a question's answers; the counts are those before and after merging (ReG)."""

    example: Example
    paths: tuple[LabelledPath, ...]
    path_count: int
    candidate_count: int


@dataclass(frozen=True)
class Labels:
    """The labels of a set of questions; `about`: the graph, the refiner and the limits that they were made with."""

    about: Mapping[str, Any]
    rows: tuple[Label, ...]

    def summary(self) -> dict[str, float]:
        """Return the number of questions, of candidates before and after merging, and of chosen paths."""
        counts = np.array([(row.path_count, row.candidate_count, len(row.paths)) for row in self.rows] or [(0, 0, 0)])
        means, most = counts.mean(axis=0).tolist(), counts.max(axis=0).tolist()
        return {
            "questions": len(self.rows),
            "paths, mean": means[0],
            "paths, max": most[0],
            "candidates, mean": means[1],
            "candidates, max": most[1],
            "chosen, mean": means[2],
            "without any": sum(not row.paths for row in self.rows),
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
    """Make the labels of questions and write them to a file, row by row; an interrupted run is resumed.

    `nodes`: of the PPR subgraph that candidates come from; `length`: edges of a path at most. Raises OptionError,
    writing nothing, if the file has labels of another graph, refiner or limits.
    """
    questions = examples.usable if isinstance(examples, Examples) else tuple(examples)
    about = {"labels": FORMAT, "graph": graph.columns.checksum, "refiner": refiner.id, "nodes": nodes, "length": length}
    path = Path(into)
    done = {row.example.id: row for row in _rows_to_resume(path, graph, about)}
    for example in questions:
        if example.id in done and done[example.id].example != example:
            raise OptionError(
                f"{path} has labels of another question with the id {example.id!r}. Give the question another id, or "
                "write to another path."
            )
    missing = [at for at, example in enumerate(questions) if example.id not in done]
    if missing or not done:
        rows = _label_rows(graph, questions, missing, refiner, progress, nodes=nodes, length=length)
        with growing(path) as add:
            if not path.stat().st_size:
                add(about)
            for row in rows:
                add(_record(graph, row))
                done[row.example.id] = row
    return Labels(about, tuple(done[example.id] for example in questions if example.id in done))


def _label_rows(
    graph: Graph,
    questions: Sequence[Example],
    positions: Sequence[int],
    refiner: Refiner,
    progress: Progress | None,
    *,
    nodes: int,
    length: int,
) -> Iterator[Label]:
    """Yield the labels of the questions at some positions; refiners compare the candidates of all questions."""
    show = progress or (lambda phase, count, total: None)
    pools = []
    for count, example in enumerate(questions, 1):
        pools.append(candidate_pool(ppr_subgraph(graph, example, nodes), example, length))
        show("collect paths", count, len(questions))
    refine = refiner.prepare(graph, questions, pools)
    each = _threaded(refine, positions) if isinstance(refiner, LLMRefiner) else ((at, refine(at)) for at in positions)
    for count, (at, paths) in enumerate(each, 1):
        yield Label(questions[at], tuple(paths), pools[at].paths, len(pools[at].candidates))
        show("choose paths", count, len(positions))


def _threaded(refine: RefineOne, positions: Sequence[int]) -> Iterator[tuple[int, list[LabelledPath]]]:
    """Yield the chosen paths in order, several language model calls at a time; a batch raises its errors at its end."""
    with ThreadPoolExecutor(_MAX_CALLS) as threads:
        for begin in range(0, len(positions), _MAX_CALLS):
            futures = [(at, threads.submit(refine, at)) for at in positions[begin : begin + _MAX_CALLS]]
            failure: Exception | None = None
            for at, future in futures:
                try:
                    yield at, future.result()
                except Exception as error:  # store the paid replies before the first error is raised
                    failure = failure or error
            if failure is not None:
                raise failure


def read_labels(path: Path | str, graph: Graph) -> Labels:
    """Read labels. Raises DataError if the file has none, or labels of another graph."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file. Make labels with make_labels (graphwright train labels).")
    about, rows = _parse(path, graph)
    if about.get("graph") != graph.columns.checksum:
        raise DataError(
            f"{path} has labels of the graph {about.get('graph')}, but this graph is {graph.columns.checksum}. Labels "
            "refer to nodes by number, so make them again for this graph."
        )
    return Labels(about, tuple(rows))


def union(first: Labels, second: Labels) -> Labels:
    """Return labels with the paths that either chose (Table 6 of ReG); those of the first come first."""
    others = {row.example.id: row for row in second.rows}
    rows = []
    for row in first.rows:
        known, more = set(map(_key, row.paths)), others.pop(row.example.id, None)
        new = [path for path in (more.paths if more else ()) if _key(path) not in known]
        rows.append(replace(row, paths=(*row.paths, *new)))
    return _combined(first, second, "|", [*rows, *others.values()])


def intersection(first: Labels, second: Labels) -> Labels:
    """Return labels with the paths that both chose (Table 6 of ReG)."""
    others = {row.example.id: set(map(_key, row.paths)) for row in second.rows}
    rows = []
    for row in first.rows:
        known = others.get(row.example.id, ())
        rows.append(replace(row, paths=tuple(path for path in row.paths if _key(path) in known)))
    return _combined(first, second, "&", rows)


def _combined(first: Labels, second: Labels, sign: str, rows: Sequence[Label]) -> Labels:
    if first.about.get("graph") != second.about.get("graph"):
        raise OptionError("The labels are of two graphs, whose node numbers differ. Combine labels of one graph.")
    name = f"({first.about.get('refiner')} {sign} {second.about.get('refiner')})"
    return Labels({**first.about, "refiner": name}, tuple(rows))


def _key(path: LabelledPath) -> tuple[int, tuple[int, ...]]:
    return path.candidate.source, path.candidate.ways


def positive_edges(graph: Graph, row: Label) -> Ints:
    """Return the positive triples of a label (Ĝ+ of ReG), by edge id, ascending.

    A path labels its walks to any answer, and all of its walks where none leads to one, as a language model may choose.
    Parallel edges of one relation are labelled together.
    """
    positive = [np.empty(0, np.int64)]
    for path in row.paths:
        nodes, by = walks_along(graph, path.candidate.source, path.candidate.ways, _MAX_WALKS, returning=True)
        to_answer = np.isin(graph.at(nodes[:, -1]), row.example.answers)
        positive.append(graph.edges[by[to_answer] if to_answer.any() else by].ravel())
    walked, c = np.unique(np.concatenate(positive)), graph.columns
    walk_edges, edges_out = c.out.expand(c.heads[walked].astype(np.int64), walked)
    parallel = (c.tails[edges_out] == c.tails[walk_edges]) & (c.relation[edges_out] == c.relation[walk_edges])
    return np.unique(edges_out[parallel])


def _record(graph: Graph, row: Label) -> dict[str, Any]:
    example = row.example
    return {
        "id": example.id,
        "question": example.text,
        "entities": list(example.entities),
        "answers": list(example.answers),
        "paths": row.path_count,
        "candidates": row.candidate_count,
        "kept": [
            {
                "from": path.candidate.source,
                "path": _path_text(graph, path.candidate),
                "ways": list(path.candidate.ways),
                "pool": path.candidate.pool,
                "support": round(path.support, 4),
                "near": round(path.near, 4),
            }
            for path in row.paths
        ],
    }


def _path_text(graph: Graph, candidate: Candidate) -> str:
    labels = (f"[{relation_label(graph, way)}]" for way in candidate.ways)
    return " → ".join([graph.names[candidate.source], *labels])


def _label(graph: Graph, row: LabelRow, where: str) -> Label:
    """Return the label of a line. Raises DataError for a node or a directed relation that the graph does not have."""
    nodes = [*row.entities, *row.answers, *(path.source for path in row.kept)]
    ways = [way for path in row.kept for way in path.ways]
    for name, ids, size in (("node", nodes, len(graph.names)), ("relation", ways, 2 * len(graph.columns.relations))):
        if wrong := [number for number in ids if not 0 <= number < size]:
            raise DataError(f"{where}: the graph has no {name} {wrong[0]}. Repair or remove this record.")
    paths = tuple(LabelledPath(Candidate(p.source, p.ways, p.pool), p.support, p.near) for p in row.kept)
    return Label(Example(row.id, row.question, row.entities, row.answers), paths, row.paths, row.candidates)


def _parse(path: Path, graph: Graph) -> tuple[dict[str, Any], list[Label]]:
    """Return the header and the complete lines of a file of labels; the lines only if they are of this graph."""
    from graphwright.learn.label_rows import LabelRow  # loads pydantic

    lines = whole_lines(path)
    try:
        about, *records = map(json.loads, lines or [b"{}"])
        if not isinstance(about, dict) or not isinstance(about.get("labels"), int):
            raise ValueError
    except (ValueError, RecursionError):
        raise DataError(
            f"{path} is not a file of labels (format {FORMAT}). Write to another path, or remove it."
        ) from None
    if about["labels"] != FORMAT:
        raise DataError(
            f"{path} has labels of format {about['labels']}, but this version reads format {FORMAT}. Write to another "
            "path, or remove the file and make the labels again."
        )
    labels = []
    for number, record in enumerate(records if about.get("graph") == graph.columns.checksum else (), start=2):
        where = f"{path}:{number}"
        labels.append(_label(graph, checked(LabelRow, record, where), where))
    return about, labels


def _rows_to_resume(path: Path, graph: Graph, about: Mapping[str, Any]) -> list[Label]:
    """Return the labels that the file already has. Raises OptionError if they were made with other settings."""
    header = json.dumps(about, ensure_ascii=False).encode("utf-8", "backslashreplace")
    if not path.exists() or header.startswith(path.read_bytes()[:_MAX_HEADER]):  # perhaps cut short
        return []
    known, rows = _parse(path, graph)
    differences = [
        f"{name} {known.get(name)!r} (now: {value!r})" for name, value in about.items() if known.get(name) != value
    ]
    if differences:
        raise OptionError(
            f"{path} has labels with other settings: {', '.join(differences)}. Write to another path, or remove it."
        )
    return rows
