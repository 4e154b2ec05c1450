"""The part `asked` of `formats.py`: a folder with files of all formats, indexed by one command, and asked about."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import Record, table
from sources.formats_made import MADE
from sources.packages import Source, Unavailable, fetched, read_sources, unpacked

from graphwright import Index
from graphwright.errors import OptionError
from graphwright.operators.state import Citation

FOLDER = Path(__file__).parents[1] / "formats"
SOURCES = (FOLDER / "sources.toml", FOLDER / "asked.toml")


@dataclass(frozen=True)
class Question:
    """A question about a file of a format, with the words that an answer must cite, and where they are."""

    format: str
    question: str
    documents: tuple[str, ...]
    place: str
    span: str

    @property
    def file(self) -> str:
        """The file of the folder that the question is about."""
        return self.documents[0]


def questions(name: str = "asked.jsonl") -> list[Question]:
    """Return the questions of a file."""
    rows = map(json.loads, (FOLDER / name).read_text("utf-8").splitlines())
    return [Question(**{**row, "documents": tuple(row["documents"])}) for row in rows]


def written_folder(work: Path) -> tuple[Path, list[str]]:
    """Write the folder, and return it with the names of the files whose package is not served."""
    sources = {source["name"]: source for path in SOURCES for source in read_sources(path)}
    folder, missing = work / "asked" / "folder", []
    shutil.rmtree(folder, ignore_errors=True)
    for entry in tomllib.loads((FOLDER / "asked.toml").read_text("utf-8"))["file"]:
        try:
            _write(entry, sources[entry["source"]], folder / entry["name"], work)
        except Unavailable as error:
            print(f"left out: {error}", file=sys.stderr)
            missing.append(entry["name"])
    return folder, missing


def _write(entry: Mapping[str, Any], source: Source, target: Path, work: Path) -> None:
    """Write a file of the folder, or the files of a folder in it."""
    package, made = fetched(source, work / "packages"), entry.get("made")
    target.parent.mkdir(parents=True, exist_ok=True)
    if made == "package":
        shutil.copyfile(package, target)
        return
    base = work / "unpacked" / source["name"]
    if not base.exists():
        unpacked(package, base)
    matches = [sorted(base.glob(pattern)) for pattern in entry["paths"]]
    if not all(matches):
        raise Unavailable(f"{entry['name']}: {source['name']} lacks one of {', '.join(entry['paths'])}")
    paths = [match[0] for match in matches]
    if made:
        MADE[made](paths, target)
        return
    for path in paths:
        into = target / path.name if entry["name"].endswith("/") else target
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, into)


def indexed(folder: Path, into: Path) -> tuple[int, str]:
    """Index a folder by the command; return its exit status and what it says."""
    shutil.rmtree(into, ignore_errors=True)
    command = [sys.executable, "-m", "graphwright", "index", str(folder), "--into", str(into)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stderr


def spans_of(text: str, words: str) -> list[tuple[int, int]]:
    """Return where words stand in a text, white space aside."""
    at = [number for number, character in enumerate(text) if not character.isspace()]
    plain, wanted = "".join(text[number] for number in at), "".join(words.split())
    found, start = [], plain.find(wanted)
    while start >= 0:
        found.append((at[start], at[start + len(wanted) - 1] + 1))
        start = plain.find(wanted, start + 1)
    return found


def placed(index: Index, question: Question) -> dict[str, list[tuple[int, int]]]:
    """Return the spans of the words in each document in which they stand at their place."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for document in question.documents:
        with suppress(OptionError):  # of a document that the index lacks
            places = index.places(document)
            for start, end in spans_of(index.text(document), question.span):
                if (places.of(start, end) if places else "").partition(" of ")[0] == question.place:
                    spans.setdefault(document, []).append((start, end))
    return spans


def cited(citations: Sequence[Citation], spans: Mapping[str, Sequence[tuple[int, int]]]) -> Citation | None:
    """Return the first citation of the words at their place."""
    for citation in citations:
        for start, end in spans.get(citation.document, ()):
            if citation.start < end and start < citation.end:
                return citation
    return None


def _exact(index: Index, citation: Citation, question: Question, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a citation names the place of the words alone; of source code, their definition."""
    places = index.places(citation.document)
    if places is None or places.kind != "line":
        return citation.location == question.place
    section = places.section(citation.start, citation.end)
    return any(section == places.section(*span) for span in spans)


def ask(index: Index, question: Question) -> Record:
    """Ask a question; return whether its words are in the index at their place, retrieved, and cited."""
    spans, state = placed(index, question), index.ask(question.question)
    answer, passages = state.answer, list(state.passages or ())
    citation = cited(answer.citations if answer else (), spans)
    retrieved = any(
        passage.start < end and start < passage.end
        for passage in passages
        for start, end in spans.get(passage.document, ())
    )
    return {
        "format": question.format,
        "question": question.question,
        "placed": bool(spans),
        "retrieved": retrieved,
        "cited": citation is not None,
        "exact": citation is not None and _exact(index, citation, question, spans[citation.document]),
        "short": list(answer.short) if answer else [],
        "text": answer.text[:300] if answer else "",
        "citations": [f"{c.document} {c.location}".strip() for c in answer.citations] if answer else [],
    }


COUNTED = ("placed", "retrieved", "cited", "exact")


def measure_asked(options: Namespace) -> Record:
    """Index the folder, and ask all questions about files that are there."""
    work = options.work / "formats"
    folder, missing = written_folder(work)
    status, told = indexed(folder, work / "asked" / "index")

    def asked(name: str) -> list[Record]:
        present = [q for q in questions(name) if not any(q.file.startswith(lost) for lost in missing)]
        return [ask(index, question) for question in present]

    with Index.open(work / "asked" / "index") as index:
        rows, later, documents = asked("asked.jsonl"), asked("asked_later.jsonl"), index.documents
    record = {"status": status, "told": told if status else "", "missing": missing, "documents": documents}
    return record | {"rows": rows, "later": later}


def asked_page(results: Record) -> str:
    """Return the table of a format a line, and the questions without their citation."""
    counts: dict[str, Counter[str]] = {}
    for row in results["rows"]:
        of = counts.setdefault(row["format"], Counter())
        of.update(["questions", *(name for name in COUNTED if row[name])])
    of = sum(counts.values(), Counter())
    later = Counter({name: sum(row[name] for row in results["later"]) for name in COUNTED})
    later["questions"] = len(results["later"])
    named = [*counts.items(), ("all", of), ("asked later", later)]
    lines = [[form, *(c[name] for name in ("questions", *COUNTED))] for form, c in named]
    lost = [
        f"- {row['format']}: {row['question']} ({'retrieved' if row['retrieved'] else 'not retrieved'}; cited: "
        f"{', '.join(row['citations']) or 'nothing'})"
        for row in results["rows"] + results["later"]
        if not row["cited"]
    ]
    parts = [
        "## Questions about a folder with all formats",
        f"{results['documents']:,} documents, by one command. Placed: the words asked for are in the text at the page, "
        "slide, cells, part or line where they stand in the file. Retrieved: they are in one of the passages. Cited: a "
        "citation covers them; exact: its location is this place alone; of source code, the definition around the "
        "words. Causes of failures were mended until these questions were answered. Those asked later, two a format, "
        "were then written from passages drawn by chance, before any of them was asked.",
        table(["format", "questions", *COUNTED], lines),
        "Not cited:",
        "\n".join(lost) or "none",
    ]
    return "\n\n".join(parts)
