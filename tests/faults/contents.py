"""What an index says and what lies in its folder, by value, so that two can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from tests.faults.nursery import ENCODER, QUESTION, Child

from graphwright import Index
from graphwright.index.vector_index import VectorIndex

__all__ = ["assert_survived", "contents", "litter", "state", "written"]


def contents(index: Index) -> dict[str, Any]:
    """Return all that an index says, whatever way led to it; checksums are of what is there now, not kept ones."""
    snapshot, held = index.snapshot, index.info()
    graph = snapshot.graph
    passages, documents = graph.passages, len(graph)
    found: dict[str, Any] = {
        name: held[name] for name in ("documents", "chunks", "embedded", "encoder", "extractors", "pending")
    }
    found |= {"nodes": documents, "graph": graph.checksum, "words": snapshot.words.checksum}
    found["kinds"] = np.bincount(graph.columns.kinds, minlength=3).tolist()
    found["aliases"] = list(graph.columns.aliases), graph.columns.alias_node.tolist()
    found["readings"] = [graph.reading(node) for node in range(len(graph))]
    if passages is not None:
        found["ids"] = list(passages.documents)
        found["spans"] = list(passages.names), passages.start.tolist(), passages.end.tolist()
    for name in ("passages", "names", "triples"):
        space: VectorIndex | None = getattr(snapshot, name)
        found[name] = space and VectorIndex(space.vectors, space.row_of).checksum
    return found


def litter(folder: Path) -> list[str]:
    """Return what lies in an index folder that nobody has open, and beside it, and does not belong there."""
    known = {"CURRENT", "index.sqlite", "writer.lock", (folder / "CURRENT").read_text()}
    inside = {path.name for path in folder.iterdir()}
    beside = {path.name for path in folder.parent.iterdir() if folder.name in path.name}
    return sorted((inside - known) | (beside - {folder.name}))


def state(folder: Path) -> dict[str, Any]:
    """Return what the index in a folder says; it must be sound."""
    with Index.open(folder, encoder=ENCODER) as index:
        assert index.verify() == []
        return contents(index)


def assert_survived(folder: Path, child: Child) -> None:
    """What was reported done is there, nothing is worse than a snapshot of the past, and questions are answered."""
    if not (folder / "index.sqlite").exists():
        assert not child.said("opened"), "an index was reported open and is gone"
        assert not folder.exists(), "half an index, which no command takes"
        return
    done = [documents for (documents,) in child.said("opened") + child.said("done")]
    with Index.open(folder, encoder=ENCODER) as index:
        assert index.documents >= max(done, default=0)
        assert [p.problem for p in index.verify() if "older than the stored documents" not in p.problem] == []
        assert index.retrieve(QUESTION, "ppr").passages is not None
        assert index.ask(QUESTION, "bm25").answer is not None


def written(folder: Path, rows: list[str], parts: int) -> Path:
    """Write a corpus as some files, and return their folder."""
    folder.mkdir(parents=True)
    for part in range(parts):
        (folder / f"{part}.jsonl").write_text("\n".join(rows[part::parts]), encoding="utf-8")
    return folder
