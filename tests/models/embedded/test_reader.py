"""The embedded reader: how its readings become answers, by a stand-in for the network and with the shipped weights."""

import hashlib
import pickle

import numpy as np
import pytest

from graphwright.errors import ModelError, OptionError
from graphwright.models.embedded import reader as module
from graphwright.models.embedded.encoder import checksum, weights_file
from graphwright.models.embedded.reader import MiniLMReader, _span
from graphwright.models.embedded.reader_answers import (
    ANSWER_FEATURES,
    CELL_FEATURES,
    CONFIDENCE_FEATURES,
    READING_FEATURES,
    SENTENCE_FEATURES,
    Candidate,
    ReaderOutput,
    answer_features,
    asks_yes_or_no,
    candidates,
    confidence_features,
    mixture,
    normalised,
    probabilities,
    reading_features,
    sentence_features,
    sides,
)
from graphwright.models.protocols import AnsweringReader, PassageText, Usage

QUESTION = "When was the university of Graz founded?"
PASSAGES = [
    PassageText("Mur", "The Mur is a river in Central Europe. It is 464 km long and flows through Graz."),
    PassageText("Graz", "Graz lies on the Mur. Its university was founded in 1585 by Archduke Charles II of Austria."),
    PassageText("Lyon", "Lyon is a city in France, where the Rhône and the Saône meet."),
    PassageText("", ""),
]


class Numbers:
    """A network that is sure of a span wherever the text has the token of 1585, and of nothing elsewhere."""

    def __init__(self) -> None:
        self.remembered = {}
        self.weights = {"mixture": np.zeros(len(READING_FEATURES))}
        self.token = module.tokenise(["1585"])[0].ids
        self.inputs = 0

    def run(self, ids, types):
        self.inputs += 1
        spans = np.zeros((len(ids), 2), np.float32)
        places = [at for at in range(len(ids)) if list(ids[at : at + len(self.token)]) == self.token and types[at]]
        for at in places:
            spans[at, 0] = spans[at + len(self.token) - 1, 1] = 9
        return spans, np.array([-3, 3, -3, -3, -3] if places else [4, 0, 0, 0, 0], np.float32)

    def probability(self, rows, part):
        column, names = {
            "confidence": ("probability", CONFIDENCE_FEATURES),
            "answerable": ("sentence", ANSWER_FEATURES),
            "sentence": ("alone", SENTENCE_FEATURES),
            "cell": ("begins", CELL_FEATURES),
        }[part]
        return 1 / (1 + np.exp(-rows[..., names.index(column)]))


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Numbers:
    network = Numbers()
    monkeypatch.setattr(module, "_network", lambda folder: network)
    return network


def test_reader_meets_protocol_and_is_value():
    reader = MiniLMReader(2, weights="there")
    assert isinstance(reader, AnsweringReader) and reader == pickle.loads(pickle.dumps(reader))
    assert repr(reader) == "MiniLMReader(max_spans=2, weights='there')" and eval(repr(reader)) == reader


def test_reader_answer_is_place_of_best_score(network):
    spans = MiniLMReader().read(QUESTION, PASSAGES)
    assert spans[0].passage == 1 and PASSAGES[1].text[spans[0].start : spans[0].end] == "1585"
    assert [s.score for s in spans] == sorted((s.score for s in spans), reverse=True) and len(spans) <= 5


def best_score(question: str, passages: list[PassageText]) -> float:
    whole = [(at, 0, len(passage.text)) for at, passage in enumerate(passages) if passage.text]
    return float(MiniLMReader().sentence_scores(question, passages, whole).max(initial=0))


def test_answer_neither_lies_in_label_nor_goes_over_it(network):
    text = "1585: founded; rank: 1585"
    free, within = (
        (MiniLMReader().read(QUESTION, [PassageText("", text, labels=labels)])[0]) for labels in ((), ((0, 6),))
    )
    assert (free.start, within.start) == (0, text.rindex("1585"))
    [both] = MiniLMReader().read(QUESTION, [PassageText("", "1585 a 1585", labels=((5, 7),))])[:1]
    assert (both.start, both.end) in ((0, 4), (7, 11))


