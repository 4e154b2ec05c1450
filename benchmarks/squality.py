"""Answers of several sentences against human summaries, offline: PathRAG's Table 4, on SQuALITY.

    pip install -e ".[bench]"
    python benchmarks/squality.py --data DIR/long/squality_train.jsonl [--stories 50] [--methods vector pathrag ...]

Each story is a corpus of its own, indexed once into --work with passages, names and triples embedded; its five
questions are asked of each method. A method gives passages, and from there all is the same for all: of the first 8
passages sentences are quoted, up to 200 words, those that are nearest to the question and to all 8 together and unlike
each other, in the order of the story. So what differs is retrieval. The row `opening` takes the story's first
passages. Steps of language models run as their offline twins. By default all methods of the registry are asked but those
without retrieval, those made for knowledge graphs, and those that have a cross-encoder read each passage.

Scores: BLEU-1, BLEU-2, F1 of ROUGE-1, ROUGE-2 and ROUGE-L, and METEOR (exact words and stems, no synonyms), against
the four summaries of each question (see graphwright.evaluate.measures), with 95 % bootstrap intervals over questions
and paired randomisation tests against `vector`. Writes benchmarks/results/squality.json and squality.md. Fifty stories
take about twenty minutes on two cores the first time; --stories draws some by seed.
"""

import argparse
import json
import random
import re
import time
from pathlib import Path

import numpy as np
from graphwright.operators.communities.summaries import most_central

from graphwright import Document, Index, start
from graphwright.data.datasets import read_dataset
from graphwright.errors import GraphwrightError
from graphwright.evaluate.measures import SUMMARY_METRICS, summary_scores
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.graph.evidence import Ranking
from graphwright.index import Settings
from graphwright.index.vector_index import normalised
from graphwright.methods.registry import METHODS, pipeline, retrieval_part
from graphwright.operators.operator import Operator
from graphwright.text.sentences import sentence_spans

RESULTS = Path(__file__).parent / "results"
BASELINE = "vector"
PASSAGES, WORDS = 8, 200
# Made for knowledge graphs; a second name; without retrieval; and those that have a cross-encoder read each passage.
LEFT_OUT = re.compile(r"lego-\d+|reg|vanilla|cot|rerank|gar|fastinsight")


def stories(data, count, seed):
    """Yield the stories, some of them drawn by seed, with their questions."""
    every = list(data.documents(print))
    for at in sorted(random.Random(seed).sample(range(len(every)), min(count, len(every)))):
        asked = [(question.text, question.answers) for question in data.questions if every[at].id in question.gold]
        yield every[at].id, every[at].text, asked


def indexed(folder, name, text):
    if (folder / name).exists():
        index = Index.open(folder / name)
    else:
        index = Index.create(folder / name, settings=Settings(embed=("passages", "names", "triples")))
    index.add([Document(name, text=text)])
    return index


class Opening(Operator):
    """The first passages of the story."""

    gives = ("passages",)

    def apply(self, state, run):
        nodes = np.asarray(state.graph.passages.nodes)
        first = nodes[np.argsort(state.graph.passages.start, kind="stable")]
        return state.with_(passages=Ranking(first, -np.arange(len(first), dtype=float)))

    def __repr__(self):
        return "Opening()"


def retrieval(name, ix):
    """Return the retrieval of a method."""
    if name == "opening":
        return Opening()
    return retrieval_part(pipeline(name, ix))


def read(ix, question, chunks):
    """Quote sentences of the first passages up to so many words, in the order of the story."""
    graph, chosen = ix.graph, chunks.ids[:PASSAGES].tolist()
    begins = dict(zip(graph.passages.nodes.tolist(), graph.passages.start.tolist(), strict=True))
    texts = [graph.text(node) for node in chosen]
    # Passages overlap, and a sentence that stands in two is one.
    places = {}
    for node, text in zip(chosen, texts, strict=True):
        for first, last in sentence_spans(text):
            if 40 <= last - first <= 400:
                places.setdefault(text[first:last], begins[node] + first)
    if not places:
        return ""
    vectors = normalised(ix.encoder.encode([question, *texts, *places]))
    asked, whole, vectors = vectors[0], vectors[1 : len(texts) + 1], vectors[len(texts) + 1 :]
    order = most_central(vectors, vectors @ whole.mean(axis=0) + vectors @ asked, len(places))
    sentences, kept, room = list(places), [], WORDS
    for at in order.tolist():
        size = len(sentences[at].split())
        if size <= room:
            kept.append(sentences[at])
            room -= size
    return " ".join(sorted(kept, key=places.__getitem__))


def ask(operator, ix, question):
    begun = time.perf_counter()
    state = operator(start(question, ix.graph))
    seconds = time.perf_counter() - begun
    chunks = state.passages
    return ("", seconds) if chunks is None or not len(chunks) else (read(ix, question, chunks), seconds)


