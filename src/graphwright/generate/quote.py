"""Quotations as an answer: the sentences that most probably hold it, in an order that tells what holds now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from graphwright.constraints import AtLeast, Between, Has
from graphwright.generate.citations import numbered, passage_starts, written_by
from graphwright.generate.quoted_sentences import Sentence, is_rival, quotations, sentences_of, widened
from graphwright.generate.readers import answered, nothing, texts_read
from graphwright.generate.said_later import Place, has_kind, places_in_series, said_later, value_asked, word_weights
from graphwright.graph.graph import Graph
from graphwright.models.protocols import AnsweringReader, PassageText
from graphwright.operators.operator import Operator
from graphwright.operators.run import Run
from graphwright.operators.state import Answer, Citation, State
from graphwright.search.competing_versions import without_date
from graphwright.search.versions import versions_of
from graphwright.text.sentences import ASKS
from graphwright.text.values import Value
from graphwright.text.words import identifiers, words

_NEAR = 0.6  # least similarity of identifiers of which one is easily taken for the other


@dataclass(frozen=True, repr=False)
class Quote(Operator):
    """Quote the sentences that most probably hold the answer, each with its neighbours.

    The quotations are an answer where the greatest score, the probability of an answer, is at least `threshold`.
    Else the text says that no answer is sure, and gives them as the nearest text: `found` is False.

    A reader scores every sentence of the best `passages` passages. The best is quoted with up to `around` words of its
    neighbours. A heading, or a sentence that asks something, is quoted only if there is no other sentence.

    Further sentences follow while their score is at least `share` of the best and the quotations have at most `words`
    words. A score is first raised by `sides` times the share of the question's words, weighted by rarity, that the
    sentence or its title has and the quotations lack: both sides of a comparison are quoted. Where a sentence has an
    identifier of the question, one that only has a near identifier is not quoted first. After the best one of a chat,
    of a thread of mails, or of a series of minutes, follows the later one that says most of the same. Of mails that
    answer one another the newest is quoted first of those that say what is asked: they score half as much as the best,
    or have a value of the kind of the reader's best span.

    >>> from graphwright import Graph, start; from graphwright.graph import Ranking
    >>> from graphwright.models import MiniLMReader
    >>> state = start("Is Graz in Austria?", Graph.from_triples([("Graz", "in", "Austria")]))
    >>> Quote(MiniLMReader())(state.with_(passages=Ranking.of([0], [1]))).answer.text
    'Graz in Austria. [1]'
    """

    reader: Annotated[AnsweringReader, Has("a reader that scores sentences", "sentence_scores")]
    passages: Annotated[int, AtLeast(1)] = 8
    around: Annotated[int, AtLeast(0)] = 30
    words: Annotated[int, AtLeast(1)] = 75
    share: Annotated[float, Between(0, 1)] = 0.05
    sides: Annotated[float, AtLeast(0)] = 3.0
    threshold: Annotated[float, Between(0, 1)] = 0.2
    needs = ("passages",)
    gives = ("answer",)

    def apply(self, state: State, run: Run) -> State:
        nodes, texts = texts_read(state, run, self.passages)
        starts = passage_starts(state.graph, nodes)
        series = places_in_series(state.graph, nodes)
        undated = without_date(state.graph, [document for document, _ in starts], state.question.text)
        spans = run.read(self.reader, state.question.text, texts)
        asked = value_asked(spans[0], texts) if spans else None
        best, scores, probability = self.quotes(state.question.text, texts, run, starts, series, undated, asked)
        cited, numbers = numbered(state, [(nodes[quote.passage], quote.start, quote.end) for quote in best])
        own = [max(score for score, n in zip(scores, numbers, strict=True) if n == at) for at in sorted(set(numbers))]
        citations = _newest_first(state.question.text, cited, own, asked, state.graph)
        quotes = [_attributed(state.graph, c, quote) for c, quote in zip(citations, quotations(citations), strict=True)]
        if not citations:
            return answered(state, run, Answer(nothing(run), found=False))
        text, found = "\n".join(quotes), probability >= self.threshold
        if not found:
            run.note(f"the passages answer the question with a probability of {probability:.2f}")
            text = f"{nothing(run)} Nearest text:\n{text}"
        return answered(state, run, Answer(text, citations=citations, found=found))

    def quotes(
        self,
        question: str,
        passages: Sequence[PassageText],
        run: Run,
        starts: Sequence[tuple[str, int]] = (),
        series: Sequence[Place] = (),
        undated: tuple[str, Sequence[int]] = ("", ()),
        asked: Value | None = None,
    ) -> tuple[list[Sentence], list[float], float]:
        """Return the quotations, best first, the score of each, and the greatest; what passages share is quoted once.

        `starts`: the document of each passage, and its first character; `series`: its series, and its place there.
        `undated`: the question without a date that passages meet as versions, and these: it may give them more.
        `asked`: the value that the reader finds.
        """
        sentences = [sentence for number, p in enumerate(passages) for sentence in sentences_of(p, number)]
        places = [(sentence.passage, sentence.start, sentence.end) for sentence in sentences]
        scores = run.sentence_scores(self.reader, question, passages, places)
        if of_named := [at for at, sentence in enumerate(sentences) if sentence.passage in undated[1]]:
            spans = [(undated[1].index(p), start, end) for p, start, end in map(places.__getitem__, of_named)]
            more = run.sentence_scores(self.reader, undated[0], [passages[at] for at in undated[1]], spans)
            scores[of_named] *= max(more.max() / max(scores[of_named].max(), 1e-9), 1.0)
        texts = [passages[s.passage].text[s.start : s.end] for s in sentences]
        titled = [f"{passages[s.passage].title} {text}" for s, text in zip(sentences, texts, strict=True)]
        exact, near = _with_identifiers(question, titled, [(s.passage, s.part) for s in sentences])
        lengths = np.array([len(text.split()) for text in texts], np.int64)
        sentence_words = [set(words(text)) for text in titled]
        missing, room, used = word_weights(question, sentence_words), self.words, set[int]()
        later = np.zeros(len(sentences), bool)
        left = (scores > 0) & (scores >= self.share * scores.max(initial=0))
        asks = np.array([text.endswith(ASKS) for text in texts], bool)
        proper = left & np.array([s.kind != "heading" for s in sentences], bool)
        proper &= ~asks | np.array([s.block > 0 for s in sentences], bool)
        left = proper if proper.any() else left
        quotes, own, ranges = list[Sentence](), list[float](), list[tuple[int, int]]()
        named = next((own for own in (left & exact, (scores > 0) & exact) if own.any()), left)
        first_choice = (left & ~near) | named
        while (fits := first_choice if not quotes else left & (lengths <= room)).any():
            added = [sum(missing[w] for w in missing.keys() & own) if quotes else 0.0 for own in sentence_words]
            gains = scores * (1 + self.sides * np.array(added))
            best = int(np.where(fits, gains + later, -1).argmax())
            first, last = widened(best, sentences, scores, lengths.tolist(), used, min(self.around, room))
            used.update(range(first, last + 1))
            left &= np.array([used.isdisjoint(range(at, at + s.block + 1)) for at, s in enumerate(sentences)])
            room -= int(lengths[first : last + 1].sum())
            start, end = sentences[first].start, sentences[last].end
            quotes.append(sentences[best]._replace(start=start, end=end))
            own.append(float(scores[best]))
            ranges.append((first, last))
            if sentences[best].kind == "header":
                left &= np.array([sentence.kind != "header" for sentence in sentences])
            if starts:
                left &= np.array([not _shared(quotes[-1], sentence, starts) for sentence in sentences])
            if len(quotes) == 1 and series:
                later = said_later(best, texts, sentences, scores, series, asked)
                later[list(used)] = False
                left |= later
            shown_words = set().union(*sentence_words[first : last + 1])
            missing = {word: weight for word, weight in missing.items() if word not in shown_words}
        return *_adjoined(quotes, own, ranges, lengths), float(scores.max(initial=0))


def _with_identifiers(
    question: str, texts: Sequence[str], parts: Sequence[tuple[int, int]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which texts lie in parts with an identifier of the question, and which in parts with only a near one."""
    from rapidfuzz.distance import OSA

    asked, own = set(identifiers(question)), defaultdict[tuple[int, int], set[str]](set)
    for part, text in zip(parts, texts, strict=True):
        own[part].update(identifiers(text) if asked else ())
    known = asked & set[str]().union(*own.values())
    exact = {part for part, names in own.items() if not known.isdisjoint(names)}
    near = {
        part
        for part, names in own.items()
        if part not in exact and any(OSA.normalized_similarity(a, b) >= _NEAR for a in known for b in names)
    }
    return np.array([part in exact for part in parts], bool), np.array([part in near for part in parts], bool)