def test_passages_answer_where_one_does(network):
    assert best_score(QUESTION, PASSAGES) > 0.4
    assert best_score(QUESTION, [PASSAGES[0], PASSAGES[2]]) < 0.1
    assert best_score(QUESTION, PASSAGES[3:]) == 0


def test_reader_reads_pairs_of_passages_once(network):
    reader, usage = MiniLMReader(paired=3), Usage()
    readings = reader.readings(QUESTION, [PASSAGES[3], *PASSAGES[:3]], usage)
    assert [reading.passages for reading in readings] == [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3)]
    assert all(abs(np.exp(reading.kind).sum() - 1) < 1e-3 for reading in readings)
    assert usage.calls == 6 and usage.texts == 9 and usage.tokens > 100
    reader.read(QUESTION, [PASSAGES[3], *PASSAGES[:3]])
    assert network.inputs == 6


def test_reader_pairs_titles_and_windows_that_answer(network):
    filling = "The hill is steep. " * 30
    long = PassageText("Graz, a town", f"{filling}Its university was founded in 1585. {filling}")
    *_, pair = MiniLMReader().readings(QUESTION, [long, PASSAGES[1]], Usage())
    starts = [start for number, start in pair.places.tolist() if number == 0]
    text = f"{long.title}\n{long.text}"
    assert text[starts[0] :].startswith("Graz, a town") and len(starts) <= 64 + 5
    assert text.index("1585") in starts and pair.spans[0][1:] == (0, text.index("1585"), text.index("1585") + 4)


@pytest.mark.parametrize("text", ["", " ", "\n", "Title\n", "\ntext", "x", "é\ud800\x00", "1585 " * 3000, "☃" * 600])
@pytest.mark.parametrize("question", ["", "?", "What?", "why " * 400])
def test_reader_reads_any_text(network, question, text):
    passages = [PassageText("", text), PassageText(text, text), PASSAGES[1]]
    for span in MiniLMReader(max_spans=50).read(question, passages):
        assert 0 <= span.start < span.end <= len(passages[span.passage].text) and 0 <= span.score <= 1


def test_reader_of_no_passages_is_empty(network):
    assert MiniLMReader().read("why?", []) == [] and MiniLMReader().read("why?", PASSAGES[3:]) == []


def test_answer_in_title_has_own_text(network):
    spans = MiniLMReader().read("When?", [PassageText("1585", "A year.")])
    assert (spans[0].start, spans[0].end, spans[0].text) == (0, 1, "1585")


def readings_of(*spans: tuple[float, int, str]) -> list[ReaderOutput]:
    """Return readings of one passage each, with one span each, all of them sure that there is a span."""
    kind = np.log(np.array([0.1, 0.6, 0.1, 0.1, 0.1], np.float32))
    made = []
    for score, passage, text in spans:
        at = f"{PASSAGES[passage].title}\n{PASSAGES[passage].text}".find(text)
        places = np.array([(passage, at), (passage, 0)])
        begins = np.array([1.0, 0.0])
        made.append(ReaderOutput((passage,), kind, [(score, passage, at, at + len(text))], begins, places))
    return made


def test_equal_answers_of_passages_are_one_candidate():
    readings = readings_of((-1.0, 1, "the Mur"), (-0.5, 0, "Mur"), (-2.0, 1, "1585"))
    by_text = {candidate.text: candidate for candidate in candidates(readings, PASSAGES)}
    assert set(by_text) == {"mur", "1585"}
    assert by_text["mur"].passage == 0 and set(by_text["mur"].scores) == {0, 1}
    assert by_text["mur"].scores[1] == pytest.approx(-0.5 + np.log(0.7))


SIDES = [PassageText("Graz", "Graz is a city in Austria."), PassageText("Linz", "Linz is a city in Upper Austria.")]


