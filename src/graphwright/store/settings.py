"""Settings of an index: how its documents are converted to a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from graphwright.constraints import AtLeast, Checked
from graphwright.errors import OptionError

SPACES = ("passages", "names", "triples")
RESOLVERS = ("aliases", "vectors", "llm")


@dataclass(frozen=True)
class Settings(Checked):
    """Settings of the conversion of documents to a graph, stored in the index folder.

    `chunk_tokens`, `overlap`: maximal tokens of a chunk, and of the text that two neighbouring chunks share.
    `embed`: the texts that are embedded: passages (always), names, triples; by default all.
    `synonym_threshold`: minimal cosine of two names for a synonym edge, or to be merged; needs embedded names.
    `resolve`: further ways to merge entities with different names: aliases (stated by the text, and acronyms with their
    expansion), vectors (of names whose words are compatible), llm (a language model decides about these pairs).
    `description_tokens`: tokens of an entity's descriptions above which a language model, if one extracts, summarises
    them; without one the first that fit stay.
    """

    chunk_tokens: Annotated[int, AtLeast(1)] = 200
    overlap: Annotated[int, AtLeast(0)] = 40
    embed: tuple[str, ...] = SPACES
    synonym_threshold: Annotated[float, AtLeast(-1)] = 0.9
    resolve: tuple[str, ...] = ()
    description_tokens: Annotated[int, AtLeast(1)] = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_spaces(self.embed)
        if unknown := [name for name in self.resolve if name not in RESOLVERS]:
            raise OptionError(f"resolve is {unknown[0]!r}; choose from {', '.join(RESOLVERS)}.")
        if "vectors" in self.resolve and "names" not in self.embed:
            raise OptionError("resolve: merging by vectors compares vectors of names; embed names too.")
        if tuple(self.resolve) == ("llm",):
            raise OptionError("resolve: llm decides about pairs that others propose; add aliases, vectors or both.")
        if self.overlap >= self.chunk_tokens:
            raise OptionError(f"{self}: overlap must be less than chunk_tokens.")


def checked_spaces(embed: Sequence[str]) -> tuple[str, ...]:
    """Return the names of texts to be embedded, each once. Raises OptionError for an unknown one."""
    if any(name not in SPACES for name in embed):
        raise OptionError(f"embed is {','.join(embed)!r}; choose from {', '.join(SPACES)}, or 'none'.")
    return tuple(dict.fromkeys(embed))