def _adjoined(
    quotes: Sequence[Sentence], scores: Sequence[float], ranges: Sequence[tuple[int, int]], lengths: NDArray[np.int64]
) -> tuple[list[Sentence], list[float]]:
    """Return quotations in which those that follow one another in a paragraph are one, at the place of the better.

    One that may answer in its place stays apart before it: so the better one begins with what answers. `ranges`: the
    first and the last sentence of each; `lengths`: the words of all sentences.
    """
    found: list[Sentence] = []
    own: list[float] = []
    spans: list[tuple[int, int]] = []
    for quote, score, (first, last) in zip(quotes, scores, ranges, strict=True):
        joins = [
            at
            for at, (start, end) in enumerate(spans)
            if (end + 1 == first or last + 1 == start)
            and (found[at].passage, found[at].part, found[at].kind) == (quote.passage, quote.part, "sentence")
            and quote.kind == "sentence"
            and not (last + 1 == start and is_rival(score, int(lengths[first : last + 1].sum()), own[at]))
        ]
        for at in reversed(joins):
            other, better, (start, end) = found.pop(at), own.pop(at), spans.pop(at)
            first, last, score = min(first, start), max(last, end), max(score, better)
            quote = quote._replace(start=min(quote.start, other.start), end=max(quote.end, other.end))
        at = joins[0] if joins else len(found)
        found.insert(at, quote)
        own.insert(at, score)
        spans.insert(at, (first, last))
    return found, own


