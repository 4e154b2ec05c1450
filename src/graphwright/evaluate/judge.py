"""Judge the answers of a run, by a language model or a class of your own: accuracy, win rates to a baseline.

A model tends to prefer the first (or the last) of two answers. So every pair is judged in both orders, and an answer
wins on a dimension only if they agree; else it is a tie. PathRAG and LightRAG alternate the order instead.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel, Field, create_model, field_validator

from graphwright.data import QuestionRecord
from graphwright.errors import DataError, LLMResponseError, ModelError, OptionError, cut
from graphwright.evaluate.statistics import available, paired_test, with_interval
from graphwright.files import growing, whole_lines
from graphwright.models import LLM, Cancellation
from graphwright.operators import Run
from graphwright.prompts.limits import Sentence
from graphwright.prompts.templates import PROMPTS, data_line
from graphwright.store import Progress

DIMENSIONS: Mapping[str, str] = MappingProxyType(  # of comparisons: of GraphRAG and LightRAG, of PathRAG, the whole
    {
        "comprehensiveness": "How completely does the answer cover all parts of the question?",
        "diversity": "How varied are the points of view and the kinds of knowledge that the answer brings together?",
        "empowerment": "How well does the answer let its reader understand the matter and judge of it for themselves?",
        "logicality": "How sound is the reasoning: does each conclusion follow, without gaps or contradictions?",
        "coherence": "How well do the sentences of the answer connect and lead from one to the next?",
        "relevance": "How closely does the answer address the question, without irrelevant content?",
        "overall": "Which answer serves the person who asked better, all things considered?",
    }
)

_MAX_ANSWER = 8_000  # characters of an answer in a prompt
_MAX_REASON = 300  # characters of a reason
_VALUES = {"A": 1.0, "tie": 0.5, "B": 0.0}


@dataclass(frozen=True)
class Verdict:
    """A verdict and its reason. 1: right, or the first of two is better; 0: wrong, or the second is; 0.5: a tie."""

    value: float
    why: str = ""


@runtime_checkable
class Judge(Protocol):
    """A judge of answers by models. Raises LLMResponseError for an unreadable reply, ModelError for none."""

    @property
    def id(self) -> str:
        """Name of the judge and of all options that change its verdicts."""
        ...

    def accuracy(self, question: str, accepted: Sequence[str], answer: str, run: Run) -> Verdict:
        """Return whether an answer is right, given the accepted ones; an empty one is wrong."""
        ...

    def compare(
        self, question: str, accepted: Sequence[str], first: str, second: str, dimensions: Mapping[str, str], run: Run
    ) -> dict[str, Verdict]:
        """Return which of two answers is better on each dimension; dimensions that it cannot judge are left out."""
        ...


class Grade(BaseModel):
    """Reply of a model about one answer."""

    why: Sentence
    right: bool


@dataclass(frozen=True)
class ModelJudge:
    """Judge answers by a language model.

    An empty answer is wrong, and loses to any other on every dimension; two equal answers tie: no call is made for
    these. A comparison does not show the accepted answers. Prompts have the first 8,000 characters of an answer.

    >>> from graphwright.models.fake import ScriptedLLM
    >>> judge = ModelJudge(ScriptedLLM(['{"why": "It is the same river.", "right": true}']))
    >>> judge.accuracy("Which river is Graz on?", ["Mur"], "On the river Mur.", Run())
    Verdict(value=1.0, why='It is the same river.')
    """

    llm: LLM

    @property
    def id(self) -> str:
        """Name of the model."""
        return self.llm.id

    def accuracy(self, question: str, accepted: Sequence[str], answer: str, run: Run) -> Verdict:
        """Return whether an answer is right."""
        if not answer:
            return Verdict(0.0, "no answer was given")
        prompt = PROMPTS.messages(
            "judge_accuracy",
            question=data_line({"question": question}),
            accepted=data_line({"accepted": list(accepted)}),
            answer=data_line({"answer": answer[:_MAX_ANSWER]}),
        )
        grade = run.complete(self.llm, *prompt, schema=Grade).value
        return Verdict(float(grade.right), _short(grade.why))

    def compare(
        self, question: str, accepted: Sequence[str], first: str, second: str, dimensions: Mapping[str, str], run: Run
    ) -> dict[str, Verdict]:
        """Return which of two answers is better on each dimension."""
        if first == second:
            return dict.fromkeys(dimensions, Verdict(0.5, "the answers are equal"))
        if not first or not second:
            return dict.fromkeys(dimensions, Verdict(float(bool(first)), "the other gave no answer"))
        prompt = PROMPTS.messages(
            "judge_pairwise",
            question=data_line({"question": question}),
            dimensions="\n".join(data_line({"dimension": name, "about": dimensions[name]}) for name in dimensions),
            first=data_line({"answer": first[:_MAX_ANSWER]}),
            second=data_line({"answer": second[:_MAX_ANSWER]}),
        )
        reply = run.complete(self.llm, *prompt, schema=_comparison(tuple(dimensions))).value
        verdicts = {item.dimension: Verdict(_VALUES[item.winner], _short(item.why)) for item in reply.verdicts}
        return {name: verdicts[name] for name in dimensions}


@lru_cache(maxsize=16)
def _comparison(dimensions: tuple[str, ...]) -> type[Any]:
    """Return the schema of a reply about two answers: one verdict for each of the dimensions, in any order."""

    def complete(verdicts: list[Any]) -> list[Any]:
        counts = Counter(item.dimension for item in verdicts)
        if wrong := [name for name in dimensions if counts[name] != 1]:
            raise ValueError(f"there must be exactly one verdict for each of {', '.join(wrong)}")
        return verdicts

    name: Any = Literal[dimensions]
    winner: Any = Literal[tuple(_VALUES)]
    verdict = create_model("DimensionVerdict", dimension=(name, ...), why=(Sentence, ...), winner=(winner, ...))
    validators: Any = {"complete": field_validator("verdicts")(complete)}
    most = Field(json_schema_extra={"maxItems": len(dimensions)})
    return create_model("Comparison", __validators__=validators, verdicts=(list[verdict], most))  # type: ignore[valid-type]


def _short(why: str) -> str:
    return cut(" ".join(why.split()), _MAX_REASON)


ACCURACY, PAIRWISE = "accuracy", "pairwise"
_IDENTITY = ("kind", "methods", "question", "dimensions", "model", "prompt", "texts")
_USAGE = ("prompt_tokens", "completion_tokens", "cost")
Answers = dict[str, dict[str, str]]  # answers of each method by question; "" for no answer


@dataclass(frozen=True)
class Task:
    """The answers of one method, or of two to compare, to a question, in the order in which they are shown."""

    kind: str
    methods: tuple[str, ...]
    question: QuestionRecord
    answers: tuple[str, ...]

    @property
    def swapped(self) -> Task:
        """The same task in the other order."""
        return Task(self.kind, self.methods[::-1], self.question, self.answers[::-1])


class Judgement(BaseModel):
    """A line of the file of judgements: its identity, verdicts by "accuracy" or dimension, and the usage of the call.

    `texts`: a checksum of all judged texts. `verdicts`: None for an unreadable reply; `unreadable` has the reason.
    """

    kind: str
    methods: tuple[str, ...]
    question: str
    dimensions: tuple[str, ...]
    model: str
    prompt: str
    texts: str
    verdicts: dict[str, Verdict] | None
    prompt_tokens: int
    completion_tokens: int
    cost: float
    unreadable: str

    def value(self, name: str) -> float | None:
        """Return the verdict of a name, None where there is none."""
        verdict = (self.verdicts or {}).get(name)
        return None if verdict is None else verdict.value


class Log:
    """The judgements made so far, in a file of JSON lines; a half-written last line is dropped, and judged again."""

    def __init__(self, path: Path, model: str, dimensions: Mapping[str, str]) -> None:
        """Read the existing judgements. Raises DataError for a line that is none."""
        self._path, self._model, self.dimensions = path, model, dimensions
        self._prompts = {kind: PROMPTS.checksum(f"judge_{kind}") for kind in (ACCURACY, PAIRWISE)}
        self._judgements: dict[tuple[Any, ...], Judgement] = {}
        for number, line in enumerate(whole_lines(path), 1):
            try:
                judgement = Judgement.model_validate_json(line)
            except ValueError as error:
                raise DataError(
                    f"{path}:{number} is not a judgement: {line[:60]!r}. Remove that line; it is judged again."
                ) from error
            self._judgements.setdefault(_key(judgement), judgement)

    def identity(self, task: Task) -> dict[str, Any]:
        """Return the first seven fields of a task's judgement."""
        about = self.dimensions if task.kind == PAIRWISE else {}
        texts = [task.question.text, task.question.answers, task.answers, list(about.values())]
        return {
            "kind": task.kind,
            "methods": task.methods,
            "question": task.question.id,
            "dimensions": tuple(about),
            "model": self._model,
            "prompt": self._prompts[task.kind],
            "texts": hashlib.blake2b(json.dumps(texts).encode(), digest_size=8).hexdigest(),
        }

    def __contains__(self, task: Task) -> bool:
        return tuple(self.identity(task).values()) in self._judgements

    def __getitem__(self, task: Task) -> Judgement:
        return self._judgements[tuple(self.identity(task).values())]

    @contextmanager
    def writing(self) -> Iterator[Callable[[Judgement], None]]:
        """Open the file; `add(judgement)` returns when it is written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with growing(self._path) as write:

            def add(judgement: Judgement) -> None:
                write(judgement.model_dump())
                self._judgements[_key(judgement)] = judgement

            yield add


def _key(judgement: Judgement) -> tuple[Any, ...]:
    return tuple(getattr(judgement, name) for name in _IDENTITY)


def judge_run(
    rows: Iterable[Mapping[str, Any]],
    questions: Iterable[QuestionRecord],
    llm: LLM | Judge,
    out: str | Path,
    *,
    against: str | None = None,
    dimensions: Mapping[str, str] = DIMENSIONS,
    threads: int = 8,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Judge the answers of a run against the accepted ones, and return the figures as JSON values.

    `rows`: the run's results; methods without any answer are skipped, and a missing answer or an abstention counts as
    an empty answer. `against`: the baseline that all other methods are compared with on `dimensions`: names with
    descriptions. `threads`: calls at a time.

    Each judgement is appended to `judgements.jsonl` in the folder `out` at once, so that an interrupted call resumes;
    it counts only for the same texts, methods in the same order, dimensions, prompt and judge. An unreadable reply has
    a line with the reason; remove it to repeat the request.

    The figures are {"model": the judge's id, "accuracy": {method: {"mean", "low", "high", "questions"}}, "wins":
    {method: {dimension: {"mean", "low", "high", "p", "ties", "questions"}}}, "against", "position bias", "unreadable",
    "usage"}. "mean" of wins is the win rate, a tie being half a win; "low", "high" and "p" (of the sign test) need
    scipy. "position bias" is the share of verdicts that the order of the two changed.

    Raises OptionError, before any call, for an argument that cannot be used, DataError for a line of the file that is
    no judgement, and BudgetError or ModelError where the model fails: finished and running judgements are kept.
    """
    if isinstance(llm, type) or not isinstance(llm, LLM | Judge):
        raise OptionError(f"{llm!r} cannot judge: give a language model, or an object with the methods of Judge.")
    judge, answers = ModelJudge(llm) if isinstance(llm, LLM) else llm, _answers(rows, against)
    tasks = _tasks(answers, {question.id: question for question in questions}, against)
    log = Log(Path(out) / "judgements.jsonl", judge.id, dimensions)
    _judge_all(judge, log, [task for task in tasks if task not in log], threads, progress)
    judgements = [log[task] for task in tasks]
    wins, bias = _wins(log, tasks, against)
    usage = {name: sum(getattr(judgement, name) for judgement in judgements) for name in _USAGE}
    unreadable = sum(judgement.verdicts is None for judgement in judgements)
    figures = {"accuracy": _accuracy(log, tasks), "wins": wins, "against": against, "position bias": bias}
    return {"model": judge.id, **figures, "unreadable": unreadable, "usage": usage}