def two_sides(first: str, second: str) -> list[ReaderOutput]:
    """Return readings of two passages, alone and as a pair that is to be decided."""
    kind = np.log(np.array([0.1, 0.1, 0.4, 0.3, 0.1], np.float32))
    places, begins = np.array([(0, 0), (1, 0)]), np.array([1.0, 0.0])
    at = [f"{p.title}\n{p.text}".rfind(text) for p, text in zip(SIDES, (first, second), strict=True)]
    spans = [(-1.0, 0, at[0], at[0] + len(first)), (-1.0, 1, at[1], at[1] + len(second))]
    alone = [ReaderOutput((n,), kind, [span], begins, places[n : n + 1]) for n, span in enumerate(spans)]
    return [*alone, ReaderOutput((0, 1), kind, spans, begins, places)]


def test_yes_no_compares_both_sides():
    question = "Are Graz and Linz in the same country?"
    same = sides(question, SIDES, two_sides("Austria", "Austria"))
    other = sides(question, SIDES, two_sides("Graz", "Linz"))
    part = sides(question, SIDES, two_sides("Austria", "Upper Austria"))
    assert same is not None and other is not None and part is not None
    assert [round(each.alike, 3) for each in (same, part, other)] == [0.9, 0.5, 0.1]
    proposed = candidates(two_sides("Austria", "Austria"), SIDES, same)
    scores = {candidate.text: candidate.scores for candidate in proposed if candidate.decided}
    assert scores["yes"][2] == pytest.approx(np.log(0.7 * 0.9), abs=1e-5)
    assert scores["no"][2] == pytest.approx(np.log(0.7 * 0.1), abs=1e-5)


@pytest.mark.parametrize(("decided", "asks"), [(0.1, False), (0.3, True)])
def test_question_asks_yes_or_no_from_share_of_their_kinds(decided: float, asks: bool):
    kind = np.log(np.array([0.5, 0.5 - decided / 2, decided / 4, decided / 4, 1e-9], np.float32))
    readings = [ReaderOutput((n,), kind, [], np.zeros(1), np.zeros((1, 2))) for n in range(2)]
    assert asks_yes_or_no(readings, np.array([0.75, 0.25])) is asks


def test_question_for_yes_or_no_has_no_span(network, monkeypatch):
    kinds = np.array([-3, 3, 2.5, 2.5, -3], np.float32)
    monkeypatch.setattr(network, "run", lambda ids, types: (Numbers.run(network, ids, types)[0], kinds))
    assert MiniLMReader().read(QUESTION, PASSAGES) == []


def test_cell_scores_are_of_cell_in_which_answer_begins(network):
    row = PassageText("universities", "City: Graz; Founded: 1585.")
    cells = [(6, 10), (21, 25)]
    assert [row.text[start:end] for start, end in cells] == ["Graz", "1585"]
    other, right = MiniLMReader().cell_scores(QUESTION, [row, row], cells, 0.5)
    assert right > 0.4 > 0.1 > other


def test_question_without_both_sides_is_undecided():
    readings = two_sides("Austria", "Austria")
    assert sides("Is Graz in Austria?", SIDES, readings) is None
    assert [c.text for c in candidates(readings, SIDES) if c.decided] == []


def test_readings_are_weighted_by_features():
    readings = readings_of((-1.0, 1, "1585"), (-2.0, 0, "464 km"))
    rows = reading_features("464 km 1585", PASSAGES[:3], readings)
    first, second = (dict(zip(READING_FEATURES, row, strict=True)) for row in rows.tolist())
    assert first["alone"] == second["alone"] == 1 and first["rank alone"] == pytest.approx(np.log(2))
    assert second["rank alone"] == first["rank paired"] == first["covered paired"] == 0
    assert first["answer alone"] == pytest.approx(np.log(9), abs=1e-4) and 0 < first["covered alone"] < 1
    weights = np.array([float(name == "rank alone") for name in READING_FEATURES])
    assert mixture(rows, weights).tolist() == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        ("Who has the key?", "Ida (9:00): Who has the key?\nMilo (9:05): I have the key.", "Milo"),
        ("Until when are prices fixed?", "Prices are fixed until 31 August 2026.\n\n3. It arrives.", "31 August 2026"),
    ],
)
def test_reader_answer_lies_in_no_question_and_one_paragraph(question: str, text: str, answer: str) -> None:
    passage = PassageText("", text)
    spans = MiniLMReader().read(question, [passage])
    assert spans[0].answer([passage]) == answer
    assert not any("key?" in span.answer([passage]) or "2026. 3" in span.answer([passage]) for span in spans)


