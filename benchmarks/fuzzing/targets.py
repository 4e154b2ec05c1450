"""Targets of fuzzing: every parser, the command line, and questions; each takes bytes and checks its promises.

A target may raise graphwright's own errors only. It returns a short text about the outcome, by which new ones are
recognised.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from unittest import mock

from pydantic import BaseModel

from fuzzing import data as fuzz_data
from fuzzing import formats as fuzz_formats
from fuzzing import graphs as fuzz_graphs
from fuzzing import server as fuzz_server
from fuzzing.formats import documents
from fuzzing.seeds import (
    ASKED,
    CELLS,
    COMMANDS,
    DELTA,
    DOCX,
    DOCX_SEED,
    EPUB,
    JSON,
    LABELS,
    MARKS,
    ODT,
    ODT_SEED,
    OPF_SEED,
    PAGE,
    PDF,
    ROWS,
    SIGNS,
    TOML,
    WHOLE,
    WORDS,
    same,
    zipped,
)
from fuzzing.target import KEY, Target, kind, scratch, write
from graphwright.cli.app import main
from graphwright.cli.terminal import clean
from graphwright.data.document import Skipped
from graphwright.data.question_sets.graph_questions import read_graph_questions, read_triples
from graphwright.data.question_sets.questions import read_questions
from graphwright.data.records.openie import read_openie
from graphwright.errors import ModelError
from graphwright.evaluate.entries import options_in
from graphwright.evaluate.experiment import read_plan
from graphwright.graph.graph import Graph
from graphwright.index_folder.index import Index
from graphwright.learn.labels import read_labels
from graphwright.models.fake import HashEncoder
from graphwright.models.openai.errors import Endpoint, Secret
from graphwright.models.openai.llm import IncomingReply
from graphwright.models.structured import parse_reply

__all__ = ["TARGETS", "Target"]

DOCUMENTS = [
    {"id": "graz", "title": "Graz", "text": "Graz lies on the Mur in Styria. It was founded in 1128."},
    {"id": "mur", "title": "Mur", "text": "The Mur flows into the Drava at Legrad."},
]
TRIPLES = [("Graz", "lies on", "Mur"), ("Mur", "flows into", "Drava")]
NOT_FUZZED = {"serve", "mcp", "keys", "demo", "doctor", "train", "evaluate"}  # they wait, or take long


def read_all(read: Callable[[Path], Iterable[object]], name: str, data: bytes) -> str:
    """Read a file to its end."""
    return str(min(len(list(read(write(name, data)))), 3))


def plan(data: bytes) -> str:
    """Read the plan of an experiment."""
    return str(len(read_plan(write("plan.toml", data)).methods))


def labels(data: bytes) -> str:
    """Read labels of training."""
    graph = Graph.from_triples(TRIPLES)
    data = data.replace(b'"graph": ""', f'"graph": "{graph.columns.checksum}"'.encode())
    return str(len(read_labels(write("labels.jsonl", data), graph).summary()))


class Place(BaseModel):
    """A schema of replies."""

    name: str
    found: bool = False
    parts: list[str] = []


def structured(data: bytes) -> str:
    """Read a reply by its schema."""
    return type(parse_reply(Place, data.decode("utf-8", "replace"))).__name__


def reply(stream: bool, data: bytes) -> str:
    """Read the response of a server, in pieces."""
    parts: list[str] = []
    read = IncomingReply(Endpoint("m", "http://localhost:1/v1", Secret(KEY)), parts.append if stream else None)
    try:
        read.read(iter([data[at : at + 7] for at in range(0, len(data), 7)]))
    except ModelError as error:
        assert KEY not in str(error) + str(vars(error))
        return f"{type(error).__name__}: {kind(str(error))}"
    read.text.encode()
    assert KEY not in read.text and KEY not in "".join(parts)
    assert 0 <= read.prompt_tokens < 10**10 and len(read.finish) <= 40
    return f"{bool(read.text)} {read.finish[:10]}"


@cache
def indexes() -> tuple[Index, Index]:
    """Return an index of documents and one of a graph."""
    first = Index.create(scratch() / "documents", encoder=HashEncoder())
    first.add(DOCUMENTS)
    return first, Index.from_graph(scratch() / "graph", Graph.from_triples(TRIPLES), encoder=HashEncoder())


def question(data: bytes) -> str:
    """Ask both indexes."""
    states = [index.ask(data.decode("utf-8", "replace")) for index in indexes()]
    assert all(json.dumps(state.to_dict()) for state in states)
    return str([state.answer is not None and state.answer.found for state in states])


def options(data: bytes) -> str:
    """Read the options of a method."""
    return str(len(options_in(data.decode("utf-8", "replace"))))


def terminal(data: bytes) -> str:
    """Clean a text for the terminal."""
    text = clean(data.decode("utf-8", "replace"))
    assert clean(text) == text and not set(text) & set("\x00\x07\x08\r\x1b\x9b\x7f\u202e\u2066\u200b")
    return ""


@cache
def sandbox() -> Path:
    """Return a folder with documents, a graph and an index, in which commands run."""
    folder = scratch() / "commands"
    folder.mkdir()
    (folder / "a.txt").write_text(DOCUMENTS[0]["text"])
    (folder / "kb.tsv").write_text("Graz\tlies on\tMur\n")
    with Index.create(folder / "index", encoder="minilm") as index:
        index.add(DOCUMENTS)
    return folder


def command(data: bytes) -> str:
    """Run a command line; its arguments are separated by zero bytes."""
    arguments = data.decode("utf-8", "replace").split("\0")
    if not arguments or arguments[0] in NOT_FUZZED or any("/" in a or ".." in a for a in arguments):
        return "not run"
    if any(argument.startswith(("--llm", "--encoder", "--extractor")) for argument in arguments):
        return "not run"
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    before, code = Path.cwd(), 0
    os.chdir(sandbox())
    try:
        with mock.patch.dict(os.environ, {"GRAPHWRIGHT_TRACEBACK": "1"}), redirect_stdout(out), redirect_stderr(err):
            main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os.chdir(before)
    shown, told = (stream.buffer.getvalue().decode() for stream in (out, err))
    assert code in (0, 1, 2) and clean(shown + told) == shown + told
    assert code == 0 or told or (shown and arguments[0] == "verify")
    if "--json" in arguments and code == 0 and "--help" not in arguments and "--version" not in arguments:
        [json.loads(line) for line in shown.splitlines()]
    return f"{arguments[0]} {code} {kind(told)[:60]}"


def _documents() -> Iterable[Target]:
    for suffix, seeds, parts in (
        (".txt", (b"Graz lies on the Mur.",), MARKS),
        (".md", (b"# Graz\n\nGraz *lies* on the [Mur](mur.md).\n",), MARKS),
        (".html", (b"<title>Graz</title><p>Graz <a href=x>lies</a> on the Mur.", PAGE), MARKS),
        (".jsonl", (ROWS,), JSON),
        (".json", (b"[" + ROWS + b"]", ROWS), JSON),
        (".csv", (b"id,text\na,Graz lies on the Mur.\n",), CELLS),
        (".tsv", (b"id\ttext\na\tGraz lies on the Mur.\n",), CELLS),
        (
            ".ipynb",
            (
                b'{"cells": [{"cell_type": "markdown", "source": ["# Graz"]}], "metadata": {}}',
                b'{"worksheets": [{"cells": []}]}',
            ),
            JSON,
        ),
        (".eml", (b"From: a@b.c\nSubject: Graz\nContent-Type: text/plain\n\nGraz lies on the Mur.\n",), MARKS),
        (".rst", (b"Graz\n====\n\nGraz lies on the `Mur <mur>`_.\n",), MARKS),
        (".adoc", (b"= Graz\n\nGraz lies on the Mur.\n",), MARKS),
        (".py", (b'"""Rivers."""\n\n\ndef mur():\n    """Return the Mur."""\n',), MARKS),
        (".pdf", (PDF,), MARKS),
    ):
        yield Target(suffix[1:], partial(documents, f"file{suffix}", same), seeds, parts)
    for name, pack, seed in (("odt", ODT, ODT_SEED), ("epub", EPUB, OPF_SEED), ("docx", DOCX, DOCX_SEED)):
        yield Target(
            name, partial(documents, f"file.{name}", pack), (seed,), (b"<", b"&a;", b"<a>" * 5000, b"<!DOCTYPE a>")
        )
    yield Target("zip", partial(documents, "file.zip", same), (ODT(ODT_SEED), zipped({}, "a.txt", b"Graz.")), MARKS)


def _targets() -> Iterable[Target]:
    for suffix, seeds in (
        ("tsv", (b"Graz\tlies on\tMur\n" * 3,)),
        ("csv", (b"head,relation,tail\nGraz,lies on,Mur\n",)),
        ("nt", (b'<http://a/Graz> <http://a/on> "Mur"@en .\n', fuzz_graphs.PARTS_SEED)),
    ):
        yield Target(f"import-{suffix}", partial(fuzz_graphs.imported, suffix), seeds, CELLS)
    for name, read, file, seed in (
        ("questions", read_questions, "questions.jsonl", ASKED),
        ("graph-questions", read_graph_questions, "questions.jsonl", ASKED),
        ("triples", read_triples, "kb.txt", b"Graz|lies on|Mur\n"),
        (
            "openie",
            partial(read_openie, skip=list[Skipped]().append),
            "openie.jsonl",
            b'{"id": "a", "triples": [["a","b","c"]]}',
        ),
    ):
        yield Target(name, partial(read_all, read, file), (seed,), (*JSON, *CELLS))
    yield Target("plan", plan, (b'data = "a"\nmethods = ["ppr(restart=0.5)"]\nseed = 1\n',), TOML)
    yield Target("labels", labels, (LABELS,), JSON)
    yield Target(
        "structured", structured, (b'Here: {"name": "Graz", "found": true, "parts": []}',), (*JSON, b"<think>")
    )
    yield Target(
        "reply", partial(reply, False), (WHOLE, b'{"error": {"message": "sk-proj-0123456789"}}'), (*JSON, KEY.encode())
    )
    yield Target("stream", partial(reply, True), (DELTA + b"data: [DONE]\n\n", WHOLE), (*JSON, DELTA, KEY[:9].encode()))
    yield Target(
        "question", question, (b"On which river does Graz lie?",), (b'"Mur" ', b"which ", b"\xe6\x9d\xb1", b"(", b"1,")
    )
    yield Target("options", options, (b"restart=0.5, top_k=40",), SIGNS)
    yield Target(
        "terminal", terminal, ("\x1b[31mred\u202e می\u200cخواهم".encode(),), (b"\x1b", b"[", b"\xc2\x9b", b"0m")
    )
    yield Target("command", command, COMMANDS, (*(b"\0" + word for word in WORDS), *WORDS))


_PARTS = (_documents, _targets, fuzz_data.targets, fuzz_formats.targets, fuzz_graphs.targets, fuzz_server.targets)
TARGETS = {target.name: target for targets in _PARTS for target in targets()}
"""The targets by name."""
