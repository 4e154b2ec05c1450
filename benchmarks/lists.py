"""Record every method's ranked lists on small samples of the development sets, and compare two recordings.

    python benchmarks/lists.py --data DIR --file before.json [--sets musique ...]
    python benchmarks/lists.py --compare before.json after.json

A change of the code that should change no result is checked so: record before it, record after it, compare. A list
has the 20 best documents; the texts of the best evidence, the answers, the short answers and the citations are compared
too, each as a part of its own. A citation is its document, start, end and text. Methods that read little are asked on
larger samples than those in which a model reads dozens of texts; methods that need a language model are left out.
Indexes are built anew for each recording, below --work, and an interrupted recording continues.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness import SPACES, Record, arguments, read_results, run_experiment, write_results

from graphwright.evaluate.experiment import Experiment
from graphwright.methods.registry import METHODS

LENGTH = 20
PARTS = ("documents", "evidence", "answer", "short", "citations", "error")
"""Parts of a recorded row that are compared."""
CITED = ("document", "start", "end", "text")
RERANKERS = (
    "rerank", "multihop-rerank", "gar", "fastinsight", "fastinsight-entities", "tog",
    "lego-3", "lego-7", "lego-13", "lego-15",
)  # fmt: skip
READ_SUBGRAPH = ("reg", "lego-4", "lego-5", "lego-8", "lego-9", "lego-11")
OFFLINE = tuple(name for name, method in METHODS.items() if not method.required)
LIGHT = tuple(name for name in OFFLINE if name not in (*RERANKERS, *READ_SUBGRAPH))


class Sample(NamedTuple):
    """A data set, its questions, how many of them are asked, and the methods."""

    place: str
    limit: int
    methods: Sequence[str]
    questions: str = ""
    options: Record | None = None
    uses: str = ""  # another sample whose index is used


EMBEDDED: Record = {"embed": SPACES}
GIVEN_TRIPLES: Record = {"embed": SPACES, "extraction": "openie"}
SAMPLES = {
    "musique": Sample("multihop/musique", 60, (*LIGHT, "reg"), options=GIVEN_TRIPLES),
    "hotpotqa100": Sample("multihop/hotpotqa100", 40, LIGHT, options=EMBEDDED),
    "2wiki": Sample("multihop/2wiki", 40, LIGHT, options=EMBEDDED),
    "scifact": Sample("ir/scifact", 20, LIGHT, options=EMBEDDED),
    "pq-2h": Sample("kgqa/pq-2h", 30, LIGHT),
    "metaqa": Sample("kgqa/metaqa", 12, LIGHT, "2hop_dev"),
    "musique-rerank": Sample("multihop/musique", 4, RERANKERS, options=GIVEN_TRIPLES, uses="musique"),
    "pq-2h-rerank": Sample("kgqa/pq-2h", 4, (*RERANKERS, *READ_SUBGRAPH), uses="pq-2h"),
}


def record(data: Path, work: Path, name: str) -> Record:
    """Ask the methods of a sample; return each list by "method question"."""
    sample = SAMPLES[name]
    experiment = Experiment(
        data / sample.place, sample.methods, questions=sample.questions, limit=sample.limit, **(sample.options or {})
    )
    index = work / sample.uses / "index" if sample.uses else None
    run_experiment(experiment, work / name, index if index is not None and index.exists() else None)
    lines = (work / name / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {f"{row['method']} {row['question']}": ranked(row) for row in map(json.loads, lines)}


def ranked(row: Record) -> Record:
    """Return what a row of results ranks and answers, without scores: they may differ in the last digit."""
    answer = row.get("answer") or {}
    return {
        "documents": [document for document, _ in row.get("documents") or ()][:LENGTH],
        "evidence": [item["text"] for item in row.get("evidence") or ()],
        "answer": answer.get("text", ""),
        "short": answer.get("short", []),
        "citations": [[cited[name] for name in CITED] for cited in answer.get("citations", ())],
        "error": row.get("error", ""),
    }


def compare(before: Path, after: Path) -> int:
    """Print the lists and answers that differ, by set and method; return how many lists differ."""
    recordings = read_results(before), read_results(after)
    different = 0
    for name in SAMPLES:
        old, new = (recording.get(name, {}) for recording in recordings)
        if not old and not new:
            continue
        missing = sorted({key.split()[0] for key in old.keys() ^ new.keys()})
        if missing:
            print(f"{name}: in one recording only: {', '.join(missing)}")
        both = [key for key in old if key in new]
        for part in PARTS:
            keys = [key for key in both if part in old[key] and part in new[key] and old[key][part] != new[key][part]]
            methods = sorted({key.split()[0] for key in keys})
            print(f"{name}: {part} of {len(keys):,} of {len(old):,} differ{': ' * bool(keys)}{', '.join(methods)}")
            if part == "documents" and keys:
                key = min(keys)
                print(f"  {key}\n    before {old[key][part]}\n    after  {new[key][part]}")
            different += len(keys) if part in ("documents", "evidence", "error") else 0
    return different


def main() -> int:
    """Record or compare."""
    parser = arguments(__doc__, sets=list(SAMPLES), data=False)
    parser.add_argument("--file", type=Path, default=Path("lists.json"), help="file of the recording")
    parser.add_argument("--compare", type=Path, nargs=2, metavar="FILE")
    options = parser.parse_args()
    if options.compare:
        return int(compare(*options.compare) > 0)
    if options.data is None:
        parser.error("give --data to record, or --compare with two recordings.")
    recording = {}
    for name in options.sets:
        recording[name] = record(options.data, options.work / "lists" / options.file.stem, name)
        write_results(options.file, recording)
        print(f"{name}: {len(recording[name]):,} lists", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
