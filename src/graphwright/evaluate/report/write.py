"""Write the report of a run: page, Markdown, tables of results, and TREC runs."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graphwright.evaluate.report.figures import clean, metric_names
from graphwright.evaluate.report.page import page
from graphwright.evaluate.report.questions import QuestionResults
from graphwright.evaluate.report.tables import markdown
from graphwright.files import scratch, whole, write_text

__all__ = ["ResultTable", "TrecRuns", "run_file", "trec_lines", "write_report"]

_REPEAT = "graphwright evaluate experiment.toml --out AGAIN"
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")  # not allowed as file names on some systems
_LONGEST = 1 << 26  # bytes of a line
_QUESTION_COLUMNS = {
    **dict.fromkeys(("method", "question", "type"), "VARCHAR"),
    **dict.fromkeys(("hops", "answers", "entities", "gold", "documents"), "BIGINT"),
    "found": "BOOLEAN",
    "answer": "VARCHAR",
}
_COST_COLUMNS = {
    **dict.fromkeys(("seconds", "model_seconds"), "DOUBLE"),
    **dict.fromkeys(("texts", "tokens", "calls", "prompt_tokens", "completion_tokens"), "BIGINT"),
    **dict.fromkeys(("cost", "peak_mb"), "DOUBLE"),
    "error": "VARCHAR",
}


def write_report(
    out: str | Path,
    summary: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    questions: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write `report.html`, `report.md`, `results.parquet`, `results.csv` and `runs/*.trec` into a run's folder.

    `summary`: the contents of `summary.json`. `rows`: the results of the run, read once and one at a time; a row may
    have, as "judged", a judge's verdict on its answer: a number, 1 for right, and the reason. `questions`: "text",
    "answers" and "gold" of each question by its id. The page shows a `manifest.json` in the folder, and how to repeat
    an `experiment.toml`. Each file is written atomically, the page last, and replaces an earlier one.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    table = ResultTable(metric_names(summary))
    with closing(QuestionResults(summary, questions)) as results:
        with TrecRuns.writing(out / "runs") as runs, scratch(out / "results") as draft:
            with draft.open("w", encoding="utf-8", newline="\n") as lines:
                for row in rows:
                    lines.write(table.line(row))
                    runs.add(row)
                    results.add(row)
            with whole(out / "results.parquet") as parquet, whole(out / "results.csv") as csv:
                table.write(draft, parquet, csv)
        errors = results.errors
        methods = {name: {"errors": errors.get(name, {}), **of} for name, of in summary["methods"].items()}
        summary = {**summary, "methods": methods}
        write_text(out / "report.md", markdown(summary))
        write_text(out / "report.html", page(summary, _manifest(out), results, runs.files))


def _manifest(out: Path) -> dict[str, Any]:
    """Return the run's manifest, empty where it cannot be read, and the command that repeats the run."""
    try:
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = {}
    command = {"command": _REPEAT} if (out / "experiment.toml").exists() else {}
    return command | (manifest if isinstance(manifest, dict) else {})


class ResultTable:
    """A table of results for other programs: a line for each method and question, as Parquet and CSV.

    `gold` and `documents` are counts, `found` and `answer` those of the answer. SQL ignores the case of names: a metric
    with the name of an earlier column is written as "metric NAME".
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        """Set the metrics that have a column each."""
        taken = {name.lower() for name in (*_QUESTION_COLUMNS, *_COST_COLUMNS)}
        self._metrics: dict[str, str] = {}
        for metric in metrics:
            name = clean(metric)
            while name.lower() in taken:
                name = f"metric {name}"
            taken.add(name.lower())
            self._metrics[name] = metric
        self.columns = {**_QUESTION_COLUMNS, **dict.fromkeys(self._metrics, "DOUBLE"), **_COST_COLUMNS}

    def line(self, row: Mapping[str, Any]) -> str:
        """Return a result as a line of JSON with a value for each column, null where unknown."""
        answer, metrics = row.get("answer") or {}, row.get("metrics") or {}
        values = {name: row.get(name) for name in self.columns}
        values |= {"gold": len(row.get("gold") or ()), "documents": len(row.get("documents") or ())}
        values |= {"found": answer.get("found"), "answer": answer.get("text")}
        values |= {name: metrics.get(metric) for name, metric in self._metrics.items()}
        return json.dumps({name: _json_value(value) for name, value in values.items()}) + "\n"

    def write(self, lines: Path, parquet: Path, csv: Path) -> None:
        """Write both tables from a file of such lines, which may be larger than memory."""
        import duckdb

        file = re.sub(r"([\[*?])", r"[\1]", str(lines))  # glob characters escaped
        with duckdb.connect() as connection:
            table = connection.read_json(
                file, columns=self.columns, format="newline_delimited", maximum_object_size=_LONGEST
            )
            table.write_parquet(str(parquet), compression="zstd")
            table.write_csv(str(csv), header=True)


def _json_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


class TrecRuns:
    """One TREC run file per method that ranks documents; the files appear when all results are written."""

    def __init__(self, folder: Path) -> None:
        """Start without files."""
        self.files: dict[str, str] = {}
        self._folder, self._drafts, self._stack = folder, dict[str, Path](), ExitStack()

    @classmethod
    @contextmanager
    def writing(cls, folder: Path) -> Iterator[TrecRuns]:
        """Collect results inside the block; at its end the files appear, unless it failed."""
        runs = cls(folder)
        with runs._stack:
            yield runs

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a result; the first ranked document of a method creates its file."""
        text = "".join(f"{line}\n" for line in trec_lines(row))
        if not text:
            return
        method = row["method"]
        new = method not in self._drafts
        if new:
            self._folder.mkdir(exist_ok=True)
            self.files[method] = run_file(method)
            self._drafts[method] = self._stack.enter_context(whole(self._folder / self.files[method]))
        # Opened for each result, since there may be more methods than a process may have files open.
        with self._drafts[method].open("w" if new else "a", encoding="utf-8", newline="\n") as file:
            file.write(text)


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


def trec_lines(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a result: question, Q0, document, rank, score, method.

    Space inside a field is percent-encoded, because space separates fields.

    >>> row = {"method": "my ppr", "question": "q1", "documents": [["a b", 0.5], ["c", 0.25]]}
    >>> list(trec_lines(row))
    ['q1 Q0 a%20b 1 0.5 my%20ppr', 'q1 Q0 c 2 0.25 my%20ppr']
    """
    question, method = _trec_field(row["question"]), _trec_field(row["method"])
    for rank, (document, score) in enumerate(row.get("documents") or (), 1):
        yield f"{question} Q0 {_trec_field(document)} {rank} {score!r} {method}"


@lru_cache(maxsize=1 << 16)
def _trec_field(text: str) -> str:
    return re.sub(r"[\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]", lambda match: _percent_encoded(match[0]), text) or "%00"


def _percent_encoded(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")