def _answers(rows: Iterable[Mapping[str, Any]], against: str | None) -> Answers:
    """Return the answers of the methods that have any. Raises OptionError where there are none, or none to compare."""
    answers: Answers = {}
    answering = set()
    for row in rows:
        answer = row.get("answer")
        answers.setdefault(row["method"], {})[row["question"]] = _text(answer)
        if answer is not None:
            answering.add(row["method"])
    answers = {method: texts for method, texts in answers.items() if method in answering}
    if not answers:
        raise OptionError("None of the rows has an answer; run methods that answer.")
    if against is not None and against not in answers:
        raise OptionError(
            f"Answers cannot be compared with those of {against!r}: there are answers of {', '.join(answers)}."
        )
    return answers


def _text(answer: Mapping[str, Any] | None) -> str:
    if answer is None or not answer.get("found", True):
        return ""
    return answer["text"].strip() or "\n".join(answer.get("short", ()))


def _tasks(answers: Answers, questions: Mapping[str, QuestionRecord], against: str | None) -> list[Task]:
    """Return all tasks; a comparison in one order, then in the other."""
    tasks = []
    baseline = {} if against is None else answers[against]
    for method, texts in answers.items():
        for name, text in texts.items():
            if name not in questions:
                raise OptionError(
                    f"The rows hold an answer to question {name!r}, which is not among the {len(questions):,} "
                    f"questions given. Pass the questions of the run."
                )
            question = questions[name]
            if question.answers:
                tasks.append(Task(ACCURACY, (method,), question, (text,)))
            if against is not None and method != against and name in baseline:
                pair = Task(PAIRWISE, (method, against), question, (text, baseline[name]))
                tasks += [pair, pair.swapped]
    return tasks


