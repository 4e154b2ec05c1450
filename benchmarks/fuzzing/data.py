"""Targets of fuzzing: data sets, runs of an evaluation, trained retrievers, and options of models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

import numpy as np

from fuzzing.seeds import CELLS, JSON, SEPARATOR, TOML
from fuzzing.target import Target, kind, scratch, write
from graphwright.cli.options import _object
from graphwright.data.document import Skipped
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.run import run
from graphwright.graph.graph import Graph
from graphwright.index_folder.index import Index
from graphwright.learn.registry import load_retriever
from graphwright.learn.retriever import Checkpoint, read_checkpoint
from graphwright.models.fake import HashEncoder
from graphwright.models.openai.llm import _Call
from graphwright.models.openai.model import OpenAIEncoder
from graphwright.models.protocols import Cancellation, Usage
from graphwright.models.settings import LLMSettings, read_settings
from graphwright.operators.state import start
from graphwright.serve.settings import read_server_file

__all__ = ["targets"]

ENCODER = HashEncoder(8)
HOTPOTQA = b"""[{"_id": "a", "question": "Where?", "answer": "Legrad", "type": "bridge",
"supporting_facts": [["Mur", 0]], "context": [["Mur", ["It flows.", " It joins."]], ["Drava", ["It rises."]]]}]"""
TWOWIKI = b"""[{"_id": "a", "question": "Where?", "answer": "Legrad", "type": "x", "evidences": [["a", "b", "c"]],
"supporting_facts": {"title": ["Mur"], "sent_id": [0]}, "context": {"title": ["Mur"], "content": [["It flows."]]}}]"""
MUSIQUE = b"""{"id": "2hop__1_2", "question": "Where?", "question_decomposition": [{"id": 1}], "answer": "Legrad",
"answer_aliases": ["at Legrad"], "possible_answers": "[\\"a\\"]", "answerable": true,
"paragraphs": [{"idx": 0, "title": "Mur", "paragraph_text": "It flows.", "is_supporting": true}]}""".replace(
    b",\n", b","
)
BOOK = (
    b'{"input": "Where?", "context": "It flows. ' + b"It joins. " * 20 + b'", "answers": ["a"], "meta": {"title": "M"}}'
)
STORY = b"""{"document": "It flows.\\n\\nIt joins.", "metadata": {"passage_id": "1"},
"questions": [{"question_text": "Where?", "question_number": 1, "responses": [{"response_text": "A."}]}]}""".replace(
    b",\n", b","
)
GRAPHS = b"""{"id": "q", "question": "Where?", "answer": ["Mur"], "q_entity": ["Graz"], "a_entity": ["Mur"],
"graph": [["Graz", "lies on", "Mur"]]}""".replace(b",\n", b",")
OURS = SEPARATOR.join(
    (
        b'{"id": "a", "title": "Mur", "text": "It flows."}\n',
        b'{"id": "q", "question": "Where?", "answers": ["x"], "gold_ids": ["a"]}\n',
    )
)
BEIR = SEPARATOR.join(
    (
        b'{"_id": "a", "title": "Mur", "text": "It flows."}\n',
        b'{"_id": "q", "text": "Where?"}\n',
        b"query-id\tcorpus-id\tscore\nq\ta\t1\n",
    )
)
FOLDERS = {
    "beir": ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"),
    "ours": ("corpus.jsonl", "questions.jsonl"),
    "hipporag": ("a_corpus.json", "a.json"),
    "metaqa": ("kb.txt", "qa.txt"),
}
HIPPORAG = SEPARATOR.join((b'[{"title": "Mur", "text": "It flows."}]', MUSIQUE))
METAQA = SEPARATOR.join((b"Graz|lies on|Mur\n", b"what does [Graz] lie on\tMur\n"))
SERVER = b"""host = "127.0.0.1"
port = 8000
allowed_hosts = ["a"]
timeout = 5.0
[llm]
model = "m"
[[model_servers]]
key = "A_KEY"
base_url = "http://a/v1"
[folders.cities]
reports = "/a"
"""


ROW = b"""{"method": "bm25", "question": "q", "type": "", "hops": null, "answers": 1, "entities": 0, "gold": ["a"],
"documents": [["a", 0.5]], "evidence": [{"text": "x", "score": 1.0}], "metrics": {"recall@5": 1.0}, "seconds": 0.1,
"answer": null, "model_seconds": 0.0, "texts": 0, "tokens": 0, "calls": 0, "prompt_tokens": 0, "completion_tokens": 0,
"cost": 0.0, "steps": [{"operator": "a", "seconds": 0.1, "held": 1.0}]}
""".replace(b",\n", b",")


def dataset(name: str, data: bytes) -> str:
    """Read a data set of one file."""
    return _subject(write(name, data))


def folder(name: str, data: bytes) -> str:
    """Read a data set of several files."""
    place = scratch() / f"set-{name}"
    shutil.rmtree(place, ignore_errors=True)
    for file, part in zip(FOLDERS[name], data.split(SEPARATOR), strict=False):
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        (place / file).write_bytes(part)
    return _subject(place)


def _subject(path: Path) -> str:
    subject = Experiment(path, ("bm25",)).read()
    json.dumps([subject.remarks, [question.metadata for question in subject.questions]])
    for text in (*subject.remarks, *(document.text for document in subject.documents)):
        text.encode()
    return f"{subject.over} {min(len(subject.questions), 3)} {min(len(subject.documents), 3)} {subject.primary}"


@cache
def experiment() -> tuple[Experiment, Path, bytes]:
    """Return an experiment, the folder of its finished run, and its manifest."""
    data, out = scratch() / "experiment", scratch() / "run"
    data.mkdir()
    for name, rows in zip(FOLDERS["ours"], OURS.split(SEPARATOR), strict=True):
        (data / name).write_bytes(rows)
    plan = Experiment(data, ("bm25", "vector"), answered=False)
    run(plan, out, encoder=ENCODER)
    return plan, out, (out / "manifest.json").read_bytes()


def rows(data: bytes) -> str:
    """Resume a run whose rows are edited."""
    plan, out, manifest = experiment()
    (out / "manifest.json").write_bytes(manifest)
    (out / "results.jsonl").write_bytes(data)
    summary = run(plan, out, encoder=ENCODER)
    return str([method["questions"] for method in summary["methods"].values()])


def manifest(data: bytes) -> str:
    """Resume a run whose manifest is edited."""
    plan, out, _ = experiment()
    (out / "results.jsonl").write_bytes(ROW)
    (out / "manifest.json").write_bytes(data)
    return str(len(run(plan, out, encoder=ENCODER)["methods"]))


@cache
def graph_index() -> Index:
    """Return the index of a small graph."""
    graph = Graph.from_triples([("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava")])
    return Index.from_graph(scratch() / "retriever-graph", graph, encoder=ENCODER)


@cache
def checkpoint() -> bytes:
    """Return the file of a retriever with random weights."""
    rng, path = np.random.default_rng(1), scratch() / "retriever.npz"
    shapes = {"relation": (8, 16), "question": (8, 8), "start": (8,), "carry": (8, 8), "step": (8, 8), "again": (8, 8)}
    shapes |= {"bias": (8,), "write": (8, 8), "end weights": (8, 1), "end": (1,)}
    weights = {name: rng.random(shape, np.float32) for name, shape in shapes.items()}
    Checkpoint("path", weights, {"encoder": ENCODER.id, "dimension": 8, "length": 2, "names": False}).save(path)
    return path.read_bytes()


def retriever(data: bytes) -> str:
    """Search by the retriever of a file."""
    index = graph_index()
    loaded = load_retriever(read_checkpoint(write("edited.npz", data)), ENCODER)
    state = loaded.search(5)(start("What does Graz lie on?", index.graph, entities=["Graz"]))
    return str(state.evidence is not None and len(state.evidence))


def vectors(data: bytes) -> str:
    """Read the response of an encoder."""
    encoder = OpenAIEncoder("m", "http://localhost:1/v1", "sk-proj-0123456789")
    return str(encoder._rows(encoder._connection.endpoint.parsed(data), 2).shape)


def extra_body(data: bytes) -> str:
    """Read the option --extra-body, and make a request."""
    return _request(LLMSettings("m", "http://localhost:1/v1", extra_body=_object(data.decode("utf-8", "replace"))))


def settings(data: bytes) -> str:
    """Read settings.toml, and make a request."""
    read = read_settings(write("settings.toml", data))
    return "" if read is None else _request(read)


def _request(of: LLMSettings) -> str:
    model = of.llm("sk-proj-0123456789")
    model.id.encode()
    call = _Call(None, None, Cancellation(), lambda *_: None, Usage())
    body = model._body([("user", "Where?")], call, set())
    return str(len(json.dumps(body, allow_nan=False, ensure_ascii=False).encode()))


def server(data: bytes) -> str:
    """Read the settings of a server."""
    return str(read_server_file(write("server.toml", data)).is_loopback)


def openie(data: bytes) -> str:
    """Index documents with extractions of a file."""
    plan = Experiment(experiment()[0].data, ("bm25",), extraction="openie")
    (Path(plan.data) / "openie.jsonl").write_bytes(data)
    skipped = plan.read().skipped
    return f"{min(len(skipped), 3)} {sorted({kind(item.reason) for item in skipped if isinstance(item, Skipped)})[:3]}"


def targets() -> Iterable[Target]:
    """Yield the targets."""
    for name, file, seeds in (
        ("hotpotqa", "hotpotqa.json", (HOTPOTQA, TWOWIKI)),
        ("musique", "musique.jsonl", (MUSIQUE, BOOK, STORY)),
        ("rog", "rog.jsonl", (GRAPHS,)),
    ):
        yield Target(name, partial(dataset, file), seeds, JSON)
    for name, seed in (("beir", BEIR), ("ours", OURS), ("hipporag", HIPPORAG), ("metaqa", METAQA)):
        yield Target(name, partial(folder, name), (seed,), (*JSON, *CELLS, SEPARATOR))
    yield Target("extra-body", extra_body, (b'{"top_p": 0.9, "a": {"b": [1, true, null, "x"]}}',), JSON)
    yield Target(
        "settings",
        settings,
        (
            b'[llm]\nmodel = "m"\nbase_url = "http://a/v1"\ntimeout = 5.0\n',
            b'[llm]\nmodel = "m"\n[llm.extra_body]\na = [1, "x"]\n',
        ),
        TOML,
    )
    yield Target("server-file", server, (SERVER,), TOML)
    yield Target(
        "vectors", vectors, (b'{"data": [{"index": 0, "embedding": [0.5]}, {"index": 1, "embedding": [1]}]}',), JSON
    )
    yield Target("retriever", retriever, lambda: (checkpoint(),), (b"PK\x01\x02", b"\x93NUMPY"))
    yield Target("openie-run", openie, (b'{"id": "a", "entities": ["Mur"], "triples": [["a", "b", "c"]]}\n',), JSON)
    yield Target("manifest", manifest, lambda: (experiment()[2],), JSON)
    yield Target("rows", rows, (ROW, ROW.replace(b"bm25", b"vector")), JSON)
