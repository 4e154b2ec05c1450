"""Make a data set per language of the translated pages of Debian's packages, with questions taken out of the pages.

A page loses what is asked for: the line that describes it (manual pages) or its title (HTML), and one sentence. So a
question of the type `description` or `sentence` is in the language of the page and occurs nowhere in it, and one of
the type `english` is the description of the English original. Nothing is chosen by looking at a page: pages and
sentences are drawn by the checksum of their names. Line breaks of manual pages are paragraphs, as on an endless line.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from harness import Record

from graphwright.data.formats.html import html_text
from sources.packages import Source, fetched, printed, unpacked

MAX_PAGES = 240  # of a language
MAX_CHARACTERS = 8000  # of a page, half as many of a script with wide characters
MIN_CHARACTERS = 600
_NAME = re.compile(r"\s+(?:-|–|—|－|\\-)\s+")
_SECTIONS = "15678"
_STOPS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।؟])\s*")
_CHAPTER = re.compile(r"^[\d.\s]+")
_LATIN = re.compile(r"[A-Za-z]")
_LETTER = re.compile(r"[^\W\d_]")
_WIDE = re.compile("[\u3041-\u30ff\u3400-\u9fff]")


class Page(NamedTuple):
    """A page of a package: its name, the same in all languages, its title, what describes it, and the rest."""

    name: str
    title: str
    description: str
    text: str


def page_files(source: Source, work: Path) -> dict[str, Path]:
    """Return the files of a package's pages by name. Raises Unavailable where the package is not served."""
    folder = work / "unpacked" / f"{source['package']}-{source['version']}".replace(":", "-")
    if not folder.exists():
        unpacked(fetched(source, work / "packages"), folder)
    base = folder / source["base"]
    files = sorted(base.glob(f"man[{_SECTIONS}]/*.gz" if source["form"] == "man" else "**/*.html"))
    return {file.relative_to(base).as_posix(): file for file in files if not file.is_symlink()}


def read_page(name: str, path: Path) -> Page | None:
    """Return a page; None for one without a description, or that groff cannot render."""
    return _manual_page(path, name) if path.suffix == ".gz" else _html_page(path, name)


def _manual_page(path: Path, name: str) -> Page | None:
    try:
        text = printed(gzip.decompress(path.read_bytes()), "-rLL=9000n").decode("utf-8", "replace")
    except subprocess.CalledProcessError:
        return None
    lines = [re.sub(r"\s+", " ", line).rstrip() for line in text.splitlines()[1:-1]]
    headings = [at for at, line in enumerate(lines) if line and not line.startswith(" ")]
    if len(headings) < 2:
        return None
    _, _, description = _split(" ".join(lines[headings[0] + 1 : headings[1]]))
    text = "\n".join(line.strip() for line in lines[headings[1] :])
    return Page(name, path.name.split(".")[0], description, text) if description else None


def _split(line: str) -> tuple[str, str, str]:
    match = _NAME.search(line)
    return (line[: match.start()], match[0], line[match.end() :].strip()) if match else (line, "", "")


def _html_page(path: Path, name: str) -> Page:
    marked = html_text(path.read_text("utf-8"))
    title = _CHAPTER.sub("", marked.title).strip()
    lines = [line for line in marked.text.splitlines() if _CHAPTER.sub("", line).strip() != title]
    return Page(name, "", title, "\n".join(lines))


def write_dataset(
    language: Source, english: Sequence[Source], folder: Path, work: Path, max_pages: int = MAX_PAGES
) -> None:
    """Write the corpus and the questions of a language. `english`: the packages of the originals."""
    originals = {name: file for source in english for name, file in page_files(source, work).items()}
    corpus: list[Record] = []
    questions: list[Record] = []
    for name, file in sorted(page_files(language, work).items(), key=lambda item: _digest(item[0])):
        page = read_page(name, file) if len(corpus) < max_pages else None
        if page is None or not _is_translated(page.text, language):
            continue
        text, sentence = _held_out(page)
        corpus.append({"id": name, "title": page.title, "text": text})
        original = read_page(name, originals[name]) if name in originals else None
        in_english = original.description if original is not None else ""
        asked = {"description": page.description, "sentence": sentence, "english": in_english}
        questions += [
            {"id": f"{kind}:{name}", "question": text, "gold_ids": [name], "type": kind}
            for kind, text in asked.items()
            if len(text) > 2 and (kind != "description" or text != in_english)
        ]
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in (("corpus", corpus), ("questions", questions)):
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")


def _is_translated(text: str, language: Source) -> bool:
    """Return whether a page is long enough, and in a script of its own mostly written in it."""
    letters, latin = len(_LETTER.findall(text)), len(_LATIN.findall(text))
    own_script = language["name"] in ("ru", "uk", "hi", "ar", "ko", "zh", "ja")
    return len(text) >= MIN_CHARACTERS and (not own_script or latin < letters * 0.6)


def _held_out(page: Page) -> tuple[str, str]:
    """Return the text, cut, without one of its sentences, and that sentence; "" where there is none."""
    wide = len(_WIDE.findall(page.text)) * 4 > len(page.text)
    text = page.text[: MAX_CHARACTERS // (1 + wide)]
    candidates = [text[start:end] for start, end in _sentences(text) if 40 <= (end - start) * (1 + wide) <= 240]
    sentence = min(candidates, key=_digest, default="")
    return text.replace(sentence, " ") if sentence else text, sentence


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the sentences between two stops of one line, by a rule that is not that of the package."""
    start = 0
    for line in text.splitlines(keepends=True):
        ends = [start + match.start() for match in _STOPS.finditer(line.rstrip() + " ")]
        at = start
        for end in ends:
            while at < end and text[at].isspace():
                at += 1
            if text[at:end].count(" ") > 3 or not text[at:end].isascii():
                yield at, end
            at = end
        start += len(line)


def _digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()
