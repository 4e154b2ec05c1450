"""What a change costs: documents added, replaced and removed, against building anew, and as the index grows.

    python benchmarks/updates.py --data DIR/multihop

writes results/updates.json and results/updates.png. The encoder is left out (a stand-in gives every text the same
vector at once), since its time is that of the new texts alone and would hide all else.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from graphwright import Index
from graphwright.data.document import Document
from graphwright.data.documents import read_documents

RESULTS = Path(__file__).parent / "results"
SETS = ("musique", "hotpotqa", "2wiki")
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
FEW, MANY = 100, 1_000  # documents that are added to an index of each size
REPEATS = 3


class Instant:
    """The same vector for every text, at once."""

    id = "instant"

    def encode(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.full((len(texts), 384), 384**-0.5, np.float32)


def corpus(data: Path, count: int) -> list[Document]:
    """The passages of all sets; where that is not enough, again with every name changed, so that names keep coming."""
    base = [d for name in SETS for d in read_documents([data / name / "corpus.jsonl"], lambda skipped: None)]
    made = []
    for at in range(count):
        document, turn = base[at % len(base)], at // len(base)

        def other(text: str, turn: int = turn) -> str:
            return re.sub(r"\b([A-Z]\w{3,})", lambda m: m[1] + "abcdefgh"[turn - 1], text) if turn else text

        made.append(Document(f"{at:06d}", other(document.text), other(document.title), whole=True))
    return made


def timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def tenth(documents: list[Document], repeats: int) -> dict[str, float]:
    """Change a tenth of an index, and count it against building the index."""
    found: dict[str, list[float]] = {"rebuild": [], "remove": [], "add": [], "replace": [], "one": []}
    part = documents[: len(documents) // 10]
    changed = [Document(d.id, f"{d.text} Changed.", d.title, whole=True) for d in part]
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            index = Index.create(Path(folder) / "index", encoder=Instant())
            found["rebuild"].append(timed(lambda index=index: index.add(documents)))
            found["replace"].append(timed(lambda index=index: index.add(changed)))
            found["remove"].append(timed(lambda index=index: index.remove(d.id for d in part)))
            found["add"].append(timed(lambda index=index: index.add(part)))
            found["one"].append(timed(lambda index=index: index.remove([part[0].id])))
            index.close()
    rebuild = found["rebuild"]
    ratios = {f"{name} a tenth / rebuild": found[name] for name in ("remove", "add", "replace")}
    ratios["remove one / rebuild"] = found["one"]
    shares = {
        name: round(median(t / r for t, r in zip(taken, rebuild, strict=True)), 4) for name, taken in ratios.items()
    }
    return {"documents": len(documents), "rebuild seconds": round(median(rebuild), 3), **shares}


def growth(documents: list[Document]) -> list[dict[str, float]]:
    """Let an index grow; at each size add a hundred documents, then a thousand, and take them away again.

    What the thousand cost more, over the nine hundred more there are, is the cost of a document; what is left of the
    hundred's time is the cost of a change, whatever it changes: reading the store, merging, writing the snapshot.
    """
    rows = []
    more, documents = documents[-MANY:], documents[:-MANY]
    with tempfile.TemporaryDirectory() as folder:
        index = Index.create(Path(folder) / "index", encoder=Instant())
        held = 0
        for size in (size for size in SIZES if size <= len(documents)):
            index.add(documents[held:size])
            held = size
            few, many, out = [], [], []
            for _ in range(REPEATS):
                few.append(timed(lambda: index.add(more[:FEW])))
                index.remove(d.id for d in more[:FEW])
                many.append(timed(lambda: index.add(more)))
                out.append(timed(lambda: index.remove(d.id for d in more)))
            each = (median(many) - median(few)) / (MANY - FEW)
            rows.append(
                {
                    "chunks": size,
                    "nodes": len(index.graph),
                    "edges": len(index.graph.edges),
                    "ms for each document added": round(1000 * each, 3),
                    "seconds for each change": round(median(few) - FEW * each, 3),
                    "the same, ms for each chunk held": round(1000 * (median(few) - FEW * each) / size, 4),
                    "seconds to remove a thousand": round(median(out), 3),
                }
            )
            print(json.dumps(rows[-1]), flush=True)
        index.close()
    return rows


def plot(rows: list[dict[str, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = [row["chunks"] for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    left.plot(sizes, [row["ms for each document added"] for row in rows], "o-")
    left.set(xscale="log", xlabel="chunks in the index", ylabel="ms", ylim=(0, None), title="for each document added")
    right.plot(sizes, [row["seconds for each change"] for row in rows], "o-", color="tab:green")
    right.set(xscale="log", yscale="log", xlabel="chunks in the index", ylabel="seconds", title="for each change")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    documents = corpus(arguments.data, arguments.most + MANY)
    tenth(documents[:200], 1)  # kernels are compiled
    found = {"tenth": tenth(documents[:5_000], arguments.repeats), "growth": growth(documents)}
    print(json.dumps(found["tenth"], indent=1))
    (RESULTS / "updates.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    plot(found["growth"], RESULTS / "updates.png")


if __name__ == "__main__":
    main()
