"""Extraction and encoding on an engine; results equal those of one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphwright.extract.extraction import DeferredExtractor, Excerpt, Extraction, ExtractionFailure, Extractor
from graphwright.models.protocols import Encoder, Floats, Usage, call_metered

if TYPE_CHECKING:
    from graphwright.engines import Engine

_TASK = 64  # texts of one task, unless one length has more
Extractions = list[Extraction | ExtractionFailure]


def tasks_of(lengths: Sequence[int]) -> list[list[int]]:
    """Return positions of texts by task: of one length in order, longest first, so that batches stay the same."""
    groups: dict[int, list[int]] = {}
    for position, length in enumerate(lengths):
        groups.setdefault(length, []).append(position)
    tasks: list[list[int]] = []
    for length in sorted(groups, reverse=True):
        if not tasks or len(tasks[-1]) >= _TASK:
            tasks.append([])
        tasks[-1] += groups[length]
    return tasks


def _lengths(encoder: Any, texts: Sequence[str]) -> Sequence[int]:
    """Return the tokens of each text, or its characters if the encoder does not count tokens."""
    count = getattr(encoder, "count_tokens", None)
    return [len(text) for text in texts] if count is None else list(count(texts))


def _encode(encoder: Encoder, texts: list[str]) -> tuple[Floats, Usage]:
    usage = Usage()
    return np.asarray(call_metered(usage, encoder, "encode", texts)), usage


def _extract(extractor: Any, excerpts: list[Excerpt]) -> tuple[Extractions, Floats | None, Usage]:
    usage = Usage()
    if hasattr(extractor, "extract_encoded"):
        extractions, vectors = extractor.extract_encoded(excerpts, usage)
        return list(extractions), vectors, usage
    return list(extractor.extract(excerpts)), None, usage


class _OnEngine:
    """Wrapper of a model, which workers get as a pickle, with its attributes."""

    def __init__(self, model: Any, engine: Engine) -> None:
        self._model, self._engine = model, engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    @property
    def id(self) -> str:
        """Name: the model's own."""
        return str(self._model.id)


class EngineEncoder(_OnEngine):
    """Wrapper of an encoder that encodes texts on an engine, with the same vectors."""

    def encode(self, texts: Sequence[str], usage: Usage | None = None) -> Floats:
        """Return the vectors of the encoder, float32[len(texts), dimension]; add the work to `usage`."""
        usage = Usage() if usage is None else usage
        tasks = tasks_of(_lengths(self._model, texts))
        if len(tasks) < 2:
            return np.asarray(call_metered(usage, self._model, "encode", list(texts)))
        results = self._engine.map(partial(_encode, self._model), [[texts[at] for at in task] for task in tasks])
        for _, spent in results:
            usage.add(spent)
        return _in_order(tasks, [vectors for vectors, _ in results])


class EngineExtractor(_OnEngine):
    """Wrapper of an extractor that reads chunks on an engine, with the same extractions."""

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        return self._extract_encoded if name == "extract_encoded" else value

    def extract(self, excerpts: Sequence[Excerpt]) -> Extractions:
        """Return one extraction or failure per excerpt, in order."""
        return self._read(excerpts, Usage())[0]

    def _extract_encoded(self, excerpts: Sequence[Excerpt], usage: Usage) -> tuple[Extractions, Floats]:
        extractions, vectors = self._read(excerpts, usage)
        assert vectors is not None
        return extractions, vectors

    def _read(self, excerpts: Sequence[Excerpt], usage: Usage) -> tuple[Extractions, Floats | None]:
        encoder = getattr(self._model, "encoder", None)
        tasks = tasks_of(_lengths(encoder, [excerpt.reading for excerpt in excerpts]))
        results = self._engine.map(partial(_extract, self._model), [[excerpts[at] for at in task] for task in tasks])
        extractions: Extractions = [Extraction()] * len(excerpts)
        for task, (part, _, spent) in zip(tasks, results, strict=True):
            usage.add(spent)
            for at, extraction in zip(task, part, strict=True):
                extractions[at] = extraction
        encoded = [vectors for _, vectors, _ in results if vectors is not None]
        return extractions, _in_order(tasks, encoded) if encoded else None


def _in_order(tasks: Sequence[Sequence[int]], parts: Sequence[Floats]) -> Floats:
    """Return the rows of all tasks in the order of their texts."""
    rows: Floats = np.concatenate(parts)[np.argsort(np.concatenate(tasks))]
    return rows


def on_engine(extractor: Extractor, engine: Engine) -> Extractor:
    """Return an extractor that reads on an engine; a language model's calls, limits and cache stay in this process."""
    if not isinstance(extractor, DeferredExtractor):
        return EngineExtractor(extractor, engine)
    if not hasattr(extractor, "__dataclass_fields__"):
        return extractor
    return replace(extractor, provisional=EngineExtractor(extractor.provisional, engine))  # type: ignore[type-var]
