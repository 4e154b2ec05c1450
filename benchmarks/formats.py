"""Read several hundred real files of all formats, whole and damaged, and compare their text with other programs.

    python benchmarks/formats.py [--work FOLDER] [--only read asked damaged] [--seed 1]

The packages in `formats/sources.toml` are fetched through the clients of their registries and unpacked (see
`packages.py`); what is no longer served is named and left out. Each file is read in a process of its own.

- read: the share of files with text, the reasons of the others, seconds of processor time a MB, peak memory, and words
  beside those that another program finds (poppler's pdftotext for PDF; LibreOffice for Office documents and HTML, which
  prints presentations to PDF first; the source of the cells for notebooks; the parts of type text/plain for mail). Of
  e-books no other text is taken. HTML is read without menus, by LibreOffice with them. Of charts LibreOffice prints the
  numbers along the axes, and labels at an angle, which are single letters in the PDF; we read the values.
- asked: one folder with files of all formats is indexed by one command, and five questions about each format are asked
  (see `questions/formats.py` and `formats/asked.toml`).
- damaged: of every file copies that are cut short, flipped in 20 bits, overwritten with zeros for a page, empty, and
  named as another format. Each ends in text or in a reason, never in another exception, a signal, or after a minute.

Writes `formats.json` and `formats.md`.
"""

from __future__ import annotations

import random
import re
import resource
import shutil
import sys
import time
import zipfile
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness import Record, arguments, in_child, mean, parse, table, update_results
from questions.formats import asked_page, measure_asked
from sources.formats_references import form_of, references
from sources.packages import Source, Unavailable, folder_of, read_sources

from graphwright.data.document import Skipped
from graphwright.data.documents import read_file

SOURCES = Path(__file__).parent / "formats" / "sources.toml"
MAX_SECONDS = 60.0
PAGE = 4096


def corpus(work: Path) -> list[Path]:
    """Return the files of all packages, below a folder for each package; packages that are missing are named."""
    paths: list[Path] = []
    for source in read_sources(SOURCES):
        folder = work / "corpus" / source["name"]
        if not folder.exists():
            try:
                _copied(source, folder_of(source, work), folder)
            except Unavailable as error:
                print(f"left out: {error}", file=sys.stderr)
                continue
        paths += sorted(path for path in folder.rglob("*") if path.is_file())
    return paths


def _copied(source: Source, package: Path, folder: Path) -> None:
    """Copy the files that are taken of a package."""
    draft = folder.with_suffix(".part")
    shutil.rmtree(draft, ignore_errors=True)
    for pattern in source["files"]:
        for path in sorted(package.glob(pattern)):
            if path.is_file() and not path.is_symlink():
                target = draft / path.relative_to(package)
                target = target.with_name(target.name + source.get("suffix", ""))
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    draft.rename(folder)


def read(path: Path) -> Record:
    """Read a file in a process of its own; return its words, reasons, time and memory, or how it failed."""
    found, signal = in_child(lambda: _read(path))
    return found or {"failed": f"ended by signal {signal}"}


def _read(path: Path) -> Record:
    skipped: list[Skipped] = []
    begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resource.setrlimit(resource.RLIMIT_CPU, (int(MAX_SECONDS), int(MAX_SECONDS) + 5))
    try:
        documents = list(read_file(path, path.name, skipped.append))
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "words": words(" ".join(document.text for document in documents)),
        "reasons": [skip.reason for skip in skipped],
        "seconds": time.process_time() - begun,
        "megabytes": max(0, peak - before) / 1024,
    }


def words(text: str) -> dict[str, int]:
    """Return the words of a text with their counts."""
    return dict(Counter(re.findall(r"\w+", text.lower())))


def shared(first: Mapping[str, int], second: Mapping[str, int]) -> int:
    """Return how many words two texts share, each as often as it is in both."""
    return sum(min(count, second.get(word, 0)) for word, count in first.items())


def measure_read(paths: Sequence[Path], options: Namespace) -> Record:
    """Read the files whole; return a record for each format, and the files without text with their reasons."""
    others = references(paths, options.fetched / "formats")
    forms: dict[str, list[tuple[Path, Record]]] = {}
    for path in paths:
        forms.setdefault(_kind_of(path), []).append((path, read(path)))
    unread = {
        str(path.relative_to(options.fetched / "formats" / "corpus")): row.get("failed") or "; ".join(row["reasons"])
        for rows in forms.values()
        for path, row in rows
        if not row.get("words")
    }
    return {"forms": {form: _summary(rows, others) for form, rows in sorted(forms.items())}, "unread": unread}


def _kind_of(path: Path) -> str:
    """Return the format of a file; presentations with charts apart, as the other program writes numbers along axes."""
    form = form_of(path)
    if form != "pptx" or not zipfile.is_zipfile(path):
        return form
    with zipfile.ZipFile(path) as members:
        has_chart = any(name.startswith("ppt/charts/chart") for name in members.namelist())
    return "pptx with charts" if has_chart else form


