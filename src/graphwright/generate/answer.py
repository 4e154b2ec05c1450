"""Answers of a language model, streamed, with verified citations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from graphwright.constraints import AtLeast, Has
from graphwright.errors import cut
from graphwright.generate.citations import locate, numbered, supported
from graphwright.generate.contexts import CONTEXT_PASSAGES, CONTEXT_TOKENS, MIN_TOKENS, Budgeted, shown_passages
from graphwright.generate.readers import MayAnswer, answered, nothing
from graphwright.models.protocols import LLM
from graphwright.models.structured import plain_text, without_thoughts
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, State
from graphwright.prompts.templates import Context, data_line, instruction_lines


class Draft:
    """Extract the `text` of an answer from a JSON reply that is still being written, and pass on each new part.

    A second reply, requested where the first did not fit its schema, is passed on only if it begins with the same text.

    >>> draft = Draft(print)
    >>> for piece in ('{"found": true, "te', 'xt": "In Gr', 'a', 'z, \\\\u00c', '4.", "citations": []}'):
    ...     draft.feed(piece)
    In Gr
    a
    z,
    Ä.
    """

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        """Pass text on to `on_text`; None discards it."""
        self._on_text = on_text
        self._reply = ""
        self._sent = ""

    @property
    def listener(self) -> Callable[[str], None] | None:
        """The function to give to a language model as its `on_text`; None without a listener."""
        return None if self._on_text is None else self.feed

    def feed(self, piece: str) -> None:
        """Take the next piece of the reply."""
        self._reply += piece
        self.finish(_text_in(self._reply))

    def finish(self, text: str) -> None:
        """Pass on the rest of the complete text; nothing if other text was passed on before."""
        if self._on_text is not None and text.startswith(self._sent) and len(text) > len(self._sent):
            rest = text[len(self._sent) :]
            self._sent = text
            self._on_text(rest)


def _text_in(reply: str) -> str:
    """Return the answer's text so far in an unfinished JSON reply, "" where there is none or `found` is false."""
    from pydantic_core import from_json

    # Thoughts precede the reply proper, and a word or a code fence may surround its object.
    reply = without_thoughts(reply)
    reply = reply[max(reply.find("{"), 0) :]
    # Some servers split a character into the two halves of a surrogate pair; a first half alone is left out.
    half = "\ud800" <= reply[-1:] <= "\udbff"
    joined = reply[: -1 if half else None].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        value = from_json(joined, allow_partial="trailing-strings")
    except ValueError:
        return ""
    if not isinstance(value, dict) or value.get("found") is False:
        return ""
    text = value.get("text")
    return text if isinstance(text, str) else ""


_UNKNOWN = "The language model knows no answer."
_FAILED = "The language model gave no usable answer."
_SHOWN = 80  # characters of a quote that a note shows


@dataclass(frozen=True, repr=False)
class Generate(Operator):
    """Answer by a language model that is given the state's context.

    The markers [1], [2] of the answer number its citations, each a passage and a quote. Every quote is looked up (see
    `generate.citations`), and the citation has the text of the document. A quote that is in no passage is dropped, with
    a note in the trace, and the sentence that rests on it ends in [unsupported]. An answer without verified citations,
    as a reply in plain text, is returned with a note. If the reply is unusable or cut short, the next operator of a
    Fallback answers instead. If the context shows no passages, the best fifteen can be cited.

    >>> from graphwright import Graph, start; from graphwright.generate import PassageContext
    >>> from graphwright.graph import Ranking; from graphwright.models import ScriptedLLM
    >>> quotes = '[{"passage": 1, "quote": "Graz in Austria"}]'
    >>> reply = f'{{"found": true, "text": "Austria [1].", "answers": ["Austria"], "citations": {quotes}}}'
    >>> state = start("Where is Graz?", Graph.from_triples([("Graz", "in", "Austria")]))
    >>> state = state.with_(passages=Ranking.of([0], [1]))
    >>> answer = (PassageContext() >> Generate(ScriptedLLM([reply])))(state).answer
    >>> answer.text, answer.short, answer.citations[0].text, answer.verified
    ('Austria [1].', ('Austria',), 'Graz in Austria', True)
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    needs = ("context", "passages")
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        draft = Draft(run.on_text)
        if not len(state.passage_nodes(1)) or state.context is None:
            answer: Answer | None = Answer(nothing(run), found=False)
        else:
            answer = _written(self.model, state, state.context, run, draft)
        if answer is None:
            run.fail()
            # The message is not streamed, because a Fallback may still write an answer.
            return state.with_(answer=Answer(_FAILED, found=False))
        draft.finish(answer.text)
        return state.with_(answer=answer)


@dataclass(frozen=True, repr=False)
class AnswerIfEnough(MayAnswer, Budgeted):
    """Answer from the best passages if a language model finds them sufficient, else leave the state unchanged.

    The check of BubbleRAG, section 3.2. The model is asked once, for an answer with quotes (see Generate) or for the
    statement that the passages do not suffice. An answer without a verified quote, or with a wrong one, is discarded.

    >>> from graphwright import Graph, start; from graphwright.graph import Ranking
    >>> from graphwright.models import ScriptedLLM
    >>> state = start("Where is Graz?", Graph.from_triples([("Graz in Austria", "r", "b")]))
    >>> reply = '{"found": true, "text": "Austria [1].", "citations": [{"passage": 1, "quote": "Graz in Austria"}]}'
    >>> AnswerIfEnough(ScriptedLLM([reply]))(state.with_(passages=Ranking.of([0], [1.0]))).answer.text
    'Austria [1].'
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    passages: Annotated[int, AtLeast(1)] = CONTEXT_PASSAGES
    tokens: Annotated[int, AtLeast(MIN_TOKENS)] = CONTEXT_TOKENS

    def apply(self, state: State, run: Run) -> State:
        if not len(state.passage_nodes(1)):
            return state
        shown = shown_passages(state, self.passages, self.tokens)
        context = Context(state.question.original, "bubblerag_enough", shown)
        answer = _written(self.model, state, context, run, Draft(None))
        if answer is None or not answer.verified:
            run.note("the first passages are not enough")
            return state
        return answered(state, run, answer)


