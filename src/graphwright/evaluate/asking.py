"""Asking one question by all methods, and what is written down of it: what was found, how good it is, what it took."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np

from graphwright.data.graph_questions import GraphQuestion
from graphwright.data.questions import QuestionRecord
from graphwright.errors import BudgetError, GraphwrightError, OptionError
from graphwright.evaluate.measures import Measure, Outcome
from graphwright.evaluate.results import Row, lasting
from graphwright.graph.evidence import Ints
from graphwright.graph.graph import Graph, Kind
from graphwright.index.snapshot import Snapshot
from graphwright.models.base import metered
from graphwright.models.bills import Bill, billed
from graphwright.models.protocols import Usage
from graphwright.operators.operator import Operator
from graphwright.operators.sharing import sharing
from graphwright.operators.state import Answer, Question, State, Step, start

__all__ = ["Asker"]

_RANKED, _PIECES, _SHOWN = 100, 5, 10  # documents, pieces and citations that a row keeps
_LONG = 400  # characters of a piece
_COUNTS = ("texts", "tokens", "calls", "prompt_tokens", "completion_tokens")


class Asker:
    """Asks questions over a snapshot by several pipelines, by name, and measures each.

    `linked`: whether methods have to find what a question names, though its record says it. `together`: steps that
    pipelines have in common are done once for each question, and each pipeline bears what they took.
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
        self._snapshot, self._pipelines = snapshot, pipelines
        self._linked, self._together = linked, together
        over = "graph" if snapshot.graph.passages is None else "documents"
        fitting = [measure.over(over) for measure in measures]
        self._measures = {name: _bearing(operator, fitting) for name, operator in pipelines.items()}
        # What a method had made for one question is there at the next, as it is in service.
        self._bills = {name: Bill() for name in pipelines}

    def warm(self, question: QuestionRecord, names: Iterable[str]) -> None:
        """Ask a question that does not count: kernels are compiled, and files opened. Not the one that is to come.

        Raises OptionError for a method that can be built, but not asked.
        """
        # Its vector would be remembered.
        state = self._begun(question, f"{question.text} (not counted)")
        for name in names:
            try:
                with billed(self._bills[name]):
                    self._pipelines[name](state)
            except BudgetError:
                raise
            except GraphwrightError:  # a row will say so
                continue
            except Exception as error:
                raise OptionError(
                    f"{name} cannot be asked: {type(error).__name__}: {error}. See what its options and operators "
                    f"take: {lasting(repr(self._pipelines[name]))}."
                ) from error

    def ask(self, question: QuestionRecord, names: Iterable[str], add: Callable[[Row], None]) -> None:
        """Ask a question by these methods, and add a row for each as soon as it is known.

        A method that fails, whatever with, has a row that says so, all its metrics 0. A spent budget ends the run.
        """
        state, wanted = self._begun(question, question.text), self._wanted(question)
        with sharing() if self._together else nullcontext():
            for name in names:
                add(self._row(name, question, state, wanted))

    def _begun(self, question: QuestionRecord, text: str) -> State:
        named = () if self._linked or not isinstance(question, GraphQuestion) else question.entities
        return start(Question(text, question.id, named, question.answers), self._snapshot.graph)

    def _row(self, name: str, question: QuestionRecord, state: State, wanted: list[Ints]) -> Row:
        failed, found, graph = "", state, self._snapshot.graph
        forgotten = _forget_peak()
        begun = time.perf_counter()
        with billed(self._bills[name]), metered() as usage:
            try:
                found = self._pipelines[name](state)
            except BudgetError:
                raise
            except Exception as error:  # also a fault, of ours or of the user's operator: the others go on
                failed = f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - begun + usage.saved
        peak = _peak() if forgotten else None  # before measuring, which may hold a graph of passages
        row = {"method": name, "question": question.id, **_about(question)}
        if failed:
            nothing = self._measured(name, Outcome(question, state, graph, [], (), "", wanted), failed=True)
            row |= {"documents": [], "evidence": [], "answer": None, **nothing, "error": failed}
        else:
            documents = _documents(found)
            texts = _answers(found)
            shown = "" if found.answer is None else found.answer.text
            whole = Outcome(question, found, graph, [one for one, _ in documents], texts, shown, wanted)
            row |= {
                "documents": documents[:_RANKED],
                "evidence": _evidence(found),
                "answer": None if found.answer is None else _answer(found.answer, texts or ()),
                **self._measured(name, whole),
            }
        return row | {
            **_costs(usage, seconds),
            "peak_mb": peak,
            "steps": [_step(step, share) for step, share in zip(found.trace, _held(found, wanted), strict=True)],
        }

    def _measured(self, name: str, outcome: Outcome, *, failed: bool = False) -> dict[str, Any]:
        """Return the metrics of an outcome, and apart from them those of which sums are divided; of a failure 0.

        Of a question, or a method, that has not what a metric needs it is left out.
        """
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

    def _wanted(self, question: QuestionRecord) -> list[Ints]:
        """Return the nodes of each thing that should be found: a gold document's passages, or an answer's namesakes.

        One that is not there has none, and is found by nobody.
        """
        passages = self._snapshot.graph.passages
        if passages is None:
            return [self._snapshot.graph.ids(name) for name in dict.fromkeys(question.answers)]
        rows = passages.rows_of_document
        return [passages.nodes[rows.get(name, [])] for name in dict.fromkeys(question.gold)]


