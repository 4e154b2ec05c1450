"""Answers with the embedded reader, and the tokens of a language model's prompts: all methods side by side.

    python benchmarks/answers.py --data DIR/multihop [--indexes runs/recall] [--questions 50] [--methods ...]

The indexes are those of `benchmarks/recall.py`, which is run first. Answers are offline: exact match and token F1
(SQuAD) of what the method says, a few words where the reader trusts a span, else the sentences that it quotes, which
can share few words with a short answer. Tokens are those of all prompts that a method sends for a question, by estimate
(four characters each), the model a stand-in that gives each task its shortest useful reply: the first candidate where
it may choose, one line where it writes, and where it judges whether there is enough, no. An interrupted run goes on.
Writes benchmarks/results/answers.md and .json.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from graphwright.models.base import metered, spend

from graphwright import Index
from graphwright.data.questions import read_questions
from graphwright.evaluate.metrics import exact_match, token_f1
from graphwright.evaluate.statistics import bootstrap_interval
from graphwright.methods.registry import METHODS
from graphwright.models.budget import estimated_tokens
from graphwright.models.protocols import Completion

RESULTS = Path(__file__).parent / "results"
SETS = {"musique-openie": "musique", "hotpotqa-lexical": "hotpotqa", "2wiki-lexical": "2wiki"}
# Read by a model of their own.
OWN_MODEL = ("multihop-rerank", "rerank", "gar", "fastinsight", *(f"lego-{n}" for n in range(1, 16)))
SAYS = {bool: False, int: 1, float: 1.0, str: "Yes."}


class Shortest:
    """A language model that gives the shortest useful reply, and counts what it is asked."""

    id = "shortest"

    def complete(self, system, user, *, schema=None, on_text=None):
        prompt = estimated_tokens(f"{system}\n{user}")
        value = (
            None if schema is None else schema(**{name: said(f.annotation) for name, f in schema.model_fields.items()})
        )
        text = "Yes." if value is None else value.model_dump_json()
        spend(prompt_tokens=prompt, completion_tokens=estimated_tokens(text))
        return Completion(text, value, prompt, estimated_tokens(text))


def said(kind):
    """The first of a list of numbers, nothing of other lists, and the shortest of what stands alone."""
    if kind in SAYS:
        return SAYS[kind]
    return [1] if kind == list[int] else []


def ask(index, question, method, llm):
    begun = time.perf_counter()
    with metered() as usage:
        state = index.ask(question.text, method, **({"llm": llm} if llm else {}))
    return {
        "answer": state.answer.text if state.answer is not None and state.answer.found else "",
        "short": any(note.startswith("answer read with") for step in state.trace for note in step.notes),
        "prompt_tokens": usage.prompt_tokens,
        "calls": usage.calls,
        "seconds": time.perf_counter() - begun,
    }


def rows(index, questions, methods, path):
    """Return every answer of a set, those of an earlier run read from the file."""
    known = {}
    if path.exists():
        known = {
            (row["method"], row["llm"], row["question"]): row for row in map(json.loads, path.open(encoding="utf-8"))
        }
    with path.open("a", encoding="utf-8") as file:
        for method in methods:
            needs = bool(METHODS[method].required)
            for llm in ([None] if not needs else []) + [Shortest()]:
                for question in questions:
                    key = method, llm is not None, question.id
                    if key not in known:
                        made = {"method": method, "llm": key[1], "question": question.id}
                        known[key] = made | ask(index, question, method, llm)
                        file.write(json.dumps(known[key]) + "\n")
                        file.flush()
            print(path.stem, method, flush=True)
    return known


def summary(known, questions, methods):
    found = {}
    for method in methods:
        offline = [known.get((method, False, q.id)) for q in questions]
        asked = [known[method, True, q.id] for q in questions]
        of = found[method] = {
            "prompt tokens": float(np.mean([row["prompt_tokens"] for row in asked])),
            "calls": float(np.mean([row["calls"] for row in asked])),
        }
        if all(row is not None for row in offline):
            f1 = [token_f1(row["answer"], q.answers) for row, q in zip(offline, questions, strict=True)]
            of["exact match"] = 100 * float(
                np.mean([exact_match(r["answer"], q.answers) for r, q in zip(offline, questions, strict=True)])
            )
            of["token F1"] = 100 * float(np.mean(f1))
            of["token F1 from, to"] = [100 * end for end in bootstrap_interval(f1)]
            of["short"] = 100 * float(np.mean([row["short"] for row in offline]))
            of["p50 ms"] = 1e3 * float(np.median([row["seconds"] for row in offline]))
    return found


def page(results):
    lines = ["# Answers with the embedded reader, and tokens of prompts\n", __doc__.strip().split("\n\n")[2] + "\n"]
    for name, of in results.items():
        lines.append(f"## {name}, {of['questions']} questions\n")
        header = ["method", "exact match", "token F1 (95 %)", "short answers %", "prompt tokens", "model calls"]
        body = []
        for method, row in of["methods"].items():
            f1 = (
                "{:.1f} ({:.1f}-{:.1f})".format(row["token F1"], *row["token F1 from, to"]) if "token F1" in row else ""
            )
            cells = [f"{row[key]:.0f}" if key in row else "" for key in ("exact match", "short")]
            body.append([method, cells[0], f1, cells[1], f"{row['prompt tokens']:,.0f}", f"{row['calls']:.1f}"])
        lines += ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *body)] + [""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--indexes", type=Path, default=Path("runs/recall"))
    parser.add_argument("--out", type=Path, default=Path("runs/answers"))
    parser.add_argument("--questions", type=int, default=50, help="of each set, the first ones")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--methods", nargs="+", default=[m for m in METHODS if m not in (*OWN_MODEL, "vector")])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in given.sets:
        index = Index.open(given.indexes / name / "index")
        questions = [q for q in read_questions(given.data / SETS[name] / "questions.jsonl") if q.gold][
            : given.questions
        ]
        known = rows(index, questions, given.methods, given.out / f"{name}.jsonl")
        results[name] = {"questions": len(questions), "methods": summary(known, questions, given.methods)}
    (RESULTS / "answers.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "answers.md").write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
