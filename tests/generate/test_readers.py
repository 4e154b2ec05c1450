"""Rows that a question asks about, and those that others of their table outdo.

Answers without a language model: the span of a reader, and quoted sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.scripted_reader import ScriptedReader
from tests.shared import CORPUS, corpus_index

from graphwright import Document, Graph, Index, start
from graphwright.data.documents import read_documents
from graphwright.errors import OptionError
from graphwright.extract.rules import LexicalExtractor
from graphwright.generate import Quote, QuoteClauses, ReadSpans
from graphwright.generate.quoted_sentences import around, sentences_of
from graphwright.generate.readers import of_asked_rows, texts_read
from graphwright.graph import Ranking
from graphwright.models import HashEncoder, MiniLMReader
from graphwright.models.protocols import PassageText, Span
from graphwright.operators.run import Run
from graphwright.operators.state import State


def table(*lines: str) -> PassageText:
    text = "\n".join(lines)
    rows = tuple(match.span() for match in re.finditer(r".+", text))
    return PassageText("", text, rows=rows, labels=tuple(match.span() for match in re.finditer(r"\w+: ", text)))


def masked(question: str, *passages: PassageText) -> list[str]:
    """Return the rows in which no answer lies."""
    texts = of_asked_rows(question, passages)
    return [text.text[slice(*row)] for text in texts for row in text.rows if row in text.labels]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How much is the fee for films?", ["kind: books; fee: 2", "kind: games; fee: 3"]),
        ("What is the fee of films and games?", ["kind: books; fee: 2"]),
        ("What is the fee?", []),
        ("Which kind of thing costs 3?", ["kind: books; fee: 2", "kind: films; fee: 5"]),
    ],
)
def test_of_asked_rows_row_with_fewer_words_of_question_has_no_answer(question: str, expected: list[str]) -> None:
    lines = ("kind: books; fee: 2", "kind: films; fee: 5", "kind: games; fee: 3")
    assert masked(question, table(*lines)) == expected
    assert masked(question, *map(table, lines)) == expected


def test_of_asked_rows_other_tables_are_apart() -> None:
    assert masked("How much is the fee for films?", table("kind: books; fee: 2"), table("film: films; star: Eva")) == []


def test_of_asked_rows_names_of_fields_do_not_count() -> None:
    assert masked("What is the fee for films?", table("kind: films; fee: 2", "kind: fee; fee: 5")) == []


GRAPH = corpus_index().graph
QUESTION = "Which abbey did Ermengarde found in Alsace?"


def bare(*texts: str) -> list[PassageText]:
    return [PassageText("", text) for text in texts]


def quoted(passages: list[PassageText], *scores: tuple[str, float], **options: float) -> list[str]:
    quote = Quote(ScriptedReader(sentences=dict(scores)), **options)  # type: ignore[arg-type]
    quotes, *_ = quote.quotes(QUESTION, passages, Run())
    return [passages[s.passage].text[s.start : s.end] for s in quotes]


ABBEY = bare("Hugh was rich. Ermengarde was his daughter. She founded Erstein. It burnt.", "Alsace lies on the Rhine.")


def test_quote_adds_best_neighbours_within_word_limit() -> None:
    scores = (("Erstein", 0.8), ("daughter", 0.3), ("burnt", 0.2))
    quotes = [quoted(ABBEY, *scores, around=words, share=1.0) for words in (0, 3, 7, 9, 40)]
    assert quotes == [
        ["She founded Erstein."],
        ["She founded Erstein."],
        ["Ermengarde was his daughter. She founded Erstein."],
        ["Ermengarde was his daughter. She founded Erstein. It burnt."],
        [ABBEY[0].text],
    ]


def test_quote_sentence_that_asks_stands_only_above_its_answer_or_alone() -> None:
    asking = "Which abbey did she found?"
    scores = (("abbey", 0.9), ("Erstein", 0.3))
    assert quoted(bare(f"Hello. {asking}", "She founded Erstein."), *scores, around=0) == ["She founded Erstein."]
    assert quoted(bare(f"Hello. {asking}"), *scores, around=0) == [asking]
    assert quoted(bare(f"{asking}\nShe founded Erstein."), *scores, around=0) == [f"{asking}\nShe founded Erstein."]


def test_quote_neighbouring_quotations_of_a_paragraph_are_one() -> None:
    steps = bare("Dry it.\nRub both edges with a pad.\n\nPay at the bar.", "Alsace lies on the Rhine.")
    scores = (("Rub", 0.8), ("Rhine", 0.7), ("Dry", 0.6), ("Pay", 0.5))
    joined = [steps[0].text[:34], "Alsace lies on the Rhine.", "Pay at the bar."]
    assert quoted(steps, *scores, around=0) == joined
    assert quoted(steps, *scores, around=0, words=11) == ["Rub both edges with a pad.", "Alsace lies on the Rhine."]


WARDS = "The red ward has an oven. The blue ward has stoves. The grey ward has no heating. It is small."


@pytest.mark.parametrize(
    ("other", "quotes"),
    [
        (0.7, [WARDS[52:], WARDS[:51]]),  # what may answer in its place stays behind what answers
        (0.3, [WARDS]),
    ],
)
def test_quote_begins_with_the_sentence_that_answers(other: float, quotes: list[str]) -> None:
    scores = (("red", other), ("blue", other - 0.1), ("grey", 0.8), ("small", 0.01))
    assert quoted(bare(WARDS), *scores) == quotes


@pytest.mark.parametrize(
    ("asked", "near"),
    [("HOIST_FAIL", "HOIST_BRK_FAIL"), ("--max-draft", "--max-drift"), ("kiln_v2.ini", "kiln_v3.ini")],
)
@pytest.mark.parametrize("score", [0.5, 0.01])
def test_quote_sentence_with_the_identifier_precedes_one_with_a_near_one(asked: str, near: str, score: float) -> None:
    passages = bare(f"{near} is the first. Read this.", f"{asked} is the second.")
    quote = Quote(ScriptedReader(sentences={"first": 0.9, "second": score, "Read": 0.003}), around=0)
    for question, first in ((f"What is {asked}?", 1), (f"What is {near}?", 0), ("What is x_y?", 0)):
        assert quote.quotes(question, passages, Run())[0][0].passage == first


def test_quote_adds_second_place_while_good_and_short() -> None:
    scores = (("Erstein", 0.8), ("Rhine", 0.2))
    both = ["She founded Erstein.", "Alsace lies on the Rhine."]
    assert quoted(ABBEY, *scores, around=0, share=0.2) == both
    assert quoted(ABBEY, *scores, around=0, share=0.3) == both[:1]
    assert quoted(ABBEY, *scores, around=0, share=0.2, words=7) == both[:1]
    assert quoted(ABBEY, *scores, around=0, share=0.2, words=8) == both


def test_quote_prefers_missing_words_over_repeats() -> None:
    passages = bare("Stable Debian is tested well.", "Stable Debian is old.", "Unstable Debian is new.")
    scores = (("Stable Debian is tested", 0.5), ("Stable Debian is old", 0.3), ("Unstable", 0.2))
    question = "What is the difference between stable and unstable?"

    def chosen(sides: float) -> list[int]:
        quote = Quote(ScriptedReader(sentences=dict(scores)), around=0, words=9, sides=sides)
        return [each.passage for each in quote.quotes(question, passages, Run())[0]]

    assert chosen(0) == [0, 1] and chosen(3) == [0, 2]


def test_quote_keeps_long_sentence_whole() -> None:
    assert quoted(bare("It is a very long sentence."), ("long", 0.5), words=2, around=0) == [
        "It is a very long sentence."
    ]


@pytest.mark.parametrize("texts", [[], [""], ["", " \n "], ["\n\n"]])
def test_quote_without_passages_is_empty(texts: list[str]) -> None:
    assert quoted(bare(*texts)) == []


SENTENCES = st.sampled_from(
    ["Graz is here.", "Łódź lies far.", "Is it so?", "No", "A. B. Cole sang.", "東京は首都。", ""]
)
TITLES = st.sampled_from(["Graz", "Łódź (city)", "東京", "", "12"])


@given(st.lists(st.tuples(TITLES, st.lists(SENTENCES, max_size=4)), max_size=4), st.integers(0, 9), st.integers(1, 12))
def test_quotes_are_exact_and_disjoint(drawn: list[tuple[str, list[str]]], around: int, words: int) -> None:
    passages = [PassageText(title, " ".join(texts)) for title, texts in drawn]
    scores = (("Graz", 0.5), ("far", 0.4), ("sang", 0.3), ("東京", 0.2))
    quote = Quote(ScriptedReader(sentences=dict(scores)), around=around, words=words, share=0)
    quotes, *_ = quote.quotes(QUESTION, passages, Run())
    characters = [(s.passage, at) for s in quotes for at in range(s.start, s.end)]
    assert len(set(characters)) == len(characters)
    texts = [passages[s.passage].text[s.start : s.end] for s in quotes]
    assert all(text and text == text.strip() for text in texts)
    assert sum(len(text.split()) for text in texts[1:]) <= words


def test_quotes_are_numbered_and_cited() -> None:
    state = ranked("erstein", "ermengarde")
    answer = Quote(ScriptedReader(sentences={"destroyed": 0.8, "founded the abbey": 0.5}), around=0)(state).answer
    assert answer is not None and answer.found and answer.short == ()
    assert answer.text.splitlines() == [f"{c.text} [{n}]" for n, c in enumerate(answer.citations, 1)]
    assert [cited.document for cited in answer.citations] == ["erstein", "ermengarde"]


def ranked(*documents: str) -> State:
    nodes = [GRAPH.id(f"{document}#0") for document in documents]
    return start("Which abbey did she found?", GRAPH).with_(passages=Ranking.of(nodes, range(len(nodes), 0, -1)))


def test_read_spans_answers_with_span_and_cites_sentence() -> None:
    reader = ScriptedReader(("abbey of Erstein in",))
    answer = ReadSpans(reader, words=0)(ranked("bread", "erstein", "ermengarde")).answer
    assert answer is not None and answer.found
    (cited,) = answer.citations
    assert answer.short == ("abbey of Erstein in",) and answer.text == f"abbey of Erstein in: {cited.text} [1]"
    text = next(str(d["text"]) for d in CORPUS if d["id"] == cited.document)
    assert text[cited.start : cited.end] == cited.text == "She founded the abbey of Erstein in Alsace."


def test_reader_reads_best_passages_only() -> None:
    state = ranked("bread", "erstein", "ermengarde")
    reader = ScriptedReader(("She founded", "It was destroyed"), max_passages=2)
    answer = ReadSpans(reader, passages=2)(state).answer
    assert answer is not None and answer.short == ("It was destroyed",)
    with pytest.raises(OptionError, match="passages is 0"):
        ReadSpans(reader, passages=0)


@pytest.mark.parametrize("documents", [(), ("bread", "erstein")])
def test_reader_without_span_cites_nothing(documents: tuple[str, ...]) -> None:
    answer = Quote(ScriptedReader())(ranked(*documents)).answer
    assert answer is not None and not answer.found and answer.citations == ()
    assert answer.text == "The documents give no sure answer."


def test_span_below_threshold_leaves_state() -> None:
    state = ranked("ermengarde")
    read = ReadSpans(ScriptedReader(("Erstein",), score=0.4), threshold=0.5)
    assert read(state).answer is None and "0.5" in read(state).trace[-1].notes[-1]
    assert read.after(frozenset({"passages"})) == {"passages"} and read.gives == ("answer",)
    quote = Quote(ScriptedReader(sentences={"Erstein": 0.5}))
    answer = (read >> quote)(state).answer
    assert answer is not None and answer.short == () and "abbey of Erstein" in answer.text
    assert (ReadSpans(read.reader, threshold=0.4) >> quote)(state).answer.short == ("Erstein",)  # type: ignore[union-attr]


def test_offline_answer_streams_in_one_piece() -> None:
    for op in (Quote(ScriptedReader()), ReadSpans(ScriptedReader(("Erstein",)))):
        texts: list[str] = []
        after = op(ranked("ermengarde"), Run(on_text=texts.append))
        assert after.answer is not None and texts == [after.answer.text]


def test_embedded_reader_answers_one_step_question() -> None:
    state = start("When was the abbey of Erstein destroyed?", GRAPH)
    state = state.with_(passages=Ranking.of([GRAPH.id("erstein#0"), GRAPH.id("bread#0")], [2, 1]))
    answer = ReadSpans(MiniLMReader(), threshold=0)(state).answer
    assert answer is not None and "1525" in answer.short[0] and answer.citations[0].document == "erstein"


def test_quote_below_threshold_is_called_nearest_text() -> None:
    state = ranked("erstein", "bread")
    reader = ScriptedReader(sentences={"destroyed": 0.1})
    after = Quote(reader, around=0)(state)
    assert after.answer is not None and not after.answer.found and after.answer.short == ()
    [cited] = after.answer.citations
    assert after.answer.text == f"The documents give no sure answer. Nearest text:\n{cited.text} [1]"
    assert "0.10" in after.trace[-1].notes[0]
    found = Quote(reader, around=0, threshold=0.1)(state).answer
    assert found is not None and found.found and found.text == f"{cited.text} [1]"


def test_quote_mail_that_asks_is_not_read_once_it_was_answered(tmp_path: Path) -> None:
    asking = (
        "From: Ida <i@club.example>\nSubject: Keys\nDate: Sat, 1 Feb 2025 10:00:00 +0000\nMessage-ID: <1@c>\n\n"
        "Who has the key of the shed? Ole has another one.\n"
    )
    reply = (
        "From: Eva <e@club.example>\nSubject: Re: Keys\nDate: Sun, 2 Feb 2025 10:00:00 +0000\nIn-Reply-To: <1@c>\n"
        "Message-ID: <2@c>\n\nSorry, it is in my car.\n"
    )
    for number, mail in enumerate((asking, reply), 1):
        (tmp_path / f"{number}.eml").write_text(mail)
    reader = ScriptedReader(sentences={"Ole": 0.9, "car": 0.5})

    def answer(question: str, *names: str) -> str:
        index = Index.create(tmp_path / f"index-{len(names)}-{len(question)}")
        index.add(list(read_documents([tmp_path / name for name in names], lambda skipped: None)))
        nodes = [index.graph.id(f"{name}#0") for name in names]
        state = start(question, index.graph).with_(passages=Ranking.of(nodes, range(len(nodes), 0, -1)))
        answer = Quote(reader, around=0)(state).answer
        assert answer is not None
        return answer.text

    eva = "Eva, 2025-02-02 10:00: Sorry, it is in my car. [1]"
    assert answer("Who has the shed key?", "1.eml", "2.eml") == eva
    assert answer("Who has the shed key?", "1.eml").startswith("Ida, 2025-02-01 10:00: ")
    assert len(answer("Who has another key?", "1.eml", "2.eml").splitlines()) == 2


def test_quote_answer_between_quotations_is_read_and_has_its_own_author(tmp_path: Path) -> None:
    mails = (
        "From: Ida <i@c.org>\nDate: Sat, 1 Feb 2025 10:00:00 +0000\nMessage-ID: <1@c>\n\nWho can drive the van?\n"
        "The lid of the box is cracked.\n",
        "From: Eva <e@c.org>\nDate: Sun, 2 Feb 2025 10:00:00 +0000\nMessage-ID: <2@c>\nIn-Reply-To: <1@c>\n\n"
        "Le 1 février 2025, Ida <i@c.org> a écrit :\n> Who can drive the van?\n\nOle will.\n\n"
        "> The lid of the box is cracked.\n\nI have glue.\n",
        "From: Ole <o@c.org>\nDate: Mon, 3 Feb 2025 10:00:00 +0000\nMessage-ID: <3@c>\nIn-Reply-To: <2@c>\n\nFine.\n",
    )
    for number, mail in enumerate(mails, 1):
        (tmp_path / f"{number}.eml").write_text(mail)
    index = Index.create(tmp_path / "index")
    index.add(list(read_documents([tmp_path / f"{n}.eml" for n in (1, 2, 3)], lambda skipped: None)))
    ids = [index.graph.id(f"{n}.eml#0") for n in (1, 2, 3)]
    state = start("Who can drive the van?", index.graph).with_(passages=Ranking.of(ids, [3, 2, 1]))
    answer = Quote(ScriptedReader(sentences={"Ole will": 0.9, "glue": 0.8, "lid": 0.7}))(state).answer
    assert answer is not None and answer.text.splitlines() == [
        "Eva, 2025-02-02 10:00: Ole will. [1]",
        "Eva, 2025-02-02 10:00: I have glue. [2]",
        "Ida, 2025-02-01: The lid of the box is cracked. [3]",
    ]


def test_texts_read_answers_of_mails_lack_their_recipients(tmp_path: Path) -> None:
    mails = {
        "1.eml": "From: Ida <i@c.org>\nTo: all@c.org\nSubject: Van\nDate: Sat, 1 Feb 2025 10:00:00 +0000\n"
        "Message-ID: <1@c>\n\nWho can drive the van?\n",
        "2.eml": "From: Eva <e@c.org>\nTo: Ida <i@c.org>\nSubject: Re: Van\nDate: Sun, 2 Feb 2025 10:00:00 +0000\n"
        "Message-ID: <2@c>\nIn-Reply-To: <1@c>\n\nBo will.\n",
    }
    for name, text in mails.items():
        (tmp_path / name).write_text(text)
    index = Index.create(tmp_path / "index")
    index.add(list(read_documents([tmp_path / name for name in mails], lambda skipped: None)))
    for question, openings in (
        ("Who can drive the van?", ["Re: Van (2 February 2025). Eva wrote"]),
        ("Who can drive the truck?", ["Van (1 February 2025, to all@c.org). Ida wrote",
                                  "Re: Van (2 February 2025, to Ida). Eva wrote"]),
    ):  # fmt: skip
        ids = [index.graph.id(f"{name}#0") for name in mails]
        state = start(question, index.graph).with_(passages=Ranking.of(ids, [2, 1]))
        assert [text.opening for text in texts_read(state, Run(), 8)[1]] == openings


def test_disagreeing_documents_are_both_shown_with_dates(tmp_path) -> None:
    index = Index.create(tmp_path / "index")
    old, new = "3 May 2019. The limit is 5 seconds.", "On 2 June 2021: the limit is 9 seconds now."
    index.add([Document("old", old, "Limits", whole=True), Document("new", new, "Limits, again", whole=True)])
    nodes = [index.graph.id("new#0"), index.graph.id("old#0")]
    state = start("What is the limit?", index.graph).with_(passages=Ranking.of(nodes, [2, 1]))
    answer = ReadSpans(ScriptedReader(("9 seconds", "5 seconds")))(state).answer
    assert answer is not None and answer.short == ("9 seconds",)
    assert answer.text.splitlines() == [f"9 seconds (2 June 2021): {new} [1]", f"5 seconds (3 May 2019): {old} [2]"]
    assert [cited.document for cited in answer.citations] == ["new", "old"]
    alone = ReadSpans(ScriptedReader(("9 seconds",)))(state).answer
    assert alone is not None and alone.text == f"9 seconds: {new} [1]"


@pytest.mark.parametrize(
    ("question", "cited"),
    [
        ("Where does the person who keeps the blue key live?", ["people", "keys"]),
        ("Where does Petra Sommer, who keeps the blue key, live?", ["people"]),  # the question names her
        ("Where does the chair of the committee live?", ["people"]),  # one hop says it all
        ("Where does the person who keeps the red lantern live?", ["people"]),
    ],
)
def test_read_spans_short_answer_of_two_hops_cites_both(tmp_path: Path, question: str, cited: list[str]) -> None:
    index = Index.create(tmp_path / "index", encoder=HashEncoder(), extractor=LexicalExtractor())
    texts = {
        "people": "Petra Sommer chairs the committee. She lives in Aeschach.",
        "keys": "Room B12 is opened with the blue key, which Petra Sommer keeps. It is cold.",
        "letter": "In the letter Jonas Weber asks Petra Sommer for a lower limit.",
    }
    index.add([Document(name, text, name) for name, text in texts.items()])
    nodes = [index.graph.id(f"{name}#0") for name in texts]
    state = start(question, index.graph).with_(passages=Ranking.of(nodes, [3, 2, 1]))
    answer = ReadSpans(ScriptedReader(("Aeschach",)))(state).answer
    assert answer is not None and answer.short == ("Aeschach",)
    assert [citation.document for citation in answer.citations] == cited
    lines = answer.text.splitlines()
    assert lines[0] == f"Aeschach: {texts['people']} [1]"
    assert lines[1:] == ["Room B12 is opened with the blue key, which Petra Sommer keeps. [2]"][: len(cited) - 1]


class _Deciding(ScriptedReader):
    """A reader that answers no, as one does that compares two passages."""

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        return [replace(span, text="no") for span in super().read(question, passages)]


@pytest.mark.parametrize(
    ("later", "short"),
    [
        ("yes, but 8 not 12", None),
        ("12 it is", ("12",)),
        ("the van has 8 seats", ("12",)),
    ],
)
def test_read_spans_value_corrected_later_in_a_chat_leaves_state(
    tmp_path: Path, later: str, short: tuple[str] | None
) -> None:
    chat = f"[11/03/2024, 10:45] Mark: 12 crates for the fair\n[11/03/2024, 10:47] Gareth: {later}\n"
    (tmp_path / "chat.txt").write_text(chat)
    with Index.create(tmp_path / "ix", encoder=HashEncoder()) as index:
        index.add([*read_documents([tmp_path / "chat.txt"], print)])
        assert index.graph.passages is not None
        nodes = index.graph.passages.nodes
        state = start("How many crates?", index.graph).with_(passages=Ranking.of(nodes, [1.0] * len(nodes)))
        reader = ScriptedReader(("12",), sentences={"crates": 0.4, later: 0.01})
        answer = ReadSpans(reader)(state).answer
    assert (answer and answer.short) == short


@pytest.mark.parametrize(("name", "short"), [("boats.csv", None), ("boats.txt", ("no",))])
def test_read_spans_comparing_rows_of_a_table_leaves_state(tmp_path: Path, name: str, short: tuple[str] | None) -> None:
    (tmp_path / name).write_text("boat,helm\nAurora,Ida\nLena,Eva\n")
    index = Index.create(tmp_path / "index")
    index.add(list(read_documents([tmp_path / name], lambda skipped: None)))
    assert index.graph.passages is not None
    nodes = index.graph.passages.nodes
    passages = Ranking.of(nodes, np.ones(len(nodes)))
    answer = ReadSpans(_Deciding(("Ida",)))(start("Is Aurora Lena?", index.graph).with_(passages=passages)).answer
    assert (answer and answer.short) == short


@pytest.mark.parametrize(("score", "words"), [(0.6, 0), (0.6, 40), (0.5, 40)])
def test_likely_sentence_without_span_is_quoted_too(score: float, words: int) -> None:
    state = ranked("bread", "erstein", "ermengarde")
    reader = ScriptedReader(("flour",), sentences={"founded the abbey": score, "destroyed": 0.4})
    answer = ReadSpans(reader, words=words)(state).answer
    assert answer is not None and answer.short == ("flour",)
    assert [cited.document for cited in answer.citations] == (["bread", "ermengarde"] if score > 0.5 else ["bread"])
    lines = answer.text.splitlines()
    assert lines[0].startswith("flour: ") and lines[1:] == [f"{c.text} [2]" for c in answer.citations[1:]]
    if score > 0.5:
        best = "She founded the abbey of Erstein in Alsace."
        assert answer.citations[1].text == best if words == 0 else best in answer.citations[1].text


def test_likely_sentence_is_quoted_once() -> None:
    graph = Graph.from_triples([("Graz lies on the Mur. The Mur is green. It is long. Its length is", "in km", "464")])
    state = start("How long is it?", graph).with_(passages=Ranking.of([0], [1]))
    length = "Its length is in km 464."

    def cited(span: str, words: int) -> list[str]:
        answer = ReadSpans(ScriptedReader((span,), sentences={"464": 0.9}), words=words)(state).answer
        assert answer is not None
        return [citation.text for citation in answer.citations]

    assert cited("464", 0) == [length]
    assert cited("green", 8) == ["The Mur is green. It is long.", length]
    assert cited("green", 40) == [graph.passage(0)]


def test_quotation_stays_within_table_row() -> None:
    rows = "river: Mur; km: 464\nriver: Drava; km: 749\nriver: Sava; km: 940"
    cuts = (rows.index("river: D"), rows.index("river: S"))
    passage = PassageText("Rivers", rows, cuts)
    at = rows.index("749")
    assert rows[slice(*around(passage, at, at + 3, 40))] == "river: Drava; km: 749"
    assert rows[slice(*around(PassageText("Rivers", rows), at, at + 3, 40))] == rows
    assert [s.part for s in sentences_of(passage)] == [0, 1, 2]


LEASE = """LEASE

