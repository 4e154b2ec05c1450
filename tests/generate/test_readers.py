"""Answers without a language model: the span of a reader, and quoted sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.toys import CORPUS, corpus_index

from graphwright import Graph, start
from graphwright.errors import OptionError
from graphwright.generate import Abstain, Generate, Quote, ReadSpans
from graphwright.graph import Ranking
from graphwright.models import HashEncoder, MiniLMReader
from graphwright.models.protocols import PassageText, Span
from graphwright.operators.run import Run
from graphwright.operators.state import State

GRAPH = corpus_index().graph
ENCODER = HashEncoder()
QUESTION = "Which abbey did Ermengarde found in Alsace?"
PASSAGES = [
    PassageText("Bread", "Bread is baked from dough. It is one of the oldest foods."),
    PassageText(
        "Ermengarde of Tours", "Ermengarde was the daughter of Hugh. She founded the abbey of Erstein in Alsace."
    ),
    PassageText("Alsace", "Alsace lies on the Rhine. The abbey of Alsace is old."),
]


def bare(*texts: str) -> list[PassageText]:
    return [PassageText("", text) for text in texts]


def quoted(question: str, passages: list[PassageText], **options: float) -> list[str]:
    sentences = Quote(ENCODER, **options).sentences_of(question, passages, Run())  # type: ignore[arg-type]
    return [passages[s.passage].text[s.start : s.end] for s in sentences]


def test_the_sentence_that_holds_the_words_comes_first() -> None:
    assert quoted(QUESTION, PASSAGES, sentences=1) == ["She founded the abbey of Erstein in Alsace."]


def test_no_more_than_asked_and_each_adds_a_word_that_is_missing() -> None:
    result = [quoted(QUESTION, PASSAGES, sentences=count, threshold=-1.0) for count in (1, 2, 3, 9)]
    assert [len(f) for f in result] == sorted(len(f) for f in result) and len(result[0]) == 1
    assert all(longer[: len(shorter)] == shorter for shorter, longer in pairwise(result))
    assert len(result[-1]) == len(set(result[-1]))
    # It shares no word with the question, so it never adds one.
    assert "Bread is baked from dough." not in result[-1]
    twice = bare("The abbey stood in Alsace.", "The abbey stood in Alsace, they say.")
    assert len(quoted("Which abbey stood in Alsace?", twice)) == 1


def test_below_the_threshold_nothing_is_quoted() -> None:
    vectors = ENCODER.encode(["Where is Graz?", "Graz is in Austria."])
    cosine = float(vectors[0] @ vectors[1])
    assert quoted("Where is Graz?", bare("Graz is in Austria."), threshold=cosine - 0.01) == ["Graz is in Austria."]
    assert quoted("Where is Graz?", bare("Graz is in Austria."), threshold=cosine + 0.01) == []
    assert quoted("zzz?", PASSAGES) == []


@pytest.mark.parametrize("texts", [[], [""], ["", " \n "], ["\n\n"]])
def test_nothing_to_read_is_nothing_read(texts: list[str]) -> None:
    assert quoted("Title?", bare(*texts)) == []
    assert quoted("Graz?", bare("", "Graz is here.")) == ["Graz is here."]


def test_a_title_counts_for_its_sentences_but_is_not_quoted() -> None:
    passages = [PassageText("Lyon", "It lies on the Rhone."), PassageText("Graz", "It lies on the Mur.")]
    assert quoted("Where is Graz?", passages, sentences=1) == ["It lies on the Mur."]
    assert quoted("Where is Graz?", bare("Graz")) == ["Graz"]


def test_first_passages_are_preferred_as_much_as_rank_says() -> None:
    passages = bare("Graz is far away from here by train.", "Graz is here.")
    first = [quoted("Graz is?", passages, sentences=1, threshold=0.0, rank=rank) for rank in (0.0, 9.0)]
    assert first == [["Graz is here."], ["Graz is far away from here by train."]]


SENTENCES = st.sampled_from(
    ["Graz is here.", "Łódź lies far.", "Is it so?", "No", "A. B. Cole sang.", "東京は首都。", ""]
)
TITLES = st.sampled_from(["Graz", "Łódź (city)", "東京", "", "12"])


@given(st.lists(st.tuples(TITLES, st.lists(SENTENCES, max_size=4)), max_size=4), st.integers(1, 4))
def test_quotes_are_exact_distinct_sentences(given: list[tuple[str, list[str]]], count: int) -> None:
    passages = [PassageText(title, " ".join(texts)) for title, texts in given]
    op = Quote(ENCODER, sentences=count, threshold=-1.0)
    sentences = op.sentences_of("Is Graz, Cole or 東京 far?", passages, Run())
    assert len(sentences) <= count and len({(s.passage, s.start) for s in sentences}) == len(sentences)
    for sentence in sentences:
        text = passages[sentence.passage].text[sentence.start : sentence.end]
        assert text and text == text.strip()


def test_a_question_is_read_with_the_sentence_after_it_and_not_quoted() -> None:
    faq = [
        PassageText(
            "Questions",
            "Who may fly the Kestrel?\nOnly those with a licence.\nHow long does it last?\nSix hours at most.",
        )
    ]
    assert quoted("Who may fly the Kestrel?", faq, sentences=1) == ["Only those with a licence."]
    assert quoted("How long does it last?", faq, sentences=1) == ["Six hours at most."]
    command = [PassageText("Try", 'graphwright ask "Who founded the abbey?"')]
    assert quoted("Who founded the abbey?", command, threshold=-1.0) == []


@dataclass(frozen=True)
class Scripted:
    """A reader that finds given texts, and refuses to read more passages than it was promised."""

    texts: tuple[str, ...]
    score: float = 1.0
    passages: int = 8

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        assert len(passages) <= self.passages
        result = [(t, i, p.text.find(t)) for t in self.texts for i, p in enumerate(passages) if t in p.text]
        return [Span(i, at, at + len(text), self.score) for text, i, at in result]


def ranked(*documents: str) -> State:
    nodes = [GRAPH.id(f"{document}#0") for document in documents]
    return start("Which abbey did she found?", GRAPH).with_(passages=Ranking.of(nodes, range(len(nodes), 0, -1)))


@pytest.mark.parametrize(
    "op", [Generate(Scripted(("abbey of Erstein in",))), ReadSpans(Scripted(("abbey of Erstein in",)))]
)
def test_the_best_span_is_the_answer_and_its_sentence_is_cited(op: Generate | ReadSpans) -> None:
    answer = op(ranked("bread", "erstein", "ermengarde")).answer
    assert answer is not None and answer.found
    assert answer.text == "abbey of Erstein in" and answer.short == (answer.text,)
    (cited,) = answer.citations
    text = next(str(d["text"]) for d in CORPUS if d["id"] == cited.document)
    assert text[cited.start : cited.end] == cited.text == "She founded the abbey of Erstein in Alsace."


def test_only_the_best_passages_are_read() -> None:
    state = ranked("bread", "erstein", "ermengarde")
    reader = Scripted(("She founded", "It was destroyed"), passages=2)
    answer = Generate(reader, passages=2)(state).answer
    assert answer is not None and answer.text == "It was destroyed"
    for op in (Generate, ReadSpans):
        with pytest.raises(OptionError, match="passages is 0"):
            op(reader, passages=0)


@pytest.mark.parametrize("documents", [(), ("bread", "erstein")])
def test_where_nothing_is_found_nothing_is_cited(documents: tuple[str, ...]) -> None:
    for op in (Generate(Scripted(("xyz",))), Quote(ENCODER, threshold=1.0)):
        answer = op(ranked(*documents)).answer
        assert answer is not None and not answer.found and answer.citations == ()
        assert answer.text == "Nothing in the documents answers this."


def test_a_span_below_the_threshold_leaves_the_question_to_the_next_step() -> None:
    state = ranked("ermengarde")
    read = ReadSpans(Scripted(("Erstein",), score=0.4), threshold=0.5)
    assert read(state).answer is None and "0.5" in read(state).trace[-1].notes[-1]
    assert read.after(frozenset({"passages"})) == {"passages"} and read.gives == ("answer",)
    answer = (read >> Quote(ENCODER))(state).answer
    assert answer is not None and answer.short == () and "abbey of Erstein" in answer.text
    assert (ReadSpans(read.reader, threshold=0.4) >> Quote(ENCODER))(state).answer.text == "Erstein"  # type: ignore[union-attr]


def test_answers_without_a_model_are_streamed_in_one_piece() -> None:
    for op in (Quote(ENCODER, threshold=-1.0), ReadSpans(Scripted(("Erstein",)))):
        texts: list[str] = []
        after = op(ranked("ermengarde"), Run(on_text=texts.append))
        assert after.answer is not None and texts == [after.answer.text]


def test_the_embedded_reader_answers_a_question_of_one_step() -> None:
    state = start("When was the abbey of Erstein destroyed?", GRAPH)
    state = state.with_(passages=Ranking.of([GRAPH.id("erstein#0"), GRAPH.id("bread#0")], [2, 1]))
    answer = Generate(MiniLMReader())(state).answer
    assert answer is not None and "1525" in answer.short[0] and answer.citations[0].document == "erstein"


@dataclass(frozen=True)
class Doubtful(Scripted):
    """A reader that tells how probable an answer is."""

    probability: float = 0.2

    def answerable(self, question: str, passages: Sequence[PassageText]) -> float:
        return self.probability


def test_it_abstains_where_no_answer_is_probable_and_names_the_nearest_passage() -> None:
    state = ranked("erstein", "bread")
    after = Abstain(Doubtful(()), threshold=0.5)(state)
    assert after.answer is not None and not after.answer.found and after.answer.short == ()
    assert after.answer.text.startswith("Nothing in the documents answers this. The nearest passage is in erstein")
    assert "0.20" in after.trace[-1].notes[0]
    plain = start("Who?", Graph.from_triples([("Graz", "on", "Mur")])).with_(passages=Ranking.of([0], [1]))
    assert Abstain(Doubtful(()))(plain).answer.text.endswith("The nearest passage is in Graz.")  # type: ignore[union-attr]
    step = Abstain(Doubtful((), probability=0.6), threshold=0.5)
    assert step(state).answer is None and step.after(frozenset({"passages"})) == {"passages"}


def test_a_sentence_that_a_reader_points_at_is_quoted_first() -> None:
    state = ranked("ermengarde", "erstein")
    assert GRAPH.passages is not None
    text = next(str(d["text"]) for d in CORPUS if d["id"] == "erstein")
    sentence = text.split(". ")[-1]
    quote = Quote(ENCODER, sentences=1, threshold=-1.0, reader=Scripted((sentence[:20],), score=5.0))
    assert (answer := quote(state).answer) is not None and answer.citations[0].text.startswith(sentence[:20])
