"""Warm-up of a snapshot: reads its files, loads models and compiles kernels before the first request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from graphwright import Graph, start
from graphwright.errors import GraphwrightError
from graphwright.graph import Kind
from graphwright.methods.registry import make_method
from graphwright.search import Snapshot


def warm_up(snapshot: Snapshot, method: str) -> None:
    """Ask a snapshot one question of each kind that methods treat differently, and discard the answers."""
    for question in _questions(snapshot.graph):
        with suppress(GraphwrightError):  # the requests themselves report it
            make_method(method, snapshot)(start(question, snapshot.graph))


def _questions(graph: Graph) -> Iterator[str]:
    """Yield a question about two entities, a yes/no question, a broad question, and one without an answer."""
    entities = np.flatnonzero(graph.columns.kinds == Kind.ENTITY)[:2]
    names = [graph.names[int(node)] for node in entities]
    if names:
        yield f"How is {names[0]} related to {names[-1]}?"
        yield f"Is {names[0]} older than {names[-1]}?"
    if len(graph):
        yield "What are the main topics of these documents?"
        yield "Which word is this?"
