"""The index that a run asks: made once in its folder, or one that was made before."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from graphwright.data.document import Document
from graphwright.data.questions import check_gold
from graphwright.errors import OptionError, StoreError
from graphwright.evaluate.experiment import Experiment, Subject
from graphwright.graph.graph import Graph
from graphwright.graph.passages import Passages
from graphwright.index.build import Progress, Settings
from graphwright.index.snapshot import Snapshot
from graphwright.index_folder import Index
from graphwright.models.base import metered
from graphwright.models.protocols import Floats, NamedEncoder

__all__ = ["checked", "made", "sample"]


def made(
    folder: Path,
    experiment: Experiment,
    subject: Subject,
    encoder: NamedEncoder,
    progress: Progress | None,
) -> dict[str, Any]:
    """Index the documents or the graph in a folder and check that it holds them; return what that took, {} if nothing.

    What it took: the seconds of each part, and what the encoder did in them. Where the index was made
    before, that costs a look at every document; where that was interrupted, it is finished.
    """
    if subject.over == "graph":
        return _imported(folder, experiment, subject, encoder, progress)
    settings = Settings(embed=tuple(experiment.embed or ("passages",)))
    if folder.exists():
        index = Index.open(folder, encoder=encoder, extractor=subject.extractor)
        _check_extractor(index, experiment, subject)
    else:
        index = Index.create(folder, encoder=encoder, extractor=subject.extractor, settings=settings)
    with index, metered() as usage:
        added = index.add(subject.documents, progress=progress)
        _check(index, experiment, subject)
    model = {"texts": usage.texts, "tokens": usage.tokens, "seconds": round(usage.seconds, 3)}
    seconds = {name: round(value, 3) for name, value in added.seconds.items()}
    return {"seconds": seconds, "texts": added.texts, "model": model} if seconds else {}


@contextmanager
def sample(experiment: Experiment, subject: Subject, encoder: NamedEncoder) -> Iterator[Snapshot]:
    """Make an index of a few documents or triples, to build methods over before the work of the real one.

    Its vectors are all the same, so it finds nothing; but what cannot be built over it cannot be over the other.
    """
    few = replace(subject, documents=subject.documents[:3], triples=subject.triples[:3])
    blank = _Blank(encoder.id, encoder.encode(["text"]).shape[1])
    with TemporaryDirectory() as folder:
        if subject.over == "graph":
            graph = Graph.from_triples(few.triples)
            index = Index.from_graph(Path(folder) / "index", graph, embed=experiment.embed, encoder=blank)
        else:
            settings = Settings(embed=tuple(experiment.embed or ("passages",)))
            index = Index.create(Path(folder) / "index", encoder=blank, extractor=subject.extractor, settings=settings)
            index.add(few.documents)
        with index:
            yield index.snapshot


@dataclass(frozen=True)
class _Blank:
    """Encodes every text alike, at once, under the name of another encoder."""

    id: str
    dimension: int

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.full((len(texts), self.dimension), self.dimension**-0.5, np.float32)


def _imported(
    folder: Path, experiment: Experiment, subject: Subject, encoder: NamedEncoder, progress: Progress | None
) -> dict[str, Any]:
    if folder.exists() and any(folder.iterdir()):
        checked(folder, experiment, subject, encoder)
        return {}
    begun = time.perf_counter()
    with metered() as usage:
        graph = Graph.from_triples(subject.triples)
        Index.from_graph(folder, graph, embed=experiment.embed, encoder=encoder, progress=progress).close()
    model = {"texts": usage.texts, "tokens": usage.tokens, "seconds": round(usage.seconds, 3)}
    return {"seconds": {"import": round(time.perf_counter() - begun, 3)}, "texts": {}, "model": model}


def checked(folder: Path, experiment: Experiment, subject: Subject, encoder: NamedEncoder) -> None:
    """Check that an index holds the documents, or the graph, to the letter, extracted and embedded as is said.

    Where there are questions only, that it holds the documents that these name. Raises OptionError where it does not,
    StoreError where it is no index or has another encoder.
    """
    with Index.open(folder, encoder=encoder, extractor=subject.extractor) as index:
        _check(index, experiment, subject)


def _check(index: Index, experiment: Experiment, subject: Subject) -> None:
    held = index.info()
    if not held["current"]:
        raise StoreError(f"{index.path} was not finished; add its documents to it again.")
    if subject.over == "index":
        _check_gold(index, subject)
        return
    wanted = experiment.embed
    if wanted is not None and set(held["settings"]["embed"]) != set(wanted):
        raise OptionError(
            f"{index.path} embeds {', '.join(held['settings']['embed']) or 'nothing'}, and this run asks for "
            f"{', '.join(wanted)}. Ask for the same, or let the run make its own index."
        )
    if subject.over == "graph":
        if index.graph.checksum != (given := Graph.from_triples(subject.triples)).checksum:
            raise OptionError(
                f"{index.path} does not hold the graph of {subject.name}: there {index.graph}, and here {given}. "
                f"Let the run make its own index."
            )
        return
    _check_extractor(index, experiment, subject)
    differs = _difference(index.graph, subject.documents)
    if differs:
        raise OptionError(
            f"{index.path} does not hold the corpus of {subject.name}"
            f"{'' if experiment.titles else ' without titles'}: {differs}. Let the run make its own index."
        )


def _check_gold(index: Index, subject: Subject) -> None:
    """Check that the documents that questions name are there, but for one in a hundred."""
    passages = index.graph.passages
    for name, named in (("entities", "entities that"), ("gold", "documents that, as their gold_ids,")):
        wanted = {one for question in subject.questions for one in getattr(question, name, ())}
        if wanted and (name == "entities" or passages is None) and not any(len(index.graph.ids(one)) for one in wanted):
            raise OptionError(
                f"{index.path} holds none of the {len(wanted):,} {named} the questions name, such as "
                f"{min(wanted)!r}. Name the index that they are about."
            )
    if passages is not None:
        ids = set(passages.documents)
        remedy = f"Give the ids that documents have in {index.path}, such as {', '.join(map(repr, sorted(ids)[:3]))}."
        check_gold(subject.questions, ids, remedy=remedy)


def _check_extractor(index: Index, experiment: Experiment, subject: Subject) -> None:
    others = sorted(index.info()["extractors"].keys() - {subject.extractor.id})
    if others:
        raise OptionError(
            f"{index.path} was made with the extractor {', '.join(others)}, and extraction "
            f"{experiment.extraction!r} of this data is {subject.extractor.id}. Ask for the one that it was "
            f"made with, or let the run make its own index."
        )


def _difference(graph: Graph, documents: Sequence[Document]) -> str:
    """Say how the passages of a graph differ from the documents; nothing where they are the same."""
    known = {document.id: document for document in documents}
    passages = graph.passages
    held = set() if passages is None else set(passages.documents)
    if passages is None or held != known.keys():
        example = min(held ^ known.keys())
        return f"{len(held & known.keys())} of {len(known)} ids are the same; {example!r} is in one only"
    for row, node in enumerate(passages.nodes.tolist()):
        number = int(passages.document[row])
        document = known[passages.documents[number]]
        if passages.titles[number] != document.title:
            return f"document {document.id!r} has the title {passages.titles[number]!r} there"
        if graph.text(node) != document.text[int(passages.start[row]) : int(passages.end[row])]:
            return f"document {document.id!r} has another text there"
    return _links_difference(graph, passages, known)


def _links_difference(graph: Graph, passages: Passages, known: Mapping[str, Document]) -> str:
    """Say which link of the documents is not in the graph, or the other way round."""
    of = dict(zip(passages.nodes.tolist(), passages.documents.take(passages.document), strict=True))
    held = {(of[head], of[tail]) for head, tail in zip(*map(np.ndarray.tolist, graph.columns.references), strict=True)}
    there = set(of.values())  # without those that are nothing but space
    given = {
        (document.id, link)
        for document in known.values()
        for link in document.links
        if link != document.id and {link, document.id} <= there
    }
    if held != given:
        source, target = min(held ^ given)
        return f"that document {source!r} refers to {target!r} is in one only"
    return ""
