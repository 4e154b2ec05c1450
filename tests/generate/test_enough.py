"""Early answers: from the first passages where they are enough, and nothing else where they are not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.models.llm_server import LLMServer
from tests.toys import CORPUS, corpus_index

from graphwright import FactReader, MiniLMReader, OptionError, Ranking, ScriptedLLM, ToPassages, VectorSearch, start
from graphwright.generate.answer import Generate
from graphwright.generate.enough import AnswerIfEnough, SureReader
from graphwright.generate.prompt import PassagePrompt, instructions, passages_in
from graphwright.generate.stream import listening
from graphwright.models.protocols import Span
from graphwright.models.endpoint import Endpoint
from graphwright.operators.operator import Then
from graphwright.operators.state import State

SNAPSHOT = corpus_index().snapshot
GRAPH = SNAPSHOT.graph
FOUNDED = "She founded the abbey of Erstein in Alsace."
QUESTION = "Which abbey did Ermengarde found?"


def seen(question: str = QUESTION, *documents: str) -> State:
    names = documents or ("bread", "ermengarde", "erstein")
    ids = [GRAPH.id(f"{name}#0") for name in names]
    return start(question, GRAPH).with_(passages=Ranking.of(ids, range(len(ids), 0, -1)))


def reply(answer: str, *citations: tuple[int, str], found: bool = True) -> str:
    quoted = [{"passage": passage, "quote": quote} for passage, quote in citations]
    return json.dumps({"found": found, "text": answer, "citations": quoted})


def test_a_model_that_finds_enough_answers_with_checked_quotes_in_one_call() -> None:
    asked: list[tuple[str, str]] = []

    def model(system: str, user: str) -> str:
        asked.append((system, user))
        return reply("Erstein [1]. A fish [2].", (2, FOUNDED), (1, "She was a fish."))

    after = AnswerIfEnough(ScriptedLLM(model))(seen())
    assert after.answer is not None and after.answer.text == "Erstein [1]. A fish."
    assert [(c.document, c.text) for c in after.answer.citations] == [("ermengarde", FOUNDED)]
    ((system, user),) = asked
    assert system == instructions() and "If they do not hold all" in user
    assert list(passages_in(user).values()) == [GRAPH.text(int(c)) for c in after.passages.ids]  # type: ignore[union-attr]
    assert after.prompt is None and after.trace[-1].usage.calls == 1


@pytest.mark.parametrize(
    ("replies", "notes"),
    [
        ([reply("", found=False)], ("the first passages are not enough",)),
        ([reply("It is Erstein.", found=False)], ("the first passages are not enough",)),
        ([reply("  ")], ("the first passages are not enough",)),
        (
            [reply("It is Paris [1].", (1, "She founded Paris."))],
            (
                "citation 1 was dropped: 'She founded Paris.' stands in none of the passages",
                "no citation could be checked",
                "the first passages are not enough",
            ),
        ),
        (
            ["enough", "yes, enough"],
            ("the model's reply was not what was asked for", "the first passages are not enough"),
        ),
        (["", ""], ("the model's reply was not what was asked for", "the first passages are not enough")),
    ],
)
def test_what_is_not_enough_or_not_checked_or_malformed_leaves_the_state_alone(
    replies: list[str], notes: tuple[str, ...]
) -> None:
    before = seen()
    after = AnswerIfEnough(ScriptedLLM(replies))(before)
    assert after.with_(trace=()) == before.with_(trace=()) or after.answer is None
    assert after.passages is before.passages and after.prompt is None and after.evidence is None
    assert after.trace[-1].notes == notes and after.trace[-1].usage.completion_tokens >= 0


def test_only_so_many_passages_are_shown_and_without_any_nobody_is_asked() -> None:
    shown: list[str] = []

    def model(system: str, user: str) -> str:
        shown.append(user)
        return reply("", found=False)

    AnswerIfEnough(ScriptedLLM(model), passages=2)(seen())
    assert list(passages_in(shown[0])) == [1, 2]
    empty = start(QUESTION, GRAPH).with_(passages=Ranking.of([], []))
    assert AnswerIfEnough(ScriptedLLM([]))(empty).answer is None


def test_an_answer_ends_the_pipeline_and_its_absence_does_not() -> None:
    search = VectorSearch(SNAPSHOT.passages) % 3 >> ToPassages()
    for first, expected in ((reply("Erstein [1].", (1, "Erstein")), 1), (reply("", found=False), 2)):
        llm = ScriptedLLM([first, reply("At last [1].", (1, "Erstein"))])
        chain = search >> AnswerIfEnough(llm) >> PassagePrompt() >> Generate(llm)
        after = chain(start("Where is the abbey of Erstein?", GRAPH))
        assert after.answer is not None and after.answer.text == ("Erstein [1]." if expected == 1 else "At last [1].")
        assert sum(step.usage.calls for step in after.trace if step.usage.completion_tokens) == expected
        assert isinstance(chain, Then) and chain.needs == ()


def test_what_comes_after_may_not_count_on_an_answer() -> None:
    op = AnswerIfEnough(ScriptedLLM([]))
    assert op.gives == ("answer",) and op.after(frozenset({"chunks"})) == {"chunks"}


def test_only_an_answer_that_is_taken_is_heard() -> None:
    heard: list[str] = []
    with listening(heard.append):
        AnswerIfEnough(ScriptedLLM([reply("Perhaps [1].", (1, "She was a fish."))]))(seen())
        assert heard == []
        AnswerIfEnough(ScriptedLLM([reply("Erstein [1].", (2, FOUNDED))]))(seen())
    assert heard == ["Erstein [1]."]


def test_over_real_http() -> None:
    replies = [reply("", found=False), reply("Erstein [1].", (2, FOUNDED))]
    with LLMServer(replies) as server:
        op = AnswerIfEnough(Endpoint("any", server.url))
        assert op(seen()).answer is None
        after = op(seen())
    assert after.answer is not None and after.answer.citations[0].text == FOUNDED
    wanted = server.requests[0].json["response_format"]["json_schema"]["schema"]
    assert set(wanted["required"]) == {"found", "answer", "citations"} and len(server.requests) == 2


@dataclass
class Marks:
    """A reader that finds one span in the first passage it is given, and keeps what it was given."""

    text: str = "Erstein"
    score: float = 0.9
    given: list[list[str]] = field(default_factory=list)

    def read(self, question: str, passages: Sequence[str]) -> list[Span]:
        self.given.append(list(passages))
        return [Span(0, 0, 5, self.score, self.text), Span(0, 1, 2, 0.1)]


class TestWithoutAModel:
    def test_only_passages_that_hold_all_that_is_asked_about_are_read(self) -> None:
        reader = Marks()
        passages = ["Erstein\nAn abbey in Alsace.", "Bread\nIt is baked.", "Abbeys\nErstein is one of the abbeys."]
        (span,) = SureReader(reader).read("Which abbey is in Erstein?", passages)
        assert reader.given == [[passages[0], passages[2]]] and (span.passage, span.text) == (0, "Erstein")
        assert SureReader(Marks()).read("Which abbey in Erstein is of bread?", passages) == []

    def test_the_span_is_that_of_the_passage_it_stands_in(self) -> None:
        (span,) = SureReader(Marks()).read("Which abbey?", ["Bread\nx", "Erstein\nan abbey"])
        assert span.passage == 1

    @pytest.mark.parametrize("reader", [Marks(text=""), Marks(score=0.59)])
    def test_what_is_not_short_or_not_sure_is_no_answer(self, reader: Marks) -> None:
        assert SureReader(reader).read("Which abbey?", ["Erstein\nan abbey"]) == []
        assert SureReader(reader, least=0.0).read("Which abbey?", ["Erstein\nan abbey"]) == [] or reader.text

    def test_a_question_that_asks_about_nothing_is_not_read(self) -> None:
        reader = Marks()
        assert SureReader(reader).read("Who? When?", ["Erstein\nan abbey"]) == [] and reader.given == []

    def test_one_step_is_answered_and_two_are_not(self) -> None:
        op = AnswerIfEnough(FactReader(MiniLMReader()))
        one = op(seen("When was the abbey of Erstein destroyed?"))
        assert one.answer is not None and "1525" in one.answer.text
        (cited,) = one.answer.citations
        text = next(str(row["text"]) for row in CORPUS if row["id"] == cited.document)
        assert cited.document == "erstein" and text[cited.start : cited.end] == cited.text
        two = op(seen("When was the abbey that the mother of Lothair II founded destroyed?", "lothair", "erstein"))
        assert two.answer is None and two.trace[-1].notes == ("the first passages are not enough",)


@pytest.mark.parametrize("make", [lambda: AnswerIfEnough("gpt"), lambda: AnswerIfEnough(ScriptedLLM([]), passages=0)])  # type: ignore[arg-type]
def test_options_are_checked(make: object) -> None:
    with pytest.raises(OptionError, match="AnswerIfEnough"):
        make()  # type: ignore[operator]
