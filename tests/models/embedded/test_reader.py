"""The reader of pairs: how its readings become answers, and its network by a stand-in for the weights."""

import pickle

import numpy as np
import pytest

from graphwright.errors import ModelError, OptionError
from graphwright.models.embedded import reader as module
from graphwright.models.embedded.cross_encoder import normalised
from graphwright.models.embedded.reader import (
    ANSWER_FEATURES,
    FEATURES,
    PairReader,
    Reading,
    answer_features,
    candidates,
    features,
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
        self.token = module.tokenise(["1585"])[0].ids
        self.inputs = 0

    def run(self, ids, types):
        self.inputs += 1
        spans = np.zeros((len(ids), 2), np.float32)
        places = [at for at in range(len(ids)) if list(ids[at : at + len(self.token)]) == self.token and types[at]]
        for at in places:
            spans[at, 0] = spans[at + len(self.token) - 1, 1] = 9
        return spans, np.array([-3, 3, -3, -3, -3] if places else [4, 0, 0, 0, 0], np.float32)

    def probabilities(self, rows, part):
        column = rows[:, FEATURES.index("best")] if part == "confidence" else rows[ANSWER_FEATURES.index("alone")]
        return 1 / (1 + np.exp(-column))


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Numbers:
    network = Numbers()
    monkeypatch.setattr(module, "_network", lambda folder: network)
    return network


def test_it_fills_the_protocol_and_is_compared_by_its_configuration():
    reader = PairReader("there", max_spans=2)
    assert isinstance(reader, AnsweringReader) and reader == pickle.loads(pickle.dumps(reader))
    assert repr(reader) == "PairReader('there', max_spans=2)" and eval(repr(reader)) == reader


def test_the_place_that_the_network_points_at_is_the_answer(network):
    spans = PairReader("").read(QUESTION, PASSAGES)
    assert spans[0].passage == 1 and PASSAGES[1].text[spans[0].start : spans[0].end] == "1585"
    assert [s.score for s in spans] == sorted((s.score for s in spans), reverse=True) and len(spans) <= 5


def test_passages_answer_where_one_does(network):
    assert PairReader("").answerable(QUESTION, PASSAGES) > 0.9
    assert PairReader("").answerable(QUESTION, [PASSAGES[0], PASSAGES[2]]) < 0.1
    assert PairReader("").answerable(QUESTION, PASSAGES[3:]) == 0


def test_the_first_passages_with_text_are_read_in_pairs_and_remembered(network):
    reader, usage = PairReader("", paired=3), Usage()
    readings = reader.readings(QUESTION, [PASSAGES[3], *PASSAGES[:3]], usage)
    assert [reading.passages for reading in readings] == [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3)]
    assert all(abs(np.exp(reading.kind).sum() - 1) < 1e-3 for reading in readings)
    assert usage.calls == 6 and usage.texts == 9 and usage.tokens > 100
    reader.read(QUESTION, [PASSAGES[3], *PASSAGES[:3]])
    assert network.inputs == 6


@pytest.mark.parametrize("text", ["", " ", "\n", "Title\n", "\ntext", "x", "é\ud800\x00", "1585 " * 3000, "☃" * 600])
@pytest.mark.parametrize("question", ["", "?", "What?", "why " * 400])
def test_any_text_is_read(network, question, text):
    passages = [PassageText("", text), PassageText(text, text), PASSAGES[1]]
    for span in PairReader("", max_spans=50).read(question, passages):
        assert 0 <= span.start < span.end <= len(passages[span.passage].text) and 0 <= span.score <= 1


def test_nothing_to_read(network):
    assert PairReader("").read("why?", []) == [] and PairReader("").read("why?", PASSAGES[3:]) == []


def test_an_answer_in_a_title_has_its_own_text(network):
    spans = PairReader("").read("When?", [PassageText("1585", "A year.")])
    assert (spans[0].start, spans[0].end, spans[0].text) == (0, 1, "1585")


def readings_of(*spans: tuple[float, int, str]) -> list[Reading]:
    """Return readings of one passage each, with one span each, all of them sure that there is a span."""
    kind = np.log(np.array([0.1, 0.6, 0.1, 0.1, 0.1], np.float32))
    made = []
    for score, passage, text in spans:
        at = f"{PASSAGES[passage].title}\n{PASSAGES[passage].text}".find(text)
        made.append(Reading((passage,), kind, [(score, passage, at, at + len(text))]))
    return made


def test_an_answer_that_several_passages_give_is_one_candidate():
    readings = readings_of((-1.0, 1, "the Mur"), (-0.5, 0, "Mur"), (-2.0, 1, "1585"))
    by_text = {candidate.text: candidate for candidate in candidates(readings, PASSAGES)}
    assert set(by_text) == {"mur", "1585", "yes", "no"}
    assert by_text["mur"].passage == 0 and set(by_text["mur"].scores) == {0, 1}
    assert by_text["mur"].scores[1] == pytest.approx(-0.5 + np.log(0.7))
    assert by_text["yes"].decided and by_text["yes"].scores[2] == pytest.approx(np.log(0.1))


def test_features_of_a_candidate_by_hand():
    readings = readings_of((-1.0, 1, "1585"), (-2.0, 1, "1585"))
    rows = features("Who was there in 1585?", candidates(readings, PASSAGES), readings)
    row = dict(zip(FEATURES, rows[0].tolist(), strict=True))
    assert row["constant"] == 1 and row["decided"] == 0 and row["number"] == 1 and row["asked"] == 1
    assert row["best"] == row["alone"] == pytest.approx(-1 + np.log(0.7)) and row["paired"] == -12
    assert row["sum"] == pytest.approx(np.log(0.7 * (np.exp(-1) + np.exp(-2))), abs=1e-3)
    assert row["lead"] == pytest.approx(row["best"] - np.log(0.1), abs=1e-4) and row["agreed"] == 0.5
    assert row["none"] == row["least none"] == pytest.approx(np.log(0.1))
    assert row["rank"] == row["words"] == pytest.approx(np.log(2))


def test_features_of_passages_by_hand():
    readings = readings_of((-1.0, 1, "1585"), (-2.0, 0, "464 km"))
    row = dict(zip(ANSWER_FEATURES, answer_features("464 km 1585", PASSAGES[:3], readings).tolist(), strict=True))
    assert row["alone"] == row["paired"] == pytest.approx(np.log(9), abs=1e-4)
    assert 0 < row["covered"] < row["covered by all"] == pytest.approx(1, abs=1e-4)


def test_a_leading_article_does_not_make_another_answer():
    texts = ("The Mur", "a Mur,", "Mur", "An", "The")
    assert [normalised(text) for text in texts] == ["mur", "mur", "mur", "an", "the"]


@pytest.mark.parametrize("options", [{"max_spans": 0}, {"max_tokens": 0}, {"paired": -1}])
def test_impossible_options_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        PairReader("", **options)


def test_weights_that_are_missing_are_named(tmp_path):
    with pytest.raises(ModelError, match=f"weights in {tmp_path} cannot be read.*build_reader"):
        PairReader(str(tmp_path)).read(QUESTION, PASSAGES)
