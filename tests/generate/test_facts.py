"""Questions that ask for one fact, and what is cited for the answer."""

import pytest
from tests.models.test_reading import GRAZ, QUESTION, TEXTS
from tests.toys import loose

from graphwright import Generate, FactReader, HashEncoder, OptionError, Ranking, SentenceReader, start
from graphwright.generate.facts import asks_for_fact
from graphwright.models.protocols import Span

FACTS = """Who founded the abbey of Erstein?
When did Lothair die?
Where was Waldrada buried?
Which river flows through Graz?
How many questions are there?
How old was the king when he was crowned?
What year did the war end?
What is the capital of Styria?
What nationality is the director of Jaws?
In what city was the singer of Hello born?
Whose daughter was she?
Who is the mother of Ada?
Who was President of France?
Who is CEO of Microsoft?
Who was Ada Lovelace's mother?
Party Never Ends is an album by the Romanian singer who studied at what college?"""
OTHERS = """Why did the abbey decline?
How does forward push work?
Explain who Lothair was.
What happened in 1585?
What is a graph?
What does the library do?
Is Graz larger than Lyon?
Tell me about Graz.
What is the relationship between Lothair and Waldrada?
Who is Ada Lovelace?
Who was Łukasz Fabiański?
Who was Ermengarde of Tours?
What are the main themes?
What should I install?"""


class Told:
    """A reader that gives what it was told."""

    def __init__(self, *spans):
        self.spans = list(spans)

    def read(self, question, passages):
        return self.spans


@pytest.mark.parametrize("question", FACTS.splitlines())
def test_facts_are_known_by_their_form(question):
    assert asks_for_fact(question)


@pytest.mark.parametrize("question", OTHERS.splitlines())
def test_other_questions_are_not_facts(question):
    assert not asks_for_fact(question)


def spans_of(text, *parts):
    return [Span(0, text.index(part), text.index(part) + len(part), 0.9) for part in parts]


def test_the_sentence_is_quoted_and_the_span_answers():
    [span] = FactReader(Told(*spans_of(GRAZ, "1585")), SentenceReader(HashEncoder())).read(QUESTION, [GRAZ])
    assert span.text == "1585" and GRAZ[span.start : span.end].startswith("Its university was founded in 1585")


@pytest.mark.parametrize(
    ("text", "span", "question"),
    [
        ("Title\nOne is here. Two is there. Three is gone.", "here. Two", "Who is here?"),
        ("Title\nRoles and years\nof this one\nare said here.", "years\nof this", "Which years are said here?"),
        ("Title\nWho may fly the Kestrel? Pilots may.", "the Kestrel", "Who may fly it?"),
        ("Title\nThe Kestrel flies fast.", "Kestrel", "Who flies the fast Kestrel?"),
        ("Title\nThe Otter, a robot, was sold first.", "robot", "Which was sold first, the Otter or the Kestrel?"),
    ],
)
def test_what_crosses_sentences_asks_or_says_nothing_new_is_not_trusted(text, span, question):
    assert FactReader(Told(*spans_of(text, span)), support=0.0, stated=0.0).read(question, [text]) == []


def test_one_of_what_is_given_to_choose_from_answers():
    text = "Robots\nThe Otter (sold in 2019) was sold first, the Kestrel in 2021."
    question = "Which was sold first, the Otter or the Kestrel?"
    assert [s.text for s in FactReader(Told(*spans_of(text, "Otter (sold"))).read(question, [text])] == ["Otter"]


def test_a_span_that_is_not_trusted_leaves_the_sentences():
    sentences = SentenceReader(HashEncoder(), least=-1)
    quoted = sentences.read(QUESTION, [GRAZ])
    at = GRAZ.index("1585")
    unsure = Told(Span(0, at, at + 4, 0.29))
    assert quoted and FactReader(unsure, sentences).read(QUESTION, [GRAZ]) == quoted
    assert FactReader(unsure, sentences, least=0.2).read(QUESTION, [GRAZ])[0].text == "1585"
    assert FactReader(Told(), sentences).read(QUESTION, [GRAZ]) == quoted


