"""A toy corpus of six documents, two of which are connected by a third, and an index of it."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from graphwright.index_folder.index import Index
from graphwright.models import HashEncoder
from graphwright.store import Settings

CORPUS: list[dict[str, str]] = [
    {
        "id": "lothair",
        "title": "Lothair II",
        "text": "Lothair II was king of Lotharingia. "
        "He was a son of Lothair I and Ermengarde of Tours. He married Teutberga in 855.",
    },
    {
        "id": "teutberga",
        "title": "Teutberga",
        "text": "Teutberga was a daughter of Boso the Elder. She was a queen of Lotharingia by marriage to Lothair II.",
    },
    {
        "id": "ermengarde",
        "title": "Ermengarde of Tours",
        "text": "Ermengarde of Tours was the daughter of Hugh of Tours. She founded the abbey of Erstein in Alsace.",
    },
    {
        "id": "erstein",
        "title": "Erstein Abbey",
        "text": "The abbey of Erstein stood in Alsace. It was destroyed in 1525 during the German Peasants' War.",
    },
    {
        "id": "bread",
        "title": "Bread",
        "text": "Bread is baked from a dough of flour and water. It is one of the oldest foods that people prepare.",
    },
    {
        "id": "mur",
        "title": "Mur (river)",
        "text": "The Mur rises in the Hohe Tauern and flows through Graz. It joins the Drava near Legrad.",
    },
]
"""Documents of `corpus_index`, as `Index.add` takes them."""


@cache
def corpus_index() -> Index:
    """Return an index of CORPUS in a temporary folder, made once a process; read only.

    Passages, names and triples are embedded by `HashEncoder`, so that every offline method runs on it.

    >>> corpus_index().retrieve("Who founded the abbey of Erstein?").passages[0].document
    'ermengarde'
    """
    folder = Path(tempfile.mkdtemp(prefix="graphwright-test-"))
    settings = Settings(embed=("passages", "names", "triples"))
    index = Index.create(folder / "index", encoder=HashEncoder(), settings=settings)
    index.add(CORPUS)
    return index
