"""Ask one question by all methods, measure the results and their costs, and store them in a file of JSON lines."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from graphwright.data import GraphQuestion, QuestionRecord
from graphwright.errors import BudgetError, DataError, GraphwrightError, OptionError, cut
from graphwright.evaluate.measures import Measure, Outcome
from graphwright.files import growing, whole_lines
from graphwright.generate.citations import without_markers
from graphwright.graph import Graph, Kind
from graphwright.graph.evidence import Ints
from graphwright.models import Usage
from graphwright.operators import Answer, ModelMemory, Operator, Question, Run, SharedSteps, State, Step, start
from graphwright.search import Snapshot

Row = dict[str, Any]  # a result: a method, a question, metrics, costs, ranking, evidence, answer, steps

_MAX_DOCUMENTS, _MAX_ITEMS, _MAX_CITATIONS = 100, 5, 10  # of a row
_MAX_ITEM = 400  # characters
_COUNTS = ("texts", "tokens", "calls", "prompt_tokens", "completion_tokens")
# Escaped halves of surrogate pairs, which pydantic refuses.
_HALF = re.compile(rb"(?<!\\)((?:\\\\)*)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
Count = Annotated[int, Field(ge=0, le=10**15)]
Amount = Annotated[FiniteFloat, Field(ge=0)]


class Asker:
    """Measurement of named pipelines on questions over a snapshot.

    `linked`: link entities of the question instead of using the gold ones. `together`: run the steps that pipelines
    have in common once for each question; each of these pipelines is charged for them.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        pipelines: Mapping[str, Operator],
        measures: Sequence[Measure],
        *,
        linked: bool = False,
        together: bool = True,
    ) -> None:
        """Select the metrics of each pipeline; nothing is encoded before the first question."""
        self._snapshot, self._pipelines = snapshot, pipelines
        self._linked, self._together = linked, together
        over = "graph" if snapshot.graph.passages is None else "documents"
        measures = [measure.over(over) for measure in measures]
        self._measures = {name: _applicable(operator, measures) for name, operator in pipelines.items()}
        self._memory = ModelMemory()
        self._charged: dict[str, set[Hashable]] = {name: set() for name in pipelines}

    def warm(self, question: QuestionRecord, names: Iterable[str]) -> None:
        """Run an unmeasured question, to compile kernels. Raises OptionError for a method that cannot run."""
        # A different text, so that the vector of the measured question is not cached.
        state = self._start(question, f"{question.text} (not counted)")
        for name in names:
            try:
                self._pipelines[name](state, self._run(name))
            except BudgetError:
                raise
            except GraphwrightError:  # the question's row will report it
                continue
            except Exception as error:
                raise OptionError(
                    f"{name} cannot be asked: {type(error).__name__}: {error}. Check its options and operators: "
                    f"{stable_repr(self._pipelines[name])}."
                ) from error

    def ask(self, question: QuestionRecord, names: Iterable[str], add: Callable[[Row], None]) -> None:
        """Answer a question with each method, and add its row; a failure has its error there. A spent budget raises."""
        state, targets = self._start(question, question.text), self._targets(question)
        shared = SharedSteps() if self._together else None
        for name in names:
            add(self._row(name, question, state, targets, shared))

    def _run(self, name: str, shared: SharedSteps | None = None) -> Run:
        return Run(memory=self._memory, charged=self._charged[name], shared=shared)

    def _start(self, question: QuestionRecord, text: str) -> State:
        entities = () if self._linked or not isinstance(question, GraphQuestion) else question.entities
        return start(Question(text, question.id, entities, question.answers), self._snapshot.graph)

    def _row(
        self, name: str, question: QuestionRecord, state: State, targets: list[Ints], shared: SharedSteps | None
    ) -> Row:
        error, result, run = "", state, self._run(name, shared)
        begun = time.perf_counter()
        try:
            result = self._pipelines[name](state, run)
        except BudgetError:
            raise
        except Exception as failure:  # any failure, also in a user's operator; other methods continue
            error = f"{type(failure).__name__}: {failure}"
        seconds = time.perf_counter() - begun + run.usage.saved
        return {
            "method": name,
            "question": question.id,
            **_about(question),
            **self._outcome(name, question, result, targets, error),
            **_costs(run.usage, seconds),
            "steps": [_step(step, share) for step, share in zip(result.trace, _shares(result, targets), strict=True)],
        }

    def _outcome(self, name: str, question: QuestionRecord, state: State, targets: list[Ints], error: str) -> Row:
        """Return the documents, evidence, answer and metrics of a result; empty values for a failure."""
        graph = self._snapshot.graph
        if error:
            nothing = Outcome(question, state, graph, [], (), "", targets)
            empty: Row = {"documents": [], "evidence": [], "answer": None}
            return {**empty, **self._measured(name, nothing, failed=True), "error": error}
        documents, answers = _documents(state), _answers(state)
        text = "" if state.answer is None or not state.answer.found else without_markers(state.answer.text)
        outcome = Outcome(question, state, graph, [name for name, _ in documents], answers, text, targets)
        return {
            "documents": documents[:_MAX_DOCUMENTS],
            "evidence": _evidence(state),
            "answer": None if state.answer is None else _answer(state.answer),
            **self._measured(name, outcome),
        }

    def _measured(self, name: str, outcome: Outcome, *, failed: bool = False) -> Row:
        """Return the metrics that fit the question, and separately those that are ratios of sums; 0 for a failure."""
        values: dict[str, float] = {}
        ratios: dict[str, list[float]] = {}
        for measure in self._measures[name]:
            if not measure.fits(outcome.question):
                continue
            value = measure.of(outcome)
            if isinstance(value, tuple):
                ratios[measure.name] = [0.0, value[1]] if failed else list(value)
            else:
                values[measure.name] = 0.0 if failed else round(float(value), 6)
        return {"metrics": values, **({"ratios": ratios} if ratios else {})}

    def _targets(self, question: QuestionRecord) -> list[Ints]:
        """Return the nodes of each target: the passages of a gold document, or all nodes with the name of an answer."""
        passages = self._snapshot.graph.passages
        if passages is None:
            return [self._snapshot.graph.ids(name) for name in dict.fromkeys(question.answers)]
        rows = passages.rows_of_document
        return [passages.nodes[rows.get(name, [])] for name in dict.fromkeys(question.gold)]


