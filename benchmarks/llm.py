"""Measure a language model on the development sets: whether it replies as asked, and what its answers are worth.

    python benchmarks/llm.py --data DIR --base-url http://localhost:11434/v1 --llm qwen3:8b

Any server with the interface of OpenAI will do; its key is read from OPENAI_API_KEY. Each method asks the same
questions, drawn with a fixed seed, and shows the model as much evidence as every other (--passages, --tokens). On
knowledge graphs the entities of the questions are given. Each is asked twice: with the schema enforced by the server as
a grammar (json_schema), and with the schema in the prompt alone. Interrupted runs continue; rows of other models, or
with other limits, are kept apart.

The columns, over the replies to all steps of a method: `parses`, `fits`: the first reply of a step holds a JSON object,
and one that follows the schema; `repaired`: it did not, but its correction did; `plain`: an answer in plain text, kept
and marked as not verified; `twin`: nothing that could be used, so that the step was done without a model; `ends`: the
reply ended by itself, not at the limit of its tokens or of the time (--timeout, --deadline); `parses of those that
end`. `quotes hold`: of the quotes in the model's answers, those that are in the passages. `EM`, `F1`, `Hits@1`: of
`short`, where there is none of the text; an abstention counts 0, and an answer without the model as any other. Tokens
and seconds are means of a question, `longest` is the longest in seconds.
Writes `llm.json` and `llm.md`.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness import SPACES, Record, Rows, arguments, mean, parse, percent, read_results, table, update_results
from pydantic import BaseModel, ConfigDict
from stamps import made_by, states_of, together

from graphwright import Index
from graphwright.cli.terminal import progress as shown_progress
from graphwright.data.question_sets.graph_questions import GraphQuestion
from graphwright.data.question_sets.questions import QuestionRecord
from graphwright.errors import GraphwrightError
from graphwright.evaluate.experiment import Experiment
from graphwright.evaluate.indexing import build_index
from graphwright.evaluate.metrics import exact_match, hits_at_1, token_f1
from graphwright.models import MiniLM, OpenAILLM
from graphwright.models.budget import Deadline
from graphwright.models.structured import Mismatch, RawReply, parse_reply, plain_text
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Question, start
from graphwright.prompts.replies import PlainAnswer

SETS = ["multihop/musique", "multihop/hotpotqa100", "multihop/2wiki", "kgqa/pq-2h", "kgqa/metaqa:2hop_dev"]
METHODS = {
    "documents": ["vanilla", "hybrid", "ppr", "hipporag2", "pathrag", "bubblerag"],
    "graph": ["vanilla", "rog", "lego-12", "reg"],
}
GRAMMAR = {"request": True, "prompt": False}
"""Where the schema is: in the request, enforced by the server, or in the prompt alone."""
_MADE = "Made by `python benchmarks/llm.py --data DIR --base-url URL --llm MODEL`."
_DROPPED = re.compile(r"citation \d+ was dropped")
_MARKER = re.compile(r"\s*\[(?:\d+|unsupported)\]")


class AnyObject(BaseModel):
    """Any JSON object."""

    model_config = ConfigDict(extra="allow")


@dataclass
class Replies:
    """The replies to the steps of one question, in order: what was asked, and what came."""

    rows: list[Record] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, row: Record) -> None:
        """Add a reply."""
        with self.lock:
            self.rows.append(row)


@dataclass(frozen=True, repr=False)
class ObservedLLM(OpenAILLM):
    """The client as users have it, except that each reply is written down.

    `enforced`: whether the server may enforce the schema. It overrides two private parts of the client, because no
    public one has replies that were not accepted.
    """

    enforced: bool = True
    replies: Replies = field(default_factory=Replies, compare=False)

    def __post_init__(self) -> None:
        """Let the server enforce nothing, where that is asked for."""
        super().__post_init__()
        if not self.enforced:
            self._learned.update(("json_schema", "json_object"))

    def _ask(self, messages: list[tuple[str, str]], call: Any) -> RawReply:
        row: Record = {"schema": call.schema.__name__, "repair": messages[-2][0] == "assistant", "finish": "error"}
        begun = time.perf_counter()
        try:
            reply = super()._ask(messages, call)
            row |= judged(reply, call.schema)
            return reply
        except GraphwrightError as error:
            row["error"] = str(error)
            raise
        finally:
            self.replies.add(row | {"seconds": round(time.perf_counter() - begun, 2)})


def judged(reply: RawReply, schema: type[BaseModel]) -> Record:
    """Return what a reply is worth: why it ended, whether it is JSON, follows the schema, or is plain text."""
    return {
        "finish": reply.finish,
        "characters": len(reply.text),
        "parses": not isinstance(parse_reply(AnyObject, reply.text), Mismatch),
        "fits": not isinstance(parse_reply(schema, reply.text), Mismatch),
        "plain": issubclass(schema, PlainAnswer) and bool(plain_text(reply.text)),
    }


def asked(
    operator: Operator, index: Index, question: QuestionRecord, replies: Replies, deadline: float | None = None
) -> Record:
    """Return the row of one question: the replies, the answer's scores, tokens and seconds."""
    replies.rows.clear()
    entities = question.entities if isinstance(question, GraphQuestion) else ()
    cancel = None if deadline is None else Deadline(deadline)
    run, error, answer, notes = Run(cancel=cancel), "", None, list[str]()
    begun = time.perf_counter()
    try:
        state = operator(start(Question(question.text, question.id, entities), index.graph), run)
        answer, notes = state.answer, [note for step in state.trace for note in step.notes]
    except GraphwrightError as failure:
        error = f"{type(failure).__name__}: {failure}"
    return {
        "question": question.id,
        "replies": list(replies.rows),
        **scores(answer, question.answers),
        "quotes": 0 if answer is None else len(answer.citations),
        "dropped": sum(bool(_DROPPED.match(note)) for note in notes),
        "read": run.usage.prompt_tokens,
        "written": run.usage.completion_tokens,
        "seconds": round(time.perf_counter() - begun, 2),
        "error": error,
    }


