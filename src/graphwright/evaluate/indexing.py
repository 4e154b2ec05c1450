"""Build, check and sample the index of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from graphwright.build.document_sources import read_sources
from graphwright.data import Document
from graphwright.data.question_sets.questions import check_gold
from graphwright.errors import OptionError, StoreError
from graphwright.evaluate.experiment import Experiment, Subject
from graphwright.graph import Graph
from graphwright.index_folder.index import Index
from graphwright.models import NamedEncoder
from graphwright.models.protocols import Floats
from graphwright.search import Snapshot
from graphwright.store import Changes, IndexLayout, Progress, Settings, Store
from graphwright.store.chunk_record import content_hash


@dataclass(frozen=True)
class _ConstantEncoder:
    """An encoder that gives every text the same vector, under the name of another encoder."""

    id: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.full((len(texts), self.dimension), self.dimension**-0.5, np.float32)


def build_index(
    folder: Path, experiment: Experiment, subject: Subject, encoder: NamedEncoder, progress: Progress | None
) -> dict[str, Any]:
    """Index the documents or the graph, and check the index; return the costs, {} for an index that was finished."""
    if subject.over == "graph":
        return _import_graph(folder, experiment, subject, encoder, progress)
    if folder.exists():
        index = Index.open(folder, encoder=encoder, extractor=subject.extractor)
        _check_extractor(index, experiment, subject)
    else:
        index = Index.create(folder, encoder=encoder, extractor=subject.extractor, settings=_settings(experiment))
    with index:
        changes = index.add(subject.documents, progress=progress)
        _check(index, experiment, subject)
    usage, seconds = changes.usage, {name: round(value, 3) for name, value in changes.seconds.items()}
    model = {"texts": usage.texts, "tokens": usage.tokens, "seconds": round(usage.seconds, 3)}
    return {"seconds": seconds, "texts": changes.texts, "model": model} if seconds else {}


def _settings(experiment: Experiment) -> Settings:
    return Settings() if experiment.embed is None else Settings(embed=tuple(experiment.embed))


@contextmanager
def sample_index(experiment: Experiment, subject: Subject, encoder: NamedEncoder) -> Iterator[Snapshot]:
    """Make an index of three documents or triples, with equal vectors, to find methods that fail early."""
    constant = _ConstantEncoder(encoder.id, encoder.encode(["text"]).shape[1])
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / "index"
        if subject.over == "graph":
            graph = Graph.from_triples(subject.triples[:3])
            index = Index.from_graph(folder, graph, embed=experiment.embed, encoder=constant)
        else:
            settings = _settings(experiment)
            index = Index.create(folder, encoder=constant, extractor=subject.extractor, settings=settings)
            index.add(subject.documents[:3])
        with index:
            yield index.snapshot


def _import_graph(
    folder: Path, experiment: Experiment, subject: Subject, encoder: NamedEncoder, progress: Progress | None
) -> dict[str, Any]:
    if folder.exists() and any(folder.iterdir()):
        check_index(folder, experiment, subject, encoder)
        return {}
    begun, graph = time.perf_counter(), Graph.from_triples(subject.triples)
    Index.from_graph(folder, graph, embed=experiment.embed, encoder=encoder, progress=progress).close()
    return {"seconds": {"import": round(time.perf_counter() - begun, 3)}}


def check_index(folder: Path, experiment: Experiment, subject: Subject, encoder: NamedEncoder) -> None:
    """Check that an index fits the experiment. Raises OptionError or StoreError where it does not."""
    with Index.open(folder, encoder=encoder, extractor=subject.extractor) as index:
        _check(index, experiment, subject)


def _check(index: Index, experiment: Experiment, subject: Subject) -> None:
    if not index.is_current:
        raise StoreError(f"{index.path} is not finished; run the interrupted command again.")
    if subject.over == "index":
        _check_gold(index, subject)
        return
    embedded = index.settings.embed
    if experiment.embed is not None and set(embedded) != set(experiment.embed):
        raise OptionError(
            f"{index.path} embeds {', '.join(embedded) or 'nothing'}, and this run asks for "
            f"{', '.join(experiment.embed)}. Ask for the same, or let the run build its own index."
        )
    if subject.over == "graph":
        graph = Graph.from_triples(subject.triples)
        if index.graph.checksum != graph.checksum:
            raise OptionError(
                f"{index.path} does not hold the graph of {subject.name}: it holds {index.graph}, not {graph}. "
                f"Let the run build its own index."
            )
        return
    _check_extractor(index, experiment, subject)
    difference = _difference(index, subject.documents)
    if difference:
        raise OptionError(
            f"{index.path} does not hold the corpus of {subject.name}"
            f"{'' if experiment.titles else ' without titles'}: {difference}. Let the run build its own index."
        )


def _check_gold(index: Index, subject: Subject) -> None:
    """Check that the index has the documents that the questions name; one in a hundred may be missing."""
    passages = index.graph.passages
    for field, kind in (("entities", "entities that"), ("gold", "documents that, as their gold_ids,")):
        names = {name for question in subject.questions for name in getattr(question, field, ())}
        relevant = names and (field == "entities" or passages is None)
        if relevant and not any(len(index.graph.ids(name)) for name in names):
            raise OptionError(
                f"{index.path} holds none of the {len(names):,} {kind} the questions name, such as "
                f"{min(names)!r}. Name the index that they are about."
            )
    if passages is not None:
        ids = set(passages.documents)
        remedy = f"Give the ids that documents have in {index.path}, such as {', '.join(map(repr, sorted(ids)[:3]))}."
        check_gold(subject.questions, ids, remedy=remedy)


def _check_extractor(index: Index, experiment: Experiment, subject: Subject) -> None:
    others = sorted(index.info()["extractors"].keys() - {index.extraction_schema.marked(subject.extractor.id)})
    if others:
        raise OptionError(
            f"{index.path} was built with the extractor {', '.join(others)}, and extraction "
            f"{experiment.extraction!r} of this data is {subject.extractor.id}. Ask for the extraction that it was "
            f"built with, or let the run build its own index."
        )


def _difference(index: Index, documents: Sequence[Document]) -> str:
    """Return the difference of an index's documents from others, "" if they are equal, however they are split."""
    expected = {document.id: document for document in read_sources(documents, Changes(), excluded=index.path)}
    with closing(Store(IndexLayout(index.path).store)) as store:
        stored, count = store.hashes(expected), store.counts()[0]
    for name, digest in stored.items():
        if digest not in [content_hash(replace(expected[name], whole=whole)) for whole in (True, False)]:
            return f"document {name!r} has another title, text, metadata or links there"
    if count != len(expected) or len(stored) != count:
        return f"it has {count:,} documents, {len(stored):,} of the {len(expected):,} of this corpus among them"
    return ""
