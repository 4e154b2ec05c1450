"""Operators that answer without a language model: by a reader's span, quoted sentences, or nodes of the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from graphwright.constraints import AtLeast, Between, Has
from graphwright.generate.citations import PathWriter, best_passages, bundle_path, citation, passage_text
from graphwright.graph.evidence import Evidence, Scores
from graphwright.graph.graph import Graph
from graphwright.graph.walks import Bundle, bundle_of
from graphwright.index.vector_index import normalised
from graphwright.models.protocols import AnsweringReader, Encoder, Floats, PassageText, Reader
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.text.sentences import sentence_spans
from graphwright.text.words import words

__all__ = [
    "NOTHING",
    "NO_TARGET",
    "Abstain",
    "ChainAnswer",
    "Quote",
    "ReadSpans",
    "TargetAnswer",
    "answered",
    "read_answer",
]

NOTHING = "Nothing in the documents answers this."
NO_TARGET = "No path from the entities of the question leads to an answer."
_UNLINKED = "The question names no entity of the graph."

_SENTENCE_END = re.compile("[.!?…。！।？؟;:]\\W*$")
_QUESTION_END = re.compile(r"(?<!\()[?？؟][^\w.!。]{0,9}$")  # not "1585 (?)", nor a name that ends so in a statement
_SEPARATORS = re.compile(r"[\W_]+")  # of the words of a relation's name
_MAX_HEADING = 7  # words of a line without a full stop


@dataclass(frozen=True, repr=False)
class ReadSpans(Operator):
    """Answer with the best span that a reader finds, if its score reaches `threshold`; else leave the state unchanged.

    The answer is the span; its citation is the sentence around it. `passages`: the number of passages that are read.
    The default threshold was set with MiniLMReader on open question sets that no reported figure uses: 7 % of the
    questions had such a span, and about two in three of these were right.
    """

    reader: Annotated[Reader, Has("a reader, with read", "read")]
    threshold: Annotated[float, Between(0, 1)] = 0.7
    passages: Annotated[int, AtLeast(1)] = 8
    needs = ("passages",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer, or leave the state unchanged."""
        answer = read_answer(self.reader, state, run, self.passages, self.threshold)
        if answer is None:
            run.note(f"no span has a score of {self.threshold:g} or more")
            return state
        return answered(state, run, answer)

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        """Return the fields that are set in either case."""
        return fields