2. Rent
2.1 The rent is 800 euros.
2.2 It is due:
(a) on the first of May;
(b) without deduction.

3. Flat
3.1 The flat has 3 rooms.
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does clause 2.2(b) say?", ["2. Rent", "2.2 It is due:", "(b) without deduction."]),
        ("Was steht in 2.1?", ["2. Rent", "2.1 The rent is 800 euros."]),
        ("Explain 2.2 lit. a", ["2. Rent", "2.2 It is due:", "(a) on the first of May;"]),
        ("Que dit le point 3 ?", ["3. Flat\n3.1 The flat has 3 rooms."]),
        ("Which flat has 3 rooms?", []),
        ("Is the rent 2.1 euros?", []),
        ("What does 2.9 say?", []),
        ("Who steered barge 3?", []),  # so the log names it
    ],
)
def test_quote_clauses_question_names_a_number_quotes_clause_whole(
    question: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "lease.txt").write_text(LEASE)
    (tmp_path / "log.txt").write_text("Barge 3 went aground at noon, and was free at six.")
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.add(read_documents([tmp_path / "lease.txt", tmp_path / "log.txt"], print))
    state = start(question, index.graph).with_(passages=index.retrieve(question, "vector").passages)
    answer = QuoteClauses()(state).answer
    assert [cited.text for cited in answer.citations] == expected if answer else expected == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does a barge pay in winter?", ["Fee / Summer: 95"]),
        ("What is the summer rate of a barge?", ["Fee / Winter: 60"]),
        ("What does a barge pay in summer and in winter?", []),
        ("What is the fee of a barge?", []),
        ("What pays 60 in winter?", ["Fee / Summer: 95"]),
    ],
)
def test_of_asked_rows_cell_beside_the_named_column_of_a_spanning_header_has_no_answer(
    question: str, expected: list[str]
) -> None:
    text = "Vessel: Barge; Fee / Summer: 95; Fee / Winter: 60"
    labels = tuple(match.span() for match in re.finditer(r"[\w/]+(?: / \w+)?: ", text))
    (read,) = of_asked_rows(question, [PassageText("", text, rows=((0, len(text)),), labels=labels)])
    assert [text[slice(*span)].strip("; ") for span in read.labels if span not in labels] == expected