def _summary(rows: Sequence[tuple[Path, Record]], others: Mapping[Path, str]) -> Record:
    good = [(path, row) for path, row in rows if row.get("words")]
    compared = [(row["words"], words(others[path])) for path, row in good if path in others]
    compared = [pair for pair in compared if sum(pair[1].values()) >= 20]
    size = sum(path.stat().st_size for path, _ in good) / 2**20
    return {
        "files": len(rows),
        "megabytes": size,
        "with text": len(good),
        "partly": sum(bool(row["reasons"]) for _, row in good),
        "failed": sum("failed" in row for _, row in rows),
        "compared": len(compared),
        "found": mean([shared(o, r) / sum(r.values()) for o, r in compared]) if compared else None,
        "confirmed": mean([shared(o, r) / max(1, sum(o.values())) for o, r in compared]) if compared else None,
        "seconds a MB": sum(row["seconds"] for _, row in good) / size if size else None,
        "peak megabytes": max((row["megabytes"] for _, row in good), default=None),
    }


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(20 if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _zeroed(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1) // PAGE * PAGE
    return data[:at] + bytes(len(data[at : at + PAGE])) + data[at + PAGE :]


DAMAGES: Mapping[str, Callable[[bytes, random.Random], bytes]] = {
    "cut short": _cut,
    "20 bits": _flipped,
    "a page of zeros": _zeroed,
    "empty": lambda data, rng: b"",
    "another suffix": lambda data, rng: data,
}


def measure_damaged(paths: Sequence[Path], options: Namespace) -> Record:
    """Read damaged copies of all files; return the outcomes of each kind of damage, and the failures."""
    rng, suffixes = random.Random(options.seed), sorted({form_of(path) for path in paths})
    outcomes: dict[str, Counter[str]] = {}
    failures: list[str] = []
    with TemporaryDirectory() as folder:
        for path in paths:
            for kind, damage in DAMAGES.items():
                suffix = rng.choice(suffixes) if kind == "another suffix" else form_of(path)
                copy = Path(folder) / f"copy.{suffix}"
                copy.write_bytes(damage(path.read_bytes(), rng))
                row = read(copy)
                outcome = "failed" if "failed" in row else "text" if row["words"] else "a reason"
                outcomes.setdefault(kind, Counter())[outcome] += 1
                if outcome == "failed" or (outcome == "a reason" and not row["reasons"]):
                    failures.append(
                        f"{path.name} as {suffix}, {kind}: {row.get('failed', 'neither text nor a reason')}"
                    )
    return {"outcomes": outcomes, "failures": failures}


def page(results: Record) -> str:
    """Return the tables."""
    parts = ["# Files of many formats"]
    if "read" in results:
        header = ["format", "files", "MB", "with text", "of these partly", "compared", "words found, %", "confirmed, %"]
        rows = [
            [form, *_cells(row), *_numbers(row["seconds a MB"], row["peak megabytes"])]
            for form, row in results["read"]["forms"].items()
        ]
        parts += [
            "Words found: of those that the other program finds, the share that is in our text; confirmed: of those in "
            "our text, the share that is in the other's. Means over files of at least 20 words. Memory: what reading "
            "a file adds to the process, the largest. Other programs: pdftotext; LibreOffice; see the script.",
            table([*header, "seconds a MB", "peak MB"], rows),
            "Without text:",
            "\n".join(f"- {name}: {reason}" for name, reason in results["read"]["unread"].items()) or "none",
        ]
    if "asked" in results:
        parts.append(asked_page(results["asked"]))
    if "damaged" in results:
        outcomes = results["damaged"]["outcomes"]
        kinds = ("text", "a reason", "failed")
        parts += [
            "## Damaged copies",
            table(["damage", *kinds], [[name, *(of.get(k, 0) for k in kinds)] for name, of in outcomes.items()]),
            "\n".join(f"- {failure}" for failure in results["damaged"]["failures"]) or "Nothing failed.",
        ]
    return "\n\n".join(parts) + "\n"


def _cells(row: Record) -> list[Any]:
    shares = ("" if row[name] is None else f"{100 * row[name]:.1f}" for name in ("found", "confirmed"))
    return [row["files"], f"{row['megabytes']:.1f}", row["with text"], row["partly"], row["compared"] or "", *shares]


def _numbers(*values: float | None) -> list[str]:
    return ["" if value is None else f"{value:.1f}" for value in values]


def main() -> int:
    """Read the files, and write the results; return 1 if reading failed anywhere."""
    parts: dict[str, Callable[[Namespace], Record]] = {
        "read": lambda options: measure_read(corpus(options.fetched / "formats"), options),
        "asked": measure_asked,
        "damaged": lambda options: measure_damaged(corpus(options.fetched / "formats"), options),
    }
    parser = arguments(__doc__, parts=list(parts), data=False)
    parser.add_argument("--seed", type=int, default=1)
    options = parse(parser)
    stored = options.out / "formats.json"
    for part in options.only:
        results = update_results(stored, [part], parts[part](options), page, list(parts))
    print(page(results))
    return int(any(row["failed"] for row in results.get("read", {"forms": {}})["forms"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