@dataclass(frozen=True, repr=False)
class Abstain(Operator):
    """Say that the passages do not answer the question where a reader thinks so; else leave the state unchanged.

    That is where the reader's probability of an answer, of any length, is below `threshold`. The text names the nearest
    passage as such. `passages`: the number of passages that are read.

    >>> from graphwright import Graph, start
    >>> from graphwright.graph import Ranking
    >>> class Doubtful:
    ...     def read(self, question, passages):
    ...         return []
    ...     def answerable(self, question, passages):
    ...         return 0.1
    >>> state = start("Who plays the trombone?", Graph.from_triples([("Graz lies on the Mur.", "r", "b")]))
    >>> Abstain(Doubtful())(state.with_(passages=Ranking.of([0], [1]))).answer.found
    False
    """

    reader: Annotated[AnsweringReader, Has("a reader that tells whether passages answer a question", "answerable")]
    threshold: Annotated[float, Between(0, 1)] = 0.5
    passages: Annotated[int, AtLeast(1)] = 8
    needs = ("passages",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer, or leave the state unchanged."""
        nodes = best_passages(state, self.passages)
        texts = [passage_text(state.graph, node) for node in nodes]
        probability = run.answerable(self.reader, state.question.text, texts)
        run.note(f"the passages answer the question with a probability of {probability:.2f}")
        if probability >= self.threshold:
            return state
        text = f"{NOTHING} The nearest passage is in {_place(state.graph, nodes[0])}." if nodes else NOTHING
        return answered(state, run, Answer(text, found=False))

    def after(self, fields: frozenset[str]) -> frozenset[str]:
        """Return the fields that are set in either case."""
        return fields


@dataclass(frozen=True, repr=False)
class Quote(Operator):
    """Answer with the sentences of the best passages that are nearest to the question and together hold its words.

    Sentences are chosen one by one. Each counts by its cosine with the question, by the share of the question's words
    that it adds to those chosen before (rare words weigh more), by up to `rank` for the rank of its passage, and by the
    best score of a `reader`'s spans in it, where there is a reader.
    Sentences are read with the title of their document. Questions are not quoted, as in a list of questions and
    answers: they are read with the sentence that follows. Headings and table rows are quoted only if there is nothing
    else.

    `passages`: the number of passages that are read. `sentences`: the largest number of sentences. `threshold`: the
    least cosine of a sentence that is quoted.

    >>> from graphwright import Graph, start
    >>> from graphwright.graph import Ranking
    >>> from graphwright.models.fake import HashEncoder
    >>> state = start("Is Graz in Austria?", Graph.from_triples([("Graz", "in", "Austria")]))
    >>> Quote(HashEncoder())(state.with_(passages=Ranking.of([0], [1]))).answer.text
    'Graz in Austria.'
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    passages: Annotated[int, AtLeast(1)] = 8
    sentences: Annotated[int, AtLeast(1)] = 3
    threshold: Annotated[float, Between(-1, 1)] = 0.3
    rank: Annotated[float, AtLeast(0)] = 0.3
    reader: Annotated[Reader | None, Has("a reader, with read", "read")] = None
    needs = ("passages",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        nodes = best_passages(state, self.passages)
        texts = [passage_text(state.graph, node) for node in nodes]
        chosen = self.sentences_of(state.question.text, texts, run)
        citations = tuple(citation(state, nodes[s.passage], s.start, s.end) for s in chosen)
        text = " ".join(" ".join(cited.text.split()) for cited in citations)
        return answered(state, run, Answer(text, citations=citations) if citations else Answer(NOTHING, found=False))

    def sentences_of(self, question: str, passages: Sequence[PassageText], run: Run) -> list[Sentence]:
        """Return the sentences to quote, best first."""
        sentences = [sentence for at, passage in enumerate(passages) for sentence in _sentences(at, passage)]
        sentences = [s for s in sentences if is_statement(passages[s.passage].text[s.start : s.end])] or sentences
        if not sentences:
            return []
        texts = [_with_title(passages[s.passage], s) for s in sentences]
        vectors = run.encode(self.encoder, [question, *texts])
        prior = self.rank * np.array([1 - s.passage / len(passages) for s in sentences])
        prior += self._read(question, passages, sentences, run)
        order = _greedy(vectors[1:] @ vectors[0], prior, question, texts, self.sentences, self.threshold)
        return [sentences[at] for at in order]

    def _read(self, question: str, passages: Sequence[PassageText], sentences: Sequence[Sentence], run: Run) -> Scores:
        """Return the best score of the reader's spans in each sentence, 0 without a reader: float64[n]."""
        scores = np.zeros(len(sentences))
        for span in run.read(self.reader, question, passages) if self.reader is not None else ():
            for at, sentence in enumerate(sentences):
                if sentence.passage == span.passage and sentence.start < span.end and span.start < sentence.end:
                    scores[at] = max(scores[at], span.score)
        return scores


@dataclass(frozen=True, repr=False)
class ChainAnswer(Operator):
    """Answer with the ends of the chain whose relations are nearest to the question.

    The score of a chain is the cosine of the question with the name where the chain begins followed by its relations,
    less `step` for each triple, so that of two similar chains the shorter wins; ties go to the first. The text has one
    name per line, each cited with its walk from a query entity. Offline twin of the reading of chains by a
    language model (ReG, figure 7).

    >>> from graphwright import Evidence, Graph, start
    >>> from graphwright.models import HashEncoder
    >>> film = Graph.from_triples([("Alien", "has_genre", "Horror"), ("Alien", "director", "Scott")])
    >>> state = start("Who was the director?", film, evidence=Evidence.of_pieces([([0, 1], [0]), ([0, 2], [1])]))
    >>> ChainAnswer(HashEncoder())(state).answer.citations[0].path
    ('Alien', 'director', 'Scott')
    """

    encoder: Annotated[Encoder, Has("an encoder, with encode", "encode")]
    step: Annotated[float, Between(0, 1, open_high=True)] = 0.02
    needs = ("evidence",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        graph = state.graph
        bundles = [bundle for item in state.evidence or () if (bundle := bundle_of(graph, *item)) is not None]
        if not bundles:
            return state.with_(answer=Answer(NO_TARGET, found=False))
        texts = [_reading(graph, bundle) for bundle in bundles]
        vectors = normalised(run.encode(self.encoder, [state.question.text, *texts]))
        scores = vectors[1:] @ vectors[0] - self.step * np.array([len(bundle.hops) for bundle in bundles])
        best = bundles[int(scores.argmax())]
        paths = {graph.names[end]: bundle_path(graph, best, end) for end in best.levels()[-1]}
        return state.with_(answer=_names_answer(paths))


@dataclass(frozen=True, repr=False)
class TargetAnswer(Operator):
    """Answer with the names of the nodes that the evidence leads to, best first, each with its best path.

    An item leads to the last of its nodes that the question does not name (of a triple: to its tail, else its head).
    The text has one name a line, at most `limit`; with `tied` only those of items that score as high as the best, as
    all walks by one plan do. The citation of the same rank has the name and the path. Needs neither a language model
    nor passages.

    >>> from graphwright import Graph, ShortestPaths, start
    >>> family = Graph.from_triples([("Bertha", "child", "Ida"), ("Udo", "spouse", "Ida")])
    >>> answer = (ShortestPaths() >> TargetAnswer())(start("Who?", family, entities=["Bertha"])).answer
    >>> answer.short, answer.citations[1].path
    (('Ida', 'Udo'), ('Bertha', 'child', 'Ida', 'spouse⁻¹', 'Udo'))
    """

    limit: Annotated[int | None, AtLeast(1)] = None
    tied: bool = False
    needs = ("evidence",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        """Set the answer."""
        graph, writer = state.graph, PathWriter(state.graph)
        seeds = {node for anchor in state.anchors or () for node in anchor.seeds(graph).tolist()}
        paths: dict[str, tuple[str, ...]] = {}
        for nodes, edges in self._items(state):
            if self.limit is not None and len(paths) >= self.limit:
                break
            ends = nodes.tolist() or graph.ends(edges).tolist()
            target = next((node for node in reversed(ends) if node not in seeds), None)
            # Writing the text of a path is expensive, so it is done for new targets only.
            if target is not None and (name := writer.name(target)) not in paths:
                paths[name] = writer.path(nodes, edges)
        if not paths:
            return state.with_(answer=Answer(NO_TARGET if seeds else _UNLINKED, found=False))
        return state.with_(answer=_names_answer(paths))

    def _items(self, state: State) -> Evidence:
        items = state.evidence or Evidence.of_nodes([])
        if not self.tied or items.scores is None or not len(items):
            return items
        return items.top(int(np.searchsorted(-items.scores, -items.scores[0], "right")))


class Sentence(NamedTuple):
    """A sentence of passage number `passage`; `read_from` is where a question that precedes it begins."""

    passage: int
    start: int
    end: int
    read_from: int


def answered(state: State, run: Run, answer: Answer) -> State:
    """Return the state with its answer, which is streamed in one piece."""
    if run.on_text is not None:
        run.on_text(answer.text)
    return state.with_(answer=answer)


def read_answer(reader: Reader, state: State, run: Run, passages: int, threshold: float = 0.0) -> Answer | None:
    """Return the best span of the best passages as an answer, None if it scores less than `threshold`.

    `passages`: the number of passages that are read.
    """
    nodes = best_passages(state, passages)
    texts = [passage_text(state.graph, node) for node in nodes]
    span = next(iter(run.read(reader, state.question.text, texts)), None)
    if span is None or span.score < threshold:
        return None
    text = texts[span.passage].text
    around = [(a, b) for a, b in sentence_spans(text) if a < span.end and b > span.start] or [(span.start, span.end)]
    start, end = min(around[0][0], span.start), max(around[-1][1], span.end)
    short = span.text or text[span.start : span.end]
    run.note(f"the span has a score of {span.score:.2f}")
    return Answer(short, (short,), (citation(state, nodes[span.passage], start, end),))


def _place(graph: Graph, node: int) -> str:
    """Return the document of a passage with its title; the name of a node that is no passage."""
    passage = None if graph.passages is None else graph.passages.of(node)
    if passage is None:
        return graph.names[node]
    return f"{passage.document} ({passage.title})" if passage.title else passage.document


def _greedy(
    cosines: Floats, prior: Scores, question: str, sentences: Sequence[str], count: int, threshold: float
) -> list[int]:
    """Return the sentences in the order in which they add most; each after the first must add a word."""
    vocabularies = [set(words(sentence)) for sentence in sentences]
    missing = _weights(question, vocabularies)
    chosen: list[int] = []
    while len(chosen) < count:
        added = [sum(weight for word, weight in missing.items() if word in group) for group in vocabularies]
        gain = cosines + prior + np.array(added)
        gain[cosines < threshold] = -1
        gain[chosen] = -1
        best = int(gain.argmax())
        if gain[best] < 0 or (chosen and missing.keys().isdisjoint(vocabularies[best])):
            break
        chosen.append(best)
        missing = {word: weight for word, weight in missing.items() if word not in vocabularies[best]}
    return chosen


def _weights(question: str, vocabularies: Sequence[set[str]]) -> dict[str, float]:
    """Return the words of the question that some sentence holds, with weights that sum to 1."""
    counts = {word: sum(word in group for group in vocabularies) for word in dict.fromkeys(words(question))}
    weights = np.array([np.log(1 + len(vocabularies) / count) if count else 0.0 for count in counts.values()])
    total = weights.sum()
    return {word: float(weight / total) for word, weight in zip(counts, weights, strict=True) if weight > 0}


def _sentences(at: int, passage: PassageText) -> Iterator[Sentence]:
    """Yield the sentences of a passage that are not questions."""
    first: int | None = None
    for start, end in sentence_spans(passage.text):
        if is_question(passage.text[start:end]):
            first = start if first is None else first
        else:
            yield Sentence(at, start, end, start if first is None else first)
            first = None


def _with_title(passage: PassageText, sentence: Sentence) -> str:
    text = passage.text[sentence.read_from : sentence.end]
    return f"{passage.title}: {text}" if passage.title else text


def is_question(text: str) -> bool:
    """Return whether a sentence is a question, perhaps a quoted one.

    >>> is_question("Who may fly the Kestrel?"), is_question('ask "Who founded the abbey?"'), is_question("Why not.")
    (True, True, False)
    """
    return _QUESTION_END.search(text[-12:].rstrip()) is not None


def is_statement(text: str) -> bool:
    """Return whether a text is a sentence, and not a heading or a row of a table.

    >>> is_statement("Graz lies on the Mur."), is_statement("The River Mur"), is_statement("| Mur | 464 km |")
    (True, False, False)
    """
    if text.lstrip().startswith("|") or text.count("|") > 2:
        return False
    return bool(_SENTENCE_END.search(text)) or len(text.split()) > _MAX_HEADING


def _reading(graph: Graph, bundle: Bundle) -> str:
    relations = (graph.columns.relations[relation] for relation, _ in bundle.relations)
    return " ".join([graph.names[bundle.root], *(_SEPARATORS.sub(" ", relation).strip() for relation in relations)])


def _names_answer(paths: dict[str, tuple[str, ...]]) -> Answer:
    """Return the answer of these names, one a line, each cited with the path that leads to it."""
    citations = tuple(Citation("", name, 0, len(name), name, path) for name, path in paths.items())
    return Answer("\n".join(paths), tuple(paths), citations)
