"""Record of a change of an index: documents added, replaced and removed, and remaining work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from graphwright.data.document import Skipped
from graphwright.models.protocols import Usage

Progress = Callable[[str, int, int], None]
"""Called with the name of the current work, the amount done and the total."""


@dataclass
class Changes:
    """Changes of an index: ids of documents by kind of change, and input that could not be read.

    `moved`: documents of a synced folder that have another id now, and the same text, as (earlier id, id).
    `retained`: documents that are not in the synced folder any more but stay, because unreadable files, `unreadable`,
    may contain them. `resumed`: whether documents stored by an interrupted run became searchable only now.
    `unsuitable`: number of documents that the extractor does not support well, by reason. Chunks: `extracted` by a
    deferred extractor or `reextract`; `pending`, which wait for one, as (document, ordinal, reason); `released`, which
    no longer wait, because this extractor had read them. `refined`: number of values that a language model derived from
    the merged graph; `unrefined`: why others are missing. `seconds` by part of the build, `texts`: embedded, by kind.
    """

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    retained: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    resumed: bool = False
    unsuitable: Counter[str] = field(default_factory=Counter)
    extracted: int = 0
    released: int = 0
    pending: list[tuple[str, int, str]] = field(default_factory=list)
    refined: int = 0
    unrefined: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @property
    def renamed(self) -> int:
        """Number of the moved documents that are in the same folder as before."""
        return sum(PurePosixPath(earlier).parent == PurePosixPath(now).parent for earlier, now in self.moved)