def _applicable(operator: Operator, measures: Sequence[Measure]) -> list[Measure]:
    """Return the metrics of a pipeline: one that ranks no passages has no retrieval metrics."""
    gives = operator.after(frozenset())
    return [measure for measure in measures if measure.kind != "retrieval" or "passages" in gives]


def _about(question: QuestionRecord) -> Row:
    graph_question = question if isinstance(question, GraphQuestion) else None
    hops = question.metadata.get("hops") if graph_question is None else graph_question.hops
    return {
        "type": question.type,
        "hops": hops if type(hops) is int else None,
        "answers": len(question.answers),
        "entities": 0 if graph_question is None else len(graph_question.entities),
        "gold": list(question.gold),
    }


def _documents(state: State) -> list[tuple[str, float]]:
    """Return the documents of the ranked passages, each with the score of its best passage."""
    if state.passages is None:
        return []
    passages, nodes = state.graph.passages, state.passages.ids
    if passages is None:
        names = state.graph.names.take(nodes)
    else:
        names = passages.documents.take(passages.document[np.searchsorted(passages.nodes, nodes)])
    documents: dict[str, float] = {}
    for name, score in zip(names, state.passages.scores.tolist(), strict=True):
        documents.setdefault(name, round(score, 6))
    return list(documents.items())


def _answers(state: State) -> Sequence[str] | None:
    """Return the short answers, else the text (over a graph its lines); () if not found, None without an answer."""
    answer = state.answer
    if answer is None:
        return None
    if not answer.found:
        return ()
    if answer.short:
        return answer.short
    text = without_markers(answer.text)
    return tuple(filter(None, map(str.strip, text.splitlines()))) if state.graph.passages is None else (text,)


def _evidence(state: State) -> list[Row]:
    if state.evidence is None:
        return []
    best = state.evidence.top(_MAX_ITEMS)
    scores = [None] * len(best) if best.scores is None else [round(score, 6) for score in best.scores.tolist()]
    return [
        {"text": cut(text, _MAX_ITEM), "score": score}
        for text, score in zip(best.texts(state.graph), scores, strict=True)
    ]


def _answer(answer: Answer) -> Row:
    return {
        "text": answer.text,
        "short": list(answer.short),
        "found": answer.found,
        "verified": answer.verified,
        "citations": [cited.to_dict() for cited in answer.citations[:_MAX_CITATIONS]],
    }


def _costs(usage: Usage, seconds: float) -> Row:
    return {
        "seconds": round(seconds, 6),
        "model_seconds": round(usage.seconds, 6),
        **{name: getattr(usage, name) for name in _COUNTS},
        "cost": round(usage.cost, 8),
    }


