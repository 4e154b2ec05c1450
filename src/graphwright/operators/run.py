"""The run of a pipeline, passed to every operator: usage, model outputs, notes, streaming, cancellation."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from graphwright.errors import LLMResponseError, ModelError, ReplyCutError
from graphwright.models.constrained import Unconstrained, decode
from graphwright.models.protocols import (
    LLM,
    AnsweringReader,
    Cancellation,
    Completion,
    CrossEncoder,
    Encoder,
    Floats,
    PassageText,
    Reader,
    Span,
    Usage,
    call_metered,
)
from graphwright.prompts.templates import PROMPTS, Prompts

if TYPE_CHECKING:
    from graphwright.graph.evidence import Scores
    from graphwright.kernels.far import Reading
    from graphwright.operators.operator import Operator
    from graphwright.operators.state import State, Step

NO_VECTORS = "the index has no vectors of"  # start of the note on vectors that a method uses and the index lacks
IN_PART = "searched in part:"  # start of the note on shards that do not answer
CUT_SHORT = "the model's reply was cut short"  # start of the note on an incomplete reply of a language model
NOT_FOLLOWED = "the instruction was not followed, because no language model wrote this answer"
"""Note on an answer that is quoted or computed although `Run.instruction` says how to write it."""
REMEDY = "a new index made with --embed passages,names,triples (the default) has them"

_BLOCK = 512  # texts that are encoded in one call
_ROWS = 16_384  # rows in the cache: 25 MB at 384 numbers each
Value = TypeVar("Value")
Costs = dict[Any, Usage]  # cost of each model output, by its key


class ModelMemory:
    """Cache of the most recent vectors and latents, at most `rows`, each with its cost; threads may share it."""

    def __init__(self, rows: int = _ROWS) -> None:
        self._limit = rows
        self._rows: OrderedDict[Hashable, tuple[Floats, Usage]] = OrderedDict()
        self._spaces: dict[Hashable, int] = {}
        self._unhashable: dict[int, object] = {}
        self._numbers = count()
        self._lock = Lock()

    def space(self, model: object, method: str, arguments: tuple[str, ...]) -> int:
        """Return a number for a model's output by these arguments; unhashable models equal only themselves."""
        with self._lock:
            try:
                kind: Hashable = (method, model, *arguments)
                hash(kind)
            except TypeError:
                self._unhashable[id(model)] = model  # referenced, so that no other model gets its id
                kind = (method, id(model), *arguments)
            if kind not in self._spaces:
                if len(self._spaces) >= self._limit:
                    self._spaces.clear()
                self._spaces[kind] = next(self._numbers)
            return self._spaces[kind]

    def get(self, keys: Sequence[Hashable]) -> dict[Any, tuple[Floats, Usage]]:
        """Return the known rows among these keys."""
        with self._lock:
            known = {key: self._rows[key] for key in keys if key in self._rows}
            for key in known:
                self._rows.move_to_end(key)
        return known

    def put(self, rows: dict[Any, tuple[Floats, Usage]]) -> None:
        """Add rows, dropping the least recently used."""
        with self._lock:
            self._rows.update(rows)
            while len(self._rows) > self._limit:
                self._rows.popitem(last=False)


@dataclass
class _Faults:
    """Faults that a run has met: a cut reply, models (by id) that cannot be constrained, kinds of vectors missing."""

    cut_short: bool = False
    unconstrained: set[int] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)


