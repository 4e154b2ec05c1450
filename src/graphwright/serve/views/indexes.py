"""Facts about an index."""

from __future__ import annotations

from typing import Any

from graphwright.serve.server import Library


def index_facts(name: str, library: Library) -> dict[str, Any]:
    """Return the facts about an index, in the form of IndexReply."""
    index = library.catalog[name]
    snapshot = index.snapshot
    passages = snapshot.graph.passages
    return {
        "name": name,
        "documents": index.documents,
        "chunks": 0 if passages is None else len(passages),
        "nodes": len(snapshot.graph),
        "edges": len(snapshot.graph.edges),
        "default_method": index.default_method,
        "imported": index.imported is not None,
        "takes_documents": index.takes_documents and name not in library.catalog.replicas,
        "current": index.is_current,
        "llm": library.models.name(name),
        "reader": library.models.name(name) if library.settings.extract else None,
        "snapshot": int(snapshot.about.get("revision", 0)),
    }