def test_reader_text_of_questions_has_no_answer() -> None:
    assert MiniLMReader().read("Who has the key?", [PassageText("", "Who has the key? Where is it?")]) == []


def test_readings_are_mixed_by_weights():
    readings = readings_of((-1.0, 1, "1585"), (-2.0, 1, "1585"), (-0.5, 0, "464 km"))
    proposed = candidates(readings, PASSAGES)
    total = probabilities(proposed, 3) @ np.array([0.5, 0.25, 0.25])
    by_text = dict(zip([candidate.text for candidate in proposed], total.tolist(), strict=True))
    assert by_text["1585"] == pytest.approx(0.7 * (0.5 * np.exp(-1) + 0.25 * np.exp(-2)), rel=1e-4)
    assert by_text["464 km"] == pytest.approx(0.7 * 0.25 * np.exp(-0.5), rel=1e-4)


def test_answer_features_equal_worked_numbers():
    readings = readings_of((-1.0, 1, "1585"), (-2.0, 1, "1585"))
    proposed, shares = candidates(readings, PASSAGES), np.array([0.75, 0.25])
    rows = reading_features("Who was there in 1585?", PASSAGES, readings)
    row = dict(zip(CONFIDENCE_FEATURES, confidence_features(proposed, readings, shares, rows).tolist(), strict=True))
    best = 0.7 * (0.75 * np.exp(-1) + 0.25 * np.exp(-2))
    assert row["constant"] == 1 and row["decided"] == 0 and row["words"] == pytest.approx(np.log(2))
    assert row["probability"] == pytest.approx(np.log(best), abs=1e-4)
    assert row["lead"] > 9 and row["share"] == pytest.approx(0, abs=1e-3)  # nothing else is proposed
    assert row["none"] == pytest.approx(np.log(1 / 9), abs=1e-3)
    assert row["deciding"] == pytest.approx(np.log(0.2 / 0.8), abs=1e-3)
    assert row["agreed"] == 1 and row["surest"] == 0.75


def test_best_sentence_features_equal_worked_numbers():
    readings, shares = readings_of((-1.0, 1, "1585"), (-2.0, 0, "464 km")), np.array([0.5, 0.5])
    sentences, scores = [(1, 22, 85), (0, 37, 81)], np.array([0.8, 0.3])
    rows = sentence_features("464 km 1585", PASSAGES, sentences, readings, shares)
    features = answer_features("464 km 1585", PASSAGES[:3], readings, shares, rows, scores)
    row = dict(zip(ANSWER_FEATURES, features.tolist(), strict=True))
    assert row["sentence"] == pytest.approx(np.log(4), abs=1e-3)
    assert row["mixed"] == pytest.approx(np.log(9), abs=2e-3)
    assert 0 < row["covered"] < row["covered by all"] == pytest.approx(1, abs=1e-4)


def test_sentence_features_equal_worked_numbers():
    sentences = [(1, 0, 21), (1, 22, 85), (0, 0, 37)]
    readings = readings_of((-1.0, 1, "founded in 1585"), (-1.0, 0, "river"))
    features = sentence_features("464 km 1585", PASSAGES, sentences, readings, np.array([0.75, 0.25]))
    rows = [dict(zip(SENTENCE_FEATURES, row, strict=True)) for row in features.tolist()]
    assert [row["alone"] for row in rows] == pytest.approx([-12.0, np.log(0.9), np.log(0.9)], abs=9)
    assert rows[1]["mixed"] == pytest.approx(np.log(0.9 * 0.75), abs=1e-4)
    assert rows[2]["mixed"] == pytest.approx(np.log(0.9 * 0.25), abs=1e-4)
    assert rows[0]["covered"] == 0 < rows[0]["covered around"] == rows[1]["covered"] < 1
    assert [row["statement"] for row in rows] == [1, 1, 1] and rows[2]["rank"] == 0