def _attributed(graph: Graph, cited: Citation, quote: str) -> str:
    """Return a quotation after the author and the date of the mail that it is from."""
    writer = written_by(graph, graph.id(cited.chunk), cited.start) if cited.document else ""
    return f"{writer}: {quote}" if writer else quote


def _newest_first(
    question: str, cited: Sequence[Citation], scores: Sequence[float], asked: Value | None, graph: Graph
) -> tuple[Citation, ...]:
    """Return citations, those of several mails of one thread the newest first that say what is asked.

    Before these come quotations with more of the numbers that the question names. `asked`: the value that the reader
    finds. Mails that neither have a value of its kind nor score half as much as the best follow the others.
    """
    versions, result = versions_of(graph.columns), list(cited)
    named = {word for word in words(question) if any(map(str.isdigit, word))}
    missing = [len(named.difference(words(citation.text))) for citation in cited]
    documents = [citation.document for citation in cited]
    for thread in {versions.threads[d] for d in documents if d in versions.threads}:
        places = [at for at, d in enumerate(documents) if versions.threads.get(d) == thread]
        mails = {at: version for at in places if (version := versions.dated.get(documents[at]))}
        least = max(scores[at] for at in places) / 2
        says = {at: scores[at] >= least or has_kind(cited[at].text, asked) for at in places}
        age = {at: -mails[at].first if at in mails else np.inf for at in places}
        newest = sorted(places, key=lambda at: (missing[at], not says[at], age[at] if says[at] else -scores[at]))
        for place, at in zip(places, newest, strict=True):
            result[place] = cited[at]
    return tuple(result)


def _shared(quote: Sentence, sentence: Sentence, starts: Sequence[tuple[str, int]]) -> bool:
    """Return whether a quotation and a sentence have characters of a document in common."""
    (document, first), (other, second) = starts[quote.passage], starts[sentence.passage]
    begins, ends = second + sentence.start, second + sentence.end
    return document == other and begins < first + quote.end and first + quote.start < ends
