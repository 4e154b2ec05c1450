"""Write the report of a run: Markdown, CSV and TREC runs."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from graphwright.errors import cut
from graphwright.evaluate.tables import (
    NONE,
    Table,
    clean,
    escaped,
    group_means,
    groupings,
    is_share,
    markdown,
    markdown_table,
    metric_names,
    milliseconds,
    p_value,
    ranked,
    score,
)
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
    """Return the file name of a method's run: safe on every system, and different for different methods."""
    if _PLAIN.fullmatch(method) and not _RESERVED.fullmatch(method):
        return f"{method}.trec"
    words = "-".join(re.findall(r"[a-z0-9]+", method.lower()))[:60].rstrip("-") or "method"
    digest = hashlib.blake2b(method.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{words}-{digest}.trec"


def trec_lines(row: Row) -> Iterator[str]:
    """Yield lines of a result: question, Q0, document, rank, score, method; space in a field is percent-encoded."""
    question, method = _trec_field(row["question"]), _trec_field(row["method"])
    for rank, (document, value) in enumerate(row["documents"], 1):
        yield f"{question} Q0 {_trec_field(document)} {rank} {value!r} {method}"


@lru_cache(maxsize=1 << 16)
def _trec_field(text: str) -> str:
    special = r"[\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]"
    return re.sub(special, lambda match: quote(match[0], safe="", errors="surrogatepass"), text) or "%00"


Summary = Mapping[str, Any]
Section = tuple[str, str, Table]  # a heading, a sentence, and a table
_ELSEWHERE = {"methods", "metrics", "judge", "statistics"}  # parts that other sections show
_MAX_FAILURES = 20  # rows of the table of failures
_HELD = "Recall is the share of gold documents or accepted answers in the step's result, mean over questions."
_REPEAT = "Repeat the run with: graphwright evaluate experiment.toml --out AGAIN"


def write_report(out: str | Path, summary: Summary, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write `report.md`, `results.csv` and `runs/*.trec` into a run's folder.

    `summary`: the contents of `summary.json`; `rows`: the results of the run. Each file is written atomically, the
    report last, and replaces an earlier one.
    """
    out, rows = Path(out), list(rows)
    out.mkdir(parents=True, exist_ok=True)
    write_runs(out / "runs", rows)
    write_csv(out / "results.csv", rows, metric_names(summary))
    write_text(out / "report.md", report(summary, rows))


def report(summary: Summary, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the report as Markdown: the leaderboard, and a section for everything else that was measured."""
    sections = [*_steps(summary), *_groups(summary), *_judged(summary), *_failures(rows)]
    expressions = [
        ["method", "expression"],
        *([name, summary["methods"][name]["expression"]] for name in ranked(summary)),
    ]
    facts = [["fact", "value"], *map(list, _facts(summary))]
    sections += [("Methods", "", expressions), ("The run", _REPEAT, facts)]
    parts = [
        "\n\n".join(filter(None, (f"## {escaped(title)}", escaped(about), markdown_table(table))))
        for title, about, table in sections
    ]
    return "\n".join([markdown(summary), "\n\n".join(parts), ""])


def _steps(summary: Summary) -> Iterator[Section]:
    """Yield the time of each method's steps, and the recall after each."""
    for name in ranked(summary):
        if steps := summary["methods"][name]["steps"]:
            table = [["step", "p50 ms", "p95 ms", "mean ms", "recall, %"]]
            for step in steps:
                times = [milliseconds(step[time]) for time in ("p50", "p95", "mean")]
                table.append(
                    [cut(step["operator"]), *times, NONE if step["held"] is None else score(step["held"], True)]
                )
            yield f"Steps of {name}", _HELD, table


def _groups(summary: Summary) -> Iterator[Section]:
    """Yield the means of each metric by groups of questions."""
    for grouping, sizes in groupings(summary).items():
        for metric in metric_names(summary):
            percent = is_share(summary, metric)
            rows = [
                [method, *(NONE if mean is None else score(mean, percent) for mean in means)]
                for method, means in group_means(summary, metric, grouping).items()
            ]
            groups = [f"{group} ({count:,})" for group, count in sizes.items()]
            header = [f"{metric}, %" if percent else metric, *groups]
            yield f"{metric} by {grouping}", "In small groups differences are uncertain.", [header, *rows]


def _judged(summary: Summary) -> Iterator[Section]:
    """Yield the shares of right answers, and the win rates against the baseline on each dimension."""
    judge = summary.get("judge") or {"accuracy": {}, "wins": {}}
    right = sorted(judge["accuracy"].items(), key=lambda item: -item[1]["mean"])
    if right:
        rows = [[name, score(rate["mean"], True), f"{rate['questions']:,}"] for name, rate in right]
        unread = f" {judge['unreadable']:,} replies could not be read." if judge["unreadable"] else ""
        yield "Right answers", f"Judge: {judge['model']}.{unread}", [["method", "right, %", "questions"], *rows]
    if wins := {name: rates for name, rates in judge["wins"].items() if rates}:
        dimensions = list(dict.fromkeys(name for rates in wins.values() for name in rates))
        rows = [[name, *(_win(rates.get(dimension)) for dimension in dimensions)] for name, rates in wins.items()]
        bias = judge["position bias"]
        about = "Each pair is judged in both orders; where these disagree it is a tie, half a win for either."
        about += "" if bias is None else f" The orders disagreed in {100 * bias:.1f} % of the verdicts."
        yield f"Win rates against {judge['against']}, %", about, [["method", *dimensions], *rows]


def _win(rate: Mapping[str, Any] | None) -> str:
    if rate is None:
        return NONE
    tested = f"{p_value(rate['p'])}, " if "p" in rate else ""
    return f"{score(rate['mean'], True)} ({tested}{100 * rate['ties']:.0f} % ties)"


def _failures(rows: Sequence[Mapping[str, Any]]) -> Iterator[Section]:
    failed = [[row["method"], row["question"], cut(row["error"])] for row in rows if "error" in row]
    if failed:
        more = f" These are the first {_MAX_FAILURES} of {len(failed):,}." if len(failed) > _MAX_FAILURES else ""
        header = ["method", "question", "error"]
        yield "Questions with errors", f"Each counts as 0 in every metric.{more}", [header, *failed[:_MAX_FAILURES]]


def _facts(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of a nested mapping with their names."""
    for key, leaf in value.items():
        name = f"{before} {key}".strip().replace("_", " ")
        if not before and key in _ELSEWHERE:
            continue
        if isinstance(leaf, Mapping):
            yield from _facts(leaf, name)
        elif leaf not in (None, "", [], ()):
            yield name, " · ".join(map(str, leaf)) if isinstance(leaf, list | tuple) else str(leaf)
