"""Measure answers: short ones with the embedded reader and the tokens of prompts, and long ones against summaries.

    python benchmarks/answers.py --data DIR [--only short long] [--methods vector pathrag ...]

- short: offline answers to the first questions of the multihop sets, by exact match and token F1 (SQuAD): a few words
  where the reader trusts a span, else quoted sentences, which share few words with a short answer. Tokens are those of
  all prompts that a method sends for a question, by estimate (four characters each); the model is a stand-in with the
  shortest useful reply to each task: the first candidate of a choice, one sentence of a text, and "no" where it judges
  whether there is enough. Writes `answers.json` and `answers.md`.
- long: answers of several sentences on SQuALITY against four human summaries of each question (PathRAG, Table 4). Each
  story is a corpus of its own; its five questions are asked of each method. The answer of every method is made alike,
  so that what differs is retrieval: of the first 8 passages sentences are quoted, up to 200 words, those nearest to the
  question and to all 8 together and unlike each other, in the order of the story; `opening` takes the first passages of
  the story. Scores: BLEU-1, BLEU-2, F1 of ROUGE-1, ROUGE-2 and ROUGE-L, METEOR (exact words and stems), with 95 %
  bootstrap intervals and paired tests against `vector`. Writes `squality.json` and `squality.md`.

By default all methods are asked but those made for knowledge graphs and those in which a model reads each passage.
Steps of language models run as their offline twins. Interrupted runs continue.
"""

from __future__ import annotations

import random
import textwrap
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import (
    SPACES,
    Record,
    Rows,
    arguments,
    interval,
    multihop_index,
    multihop_questions,
    parse,
    passages_of,
    table,
    write_results,
)  # fmt: skip

from graphwright.data.datasets import read_dataset
from graphwright.data.document import Document
from graphwright.data.questions import QuestionRecord
from graphwright.errors import GraphwrightError
from graphwright.evaluate.measures import SUMMARY_METRICS, summary_scores
from graphwright.evaluate.metrics import exact_match, token_f1
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.graph.evidence import Ranking
from graphwright.index.build import Settings
from graphwright.index.snapshot import Snapshot
from graphwright.index.vector_index import normalised
from graphwright.index_folder import Index
from graphwright.methods.registry import METHODS, pipeline, retrieval_part
from graphwright.models.budget import estimated_tokens
from graphwright.models.protocols import Cancellation, Completion, Usage
from graphwright.operators.communities.summaries import most_central
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import State, start
from graphwright.text.sentences import sentence_spans

# Read by a model, or made for knowledge graphs.
LEFT_OUT = {"rerank", "multihop-rerank", "gar", "fastinsight", "fastinsight-entities", "tog"}
LEFT_OUT |= {"reg", "rog", "gsr", "kelp", "grag-m"}
ASKED = [name for name in METHODS if name not in LEFT_OUT and not name.startswith("lego-")]


# Short answers

SETS = ("musique-openie", "hotpotqa-lexical", "2wiki-lexical")
SHORTEST: Mapping[Any, Any] = {bool: False, int: 1, float: 1.0, str: "Yes.", list[int]: [1]}


class ShortestReply:
    """A language model that gives the shortest useful reply, and counts the tokens of its prompts."""

    id = "shortest"

    def complete(
        self,
        system: str,
        user: str,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
        cancel: Cancellation | None = None,
    ) -> Completion:
        """Return a reply that fits the schema: the first of a list of numbers, no other list, the shortest text."""
        fields = {} if schema is None else schema.model_fields
        value = None
        if schema is not None:
            value = schema(**{name: SHORTEST.get(field.annotation, []) for name, field in fields.items()})
        text = "Yes." if value is None else value.model_dump_json()
        tokens = estimated_tokens(f"{system}\n{user}")
        usage = Usage(calls=1, prompt_tokens=tokens, completion_tokens=estimated_tokens(text))
        return Completion(text, value, usage)


def ask_short(index: Index, question: str, method: str, with_llm: bool) -> Record:
    """Ask a question; return the answer and what it took."""
    run, begun = Run(), time.perf_counter()
    options: dict[str, Any] = {"llm": ShortestReply()} if with_llm else {}
    answer = index.ask(question, method, run=run, **options).answer
    return {
        "answer": answer.text if answer is not None and answer.found else "",
        "short": list(answer.short) if answer is not None else [],
        "prompt_tokens": run.usage.prompt_tokens,
        "calls": run.usage.calls,
        "seconds": time.perf_counter() - begun,
    }


def summarise_short(rows: Rows, method: str, questions: Sequence[QuestionRecord]) -> Record:
    """Return a method's tokens, and the quality of its offline answers where it has any."""
    asked = [rows[method, True, question.id] for question in questions]
    summary: Record = {
        "prompt tokens": float(np.mean([row["prompt_tokens"] for row in asked])),
        "calls": float(np.mean([row["calls"] for row in asked])),
    }
    if not METHODS[method].required:
        offline = [rows[method, False, question.id] for question in questions]
        texts = [row["short"] or [row["answer"]] for row in offline]
        pairs = list(zip(texts, [question.answers for question in questions], strict=True))
        f1 = [token_f1(answers, gold) for answers, gold in pairs]
        summary |= {
            "exact match": 100 * float(np.mean([exact_match(answers, gold) for answers, gold in pairs])),
            "token F1": 100 * float(np.mean(f1)),
            "token F1 from, to": [100 * end for end in bootstrap_interval(f1)],
            "short": 100 * float(np.mean([bool(row["short"]) for row in offline])),
            "p50 ms": 1e3 * float(np.median([row["seconds"] for row in offline])),
        }
    return summary