def scores(answer: Answer | None, accepted: Sequence[str]) -> Record:
    """Return the scores of an answer's short form; of its text, where it has none."""
    if answer is None or not answer.found:
        return {"answered": False, "EM": 0.0, "F1": 0.0, "Hits@1": 0.0}
    predicted = answer.short or (_MARKER.sub("", answer.text).strip(),)
    metrics: dict[str, Callable[..., float]] = {"EM": exact_match, "F1": token_f1, "Hits@1": hits_at_1}
    return {"answered": True, **{name: metric(predicted, accepted) for name, metric in metrics.items()}}


def measure(options: Namespace, label: str, rows: Rows) -> str:
    """Ask the questions of a set that have no row yet, and return whether it is of documents or a graph."""
    path, _, questions = label.partition(":")
    experiment = Experiment(
        options.data / path, ("vector",), questions=questions, limit=options.questions, seed=options.seed
    )
    subject = experiment.read()
    if subject.over == "documents":
        experiment = replace(experiment, embed=SPACES)
    folder = options.work / "indexes" / f"llm-{subject.name}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with shown_progress() as progress:
        build_index(folder, experiment, subject, MiniLM(), progress)
    with closing(Index.open(folder)) as index:
        for form in options.forms:
            llm = ObservedLLM(
                options.llm, options.base_url, timeout=options.timeout, max_tokens=options.max_tokens,
                enforced=GRAMMAR[form], replies=Replies(),
            )  # fmt: skip
            for method in options.methods or METHODS[subject.over]:
                operator = index.method(method, llm=llm).within(options.passages, options.tokens).pipeline
                for question in subject.questions:
                    key = label, form, method, question.id
                    if key not in rows:
                        row = asked(operator, index, question, llm.replies, options.deadline)
                        rows.add({"set": label, "form": form, "method": method} | row)
                print(f"{label}, schema in the {form}: {method}", flush=True)
    return subject.over


def summary(rows: Sequence[Record]) -> Record:
    """Return the shares, scores and costs of a method's rows."""
    steps = [step for row in rows for step in steps_of(row["replies"])]
    first, ended = [step[0] for step in steps], [r for row in rows for r in row["replies"] if r["finish"] == "stop"]
    # Where the last reply was of no use, the answer and its quotes are those of the step without a model.
    own = [row for row in rows if row["replies"] and row["replies"][-1].get("fits")]
    quotes, dropped = sum(row["quotes"] for row in own), sum(row["dropped"] for row in own)
    every = [reply for step in steps for reply in step]
    return {
        "questions": len(rows),
        "steps": len(steps),
        "parses": percent([reply.get("parses", False) for reply in first]),
        "fits": percent([reply.get("fits", False) for reply in first]),
        "repaired": percent([not step[0].get("fits") and step[-1].get("fits", False) for step in steps]),
        "plain": percent([not step[-1].get("fits") and step[-1].get("plain", False) for step in steps]),
        "twin": percent([not step[-1].get("fits") and not step[-1].get("plain", False) for step in steps]),
        "ends": percent([reply["finish"] == "stop" for reply in every]),
        "parses of those that end": percent([reply["parses"] for reply in ended]),
        "quotes": quotes + dropped,
        "quotes hold": percent([1] * quotes + [0] * dropped),
        "answered": percent([row["answered"] for row in rows]),
        **{name: percent([row[name] for row in rows]) for name in ("EM", "F1", "Hits@1")},
        **{name: mean([row[name] for row in rows], 1) for name in ("read", "written", "seconds")},
        "longest": max(row["seconds"] for row in rows),
        "errors": sum(bool(row["error"]) for row in rows),
    }


