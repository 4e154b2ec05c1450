"""Index: a folder to which documents are added and questions are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from graphwright.errors import OptionError, StoreError
from graphwright.extract.extraction import Excerpt, Extractor
from graphwright.extract.extractors import extractor_of
from graphwright.extract.llm import GenerativeExtractor
from graphwright.extract.schema import NO_SCHEMA, Schema
from graphwright.index_folder.asking import IndexAsking
from graphwright.index_folder.editing import IndexEditing
from graphwright.index_folder.snapshot_reader import SnapshotReader
from graphwright.index_folder.writing import checked_path, is_address
from graphwright.models.cache import CachedEncoder
from graphwright.models.protocols import NamedEncoder
from graphwright.models.registry import EMBEDDED, encoder_of
from graphwright.store.changes import Changes, Progress
from graphwright.store.folder_creation import clean_creation
from graphwright.store.layout import GRAPH, NEXT, IndexLayout
from graphwright.store.settings import Settings
from graphwright.store.store import Store

if TYPE_CHECKING:
    from graphwright.build.creation import GraphSource
    from graphwright.build.operation import Batch

GivenEncoder = NamedEncoder | str | Callable[..., Any] | None


class Index(IndexEditing, IndexAsking):
    """Documents, the graph made of them, and answers.

    `Index(path)` opens an index, or creates one if the folder is new or empty. Queries map the current snapshot and
    never wait for indexing; a new snapshot is written completely and then made current atomically.

    >>> import tempfile; from graphwright.models.fake import HashEncoder
    >>> index = Index(Path(tempfile.mkdtemp()) / "cities", encoder=HashEncoder())
    >>> _ = index.add([{"id": "graz", "title": "Graz", "text": "Graz lies on the Mur in Styria."}])
    >>> answer = index.ask("On which river does Graz lie?").answer
    >>> answer.citations[0].document, answer.citations[0].start, answer.citations[0].end
    ('graz', 0, 31)
    """

    def __new__(cls, path: str | Path = "", **_: Any) -> Self:
        """Return an object of the class for indexes in shards, which is a subclass, for an address `ray://FOLDER`."""
        if cls is Index and is_address(path):
            from graphwright.index_folder.shards.sharded_index import ShardedIndex

            return object.__new__(ShardedIndex)  # type: ignore[return-value]
        return object.__new__(cls)

    def __init__(
        self,
        path: str | Path,
        *,
        encoder: GivenEncoder = None,
        extractor: Extractor | str | None = None,
        settings: Settings | None = None,
        schema: Schema | None = None,
        follow: bool = True,
    ) -> None:
        """Open an index, or create one in a new or empty folder.

        `encoder`: a name (see graphwright.models.registry), an encoder with an id, or a function of a list of texts. An
        existing index needs the encoder that it was created with, which is the default; the default of a new index is
        the embedded MiniLM. `extractor`: of the documents that are added from now on, an extractor or its name:
        mentions (default with the embedded encoder) or rules (default with others). `settings`: of a new index.
        `schema`: the types of entities and relations that extraction looks for, in a new index; later changes keep to
        it, and `reextract` replaces it. `follow`: whether the first query after a change opens the new snapshot;
        otherwise queries use the opened one until `refresh`. `path` may be the address `ray://FOLDER` of an index in
        shards (docs/shards.md). Raises StoreError for a folder that cannot be used.
        """
        layout = IndexLayout(checked_path(path))
        if not layout.store.exists():
            from graphwright.build.creation import create_index  # a process that only asks does not need it

            layout = create_index(layout.path, encoder, settings or Settings(), schema=schema or NO_SCHEMA)
            settings = schema = None
        self.path = layout.path
        self._layout = layout
        prompts = layout.prompts  # raises OptionError before anything is opened
        self._store = Store(layout.store)
        self._encoder = encoder_of(encoder if encoder is not None else self._store.setting("encoder name") or EMBEDDED)
        self._extractor = extractor_of(extractor, self._encoder)
        if isinstance(self._extractor, GenerativeExtractor) and prompts.replaced:
            self._extractor = replace(self._extractor, prompts=prompts)
        cached = CachedEncoder(self._encoder, expression="ix.encoder")
        self._reader = SnapshotReader(layout, self._store, cached, follow=follow)
        self._reported = -1  # the revision up to which changes are known to have succeeded
        self._batch: Batch | None = None
        self._resumed = False
        self._closed = False
        self._given: dict[str, Any] = {"encoder": encoder, "extractor": extractor}
        if self.encoder != self._encoder.id:
            name = self.encoder
            self.close()
            raise StoreError(
                f"{self.path} was written with the encoder {name!r}, and opened with {self._encoder.id!r}. Their "
                f"vectors cannot be compared: open it with the encoder that it was written with, or encode it again: "
                f"graphwright rebuild --index {self.path} --encoder NAME."
            )
        if settings is not None and settings != (stored := self.settings):
            self.close()
            raise OptionError(f"{self.path} was created with {stored}, not {settings}. Use a new folder.")
        if schema is not None and schema != self.extraction_schema:
            self.close()
            raise OptionError(f"{self.path} has another schema. Replace it: index.reextract(schema=…)")
        clean_creation(layout, self._store.setting(GRAPH))
        if self._reader.interrupted() or self._store.setting(NEXT):
            self._resume()

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        encoder: GivenEncoder = None,
        extractor: Extractor | str | None = None,
        settings: Settings | None = None,
        schema: Schema | None = None,
    ) -> Index:
        """Create an empty index in a new or empty folder. Arguments as in `Index`; raises StoreError for others."""
        from graphwright.build.creation import create_index

        layout = create_index(Path(path), encoder, settings or Settings(), schema=schema or NO_SCHEMA)
        return cls(layout.path, encoder=encoder, extractor=extractor)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        encoder: GivenEncoder = None,
        extractor: Extractor | str | None = None,
        follow: bool = True,
    ) -> Index:
        """Open an index. Arguments as in `Index`; raises StoreError if there is none."""
        folder = checked_path(path)
        if is_address(path):
            return cls(path, encoder=encoder, extractor=extractor, follow=follow)
        if not folder.is_dir():
            problem, into = "is not an index folder", str(folder)
            if folder.is_file():
                problem, into = "is a file, and an index is a folder", "NEW-FOLDER"
            raise StoreError(f"{folder} {problem}. Make one: graphwright index PATH --into {into}")
        if not IndexLayout(folder).store.exists() and IndexLayout(folder / "index").store.exists():
            raise StoreError(f"{folder} is the folder of an evaluation; its index is {folder / 'index'}.")
        Store(IndexLayout(folder).store).close()  # raises StoreError if there is none
        return cls(folder, encoder=encoder, extractor=extractor, follow=follow)

    @classmethod
    def from_graph(
        cls,
        path: str | Path,
        source: GraphSource,
        *,
        names: Sequence[str | Path] = (),
        max_malformed: int | None = None,
        embed: Sequence[str] | None = None,
        encoder: GivenEncoder = None,
        reports: bool = False,
        progress: Progress | None = None,
    ) -> Index:
        """Create an index of a knowledge graph, or of another system's index, in a new or empty folder.

        `source`: a graph; files of triples (TSV, CSV, RDF or Parquet, text also packed with gzip; `dump_of` describes
        one further), which may be larger than memory; files of a property graph (GraphML, GEXF, GML, JSON, Neo4j); or
        the folder of Microsoft GraphRAG 2 or 3 or of LightRAG, of which documents, entities and relationships are read.
        docs/graphs.md describes them. `names`: files with an id and a name in each row, for nodes and relations.
        `max_malformed`: the number of rows that may be left out, by default 100, and one in ten of a file; with more,
        no index is created. `embed`: which of names, triples and passages (a node's triples as text) are embedded; by
        default names, if the graph has at most 50,000 nodes, and triples, if it has at most 50,000. `reports`:
        community reports are documents too. `info()["source"]` has the counts and remarks.

        Every method runs on it, and its nodes take the place of passages. Documents that are added to it are linked
        with it by entity names, and its nodes are then passages too.

        >>> import tempfile; from graphwright import Graph; from graphwright.models.fake import HashEncoder
        >>> graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava")])
        >>> index = Index.from_graph(Path(tempfile.mkdtemp()) / "rivers", graph, encoder=HashEncoder())
        >>> index.ask("What does the Mur flow into?", method="lego-1").answer.text.splitlines()[-1]
        'Drava'
        """
        from graphwright.build.creation import create_from

        folder = create_from(
            Path(path),
            source,
            names=names,
            max_malformed=max_malformed,
            embed=embed,
            encoder=encoder,
            reports=reports,
            progress=progress,
        )
        return cls(folder, encoder=encoder)

    @staticmethod
    def rebuild(
        path: str | Path,
        encoder: GivenEncoder = None,
        progress: Progress | None = None,
        *,
        extractor: Extractor | str | None = None,
        **settings: Any,
    ) -> Changes:
        """Build the graph and the vectors of an index again, with another encoder or other settings of it.

        The files are not needed. The index answers as before until the new one is complete; an interruption changes
        nothing. `settings`: fields of `Settings`. With `chunk_tokens` or `overlap` all texts are divided again. Chunks
        that are as before keep what was extracted; the others are read by `extractor`, by default the one that read the
        document. Where a language model had read it, they also wait for one (`Changes.pending`); `chunks_to_rebuild`
        returns them for an estimate. An imported graph keeps what was read from its files.
        """
        from graphwright.build.rebuild import rebuild

        made = None if extractor is None else extractor_of(extractor)
        return rebuild(IndexLayout(checked_path(path)), encoder, made, progress, **settings)

    @staticmethod
    def chunks_to_rebuild(path: str | Path, encoder: GivenEncoder = None, **settings: Any) -> list[Excerpt]:
        """Return the chunks that a language model would have to read again after `rebuild`; writes nothing."""
        from graphwright.build.rebuild import paid_chunks

        return paid_chunks(IndexLayout(checked_path(path)), encoder, **settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the path, with the encoder and the extractor that were given."""
        return partial(Index.open, self.path.absolute(), **self._given), ()

    def __repr__(self) -> str:
        if self._closed:
            return f"Index({str(self.path)!r}, closed)"
        if self.imported is not None and not self.documents:
            nodes, edges = len(self.graph), len(self.graph.edges)
            return f"Index({str(self.path)!r}, graph of {nodes:,} nodes and {edges:,} edges)"
        documents, chunks = self._store.counts()
        return f"Index({str(self.path)!r}, {documents:,} documents, {chunks:,} chunks)"