def _judge_all(judge: Judge, log: Log, tasks: Sequence[Task], threads: int, progress: Progress | None) -> None:
    """Judge the tasks, several at a time; after a failure the running ones are still added before it is raised."""
    remaining, done = iter(tasks), 0
    running: set[Future[Judgement]] = set()
    failure: ModelError | None = None
    pool = ThreadPoolExecutor(threads, thread_name_prefix="judge")
    with log.writing() as add, pool, Cancellation() as cancel:
        while True:
            for task in islice(remaining, 0 if failure else threads - len(running)):
                running.add(pool.submit(_judged, judge, log, task, cancel))
            if not running:
                break
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                try:
                    add(future.result())
                except ModelError as error:
                    failure = failure or error
                    continue
                done += 1
                if progress is not None:
                    progress("judge", done, len(tasks))
    if failure is not None:
        raise failure


def _judged(judge: Judge, log: Log, task: Task, cancel: Cancellation) -> Judgement:
    """Judge one task; a reply that cannot be read gives a judgement without verdicts."""
    question, accepted = task.question.text, task.question.answers
    run, unreadable = Run(cancel=cancel), ""
    verdicts: dict[str, Verdict] | None = None
    try:
        if task.kind == ACCURACY:
            verdicts = {ACCURACY: judge.accuracy(question, accepted, task.answers[0], run)}
        else:
            first, second = task.answers
            verdicts = judge.compare(question, accepted, first, second, log.dimensions, run)
    except LLMResponseError as error:
        unreadable = str(error)
    usage = {name: getattr(run.usage, name) for name in _USAGE}
    return Judgement(**log.identity(task), verdicts=verdicts, **usage, unreadable=unreadable)