def measure_short(options: Namespace) -> None:
    """Ask the methods on the multihop sets, offline and with the stand-in."""
    results: Record = {}
    for label in options.sets:
        questions = multihop_questions(options, label, options.questions)
        rows = Rows(options.work / "answers" / f"{label}.jsonl", "method", "llm", "question")
        with Index.open(multihop_index(options, label)) as index:
            for method in options.methods:
                for with_llm in (True,) if METHODS[method].required else (False, True):
                    for question in questions:
                        identity = {"method": method, "llm": with_llm, "question": question.id}
                        if tuple(identity.values()) not in rows:
                            rows.add(identity | ask_short(index, question.text, method, with_llm))
                print(label, method, flush=True)
        summaries = {method: summarise_short(rows, method, questions) for method in options.methods}
        results[label] = {"questions": len(questions), "methods": summaries}
        write_results(options.out / "answers.json", results, short_page(results))


def short_page(results: Record) -> str:
    """Return the tables of all sets."""
    parts = ["# Answers with the embedded reader, and tokens of prompts", about("short")]
    for name, result in results.items():
        rows = []
        for method, row in result["methods"].items():
            quality = [""] * 3
            if "token F1" in row:
                f1 = "{:.1f} ({:.1f}-{:.1f})".format(row["token F1"], *row["token F1 from, to"])
                quality = [f"{row['exact match']:.0f}", f1, f"{row['short']:.0f}"]
            rows.append([method, *quality, f"{row['prompt tokens']:,.0f}", f"{row['calls']:.1f}"])
        header = ["method", "exact match", "token F1 (95 %)", "short answers %", "prompt tokens", "model calls"]
        parts += [f"## {name}, {result['questions']} questions", table(header, rows)]
    return "\n\n".join(parts)


def about(part: str) -> str:
    """Return the description of a part."""
    text = " ".join((__doc__ or "").partition(f"- {part}: ")[2].split("\n- ")[0].split("\n\n")[0].split())
    return textwrap.fill(text[0].upper() + text[1:].split(" Writes")[0], 120)


# Long answers

BASELINE = "vector"
PASSAGES, WORDS = 8, 200


@dataclass(frozen=True, repr=False)
class Opening(Operator):
    """Rank passages by their place in the document."""

    gives = ("passages",)

    def apply(self, state: State, run: Run) -> State:
        """Set the passages."""
        passages = state.graph.passages
        if passages is None:
            return state
        first = np.asarray(passages.nodes)[np.argsort(passages.start, kind="stable")]
        return state.with_(passages=Ranking.of(first, -np.arange(len(first), dtype=float)))


def story_index(folder: Path, name: str, text: str) -> Index:
    """Return the index of a story."""
    if (folder / name).exists():
        index = Index.open(folder / name)
    else:
        index = Index.create(folder / name, settings=Settings(embed=SPACES))
    index.add([Document(name, text=text)])
    return index


def quote(ix: Snapshot, question: str, nodes: Sequence[int]) -> str:
    """Quote sentences of the first passages up to so many words, in the order of the story."""
    graph = ix.graph
    begins = (
        dict(zip(graph.passages.nodes.tolist(), graph.passages.start.tolist(), strict=True)) if graph.passages else {}
    )
    texts = {node: graph.text(node) for node in nodes[:PASSAGES]}
    places: dict[str, int] = {}  # passages overlap: a sentence in two of them is one
    for node, text in texts.items():
        for first, last in sentence_spans(text):
            if 40 <= last - first <= 400:
                places.setdefault(text[first:last], begins[node] + first)
    if not places:
        return ""
    vectors = normalised(ix.encoder.encode([question, *texts.values(), *places]))
    query, whole, vectors = vectors[0], vectors[1 : len(texts) + 1], vectors[len(texts) + 1 :]
    order = most_central(vectors, vectors @ whole.mean(axis=0) + vectors @ query, len(places))
    sentences, chosen, room = list(places), [], WORDS
    for at in order.tolist():
        size = len(sentences[at].split())
        if size <= room:
            chosen.append(sentences[at])
            room -= size
    return " ".join(sorted(chosen, key=places.__getitem__))


def ask_story(index: Index, name: str, questions: Sequence[QuestionRecord], methods: Sequence[str], rows: Rows) -> None:
    """Ask the questions of a story that have no row yet."""
    ix = index.snapshot
    for method in methods:
        missing = [q for q in questions if (name, q.id, method) not in rows]
        if not missing:
            continue
        operator = Opening() if method == "opening" else retrieval_part(pipeline(method, ix))
        for question in missing:
            begun = time.perf_counter()
            state = operator(start(question.text, ix.graph))
            seconds = time.perf_counter() - begun
            text = quote(ix, question.text, passages_of(state))
            row = {"story": name, "question": question.id, "method": method, "words": len(text.split())}
            rows.add(row | {"ms": 1000 * seconds} | summary_scores(text, question.answers))