@dataclass(kw_only=True, eq=False, repr=False)
class Run:
    """One run of a pipeline over one question. Operators call models through it, so that their usage is counted.

    `memory`: cache of vectors and latents, by default for this run alone. `charged`: keys of the model outputs that the
    pipeline has paid for; if given, an output from another pipeline is charged with its cost there (cost attribution).
    `shared`: steps computed once for several pipelines. `on_text`: called with each piece of a streamed answer;
    `on_step`: with each step as it ends. `cancel`: stops model calls. `failed`: whether the step gave no usable result;
    `written`: whether a language model wrote its answer.
    `incomplete`: whether documents are being read that cannot be searched yet. `prompts`: those of the index.
    `instruction`: how the text of an answer is to be written, such as "in German, at most 80 words"; "" for none.
    `ahead`: readings of what the next steps want, made together with the first products of vectors kept elsewhere.
    `outputs`, `paid`: cost of the model outputs that were used and charged, by key, if `charged` is given.
    """

    memory: ModelMemory = field(default_factory=ModelMemory)
    charged: set[Hashable] | None = None
    shared: SharedSteps | None = None
    on_text: Callable[[str], None] | None = None
    on_step: Callable[[Step], None] | None = None
    cancel: Cancellation | None = None
    incomplete: bool = False
    prompts: Prompts = PROMPTS
    instruction: str = ""
    ahead: list[Reading[Any]] = field(default_factory=list)
    _computed: dict[Hashable, Any] = field(default_factory=dict)
    faults: _Faults = field(default_factory=_Faults)
    failed: bool = False
    written: bool = False
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    outputs: Costs = field(default_factory=dict)
    paid: Costs = field(default_factory=dict)

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key, which `make` computes at its first use in this run."""
        if key not in self._computed:
            self._computed[key] = make()
        value: Value = self._computed[key]
        return value

    def child(self) -> Run:
        """Return the run of one step: same models, own usage and notes."""
        child = object.__new__(type(self))
        fresh = {"usage": Usage(), "notes": [], "outputs": {}, "paid": {}, "failed": False, "written": False}
        vars(child).update({**vars(self), **fresh})
        return child

    def absorb(self, child: Run) -> None:
        """Add the usage of a step."""
        self.usage.add(child.usage)
        self.outputs |= child.outputs
        self.paid |= child.paid
        self.written |= child.written

    def note(self, text: str) -> None:
        """Write a remark into the trace of the current step."""
        self.notes.append(text)

    def fail(self, text: str = "") -> None:
        """Mark the current step as without a usable result, so that a Fallback runs its second operator."""
        self.failed = True
        if text:
            self.note(text)

    def note_missing(self, kind: str) -> None:
        """Write into the trace, once a run, that the index has no vectors of names or triples."""
        if kind not in self.faults.missing:
            self.faults.missing.add(kind)
            self.note(f"{NO_VECTORS} {kind}, so they were compared by words; {REMEDY}")

    def encode(self, encoder: Encoder, texts: Sequence[str]) -> Floats:
        """Return one vector per text: float32[len(texts), dimension]; each distinct text is encoded once."""
        return self._rows(encoder, "encode", (), texts)

    def latents(self, model: CrossEncoder, query: str, texts: Sequence[str]) -> Floats:
        """Return one latent per text, read together with the query: float32[len(texts), h]."""
        return self._rows(model, "latents", (query,), texts)

    def scores(self, model: CrossEncoder, query: str, texts: Sequence[str]) -> Scores:
        """Return the cross-encoder's score of each text: float64[len(texts)]."""
        if not texts:
            return np.empty(0)
        return np.asarray(model.head(self.latents(model, query, texts)), np.float64)

    def read(self, reader: Reader, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return the answer spans that a reader finds, best first; none without passages."""
        if not passages:
            return []
        spans: list[Span] = self._by_reader(reader, "read", question, passages)
        return spans

    def sentence_scores(
        self,
        reader: AnsweringReader,
        question: str,
        passages: Sequence[PassageText],
        sentences: Sequence[tuple[int, int, int]],
    ) -> Scores:
        """Return a reader's score of each sentence of the passages: float64[n]."""
        if not sentences:
            return np.empty(0)
        return np.asarray(self._by_reader(reader, "sentence_scores", question, passages, sentences), np.float64)

    def readings(self, reader: Reader, question: str, passages: Sequence[PassageText]) -> Any:
        """Return what the embedded reader makes of each passage, before any choice; `reader`: one with `readings`."""
        return self._by_reader(reader, "readings", question, passages)

    def _by_reader(
        self, reader: Reader, method: str, question: str, passages: Sequence[PassageText], *more: Any
    ) -> Any:
        """Return the result of a reader's method; a cached result costs a pipeline as much as a computed one."""
        usage, begun = Usage(), time.perf_counter()
        result = call_metered(usage, reader, method, question, passages, *more)
        if usage.saved:  # cached by the reader
            computed, cost = False, usage
        else:
            computed, cost = True, replace(usage, saved=time.perf_counter() - begun)
            self.usage.add(usage)
        if self.charged is not None and (usage.calls or usage.texts):
            key = self.memory.space(reader, "readings", (question,)), tuple(passages)
            if not (computed and key in self.charged):  # a reader without a cache computes at every step
                self.charge({key: cost}, computed=computed)
        return result

    def complete(
        self,
        llm: LLM,
        system: str,
        user: str,
        *,
        schema: type[Any] | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Completion:
        """Return a language model's reply; the usage is counted even if the call fails."""
        try:
            completion = llm.complete(system, user, schema=schema, on_text=on_text, cancel=self.cancel)
        except ModelError as error:
            self._add_reply(error.usage or Usage())
            raise
        self._add_reply(completion.usage)
        return completion

    def _add_reply(self, usage: Usage) -> None:
        self.usage.add(replace(usage, llm_calls=usage.calls))

    def reply(self, llm: LLM, prompt: str, **values: str) -> Any | None:
        """Return the reply to a prompt as an instance of its schema; None, with a note, if there is none.

        `prompt`: its name; `values`: the texts inserted into it. After None the step goes on without a model, or fails.
        """
        from graphwright.prompts.replies import REPLIES  # pydantic is slow to import

        value, _ = self.structured(llm, *self.prompts.messages(prompt, **values), REPLIES[prompt])
        if value is None:
            self.note("the step was done without a model")
        return value

    def structured(
        self, llm: LLM, system: str, user: str, schema: type[Any], on_text: Callable[[str], None] | None = None
    ) -> tuple[Any | None, str]:
        """Return the reply as an instance of the schema, None with a note where there is none, and its whole text.

        No step fails because of an invalid or incomplete reply. After an incomplete one the run does not ask again, so
        that a question waits only once for a slow model.
        """
        if self.faults.cut_short:
            self.note("the model was not asked, because an earlier reply was cut short")
            return None, ""
        try:
            completion = self.complete(llm, system, user, schema=schema, on_text=on_text)
        except (LLMResponseError, ReplyCutError) as error:
            cut = isinstance(error, ReplyCutError)
            if cut:
                self.faults.cut_short = True
            self.note(f"{CUT_SHORT}: {error}" if cut else "the model's reply did not fit the schema")
            return None, "" if cut else error.text
        if completion.value is None:
            self.note("the model's reply did not fit the schema")
        return completion.value, completion.text

    def decode(self, llm: LLM, prompt: tuple[str, str], texts: Sequence[str], k: int) -> list[str] | None:
        """Return at most k of the texts as a model writes them under constraint; None, with a note, where it cannot."""
        if self.faults.cut_short or id(llm) in self.faults.unconstrained:
            return None
        try:
            return decode(llm, texts, k, lambda model: self.complete(model, *prompt))
        except (Unconstrained, ReplyCutError) as error:
            self.faults.cut_short = self.faults.cut_short or isinstance(error, ReplyCutError)
            if not isinstance(error, ReplyCutError):
                self.faults.unconstrained.add(id(llm))
            self.note(f"decoding was not constrained: {error}")
            return None

    def _rows(self, model: Any, method: str, arguments: tuple[str, ...], texts: Sequence[str]) -> Floats:
        """Return one row per text by `model.method(*arguments, texts)`, from the memory where it is known."""
        if not texts:
            return np.empty((0, 0), np.float32)
        distinct, space = dict.fromkeys(texts), self.memory.space(model, method, arguments)
        keys = {text: (space, text) for text in distinct}
        known = self.memory.get(list(keys.values()))
        self.charge({key: cost for key, (_, cost) in known.items()}, computed=False)
        missing = [text for text in distinct if keys[text] not in known]
        for at in range(0, len(missing), _BLOCK):
            block = missing[at : at + _BLOCK]
            usage, begun = Usage(), time.perf_counter()
            rows = np.asarray(call_metered(usage, model, method, *arguments, block), np.float32)
            if rows.ndim != 2 or len(rows) != len(block):
                raise ModelError(f"{model!r} returned an array of shape {rows.shape} for {len(block)} texts.")
            costs = _shares(usage, time.perf_counter() - begun, [len(text) + 1 for text in block])
            new = {keys[text]: (row.copy(), cost) for text, row, cost in zip(block, rows, costs, strict=True)}
            self.memory.put(new)
            self.usage.add(usage)
            self.charge({key: cost for key, (_, cost) in new.items()}, computed=True)
            known |= new
        return np.stack([known[keys[text]][0] for text in texts])

    def charge(self, costs: Costs, *, computed: bool) -> None:
        """Record model outputs that were used; unless `computed` in this run, their cost is added to the usage."""
        if self.charged is None:
            return
        self.outputs |= costs
        due = {key: cost for key, cost in costs.items() if computed or key not in self.charged}
        self.paid |= due
        self.charged.update(due)
        if not computed:
            for cost in due.values():
                self.usage.add(cost)


@dataclass
class _Done:
    before: State
    after: State
    outputs: Costs
    paid: Costs


class SharedSteps:
    """Cache of the steps that several pipelines have in common, for one question.

    A step is identified by its operator, its cut and its input state; operators that cannot be hashed are not shared.
    In the trace a reused step has the seconds and the usage of its computation.
    """

    def __init__(self) -> None:
        self._done: dict[Hashable, _Done] = {}

    def once(self, operator: Operator, state: State, k: int | None, run: Run, work: Callable[[], State]) -> State:
        """Return the result of a step, reused from an earlier pipeline if possible, with the step last in its trace."""
        try:
            key = operator, k, _identity(state)
            done = self._done.get(key)
        except TypeError:  # a part of the operator cannot be hashed
            return work()
        if done is None:
            outputs, paid = run.outputs, run.paid
            run.outputs, run.paid = {}, {}
            after = work()
            self._done[key] = _Done(state, after, run.outputs, run.paid)
            run.outputs, run.paid = outputs | run.outputs, paid | run.paid
            return after
        nested = done.after.trace[len(done.before.trace) : -1]
        graph = state.graph if done.after.graph is done.before.graph else done.after.graph.afresh()
        return done.after.with_(graph=graph, trace=(*state.trace, *nested, _replayed(done, run)))


def _replayed(done: _Done, run: Run) -> Step:
    """Return a shared step with the usage that it would have in this run, and charge the run for it."""
    step = done.after.trace[-1]
    charged = set() if run.charged is None else run.charged
    due = {key: cost for key, cost in done.outputs.items() if key not in charged}
    charged.update(due)
    usage, seconds = replace(step.usage), step.seconds
    for costs, sign in ((done.paid, -1), (due, 1)):
        for cost in costs.values():
            usage.add(cost, sign)
            seconds += sign * cost.saved
    usage.saved = seconds
    run.outputs |= done.outputs
    run.paid |= due
    run.usage.add(usage)
    return replace(step, seconds=seconds, usage=usage)


def _identity(state: State) -> Hashable:
    """Return the identity of a state: question and anchors by value, the rest by object."""
    passages = None if state.passages is None else id(state.passages.ids)
    objects = id(state.evidence), passages, id(state.answer)
    return state.question, state.anchors, state.graph.place, objects, state.context


def _shares(usage: Usage, seconds: float, lengths: list[int]) -> list[Usage]:
    """Return the cost of each text of a batch, in proportion to its length; `seconds` as seconds saved."""
    total = sum(lengths)
    first = Usage(calls=usage.calls)
    shares, end = [], 0
    for length in lengths:
        part, begin, end = length / total, end, end + length
        tokens = usage.tokens * end // total - usage.tokens * begin // total  # the shares add up
        shares.append(Usage(texts=1, tokens=tokens, seconds=usage.seconds * part, saved=seconds * part))
    shares[0].add(first)
    return shares
