"""Judging the answers of a run: which are right, and how often a method's are better than those of another.

Of two answers a model tends to prefer the one that it reads first (or last), whatever they say. So every pair is judged
in both orders, and an answer is better on a dimension only where both orders say so; all else is a tie, half a win for
either. PathRAG and LightRAG alternate the order instead, and report the mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from graphwright.data.questions import QuestionRecord
from graphwright.errors import ModelError, OptionError, ReplyError
from graphwright.evaluate.judgements import ACCURACY, PAIRWISE, Judgement, Log, Task
from graphwright.evaluate.judges import DIMENSIONS, Judge, ModelJudge, OverlapJudge, Verdict, dimensions_of
from graphwright.evaluate.statistics import bootstrap_interval, paired_test
from graphwright.index.build import Progress
from graphwright.models.base import LLM, metered
from graphwright.models.stopping import stopping

__all__ = ["DIMENSIONS", "Judge", "ModelJudge", "OverlapJudge", "Verdict", "judge_run", "verdicts"]

Answers = dict[str, dict[str, str]]
"""What each method answered, by question; "" for no answer."""


def judge_run(
    rows: Iterable[Mapping[str, Any]],
    questions: Iterable[QuestionRecord],
    llm: LLM | Judge,
    out: str | Path,
    *,
    accuracy: bool = True,
    against: str | None = None,
    dimensions: Mapping[str, str] | Sequence[str] = DIMENSIONS,
    threads: int = 8,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Judge the answers of a run, and return what came of it, as JSON holds it.

    `rows`: the run's results; methods of which no row has an answer are passed over, and a row without one, or with one
    that found nothing, of a method that does answer counts as an empty answer. `llm`: a language model, or a Judge such
    as OverlapJudge(). `accuracy`: judge each answer against those that its question accepts; questions without any are
    left out. `against`: a method that each other one is compared with, question by question, on `dimensions`: names
    with what they are about, or names of DIMENSIONS. `threads`: calls at a time. Where methods often give the same
    answer, a model inside a CachedLLM is asked about it once.

    Each judgement is a line of `judgements.jsonl` in the folder `out` as soon as it is made, so that a run that was
    interrupted at any moment goes on where it stopped, and one that is finished asks nothing. A line counts only for
    the same methods in the same order, question, accepted answers, answers, dimensions, prompt and judge: lines of
    other judges may stand in the same file, and a changed answer is judged anew. A reply that could not be read has a
    line that says so; remove it to ask again. One process at a time may judge in a folder.

    Returned is {"model": the judge's id,
    "accuracy": {method: {"mean", "low", "high", "questions"}},
    "wins": {method: {dimension: {"mean", "low", "high", "p", "ties", "questions"}}}, "against": its name or None,
    "position bias": share or None, "unreadable": count, "usage": {"prompt_tokens", "completion_tokens", "cost"}}.
    "mean" of wins is the method's win rate over `against`, ties half a win, "ties" the share of them; "low" and "high"
    are the ends of 95 % bootstrap intervals, "p" is that of the paired randomisation test, here the sign test (of win
    against loss). "position bias" is the share of all questions and dimensions on which the other order gave another
    verdict; None where no two answers were compared. A method or dimension without any judgement is left out. "usage"
    is what all of these judgements took, whenever they were made.

    Raises OptionError before anything is asked where an argument cannot be used, DataError for a line of the file that
    is no judgement, and BudgetError or ModelError where the model says no more: what was judged before is kept, also by
    calls that were under way.
    """
    answers = _answers(rows)
    about = dimensions_of(dimensions)
    _check(llm, answers, accuracy, against, threads)
    judge = _judge_of(llm)
    tasks = _tasks(answers, {question.id: question for question in questions}, accuracy, against)
    log = Log(Path(out) / "judgements.jsonl", judge.id, about)
    todo = [task for task in tasks if task not in log]
    with log.writing() as add:
        _each(partial(_judged, judge, about), todo, add, threads, progress)
    made = [log[task] for task in tasks]
    wins, bias = _wins(log, tasks, against, list(about))
    return {
        "model": judge.id,
        "accuracy": _accuracy(log, tasks),
        "wins": wins,
        "against": against,
        "position bias": bias,
        "unreadable": sum(one.verdicts is None for one in made),
        "usage": {
            "prompt_tokens": sum(one.prompt_tokens for one in made),
            "completion_tokens": sum(one.completion_tokens for one in made),
            "cost": sum(one.cost for one in made),
        },
    }


def verdicts(
    rows: Iterable[Mapping[str, Any]], questions: Iterable[QuestionRecord], llm: LLM | Judge, out: str | Path
) -> dict[tuple[str, str], Verdict]:
    """Return what was said of each answer, by method and question, in a folder where `judge_run` had them judged."""
    log = Log(Path(out) / "judgements.jsonl", _judge_of(llm).id, {})
    tasks = _tasks(_answers(rows), {question.id: question for question in questions}, True, None)
    said = {(task.methods[0], task.question.id): log[task].verdicts for task in tasks if task in log}
    return {key: found[ACCURACY] for key, found in said.items() if found}


def _judge_of(llm: LLM | Judge) -> Judge:
    return ModelJudge(llm) if isinstance(llm, LLM) else llm


def _answers(rows: Iterable[Mapping[str, Any]]) -> Answers:
    """Return the answers of the methods that answer at all."""
    said: Answers = {}
    answering = set()
    for row in rows:
        answer = row.get("answer")
        said.setdefault(row["method"], {})[row["question"]] = _text(answer)
        if answer is not None:
            answering.add(row["method"])
    return {method: texts for method, texts in said.items() if method in answering}