def measure_long(options: Namespace) -> None:
    """Ask the methods on stories of SQuALITY."""
    data = read_dataset(options.data / "long" / "squality_train.jsonl")
    every = list(data.documents(print))
    drawn = sorted(random.Random(options.seed).sample(range(len(every)), min(options.stories, len(every))))
    folder = options.work / "squality"
    rows = Rows(folder / "rows.jsonl", "story", "question", "method")
    methods = ["opening", *(m for m in options.methods if not METHODS[m].required)]
    failures: dict[str, str] = {}
    for at in drawn:
        questions = [question for question in data.questions if every[at].id in question.gold]
        with story_index(folder, every[at].id, every[at].text) as index:
            for method in [m for m in methods if m not in failures]:
                try:
                    ask_story(index, every[at].id, questions, [method], rows)
                except GraphwrightError as error:
                    failures[method] = str(error)
        print(every[at].id, flush=True)
    if BASELINE in failures:
        raise SystemExit(failures[BASELINE])
    stories = {every[at].id for at in drawn}
    of: dict[str, list[Record]] = {method: [] for method in methods if method not in failures}
    for row in rows.rows.values():
        if row["story"] in stories and row["method"] in of:
            of[row["method"]].append(row)
    results = {
        "stories": len(drawn), "of": len(every), "questions": len(of[BASELINE]), "seed": options.seed,
        "baseline": BASELINE, "passages": PASSAGES, "words": WORDS, "left out": failures,
        "methods": {name: summarise_long(own, of[BASELINE]) for name, own in of.items()},
    }  # fmt: skip
    write_results(options.out / "squality.json", results, long_page(results))
    print(long_page(results))


def summarise_long(own: Sequence[Record], baseline: Sequence[Record]) -> Record:
    """Return a method's mean scores, with intervals and p against the baseline."""
    summary: Record = {}
    for metric in SUMMARY_METRICS:
        values = [row[metric] for row in own]
        low, high = bootstrap_interval(values)
        summary[metric] = {"mean": round(float(np.mean(values)), 5), "low": round(low, 5), "high": round(high, 5)}
        if baseline is not own:
            summary[metric]["p"] = round(paired_test(values, [row[metric] for row in baseline]), 5)
    summary["words"] = round(float(np.mean([row["words"] for row in own])), 1)
    summary["ms p50"] = round(float(np.median([row["ms"] for row in own])), 1)
    return summary | {"empty": sum(not row["words"] for row in own)}


def long_page(results: Record) -> str:
    """Return the table of all methods."""
    rows, baseline = [], results["methods"][BASELINE]
    for name, values in results["methods"].items():
        cells = [interval(values[metric]) + mark(values[metric], baseline[metric]) for metric in SUMMARY_METRICS]
        rows.append([f"`{name}`", *cells, f"{values['words']:.0f}", f"{values['ms p50']:.0f}"])
    failures = "".join(f"- `{name}`: {reason}\n" for name, reason in results["left out"].items())
    return f"""# SQuALITY: answers of several sentences against human summaries

{results["questions"]} questions on {results["stories"]} of {results["of"]} stories (drawn with seed {results["seed"]}),
four summaries each; offline. Sentences of the first {PASSAGES} passages are quoted, up to {WORDS} words, for every
method alike, so that what differs is retrieval. Percent, with 95 % bootstrap intervals over questions (five of them
share a story); ↑ and ↓ mark differences from `{BASELINE}` with p < 0.05 (paired randomisation test, not corrected for
the number of tests). METEOR is without synonyms. `opening`: the first passages of the story. Times are of retrieval, on
a busy machine.

{table(["method", *SUMMARY_METRICS, "words", "p50 ms"], rows)}
{"Left out:" if failures else ""}

{failures}
Made by `python benchmarks/answers.py --data DIR --only long`. Levels cannot be compared with those of the paper, whose
answers a language model writes in its own words.
"""


def mark(value: Record, baseline: Record) -> str:
    """Return an arrow where a value differs from the baseline's."""
    if value.get("p", 1) >= 0.05:
        return ""
    return " ↑" if value["mean"] > baseline["mean"] else " ↓"


def main() -> None:
    """Measure the parts asked for."""
    parser = arguments(__doc__, parts=("short", "long"), sets=SETS)
    parser.add_argument("--questions", type=int, default=40, help="for short answers, of each set the first ones")
    parser.add_argument("--stories", type=int, default=50, help="for long answers")
    parser.add_argument("--seed", type=int, default=0, help="of the draw of stories")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=ASKED, metavar="METHOD")
    options = parse(parser)
    if "short" in options.only:
        measure_short(options)
    if "long" in options.only:
        measure_long(options)


if __name__ == "__main__":
    main()
