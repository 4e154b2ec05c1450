"""Answering: from ranked passages to a text whose every statement is cited."""

from __future__ import annotations

from dataclasses import dataclass

from graphwright.errors import OptionError
from graphwright.generate.cite import citation, title_of
from graphwright.generate.stream import Draft, listener
from graphwright.generate.written import written
from graphwright.models.base import LLM, Reader
from graphwright.operators.operator import Operator, note
from graphwright.operators.state import Reply, State

__all__ = ["NOTHING", "Answer", "quoted"]

NOTHING = "Nothing in the documents answers this."


@dataclass(frozen=True, repr=False)
class Answer(Operator):
    """Answer from the best `passages`: by what a reader finds in them, or by what a language model writes of them.

    Each citation has the document, the chunk, the characters in the document, what stands there to the
    letter, and the walk in the graph from what the question names to that chunk. Where nothing answers, the answer
    says so, cites nothing, and its `found` is False.

    A **reader**'s answer is what it quotes, or what its spans say that the quotes come to (`Span.text`); the trace
    then notes the score. A **language model** is asked with the prompt, for an answer whose markers [1], [2]
    number its citations, each of them a passage and a quote. Every quote is looked up (see `generate.quotes`): the
    citation is what stands in the document there, whatever the model made of it. A quote that stands nowhere is
    dropped with its markers, and the trace says so. An answer that is left without a citation is given all the same,
    for its reader to judge: `found` is True, `citations` is empty, which no checked answer's are, and the trace notes
    "no citation could be checked". Whoever wants only what can be checked asks for `answer.citations`.

    The numbers of passages are those in the prompt (see PassagePrompt), else the ranks of the best `passages`.
    """

    model: Reader | LLM
    passages: int = 8
    gives = ("answer",)

    def __post_init__(self) -> None:
        if not isinstance(self.model, Reader | LLM):
            raise OptionError(
                f"Answer({self.model!r}): give a reader, as SentenceReader(encoder), or a language model."
            )
        if self.passages < 1:
            raise OptionError(f"Answer(passages={self.passages!r}): a number of passages, 1 or more.")

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]
        """Passages; for a language model a prompt too."""
        return ("chunks",) if isinstance(self.model, Reader) else ("prompt", "chunks")

    def apply(self, state: State) -> State:
        """Set the answer, and hand it to whoever listens."""
        heard = listener()
        draft = None if heard is None else Draft(heard)
        if state.chunks is None or not len(state.chunks):
            found = None
        elif isinstance(self.model, Reader):
            found = quoted(self.model, state, self.passages)
        else:
            found = written(self.model, state, self.passages, draft)
        reply = found or Reply(NOTHING, found=False)
        if draft is not None and (found is None or isinstance(self.model, Reader)):
            draft.finish(reply.text)
        return state.with_(answer=reply)


def quoted(reader: Reader, state: State, passages: int) -> Reply | None:
    """Return the answer that a reader quotes from the best passages of the state, None if nothing."""
    graph = state.graph
    nodes = [] if state.chunks is None else state.chunks.ids[:passages].tolist()
    # Each passage begins with its title's line, empty or not, so that the reader can tell it from the text.
    titles = [f"{title_of(graph, node)}\n" for node in nodes]
    readings = [title + graph.passage(node) for title, node in zip(titles, nodes, strict=True)]
    cited, said = [], []
    spans = reader.read(state.question.text, readings)
    for span in spans:
        before = len(titles[span.passage])
        found = citation(state, nodes[span.passage], max(span.start - before, 0), max(span.end - before, 0))
        if found.text:
            cited.append(found)
            said += [span.text] if span.text else []
    if not cited:
        return None
    if said:
        note(f"answer read with a score of {spans[0].score:.2f}")
    return Reply(" ".join(said or [found.text for found in cited]), tuple(cited))