def _bearing(operator: Operator, measures: Sequence[Measure]) -> list[Measure]:
    """Return what a pipeline can be measured by: one that only answers, from what a model knows, ranks no passages."""
    gives = operator.after(frozenset())
    return [measure for measure in measures if measure.kind != "retrieval" or "passages" in gives]


def _about(question: QuestionRecord) -> Row:
    known = question if isinstance(question, GraphQuestion) else None
    hops = question.metadata.get("hops") if known is None else known.hops
    return {
        "type": question.type,
        "hops": hops if type(hops) is int and abs(hops) < 1 << 63 else None,
        "answers": len(question.answers),
        "entities": 0 if known is None else len(known.entities),
        "gold": list(question.gold),
    }


def _documents(state: State) -> list[tuple[str, float]]:
    """Return the documents of the ranked passages with the score of their first."""
    if state.passages is None:
        return []
    found: dict[str, float] = {}
    passages, nodes = state.graph.passages, state.passages.ids
    if passages is None:
        names = state.graph.names.take(nodes)
    else:
        names = passages.documents.take(passages.document[np.searchsorted(passages.nodes, nodes)])
    for name, score in zip(names, state.passages.scores.tolist(), strict=True):
        found.setdefault(name, round(score, 6))
    return list(found.items())


def _answers(state: State) -> Sequence[str] | None:
    """Return the answers that were given: names, a line each, over a graph alone; else the text."""
    if state.answer is None:
        return None
    if not state.answer.found:
        return ()
    text = state.answer.text.strip()
    return tuple(filter(None, map(str.strip, text.splitlines()))) if state.graph.passages is None else (text,)


def _evidence(state: State) -> list[Row]:
    if state.evidence is None:
        return []
    best = state.evidence.top(_PIECES)
    scores = [None] * len(best) if best.scores is None else [round(score, 6) for score in best.scores.tolist()]
    return [
        {"text": text if len(text) <= _LONG else f"{text[:_LONG]} …", "score": score}
        for text, score in zip(best.texts(state.graph), scores, strict=True)
    ]


def _answer(reply: Answer, texts: Sequence[str]) -> Row:
    return {
        "text": reply.text,
        "answers": list(texts),
        "found": reply.found,
        "citations": [cited.as_json() for cited in reply.citations[:_SHOWN]],
    }


def _costs(usage: Usage, seconds: float) -> Row:
    return {
        "seconds": round(seconds, 6),
        "model_seconds": round(usage.seconds, 6),
        **{name: getattr(usage, name) for name in _COUNTS},
        "cost": round(usage.cost, 8),
    }


def _step(step: Step, held: float | None) -> Row:
    return {
        "operator": lasting(step.operator),
        "seconds": round(step.seconds, 6),
        "model_seconds": round(step.usage.seconds, 6),
        "tokens": step.usage.tokens,
        "held": None if held is None else round(held, 6),
        **({"notes": list(step.notes)} if step.notes else {}),
    }


def _held(state: State, wanted: list[Ints]) -> list[float | None]:
    """Return the share of what should be found that the state holds after each step; None where that says nothing."""
    shares: list[float | None] = []
    known: dict[tuple[int, ...], float | None] = {}
    for step in state.trace:
        after = step.after
        if after is None or not wanted:
            shares.append(None)
            continue
        place = id(after.passages), id(after.evidence), *after.graph.place
        if place not in known:
            known[place] = _share(after, wanted)
        shares.append(known[place])
    return shares


def _share(state: State, wanted: list[Ints]) -> float | None:
    graph, evidence = state.graph, state.evidence
    if state.passages is not None:
        inside = set(state.passages.ids.tolist())
    elif evidence is not None:
        found = np.concatenate((evidence.nodes, graph.ends(evidence.edges)))
        inside = set(found.tolist())
        if graph.passages is not None and not (graph.columns.kinds[found] == Kind.CHUNK).any():
            return _behind(graph, wanted, inside, set(evidence.edges.tolist()))
    elif not graph.whole:
        return sum(bool(graph.holds(nodes).any()) for nodes in wanted) / len(wanted)
    else:
        return None
    return sum(not inside.isdisjoint(nodes.tolist()) for nodes in wanted) / len(wanted)


def _behind(graph: Graph, wanted: list[Ints], nodes: set[int], edges: set[int]) -> float:
    """Return the share of those of which a passage names one of the nodes, or states one of the edges."""
    columns = graph.columns
    return sum(
        not (
            nodes.isdisjoint(columns.adjacency.rows(some).tolist())
            and edges.isdisjoint(columns.stated.rows(some).tolist())
        )
        for some in wanted
    ) / len(wanted)


_STATUS, _REFERENCES = "/proc/self/status", "/proc/self/clear_refs"  # of Linux; elsewhere there is no peak
_PEAK = re.compile(rb"VmHWM:\s+(\d+) kB")


def _forget_peak() -> bool:
    """Set the high-water mark of the process's memory back to what is held now; return whether that can be done."""
    with suppress(OSError), open(_REFERENCES, "wb", 0) as file:
        return file.write(b"5") == 1
    return False


def _peak() -> float | None:
    """Return the most memory that the process held since, in MB; None where the system does not say."""
    with suppress(OSError), open(_STATUS, "rb", 0) as file:
        if found := _PEAK.search(file.read()):
            return round(int(found[1]) / 1024, 1)
    return None