def _text(answer: Mapping[str, Any] | None) -> str:
    if answer is None or not answer.get("found", True):
        return ""
    return answer["text"].strip() or "\n".join(answer.get("answers", ()))


def _check(llm: object, answers: Answers, accuracy: bool, against: str | None, threads: int) -> None:
    if isinstance(llm, type) or not isinstance(llm, LLM | Judge):
        raise OptionError(f"{llm!r} cannot judge: give a language model, or a judge such as OverlapJudge().")
    if threads < 1:
        raise OptionError(f"threads is {threads!r}; at least 1 has to make the calls.")
    if not answers:
        raise OptionError("none of the rows has an answer, so that nothing can be judged: run methods that answer.")
    if against is not None and against not in answers:
        raise OptionError(
            f"answers cannot be compared with those of {against!r}: there are answers of {', '.join(answers)}."
        )
    if not accuracy and against is None:
        raise OptionError("nothing is to be judged: leave accuracy=True, or name a method to compare against.")


def _tasks(
    answers: Answers, questions: Mapping[str, QuestionRecord], accuracy: bool, against: str | None
) -> list[Task]:
    """Return all that is to be judged; a comparison in one order, then in the other."""
    tasks = []
    theirs = {} if against is None else answers[against]
    for method, texts in answers.items():
        for name, text in texts.items():
            if name not in questions:
                raise OptionError(
                    f"the rows hold an answer to question {name!r}, which is not among the {len(questions):,} "
                    f"questions given; give those that the run asked."
                )
            question = questions[name]
            if accuracy and question.answers:
                tasks.append(Task(ACCURACY, (method,), question, (text,)))
            if against is not None and method != against and name in theirs:
                pair = Task(PAIRWISE, (method, against), question, (text, theirs[name]))
                tasks += [pair, pair.swapped]
    return tasks


def _judged(judge: Judge, dimensions: Mapping[str, str], task: Task) -> Judgement:
    """Judge one task; a reply that cannot be read gives a judgement without verdicts."""
    asked = task.question.text, task.question.answers
    verdicts: Mapping[str, Verdict] | None = None
    unreadable = ""
    with metered() as usage:
        try:
            if task.kind == ACCURACY:
                verdicts = {ACCURACY: judge.accuracy(*asked, *task.answers)}
            else:
                first, second = task.answers
                verdicts = judge.compare(*asked, first, second, dimensions)
        except ReplyError as error:
            unreadable = str(error)
    return Judgement(verdicts, usage.prompt_tokens, usage.completion_tokens, usage.cost, unreadable)


def _each(
    work: Callable[[Task], Judgement],
    tasks: Sequence[Task],
    add: Callable[[Task, Judgement], None],
    threads: int,
    progress: Progress | None,
) -> None:
    """Do the work for each, several at a time, and add what comes of it as it comes.

    Once one has failed no other is begun; the error is raised when those under way have ended and were added.
    """
    left, done = iter(tasks), 0
    under_way: dict[Future[Judgement], Task] = {}
    failed: ModelError | None = None
    with ThreadPoolExecutor(threads, thread_name_prefix="judge") as pool, stopping():
        while True:
            for task in islice(left, 0 if failed else threads - len(under_way)):
                # A context serves one thread at a time, and holds the caller's meters.
                under_way[pool.submit(copy_context().run, work, task)] = task
            if not under_way:
                break
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                task = under_way.pop(future)
                try:
                    add(task, future.result())
                except ModelError as error:
                    failed = failed or error
                    continue
                done += 1
                if progress is not None:
                    progress("judge", done, len(tasks))
    if failed is not None:
        raise failed


def _accuracy(log: Log, tasks: Iterable[Task]) -> dict[str, dict[str, Any]]:
    values: dict[str, list[float]] = {}
    for task in tasks:
        if task.kind == ACCURACY and (value := log[task].value(ACCURACY)) is not None:
            values.setdefault(task.methods[0], []).append(value)
    return {method: {**_mean(given), "questions": len(given)} for method, given in values.items()}


def _wins(
    log: Log, tasks: Iterable[Task], against: str | None, dimensions: Sequence[str]
) -> tuple[dict[str, dict[str, dict[str, Any]]], float | None]:
    """Return the win rates of each method on each dimension, and the share of verdicts that the order changed."""
    values: dict[str, dict[str, list[float]]] = {}
    changed: list[bool] = []
    for task in tasks:
        if task.kind != PAIRWISE or task.methods[1] != against:
            continue  # a pair is taken up once, with its other order
        of = values.setdefault(task.methods[0], {})
        orders = log[task], log[task.swapped]
        for name in dimensions:
            one, other = (made.value(name) for made in orders)
            if one is None or other is None:
                continue
            agreed = one == 1 - other
            of.setdefault(name, []).append(one if agreed else 0.5)
            changed += [not agreed] if task.differs else []
    wins = {method: {name: _rate(of[name]) for name in dimensions if name in of} for method, of in values.items()}
    return wins, float(np.mean(changed)) if changed else None


def _rate(values: Sequence[float]) -> dict[str, Any]:
    given = np.array(values)
    more = {"p": paired_test(given, 1 - given), "ties": float(np.mean(given == 0.5)), "questions": len(values)}
    return {**_mean(values), **more}


def _mean(values: Sequence[float]) -> dict[str, Any]:
    low, high = bootstrap_interval(values)
    return {"mean": float(np.mean(values)), "low": low, "high": high}