def test_a_span_beside_nothing_that_was_asked_about_is_not_trusted():
    sentences = SentenceReader(HashEncoder(), least=-1)
    sure = Told(*spans_of(GRAZ, "1585"))
    elsewhere = "When was the tower of the clock in Zagreb restored?"
    assert FactReader(sure, sentences).read(elsewhere, [GRAZ]) == sentences.read(elsewhere, [GRAZ])
    assert FactReader(sure, sentences, support=0.0, stated=0.0).read(elsewhere, [GRAZ])[0].text == "1585"
    # "university", "Graz" (in the title) and "founded" are all that QUESTION asks about.
    assert FactReader(sure, sentences, support=1.0).read(QUESTION, [GRAZ])[0].text == "1585"


@pytest.mark.parametrize(
    ("text", "span", "question"),
    [
        ("Tommy\nThe band that recorded Tommy was The Who.", "The Who", "Which band recorded Tommy?"),
        (
            "Report\nIn all 1,200 people were killed or injured.",
            "1,200",
            "In the report, how many were killed or injured?",
        ),
        ("The university of Graz was founded in 1585 by Charles.", "1585", "When was the university of Graz founded?"),
        ("Title\nHe was born (in Graz (Styria)) in 1585 (?).", "1585", "When was he born in Graz?"),
        (
            "Title\nThe Otter (sold (as a toy) in 2019 (b.",
            "Otter (sold (as",
            "Which was sold, the Otter or the Kestrel?",
        ),
    ],
)
def test_what_looks_like_nothing_new_or_a_question_but_answers(text, span, question):
    found = FactReader(Told(*spans_of(text, span))).read(question, [text])
    assert [one.text for one in found] == [span.partition(" (")[0]]


def test_a_passage_of_one_line_has_no_title():
    text = "The university of Graz lies on the Mur. It was built in 1705."
    assert FactReader(Told(*spans_of(text, "1705"))).read("When was the university of Graz founded?", [text]) == []


@pytest.mark.parametrize(
    "question", ["what is " * 9000, "," + " " * 90000 + "x", ", " + "or " * 30000 + "?x", "who is A" + " " * 90000]
)
def test_long_questions_are_read_in_no_time(question):
    assert FactReader(Told(*spans_of(GRAZ, "1585"))).read(question, [GRAZ]) == []


def test_what_the_title_lacks_has_to_be_in_the_sentence():
    text = "Nordwind Robotics\nNordwind Robotics was founded in Bremen. Its headquarters moved to Hamburg."
    where = "Where is the headquarters of Nordwind Robotics?"
    assert FactReader(Told(*spans_of(text, "Bremen"))).read(where, [text]) == []
    assert FactReader(Told(*spans_of(text, "Bremen")), stated=0.0).read(where, [text])[0].text == "Bremen"
    assert FactReader(Told(*spans_of(text, "Hamburg"))).read(where, [text])[0].text == "Hamburg"


@pytest.mark.parametrize("option", ["support", "stated"])
def test_a_share_is_from_0_to_1(option):
    with pytest.raises(OptionError, match=option):
        FactReader(Told(), **{option: 1.5})


def test_what_is_no_fact_goes_to_the_other_reader():
    sentences = SentenceReader(HashEncoder())
    reader = FactReader(Told(Span(0, 0, 1, 1.0)), sentences)
    assert reader.read("Why did Graz grow?", TEXTS) == sentences.read("Why did Graz grow?", TEXTS)


def test_a_text_of_its_own_is_taken_at_its_word():
    told = [Span(1, 5, 20, 0.8, text="yes"), Span(0, 4, 20, 0.8)]
    assert FactReader(Told(*told), SentenceReader(HashEncoder())).read("Which is older?", TEXTS) == told


def test_the_answer_is_the_span_and_the_citation_the_sentence():
    graph = loose(["a", GRAZ.partition("\n")[2]])
    state = start(QUESTION, graph).with_(passages=Ranking.of([1], [1.0]))
    text = graph.text(1)
    at = text.index("1585") + 1
    answered = Generate(FactReader(Told(Span(0, at, at + 4, 0.9)), SentenceReader(HashEncoder())))(state)
    assert answered.answer.text == "1585" and answered.answer.found
    [cited] = answered.answer.citations
    assert cited.text.startswith("Its university") and text[cited.start : cited.end] == cited.text
    assert answered.trace[-1].notes == ("answer read with a score of 0.90",)


def test_support_is_a_share():
    with pytest.raises(OptionError, match="support=2"):
        FactReader(Told(), Told(), support=2)
