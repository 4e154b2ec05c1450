"""Contents of an index and of its folder, comparable by value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tests.faults.fork_server import ENCODER, QUESTION, Outcome

from graphwright import Index
from graphwright.search.vector_index import VectorIndex

__all__ = ["assert_survived", "contents", "leftovers", "state", "write_corpus"]


def contents(index: Index) -> dict[str, Any]:
    """Return the contents of an index, whatever its history; checksums are computed from the arrays, not read."""
    snapshot, info = index.snapshot, index.info()
    graph = snapshot.graph
    passages, documents = graph.passages, len(graph)
    values: dict[str, Any] = {
        name: info[name] for name in ("documents", "chunks", "embedded", "encoder", "extractors", "pending")
    }
    values |= {"nodes": documents, "graph": graph.checksum, "words": snapshot.words.checksum}
    values["kinds"] = np.bincount(graph.columns.kinds, minlength=3).tolist()
    if (records := graph.columns.records) is not None:
        values["records"] = [array.tolist() for array in records.arrays()]
    values["aliases"] = list(graph.columns.aliases), graph.columns.alias_node.tolist()
    values["readings"] = [graph.reading(node) for node in range(len(graph))]
    if passages is not None:
        values["ids"] = list(passages.documents)
        values["spans"] = list(passages.names), passages.start.tolist(), passages.end.tolist()
    for name in ("passages", "names", "triples"):
        space: VectorIndex | None = getattr(snapshot, name)
        values[name] = space and VectorIndex(space.vectors, space.row_of).checksum
    return values


def leftovers(folder: Path) -> list[str]:
    """Return the files in and beside an index folder that do not belong there; nothing may have it open."""
    known = {"CURRENT", "index.sqlite", "writer.lock", (folder / "CURRENT").read_text()}
    inside = {path.name for path in folder.iterdir()}
    beside = {path.name for path in folder.parent.iterdir() if folder.name in path.name}
    return sorted((inside - known) | (beside - {folder.name}))


def state(folder: Path) -> dict[str, Any]:
    """Return the contents of the index in a folder, which must pass verification."""
    with Index.open(folder, encoder=ENCODER) as index:
        assert index.verify() == []
        return contents(index)


def assert_survived(folder: Path, child: Outcome) -> None:
    """Check that what was reported is stored, the snapshot at most old, and queries work."""
    if not (folder / "index.sqlite").exists():
        assert not child.reports_of("opened"), "an index was reported as open and does not exist"
        assert not folder.exists(), "an incomplete index, which no command accepts"
        return
    done = [documents for (documents,) in child.reports_of("opened") + child.reports_of("done")]
    with Index.open(folder, encoder=ENCODER) as index:
        assert index.documents >= max(done, default=0)
        assert [p.problem for p in index.verify() if "older than the stored documents" not in p.problem] == []
        assert index.retrieve(QUESTION, "ppr").passages is not None
        assert index.ask(QUESTION, "bm25").answer is not None


def write_corpus(folder: Path, rows: list[str], parts: int) -> Path:
    """Write a corpus as several files, and return their folder."""
    folder.mkdir(parents=True)
    for part in range(parts):
        (folder / f"{part}.jsonl").write_text("\n".join(rows[part::parts]), encoding="utf-8")
    return folder