def steps_of(replies: Iterable[Record]) -> list[list[Record]]:
    """Return the replies of each step: the first, and its correction where there was one."""
    steps: list[list[Record]] = []
    for reply in replies:
        if reply["repair"] and steps:
            steps[-1].append(reply)
        else:
            steps.append([reply])
    return steps


def page(results: Record) -> str:
    """Return the tables of all models."""
    legend = " ".join((__doc__ or "").partition("The columns, ")[2].partition("Writes")[0].split())
    parts = ["# Language models: replies and answers", f"Columns, {legend} {_MADE}"]
    for model, result in results.items():
        parts.append(f"## {model}\n\n{result['about']}")
        for label, cells in result["sets"].items():
            of_graph = cells["over"] == "graph"
            columns = [name for name in COLUMNS if name not in (("EM", "F1") if of_graph else ("Hits@1",))]
            body = [
                [f"`{method}`", form, *(shown(values[name]) for name in columns)]
                for method, forms in cells["methods"].items()
                for form, values in forms.items()
            ]
            parts.append(f"### {label}\n\n{table(['method', 'schema in the', *columns], body)}")
    return "\n\n".join(parts) + "\n"


COLUMNS = [
    "questions", "steps", "parses", "fits", "repaired", "plain", "twin", "ends", "parses of those that end",
    "quotes", "quotes hold", "answered", "EM", "F1", "Hits@1", "read", "written", "seconds", "longest", "errors",
]  # fmt: skip


def shown(value: float | None) -> str:
    """Return a number for a table, nothing where there is none."""
    return "" if value is None else f"{value:,.0f}" if float(value).is_integer() or value >= 100 else f"{value:,.1f}"


def described(options: Namespace) -> str:
    """Return the settings of a run, in a sentence."""
    deadline = "" if options.deadline is None else f", {options.deadline:g} seconds a question"
    return (
        f"{options.about}{' ' if options.about else ''}At most {options.passages} passages and {options.tokens:,} "
        f"tokens of evidence, {options.max_tokens:,} tokens a reply, {options.timeout:g} seconds a reply{deadline}; "
        f"temperature 0; questions drawn with seed {options.seed}."
    )


def store(options: Namespace, rows: Rows, overs: dict[str, str]) -> None:
    """Write the results of this model beside those of others."""
    path = options.out / "llm.json"
    results = read_results(path)
    sets: Record = results.get(options.llm, {}).get("sets", {})
    for label, over in overs.items():
        methods: dict[str, Record] = {}
        for row in rows.rows.values():
            if row["set"] == label:
                methods.setdefault(row["method"], {}).setdefault(row["form"], []).append(row)
        sets[label] = {
            "over": over,
            "methods": {name: {form: summary(own) for form, own in forms.items()} for name, forms in methods.items()},
        }
    states = together([states_of(path, options.llm), made_by()]) if sets.keys() - overs.keys() else None
    update_results(path, [options.llm], {"about": described(options), "sets": sets}, page, states=states)


def rows_of(options: Namespace) -> Rows:
    """Return the rows of this model with these limits."""
    limits = [options.passages, options.tokens, options.max_tokens, options.timeout, options.seed]
    limits += [] if options.deadline is None else [options.deadline]
    name = hashlib.sha256(json.dumps([options.llm, *limits]).encode()).hexdigest()[:12]
    return Rows(options.work / "llm" / f"{name}.jsonl", "set", "form", "method", "question")


def parser() -> ArgumentParser:
    """Return the arguments."""
    made = arguments(__doc__)
    made.add_argument("--base-url", required=True, help="address of the server, up to and with /v1")
    made.add_argument("--llm", required=True, help="the model's name on the server")
    made.add_argument("--about", default="", help="a sentence on the model, for the page")
    made.add_argument("--sets", nargs="+", default=SETS, metavar="FOLDER[:QUESTIONS]", help=f"below DIR: {SETS}")
    made.add_argument("--methods", nargs="+", metavar="METHOD", help=f"by default {METHODS}")
    made.add_argument("--forms", nargs="+", choices=list(GRAMMAR), default=list(GRAMMAR), help="where the schema is")
    made.add_argument("--questions", type=int, default=100, help="of each set")
    made.add_argument("--seed", type=int, default=0, help="of the draw of questions")
    made.add_argument("--passages", type=int, default=15, help="that the model is shown")
    made.add_argument("--tokens", type=int, default=3000, help="of evidence; fewer for a model with a small context")
    made.add_argument("--max-tokens", type=int, default=2048, help="of a reply")
    made.add_argument("--timeout", type=float, default=120.0, help="seconds of a reply")
    made.add_argument("--deadline", type=float, help="seconds of a question, after which it does without the model")
    return made


def main() -> None:
    """Measure the model, and write the tables after each set."""
    options = parse(parser())
    rows, overs = rows_of(options), dict[str, str]()
    for label in options.sets:
        overs[label] = measure(options, label, rows)
        store(options, rows, overs)
    print(Path(options.out / "llm.md"))


if __name__ == "__main__":
    main()
