"""Measure what an adapter's call to a framework costs over `Index.retrieve`.

    python benchmarks/serving/adapters.py [--only langchain llamaindex haystack]

An index of 200 made-up passages is asked by `bm25`, the fastest method, for 15 passages: by `Index.retrieve` and by the
retriever of each framework, in random order, after a first call that is not counted. Given are the medians of the
processor time of a call in this process, and their difference. Frameworks that are not installed are named and left
out. Writes `adapters.json` and `adapters.md`.
"""

from __future__ import annotations

import random
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from graphwright import Document, Index
from graphwright.models.fake import HashEncoder

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import Record, arguments, parse, table, write_results

METHOD, TOP_K, PASSAGES, CALLS = "bm25", 15, 200, 300
WORDS = ("river", "lake", "town", "bridge", "mill", "abbey", "source", "valley", "castle", "road", "forest", "market")
Call = Callable[[str], Any]


def langchain(index: Index) -> Any:
    """Return a call of LangChain's retriever."""
    from graphwright.adapters.langchain import GraphwrightRetriever

    return GraphwrightRetriever(index=index, method=METHOD, top_k=TOP_K).invoke


def llamaindex(index: Index) -> Any:
    """Return a call of LlamaIndex's retriever."""
    from graphwright.adapters.llamaindex import GraphwrightRetriever

    return GraphwrightRetriever(index, method=METHOD, top_k=TOP_K).retrieve


def haystack(index: Index) -> Any:
    """Return a call of Haystack's component."""
    from graphwright.adapters.haystack import GraphwrightRetriever

    return GraphwrightRetriever(index, METHOD, TOP_K).run


ADAPTERS: dict[str, Callable[[Index], Any]] = {
    adapter.__name__: adapter for adapter in (langchain, llamaindex, haystack)
}


def made_index(folder: Path, rng: random.Random) -> Index:
    """Return an index of passages of random words."""
    index = Index.create(folder / "index", encoder=HashEncoder())
    index.add(
        Document(f"passage {number}", " ".join(rng.choices(WORDS, k=40)) + ".", whole=True)
        for number in range(PASSAGES)
    )
    return index


def calls_of(index: Index, names: list[str]) -> dict[str, Call]:
    """Return the call of each framework that is installed; the others are named on stderr."""
    calls: dict[str, Call] = {"Index.retrieve": lambda question: index.retrieve(question, METHOD, top_k=TOP_K)}
    for name in names:
        try:
            calls[name] = ADAPTERS[name](index)
        except ImportError as error:
            print(f"left out: {error}", file=sys.stderr)
    return calls


def measure(options: Namespace) -> Record:
    """Return the median processor time of a call of each, in milliseconds."""
    rng = random.Random(1)
    with TemporaryDirectory() as folder, made_index(Path(folder), rng) as index:
        calls = calls_of(index, options.only)
        seconds: dict[str, list[float]] = {name: [] for name in calls}
        for number in range(CALLS + 20):
            question = f"Which {rng.choice(WORDS)} is near the {rng.choice(WORDS)}?"
            index.retrieve(question, METHOD, top_k=TOP_K)  # so that no call is the first with this question
            for name, call in rng.sample(sorted(calls.items()), len(calls)):
                begun = time.process_time()
                call(question)
                if number >= 20:  # the first calls import and compile
                    seconds[name].append(time.process_time() - begun)
    return {name: 1000 * median(values) for name, values in seconds.items()}


def page(milliseconds: Record) -> str:
    """Return the table."""
    base = milliseconds["Index.retrieve"]
    rows = [[name, f"{value:.2f}", f"{value - base:.2f}"] for name, value in milliseconds.items()]
    return "# Adapters\n\n" + table(["call", "ms", "over Index.retrieve, ms"], rows) + "\n"


def main() -> None:
    """Measure, and write the results."""
    parser = arguments(__doc__, parts=list(ADAPTERS), data=False)
    options = parse(parser)
    milliseconds = measure(options)
    write_results(options.out / "adapters.json", milliseconds, page(milliseconds))
    print(page(milliseconds))


if __name__ == "__main__":
    main()