def _accuracy(log: Log, tasks: Iterable[Task]) -> dict[str, dict[str, Any]]:
    values: dict[str, list[float]] = {}
    for task in tasks:
        if task.kind == ACCURACY and (value := log[task].value(ACCURACY)) is not None:
            values.setdefault(task.methods[0], []).append(value)
    return {method: {**with_interval(scores), "questions": len(scores)} for method, scores in values.items()}


def _wins(log: Log, tasks: Iterable[Task], against: str | None) -> tuple[dict[str, Any], float | None]:
    """Return the win rates of each method on each dimension, and the share of verdicts that the order changed."""
    values: dict[str, dict[str, list[float]]] = {}
    changed: list[bool] = []
    for task in tasks:
        if task.kind != PAIRWISE or task.methods[1] != against:
            continue  # read with its other order
        rates = values.setdefault(task.methods[0], {})
        for name in log.dimensions:
            first, second = log[task].value(name), log[task.swapped].value(name)
            if first is None or second is None:
                continue
            agreed = first == 1 - second
            rates.setdefault(name, []).append(first if agreed else 0.5)
            if all(task.answers) and len(set(task.answers)) == 2:  # the order could matter
                changed.append(not agreed)
    wins = {
        method: {name: _rate(rates[name]) for name in log.dimensions if name in rates}
        for method, rates in values.items()
    }
    return wins, float(np.mean(changed)) if changed else None


def _rate(values: Sequence[float]) -> dict[str, Any]:
    wins = np.array(values)
    tested = {"p": paired_test(wins, 1 - wins)} if available() else {}
    return {**with_interval(wins), **tested, "ties": float(np.mean(wins == 0.5)), "questions": len(values)}