def measure(given, data):
    """Yield a row for each question and method, and note the methods that cannot be asked."""
    failed = {}
    begun = time.perf_counter()
    for at, (name, text, asked) in enumerate(stories(data, given.stories, given.seed), 1):
        with indexed(given.work, name, text) as index:
            ix = index.snapshot
            for method in given.methods:
                if method in failed:
                    continue
                try:
                    operator = retrieval(method, ix)
                    said = [ask(operator, ix, question) for question, _ in asked]
                except GraphwrightError as error:
                    failed[method] = str(error)
                    continue
                for number, ((text, seconds), (_, references)) in enumerate(zip(said, asked, strict=True), 1):
                    row = {"story": name, "question": number, "method": method}
                    row |= {"words": len(text.split()), "ms": 1000 * seconds}
                    yield row | summary_scores(text, references)
        print(f"{at} stories, {time.perf_counter() - begun:.0f} s", flush=True)
    for method, error in failed.items():
        yield {"method": method, "left out": error}


def summary(rows, given):
    of, left = {}, {row["method"]: row["left out"] for row in rows if "left out" in row}
    for row in rows:
        if row["method"] not in left:
            of.setdefault(row["method"], []).append(row)
    methods = {}
    for name, own in of.items():
        methods[name] = {metric: cell(own, of.get(BASELINE), metric) for metric in SUMMARY_METRICS}
        methods[name] |= {
            "words": round(float(np.mean([row["words"] for row in own])), 1),
            "ms p50": round(float(np.median([row["ms"] for row in own])), 1),
            "empty": sum(not row["words"] for row in own),
        }
    return {
        "stories": len({row["story"] for row in of[next(iter(of))]}),
        "of": given.of,
        "questions": len(of[next(iter(of))]),
        "seed": given.seed,
        "baseline": BASELINE,
        "passages": PASSAGES,
        "words": WORDS,
        "left out": left,
        "methods": methods,
    }


def cell(own, baseline, metric):
    values = [row[metric] for row in own]
    low, high = bootstrap_interval(values)
    found = {"mean": round(float(np.mean(values)), 5), "low": round(low, 5), "high": round(high, 5)}
    if baseline is not None and baseline is not own:
        found["p"] = round(paired_test(values, [row[metric] for row in baseline]), 5)
    return found


def markdown(found):
    header = ["method", *SUMMARY_METRICS, "words", "p50 ms"]
    lines = [header, ["---"] + ["---:"] * (len(header) - 1)]
    for name, of in found["methods"].items():
        shown = (
            f"{100 * of[m]['mean']:.1f} ({100 * of[m]['low']:.1f}–{100 * of[m]['high']:.1f}){mark(of[m], found, m)}"
            for m in SUMMARY_METRICS
        )
        lines.append([f"`{name}`", *shown, f"{of['words']:.0f}", f"{of['ms p50']:.0f}"])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    drawn = f" (drawn with seed {found['seed']})" if found["stories"] < found["of"] else ""
    left = "".join(f"- `{name}`: {why}\n" for name, why in found["left out"].items())
    return f"""# SQuALITY: answers of several sentences against human summaries

{found["questions"]} questions on {found["stories"]} of {found["of"]} stories{drawn}, four summaries each; offline.
Sentences of the first {found["passages"]} passages are quoted, up to {found["words"]} words, for every method alike,
so that what differs is retrieval. Percent, with 95 % bootstrap intervals over questions (five of them share a story);
↑ and ↓ mark what differs from `{found["baseline"]}` with p < 0.05 (paired randomisation test, not corrected for the
number of tests). METEOR is without synonyms. `opening`: the
first of the story. Times are of retrieval, taken on a busy machine.

{table}
{chr(10) + "Left out:" + chr(10) + chr(10) + left if left else ""}
Made by `python benchmarks/squality.py --data DIR/long/squality_train.jsonl --stories {found["stories"]}`. Levels cannot
be compared with those of the paper, whose answers a language model writes in its own words.
"""


def mark(of, found, metric):
    if of.get("p", 1) >= 0.05:
        return ""
    return " ↑" if of["mean"] > found["methods"][found["baseline"]][metric]["mean"] else " ↓"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--stories", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("runs/squality"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    known = [name for name in METHODS if not LEFT_OUT.fullmatch(name)]
    parser.add_argument("--methods", nargs="+", default=["opening", *known])
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    data = read_dataset(given.data)
    given.of = len(data.pool)
    found = summary(list(measure(given, data)), given)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "squality.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (given.out / "squality.md").write_text(markdown(found), encoding="utf-8")
    print(markdown(found))


if __name__ == "__main__":
    main()