def test_leading_article_makes_no_other_answer():
    texts = ("The Mur", "a Mur,", "Mur", "An", "The")
    assert [normalised(text) for text in texts] == ["mur", "mur", "mur", "an", "the"]


@pytest.mark.parametrize("options", [{"max_spans": 0}, {"max_tokens": 0}, {"paired": -1}])
def test_impossible_reader_options_raise(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        MiniLMReader(**options)


def test_missing_reader_weights_are_named(tmp_path):
    with pytest.raises(ModelError, match=f"weights in {tmp_path} cannot be read.*build_reader"):
        MiniLMReader(weights=str(tmp_path)).read(QUESTION, PASSAGES)


def test_shipped_reader_finds_answer_and_abstains():
    reader = MiniLMReader()
    spans = reader.read(QUESTION, PASSAGES)
    assert spans[0].passage == 1 and PASSAGES[1].text[spans[0].start : spans[0].end] == "1585"
    assert spans[0].score > 0.5 > max(span.score for span in spans[1:])
    assert best_score(QUESTION, PASSAGES) > 0.5
    assert best_score("When was the theatre of Lyon founded?", [PASSAGES[0], PASSAGES[2]]) < 0.4


def test_reader_checksum_matches_weights():
    content = weights_file("model.onnx", "minilm-reader").read_bytes()
    assert hashlib.sha256(content).hexdigest() == checksum("minilm-reader")
    assert checksum("minilm-reader") in weights_file("CARD.md", "minilm-reader").read_text("utf-8")


def test_title_words_are_cited_in_text():
    def place(text: str) -> tuple[int, int, str]:
        passage = PassageText("Returned mail: Too many hops", text)
        span = _span(Candidate("too many hops", 0, 15, 28, {}), 0.5, [passage])
        return span.start, span.end, span.answer([PassageText("", text)])

    assert place("554 Too many hops 19") == (4, 17, "Too many hops")
    assert place("It was returned.") == (0, 1, "Too many hops")


def test_title_words_missing_in_text_are_cited_in_other_passage():
    title = "Returned mail: Too many hops"
    passages = [
        PassageText(title, "It was sent."),
        PassageText("", "Too many hops"),
        PassageText(title, "Too many hops"),
    ]
    span = _span(Candidate("too many hops", 0, 15, 28, {}), 0.5, passages)
    assert (span.passage, span.start, span.end) == (2, 0, 13)


def test_reader_of_mails_names_their_authors_and_cites_headers() -> None:
    header = "From: Ines Vogel <ines@a.org>\nDate: Tue, 10 Jun 2025"
    mail = PassageText(
        "Boiler room",
        f"{header}\n\nThe pump in the cellar leaks again. They come on Friday.",
        headers=((0, 29), (30, len(header))),
        opening="Boiler room (10 June 2025, to Otto Rehm). Ines Vogel wrote",
    )
    reader = MiniLMReader()
    (best, *_) = reader.read("Who reported that the pump leaks?", [mail])
    assert best.answer([mail]) == "Ines Vogel"
    assert mail.text[best.start : best.end] == "Ines Vogel"
    (best, *_) = reader.read("When was the leak of the pump reported?", [mail])
    assert best.answer([mail]) == "10 June 2025"
    assert mail.text[best.start : best.end] == header  # the day is written in other words there
    places = [(0, 0, 29), (0, len(header) + 2, len(header) + 37)]
    scores = reader.sentence_scores("Who reported that the pump leaks?", [mail], places)
    assert scores[0] == 0 < scores[1]
