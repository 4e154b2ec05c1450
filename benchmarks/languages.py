"""Measure retrieval in other languages, on translated manual pages and handbooks of Debian's packages.

    python benchmarks/languages.py [--work runs] [--sets de ja ...] [--encoders minilm multilingual] [--pages 240]
    python benchmarks/languages.py --only report

`languages/sources.toml` names the packages, which are fetched by apt-get and rendered by groff; no text of them is in
this repository. Each language is a corpus of its own. The questions are taken out of the pages without anybody reading
them (see `language_pages.py`): the description of a page and one of its sentences, in the language of the page, and the
description of the English original, for which an encoder has to know both languages. Each has one page as its gold
document. `multilingual` needs the extra of that name. Interrupted runs continue, and a language that was measured
before keeps its results. Writes `languages.json` and `languages.md`.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from harness import Record, arguments, parse, read_results, table, update_results, write_page
from sources.language_pages import MAX_PAGES, write_dataset
from sources.packages import Source, Unavailable, read_sources
from stamps import states_in

from graphwright.cli.terminal import progress as shown_progress
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.run import run
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.models.registry import encoder_of

SOURCES = Path(__file__).parent / "languages/sources.toml"
METHODS = ("hybrid", "bm25", "vector", "multihop")
METRICS = ("recall@5", "ndcg@10")
ENCODERS = ("minilm", "multilingual")
OWN, ENGLISH = "in the language", "in English"
LANGUAGES = [source for source in read_sources(SOURCES) if "language" in source]
NOT_MEASURED = """
Hebrew, Hindi, Bengali, Urdu and Thai were not measured: too few translated pages were found in Debian's packages. Their
words, sentences and names are tested on examples only. No question needs two passages, so that `multihop` can lose
here but hardly gain. Pages are translations by volunteers, partly in English still, and share names of programs.
"""


def dataset(language: Source, options: Namespace) -> Path:
    """Return the folder of the corpus and the questions of a language; it is made where missing."""
    folder: Path = options.work / "languages" / f"{language['name']}-{options.pages}"
    if not (folder / "questions.jsonl").exists():
        kind = {"libreoffice-help": "en-libreoffice", "debian-handbook": "en-handbook"}
        own = next((name for package, name in kind.items() if language["package"].startswith(package)), "")
        sources = [s for s in read_sources(SOURCES) if s["name"].startswith("en-")]
        english = [s for s in sources if (s["name"] == own if own else s["form"] == "man")]
        write_dataset(language, english, folder, options.fetched / "languages", options.pages)
    return folder


def measure(language: Source, encoder: str, options: Namespace) -> Record:
    """Return the metrics of each method on the questions of a language, by the language of the question."""
    data = dataset(language, options)
    experiment = Experiment(data, METHODS, metrics=METRICS, baseline="hybrid")
    with shown_progress() as progress:
        run(
            experiment, options.work / "languages" / encoder / data.name, encoder=encoder_of(encoder), progress=progress
        )
    results = options.work / "languages" / encoder / data.name / "results.jsonl"
    return {"language": language["language"], "documents": _lines(data / "corpus.jsonl"), **summary(results)}


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def summary(results: Path) -> Record:
    """Return means with intervals, and the difference of `multihop` to `hybrid`, of the rows of a run."""
    values: dict[str, dict[str, dict[str, Sequence[float]]]] = {OWN: {}, ENGLISH: {}}
    for row in map(json.loads, results.read_text("utf-8").splitlines()):
        asked = values[ENGLISH if row["question"].startswith("english:") else OWN]
        asked.setdefault(row["method"], {})[row["question"]] = [row["metrics"][metric] for metric in METRICS]
    return {kind: _compared(by_method) for kind, by_method in values.items() if by_method}


def _compared(by_method: dict[str, dict[str, Sequence[float]]]) -> Record:
    questions = sorted(by_method["hybrid"])
    arrays = {name: np.array([rows[question] for question in questions]) for name, rows in by_method.items()}
    compared: Record = {"questions": len(questions), "methods": {}, "multihop - hybrid": {}}
    for at, metric in enumerate(METRICS):
        for name, array in arrays.items():
            low, high = bootstrap_interval(array[:, at])
            cell = {"mean": float(array[:, at].mean()), "low": low, "high": high}
            compared["methods"].setdefault(name, {})[metric] = cell
        ours, base = arrays["multihop"][:, at], arrays["hybrid"][:, at]
        difference = float((ours - base).mean())
        compared["multihop - hybrid"][metric] = {"difference": difference, "p": paired_test(ours, base)}
    return compared


def report(results: Record) -> str:
    """Return the page of tables."""
    parts = ["# Retrieval in other languages", f"Made by `python benchmarks/languages.py`, offline.\n{NOT_MEASURED}"]
    for encoder, languages in results.items():
        for kind in (OWN, ENGLISH):
            measured = {name: record for name, record in languages.items() if kind in record}
            if measured:
                parts += [f"## Encoder `{encoder}`, questions {kind}", _table(measured, kind)]
    return "\n\n".join(parts)


def _table(measured: Record, kind: str) -> str:
    header = ["recall@5 / nDCG@10", "pages", "questions", *METHODS, "multihop − hybrid: recall@5", "nDCG@10"]
    rows = []
    for name, record in measured.items():
        cells = [_cell(record[kind]["methods"][method]) for method in METHODS]
        leads = [_lead(record[kind]["multihop - hybrid"][metric]) for metric in METRICS]
        language = f"{record['language']} ({name})"
        rows.append([language, record["documents"], record[kind]["questions"], *cells, *leads])
    return table(header, rows)


def _cell(metrics: Record) -> str:
    recall, ndcg = (metrics[metric] for metric in METRICS)
    return (
        f"{100 * recall['mean']:.1f} ({100 * recall['low']:.0f}–{100 * recall['high']:.0f}) / {100 * ndcg['mean']:.1f}"
    )


def _lead(cell: Record) -> str:
    return f"{100 * cell['difference']:+.1f} (p {cell['p']:.2f})"


def main() -> None:
    """Measure the languages asked for, and write all results that there are."""
    names = [source["name"] for source in LANGUAGES]
    parser = arguments(__doc__, parts=["measure", "report"], sets=names, data=False)
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=list(ENCODERS))
    parser.add_argument("--pages", type=int, default=MAX_PAGES, help="the most pages of a language")
    options = parse(parser)
    file = options.out / "languages.json"
    for encoder in options.encoders if "measure" in options.only else ():
        for language in LANGUAGES:
            if language["name"] in options.sets:
                try:
                    record = measure(language, encoder, options)
                except Unavailable as error:
                    print(f"{language['name']}: {error}", flush=True)
                    continue
                update_results(file, [encoder, language["name"]], record, report, names)
    page = report(read_results(file))
    write_page(file.with_suffix(".md"), page, states_in(file))
    print(page)


if __name__ == "__main__":
    main()