def _step(step: Step, share: float | None) -> Row:
    return {
        "operator": stable_repr(step.operator),
        "seconds": round(step.seconds, 6),
        "model_seconds": round(step.usage.seconds, 6),
        "tokens": step.usage.tokens,
        "held": None if share is None else round(share, 6),
        **({"notes": list(step.notes)} if step.notes else {}),
    }


def _shares(state: State, targets: list[Ints]) -> list[float | None]:
    """Return the share of the targets in the state after each step (recall); None where it is undefined."""
    return [None if step.after is None or not targets else _share(step.after, targets) for step in state.trace]


def _share(state: State, targets: list[Ints]) -> float | None:
    graph, evidence = state.graph, state.evidence
    if state.passages is not None:
        inside = set(state.passages.ids.tolist())
    elif evidence is not None:
        nodes = np.concatenate((evidence.nodes, graph.ends(evidence.edges)))
        inside = set(nodes.tolist())
        if graph.passages is not None and not (graph.columns.kinds[nodes] == Kind.CHUNK).any():
            return _share_of_documents(graph, targets, inside, set(evidence.edges.tolist()))
    elif not graph.whole:
        return sum(bool(graph.holds(nodes).any()) for nodes in targets) / len(targets)
    else:
        return None
    return sum(not inside.isdisjoint(nodes.tolist()) for nodes in targets) / len(targets)


def _share_of_documents(graph: Graph, targets: list[Ints], nodes: set[int], edges: set[int]) -> float:
    """Return the share of documents with a passage that names one of the nodes, or states one of the edges."""
    columns = graph.columns
    return sum(
        not (
            nodes.isdisjoint(columns.adjacency.rows(passages).tolist())
            and edges.isdisjoint(columns.stated.rows(passages).tolist())
        )
        for passages in targets
    ) / len(targets)


class _Stored(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _StoredAnswer(_Stored):
    text: str
    short: list[str]
    found: bool


class _StoredStep(_Stored):
    operator: str
    seconds: Amount
    held: FiniteFloat | None
    notes: list[str] = []


class StoredRow(_Stored):
    """The parts of a row that a summary and a report use."""

    method: str
    question: str
    type: str
    hops: Count | None
    answers: Count
    entities: Count
    gold: list[str]
    documents: list[tuple[str, float]]
    answer: _StoredAnswer | None
    metrics: dict[str, FiniteFloat]
    ratios: dict[str, tuple[FiniteFloat, FiniteFloat]] = {}
    seconds: Amount
    model_seconds: Amount
    texts: Count
    tokens: Count
    calls: Count
    prompt_tokens: Count
    completion_tokens: Count
    cost: Amount
    steps: list[_StoredStep]
    error: str = ""


class Results:
    """The rows of a run in a JSON lines file. A question with an incomplete line or an `error` is asked again."""

    def __init__(self, path: Path, methods: Sequence[str], questions: Sequence[str]) -> None:
        """Read the existing rows. Raises DataError for a line that is not a row of this run."""
        self.path = path
        self._order = {pair: at for at, pair in enumerate(product(methods, questions))}
        self._rows: dict[tuple[str, str], Row] = {}
        for number, line in enumerate(whole_lines(path), 1):
            self._load(line, number)

    def _load(self, line: bytes, number: int) -> None:
        try:
            row = StoredRow.model_validate_json(_HALF.sub(rb"\1\\ufffd", line)).model_dump(exclude_unset=True)
            names = json.loads(line)
            key = row["method"], row["question"] = names["method"], names["question"]
            complete = key in self._order
        except (ValueError, RecursionError):
            complete = False
        if not complete or key in self:
            problem = "repeats a result" if complete else "is not a result of this run"
            raise DataError(
                f"{self.path}:{number} {problem}: {line[:60]!r}. Remove that line; its question is asked again."
            )
        self._rows[key] = row

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return pair in self._rows and "error" not in self._rows[pair]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows by method, then in the order of the questions."""
        return (self._rows[key] for key in sorted(self._rows, key=self._order.__getitem__))

    def of(self, method: str) -> list[Row]:
        """Return a method's rows in the order of the questions."""
        return [row for row in self if row["method"] == method]

    @contextmanager
    def writing(self) -> Iterator[Callable[[Row], None]]:
        """Open the file; `add(row)` returns when the row is written."""
        with growing(self.path) as write:

            def add(row: Row) -> None:
                write(row)
                self._rows[row["method"], row["question"]] = row

            yield add


def stable_repr(value: object) -> str:
    """Return a repr, or a text that contains one, without memory addresses, which differ between processes."""
    text = value if isinstance(value, str) else repr(value)
    return re.sub(r" at 0x[0-9a-fA-F]+(?=>)", "", text) if " at 0x" in text else text
