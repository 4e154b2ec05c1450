"""What indexing costs beside the encoder: whole time over the encoder's own, counted, per setting.

    python benchmarks/indexing.py --corpus DIR/multihop/hotpotqa/corpus.jsonl [--limit N]

For each setting (passages embedded; passages, names and triples) a fresh index is made of the corpus, and its time
set against the time that encoding the very same texts takes inside the run. Writes benchmarks/results/indexing.json.
"""

import argparse
import json
import tempfile
import time
from itertools import islice
from pathlib import Path

from graphwright.models.base import metered

from graphwright import Index
from graphwright.data.documents import read_documents
from graphwright.index import Settings

RESULTS = Path(__file__).parent / "results"
SETTINGS = {"passages": ("passages",), "all texts": ("passages", "names", "triples")}


def measure(corpus, embed, limit):
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        index = Index.create(Path(folder) / "index", settings=Settings(embed=embed))
        with metered() as usage:
            made = index.add(islice(read_documents([corpus], lambda skipped: None), limit))
        seconds = time.perf_counter() - begun
        held = index.info()
        index.close()
    return {
        "documents": held["documents"],
        "nodes": held["nodes"],
        "edges": held["edges"],
        "texts encoded": made.texts,
        "seconds": round(seconds, 2),
        "encoder seconds": round(usage.seconds, 2),
        "whole / encoder": round(seconds / usage.seconds, 3),
        "parts": {name: round(value, 2) for name, value in made.seconds.items()},
        "texts a second": round(usage.texts / usage.seconds),
        "index MB": round(held["bytes"] / 1e6, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    found = {}
    for name, embed in SETTINGS.items():
        found[name] = measure(given.corpus, embed, given.limit)
        print(name, json.dumps(found[name]), flush=True)
    (RESULTS / "indexing.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