@dataclass(frozen=True, repr=False)
class Unaided(Operator):
    """Answer from the knowledge of a language model, without passages and citations: a baseline.

    `reasoning`: the model writes its reasoning first (chain of thought); the trace has it as a note.

    >>> from graphwright import Graph, start; from graphwright.models import ScriptedLLM
    >>> model = ScriptedLLM(['{"found": true, "text": "On the Mur."}'])
    >>> Unaided(model)(start("Where is Graz?", Graph.from_triples([]))).answer.text
    'On the Mur.'
    """

    model: Annotated[LLM, Has("a language model, with complete", "complete")]
    reasoning: bool = False
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        draft = Draft(run.on_text)
        from graphwright.prompts.replies import REPLIES  # pydantic is slow to import

        name = "chain_of_thought" if self.reasoning else "vanilla"
        values = {
            "question": data_line({"question": state.question.text}),
            "instruction": instruction_lines(run.instruction),
        }
        prompt = run.prompts.messages(name, **values)
        reply, text = run.structured(self.model, *prompt, REPLIES[name], draft.listener)
        if self.reasoning and reply is not None and reply.reasoning:
            run.note(reply.reasoning)
        answer = self._answer(reply, text, run)
        draft.finish(answer.text)
        return state.with_(answer=answer)

    def _answer(self, reply: Any, text: str, run: Run) -> Answer:
        if reply is None:
            return _unverified(text, run) or Answer(_FAILED, found=False)
        if not reply.found or not reply.text.strip():
            return Answer(_UNKNOWN, found=False)
        run.written = True
        return Answer(reply.text.strip(), short=tuple(reply.answers))


def _written(model: LLM, state: State, context: Context, run: Run, draft: Draft) -> Answer | None:
    """Return the model's answer to a context; None without a usable reply."""
    from graphwright.prompts.replies import WrittenAnswer  # pydantic is slow to import

    reply, text = run.structured(model, *context.prompt_by(run.prompts, run.instruction), WrittenAnswer, draft.listener)
    if reply is None:
        return _unverified(text, run)
    if not reply.found or not reply.text.strip():
        return Answer(nothing(run), found=False)
    run.written = True
    draft.finish(reply.text)
    return _checked(reply, state, context, run)


def _checked(reply: Any, state: State, context: Context, run: Run) -> Answer:
    """Return a reply as an answer, with the citations whose quotes stand in the passages that were shown."""
    nodes = {passage.number: passage.node for passage in context.passages}
    nodes = nodes or dict(enumerate(state.passage_nodes(CONTEXT_PASSAGES).tolist(), 1))
    texts = {number: state.graph.passage(node) for number, node in nodes.items()}
    spans: list[tuple[int, int, int]] = []
    span_of: list[int | None] = []
    for number, cited in enumerate(reply.citations, 1):
        place = locate(cited.quote, cited.passage, texts)
        span_of.append(None if place is None else len(spans))
        if place is None:
            run.note(f"citation {number} was dropped: {cut(cited.quote, _SHOWN)!r} is in none of the passages")
            continue
        spans.append((nodes[place.passage], place.start, place.end))
        if place.passage != cited.passage:
            run.note(f"citation {number} is in passage {place.passage}, not in {cited.passage}")
    if not spans:
        run.note("no citation could be verified")
    citations, numbers = numbered(state, spans)
    marked, unsupported = supported(reply.text, [None if at is None else numbers[at] for at in span_of])
    dropped = tuple(cited.quote for cited, at in zip(reply.citations, span_of, strict=True) if at is None)
    return Answer(marked, tuple(reply.answers), citations, unsupported=unsupported, dropped=dropped)


def _unverified(reply: str, run: Run) -> Answer | None:
    """Return a reply in plain text as an answer without citations; None for any other reply."""
    text = plain_text(reply)
    if not text:
        return None
    run.note("the model replied in plain text, without citations; the answer is not verified")
    run.written = True
    marked, unsupported = supported(text, ())
    return Answer(marked, unsupported=unsupported)
