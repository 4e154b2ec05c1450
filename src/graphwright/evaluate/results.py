"""Write the results of single questions as a CSV table and as TREC runs."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graphwright.evaluate.figures import clean
from graphwright.files import whole, write_text

Row = Mapping[str, Any]

_COSTS = ("seconds", "model_seconds", "texts", "tokens", "calls", "prompt_tokens", "completion_tokens", "cost")
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")  # not allowed as file names on some systems


def write_csv(path: Path, rows: Iterable[Row], metrics: Iterable[str]) -> None:
    """Write a line for each method and question; `gold` and `documents` are counts."""
    first = ("method", "question", "type", "hops", "answers", "entities", "gold", "documents", "found", "answer")
    with whole(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [*first, *metrics, *_COSTS, "error"], extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        for row in rows:
            answer = row["answer"] or {}
            counts = {name: len(row[name]) for name in ("gold", "documents")}
            values = {**row, **row["metrics"], **counts, "found": answer.get("found"), "answer": answer.get("text")}
            table.writerow({name: clean(value) if isinstance(value, str) else value for name, value in values.items()})


def write_runs(folder: Path, rows: Iterable[Row]) -> dict[str, str]:
    """Write one TREC run for each method that ranks documents; return the names of the files by method."""
    lines: dict[str, list[str]] = {}
    for row in rows:
        if row["documents"]:
            lines.setdefault(row["method"], []).extend(trec_lines(row))
    files = {method: run_file(method) for method in lines}
    for method, name in files.items():
        folder.mkdir(exist_ok=True)
        write_text(folder / name, "\n".join(lines[method]) + "\n")
    return files


def run_file(method: str) -> str:
    """Return the file name of a method's run: safe on every system, and different for different methods.

    >>> run_file("ppr"), run_file("ppr(restart=0.5)"), run_file("../a")
    ('ppr.trec', 'ppr-restart-0-5-e60ce1f8.trec', 'a-33a80bec.trec')
    """
    if _PLAIN.fullmatch(method) and not _RESERVED.fullmatch(method):
        return f"{method}.trec"
    words = "-".join(re.findall(r"[a-z0-9]+", method.lower()))[:60].rstrip("-") or "method"
    digest = hashlib.blake2b(method.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{words}-{digest}.trec"


def trec_lines(row: Row) -> Iterator[str]:
    """Yield the lines of a result: question, Q0, document, rank, score, method.

    Space inside a field is percent-encoded, because space separates fields.

    >>> row = {"method": "my ppr", "question": "q1", "documents": [["a b", 0.5], ["c", 0.25]]}
    >>> list(trec_lines(row))
    ['q1 Q0 a%20b 1 0.5 my%20ppr', 'q1 Q0 c 2 0.25 my%20ppr']
    """
    question, method = _trec_field(row["question"]), _trec_field(row["method"])
    for rank, (document, score) in enumerate(row["documents"], 1):
        yield f"{question} Q0 {_trec_field(document)} {rank} {score!r} {method}"


@lru_cache(maxsize=1 << 16)
def _trec_field(text: str) -> str:
    special = r"[\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]"
    return re.sub(special, lambda match: quote(match[0], safe="", errors="surrogatepass"), text) or "%00"
