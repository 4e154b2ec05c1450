"""Broad questions, answered by the topics of documents.

Questions about documents of several versions: the newest answers, and the others are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.generate.scripted_reader import ScriptedReader
from tests.shared import answer_reply, passages_in

from graphwright import Index, start
from graphwright.data.document import Document
from graphwright.data.documents import read_documents
from graphwright.data.records.record import Field, Record
from graphwright.errors import OptionError
from graphwright.generate import Overview, Quote, ReadSpans
from graphwright.generate.overview import broadness
from graphwright.graph import Ranking
from graphwright.models import HashEncoder, PassageText, ScriptedLLM, Span
from graphwright.operators.search.search import WordSearch
from graphwright.operators.select import ToPassages
from graphwright.operators.state import Answer
from graphwright.search.versions import versions_of

BREAD = "Bread is baked from flour and water. The dough of bread rises for hours. Rye bread is dark."
RIVERS = "The river Mur flows through Graz. The river Drava flows through Maribor. Rivers carry gravel."
STARS = "A star shines by fusion of hydrogen. Stars are born in clouds of gas. Red stars are cool."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    index = Index.create(tmp_path_factory.mktemp("overview") / "index")
    texts = {"bread": BREAD, "rivers": RIVERS, "stars": STARS}
    parts = [(name, at, text) for name, whole in texts.items() for at, text in enumerate(whole.split(". "))]
    index.add([Document(f"{name}-{at}", f"{text.rstrip('.')}.", name.title(), whole=True) for name, at, text in parts])
    return index


def overview(index: Index, question: str, **options: object) -> Answer | None:
    ix = index.snapshot
    steps = WordSearch(ix.words) % 8 >> ToPassages() >> Overview(ix.passages, **options)  # type: ignore[arg-type]
    return steps(start(question, index.graph)).answer


def test_overview_of_index_gives_one_sentence_per_topic(index: Index) -> None:
    answer = overview(index, "What are these documents about, in general?", topics=3, threshold=0)
    assert answer is not None and answer.found and answer.short == () and len(answer.text.splitlines()) == 3
    assert {cited.document.split("-")[0] for cited in answer.citations} == {"bread", "rivers", "stars"}
    assert all(cited.text in BREAD + RIVERS + STARS for cited in answer.citations)


def test_overview_with_named_documents_shows_only_those(index: Index) -> None:
    answer = overview(index, "Give me an overview of bread", topics=2, threshold=0)
    assert answer is not None and {cited.document.split("-")[0] for cited in answer.citations} == {"bread"}


def test_overview_skips_narrow_questions_and_small_indexes(index: Index) -> None:
    assert overview(index, "Which river flows through Graz?") is None
    assert overview(index, "Give me an overview of bread", topics=4, threshold=0) is None


def test_overview_skips_question_answered_by_one_sentence(index: Index) -> None:
    question = "What are rivers about, in general?"
    assert overview(index, question, reader=ScriptedReader(sentences={"Mur": 0.6}), topics=3, threshold=0) is None
    assert overview(index, question, reader=ScriptedReader(sentences={"Mur": 0.5}), topics=3, threshold=0) is not None
    with pytest.raises(OptionError, match="reader"):
        Overview(index.snapshot.passages, reader="minilm")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question", ["What are these documents about?", "Summarise everything", "Give me an overview of the notes."]
)
def test_overview_accepts_broad_questions(question: str) -> None:
    assert broadness(question) > 0.7


@pytest.mark.parametrize(
    "question", ["Who founded Erstein?", "How many lines does tail show?", "What is the default of the timeout?", ""]
)
def test_overview_rejects_factual_questions(question: str) -> None:
    assert broadness(question) < 0.7


ALLOWANCES = {"2023": 38, "2025": 44, "2024": 41}


def policy(year: str, allowance: int) -> Document:
    text = f"Employees receive a daily meal allowance of {allowance} euros within the country."
    fields = (Field("version of", "travel-policy"), Field("date", f"{year}-01-15"))
    return Document(f"travel-policy-{year}.md", text, "Travel policy", records=(Record("document", fields, 0, 0),))


@pytest.fixture(scope="module")
def index_versions(tmp_path_factory: pytest.TempPathFactory) -> Index:
    made = Index.create(tmp_path_factory.mktemp("versions") / "index", encoder=HashEncoder())
    made.add([policy(year, allowance) for year, allowance in ALLOWANCES.items()])
    made.add([Document("lunch.md", "The canteen serves lunch from noon.", "Lunch")])
    return made


def test_versions_of_documents_are_in_order_of_their_dates(index_versions: Index) -> None:
    versions = versions_of(index_versions.graph.columns).of
    assert [version.date for version in versions["travel-policy-2024.md"]] == ["2023-01-15", "2024-01-15", "2025-01-15"]
    assert "lunch.md" not in versions


@pytest.mark.parametrize("method", ["multihop", "bm25"])
def test_answer_of_several_versions_is_of_the_newest_and_names_the_others(index_versions: Index, method: str) -> None:
    answer = index_versions.ask("What is the daily meal allowance?", method).answer
    assert answer is not None and answer.found
    assert {citation.document for citation in answer.citations} == {"travel-policy-2025.md"}
    assert answer.text.endswith("\nVersion cited: 2025-01-15. Other versions: 2023-01-15, 2024-01-15.")


def test_answer_of_minutes_named_alike_is_of_the_older_ones_too(tmp_path: Path) -> None:
    (tmp_path / "minutes-2025-01.txt").write_text(
        "Present: Ida Holm. The bilge pump was replaced on 9 January by Jan Roe."
    )
    (tmp_path / "minutes-2025-03.txt").write_text(
        "Present: Ida Holm. The forepeak leak was caulked; the pump runs less."
    )
    made = Index.create(tmp_path / "index", encoder=HashEncoder())
    made.add(read_documents(sorted(tmp_path.glob("*.txt")), print))
    answer = made.ask("When was the bilge pump replaced?").answer
    assert answer is not None and "9 January" in answer.text and "version" not in answer.text.casefold()


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("What was the daily meal allowance in 2024?", {"travel-policy-2024.md"}),
        ("What was the meal allowance in January 2023?", {"travel-policy-2023.md"}),
        ("What was the meal allowance on 3 May 2023?", {"travel-policy-2023.md"}),
        (
            "How did the daily meal allowance in euros change from 2023 to 2025?",
            {"travel-policy-2023.md", "travel-policy-2025.md"},
        ),
    ],
)
def test_answer_of_named_dates_is_of_their_versions(index_versions: Index, question: str, documents: set[str]) -> None:
    answer = index_versions.ask(question, "bm25").answer
    assert answer is not None and {citation.document for citation in answer.citations} <= documents


class UndatedReader(ScriptedReader):
    """A reader that is sure of its spans where a question names no year."""

    def read(self, question: str, passages: Sequence[PassageText]) -> list[Span]:
        """Return the spans with a score by the question."""
        score = 0.3 if "20" in question else 0.9 if question.endswith("allowance?") else 0.5
        return [replace(span, score=score) for span in super().read(question, passages)]


@pytest.mark.parametrize(("year", "short"), [(2024, "41 euros"), (2022, None)])
def test_read_of_a_version_that_the_question_names_is_without_its_date(
    index_versions: Index, year: int, short: str | None
) -> None:
    state = start(f"What was the daily meal allowance in {year}?", index_versions.graph)
    assert index_versions.graph.passages is not None
    nodes = index_versions.graph.passages.nodes
    state = state.with_(passages=Ranking.of(nodes, [1.0] * len(nodes)))
    answer = ReadSpans(UndatedReader(("41 euros",)))(state).answer
    assert (answer.short[0] if answer else None) == short


def test_answer_of_named_number_is_of_its_version(tmp_path: Path) -> None:
    for number, rate in ((1, 54), (2, 58), (10, 66)):
        text = f"Contract\nVersion {number}, {2020 + number}-04-01\n\nThe hourly rate is {rate} crowns."
        (tmp_path / f"contract_v{number}.txt").write_text(text)
    made = Index.create(tmp_path / "index", encoder=HashEncoder())
    made.add(read_documents(sorted(tmp_path.glob("*.txt")), print))
    answer = made.ask("What was the hourly rate in version 2?", "bm25").answer
    assert answer is not None and {citation.document for citation in answer.citations} == {"contract_v2.txt"}


def test_answer_of_date_that_names_a_version_is_sure_without_the_date_in_its_sentence(tmp_path: Path) -> None:
    for date, days, cents in (("2020-01-10", 21, 10), ("2025-01-10", 28, 25)):
        text = f"The loan period is {days} days. The fine for a late book is {cents} cents."
        (tmp_path / f"terms-{date[:4]}.md").write_text(f"# Library terms\n\nDate: {date}\n\n{text}", "utf-8")
    index = Index.create(tmp_path / "index")
    index.add(tmp_path.glob("*.md"))
    answer = index.ask("What was the loan period in January 2025?").answer
    assert answer.found and "28 days" in answer.text and "21 days" not in answer.text
    assert not index.ask("What was the name of the cafeteria in January 2025?").answer.found


def test_retrieve_gives_passages_of_all_versions(index_versions: Index) -> None:
    passages = index_versions.retrieve("What is the daily meal allowance?").passages
    assert (
        passages is not None and len({passage.document for passage in passages if passage.document != "lunch.md"}) == 3
    )


def test_answer_as_of_date_is_of_the_newest_version_until_then(index_versions: Index) -> None:
    answer = index_versions.ask("What is the daily meal allowance?", filter={"as_of": "2024-06-30"}).answer
    assert answer is not None and answer.citations[0].document == "travel-policy-2024.md"
    assert answer.text.endswith("Other versions: 2023-01-15.")


@pytest.mark.parametrize(("date", "newest"), [("2024", "2024"), ("2024-01", "2024"), ("2024-01-14", "2023")])
def test_retrieve_as_of_period_includes_all_of_it(index_versions: Index, date: str, newest: str) -> None:
    passages = index_versions.retrieve("What is the daily meal allowance?", filter={"as_of": date}).passages
    assert passages is not None
    assert max(passage.document for passage in passages) == f"travel-policy-{newest}.md"


def test_language_model_is_shown_the_newest_version_only(index_versions: Index) -> None:
    shown = list[str]()

    def reply(system: str, user: str) -> str:
        shown.extend(passages_in(user).values())
        return answer_reply("44 euros [1].", (1, "44 euros"))

    state = index_versions.ask("What is the daily meal allowance?", "bm25", llm=ScriptedLLM(reply))
    assert not any("38 euros" in text for text in shown) and any("44 euros" in text for text in shown)
    assert state.answer is not None and "Other versions: 2023-01-15" in state.answer.text


def test_filter_as_of_of_no_date_is_an_error(index_versions: Index) -> None:
    with pytest.raises(OptionError, match="as_of is 'yesterday'"):
        index_versions.retrieve("What?", filter={"as_of": "yesterday"})


def test_index_without_versions_has_no_step_of_them(tmp_path: Path) -> None:
    index_versions = Index.create(tmp_path / "index", encoder=HashEncoder())
    index_versions.add([Document("lunch.md", "The canteen serves lunch from noon.", "Lunch")])
    assert "Versions" not in repr(index_versions.method("bm25"))


MAILS = {
    "1": ("Ana Ruiz", "2 Mar 2026 09:10", "", "La grúa llega el lunes."),
    "2": ("Bo Ek", "3 Mar 2026 11:00", "1", "Gracias."),
    "3": ("Cy Moe", "4 Mar 2026 08:30", "2", "La grúa llega el jueves."),
}


@pytest.mark.parametrize("known", [("1", "2", "3"), ("1", "3"), ("3", "1")])
def test_quotations_of_a_thread_have_authors_and_dates_and_begin_with_the_newest_mail(
    tmp_path: Path, known: tuple[str, ...]
) -> None:
    answer = quoted_of_thread(tmp_path, {name: MAILS[name] for name in known}, {"lunes": 0.9, "jueves": 0.6})
    assert [cited.text for cited in answer.citations] == ["La grúa llega el jueves.", "La grúa llega el lunes."]
    assert answer.text == (
        "Cy Moe, 2026-03-04 08:30: La grúa llega el jueves. [1]\n"
        "Ana Ruiz, 2026-03-02 09:10: La grúa llega el lunes. [2]"
    )


def test_quotations_of_a_thread_begin_with_the_mail_that_says_what_is_asked_not_with_thanks(tmp_path: Path) -> None:
    answer = quoted_of_thread(tmp_path, MAILS, {"lunes": 0.9, "Gracias": 0.1, "jueves": 0.2})
    assert [cited.text for cited in answer.citations] == [MAILS[name][-1] for name in ("1", "3", "2")]


def test_quotations_of_a_thread_begin_with_the_newest_mail_with_another_day(tmp_path: Path) -> None:
    texts = ("The crane comes on 9 March.", "It comes on 12 March.", "Bring 2 ropes for the crane.")
    mails = {name: (*mail[:-1], text) for (name, mail), text in zip(MAILS.items(), texts, strict=True)}
    scores = {"9 March": 0.9, "12 March": 0.2, "ropes": 0.3}
    answer = quoted_of_thread(tmp_path, mails, scores, "9 March")
    assert [cited.text for cited in answer.citations] == [texts[at] for at in (1, 0, 2)]


@pytest.mark.parametrize(
    ("reply", "score", "is_quoted"),
    [
        ("Bo asks for 12 March.", 0.01, True),  # a value of the kind asked for
        ("The crane comes a week later.", 0.001, True),  # most of the words
        ("Bring 2 ropes.", 0.01, False),
        ("Is 12 March all right?", 0.01, False),
    ],
)
def test_quotation_of_a_mail_comes_with_what_a_later_mail_says_of_the_same(
    tmp_path: Path, reply: str, score: float, is_quoted: bool
) -> None:
    first = "The crane comes on 9 March. The rent is due on 20 March."
    mails = {"1": (*MAILS["1"][:-1], first), "2": (*MAILS["2"][:-1], reply)}
    answer = quoted_of_thread(tmp_path, mails, {"9 March": 0.9, "rent": 0.04, reply: score}, "9 March")
    assert {cited.text for cited in answer.citations} == {"The crane comes on 9 March.", *[reply] * is_quoted}


def quoted_of_thread(
    folder: Path, mails: dict[str, tuple[str, str, str, str]], scores: dict[str, float], *spans: str
) -> Answer:
    for name, (sender, date, answered, text) in mails.items():
        headers = [f"From: {sender} <{name}@a.org>", f"Date: {date} +0100", f"Message-ID: <{name}@a.org>"]
        headers += [f"References: <1@a.org> <{answered}@a.org>"] * bool(answered)
        (folder / f"{name}.eml").write_text("\n".join([*headers, "Subject: Grúa", "", text]), encoding="utf-8")
    with Index.create(folder / "index", encoder=HashEncoder()) as index_versions:
        index_versions.add([*read_documents([folder / f"{name}.eml" for name in mails], print)])
        assert index_versions.graph.passages is not None
        nodes = index_versions.graph.passages.nodes
        state = start("¿Cuándo llega la grúa?", index_versions.graph).with_(
            passages=Ranking.of(nodes, [1.0] * len(nodes))
        )
        quote = Quote(ScriptedReader(spans, sentences=scores), around=0)
        answer = quote(state).answer
        assert answer is not None
        return answer
