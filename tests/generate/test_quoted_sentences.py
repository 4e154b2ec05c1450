"""Where quotations begin and end, and the numbers of those that overlap."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import pytest
from tests.generate.scripted_reader import ScriptedReader
from tests.generate.test_readers import quoted

from graphwright import Document, Index, start
from graphwright.data.documents import read_documents
from graphwright.generate import Quote
from graphwright.generate.citations import numbered, overlap, passage_text
from graphwright.generate.quoted_sentences import around, quotations, sentences_of, shown
from graphwright.graph import Ranking
from graphwright.models.protocols import PassageText
from graphwright.operators.run import Run
from graphwright.operators.state import Citation
from graphwright.store import Settings


def marked(title: str, text: str, headers: bool = False) -> PassageText:
    """A passage whose lines with a colon are rows, or headers."""
    lines = [(m.start(), m.end()) for m in re.finditer(r"^[^:\n]+: .*$", text, re.MULTILINE)]
    return PassageText(title, text, rows=() if headers else tuple(lines), headers=tuple(lines) if headers else ())


LAMP = marked(
    "Lumo 12 › Specification",
    "Lumo 12\n\nLumo 12 is a floor lamp by Petra Novak. It is made of oak.\n\nSpecification\n\n"
    "Property: Power of the lamp at its highest setting; Value: 12 W. With the bulb.\n"
    "Property: Height; Value: 140 cm.\n\n"
    "Keep it dry. It likes warmth.\n\nCleaning\n\nDust it once a week.",
)
MAIL = marked(
    "Delivery",
    "From: Pavel Dvorak <pavel.dvorak@tesline.example>\nTo: Anna <anna@tesline.example>\nSubject: Delivery\n\n"
    "The lamps arrive on Monday.\n\nBring the key.",
    headers=True,
)


def test_sentence_kinds_distinguish_headings_and_lines() -> None:
    kinds = [(LAMP.text[s.start : s.end], s.kind) for s in sentences_of(LAMP)]
    assert [text for text, kind in kinds if kind == "heading"] == ["Lumo 12", "Specification", "Cleaning"]
    assert [text.split(";")[0] for text, kind in kinds if kind == "row"] == [
        "Property: Power of the lamp at its highest setting",
        "Property: Height",
    ]
    assert [s.kind for s in sentences_of(MAIL)] == ["header", "header", "header", "sentence", "sentence"]


@pytest.mark.parametrize(
    "text",
    [
        "Opening hours: 9 to 17\n\nThe shop is closed on Sunday.",  # a fact
        "Red lamps\n\nBlue lamps\n\nGreen lamps",  # items of a list
        "Graz",
        "The bulb has 12 W\n\nThe shop is closed on Sunday.",
        "It is maintained by:\n\nTodd Miller\n\nTodd continues to fix bugs.",
    ],
)
def test_short_statements_are_no_headings(text: str) -> None:
    assert "heading" not in {s.kind for s in sentences_of(PassageText("Lamps", text))}


@pytest.mark.parametrize(
    ("passage", "found", "quotation"),
    [
        (LAMP, "Petra Novak", "Lumo 12 is a floor lamp by Petra Novak. It is made of oak."),
        (LAMP, "140 cm", "Property: Height; Value: 140 cm."),
        (LAMP, "12 W", "Property: Power of the lamp at its highest setting; Value: 12 W. With the bulb."),
        (LAMP, "Keep", "Keep it dry. It likes warmth."),
        (LAMP, "Cleaning", "Cleaning\n\nDust it once a week."),
        (MAIL, "Monday", "The lamps arrive on Monday."),
        (MAIL, "Anna", "To: Anna <anna@tesline.example>"),
    ],
)
def test_quotation_stops_at_heading_row_and_header(passage: PassageText, found: str, quotation: str) -> None:
    at = passage.text.index(found)
    start, end = around(passage, at, at + len(found), 40)
    assert passage.text[start:end] == quotation


def test_quotation_of_heading_needs_lack_of_sentences() -> None:
    assert quoted([LAMP], ("Specification", 0.9), ("oak", 0.2), around=0, share=0.1) == ["It is made of oak."]
    assert quoted([LAMP], ("Cleaning", 0.9), around=9) == ["Cleaning\n\nDust it once a week."]


def test_quotation_of_mail_has_one_header_at_most() -> None:
    scores = (("From", 0.9), ("To", 0.8), ("Subject", 0.7), ("key", 0.2))
    assert quoted([MAIL], *scores, around=0, share=0.1) == [
        "From: Pavel Dvorak <pavel.dvorak@tesline.example>",
        "Bring the key.",
    ]


def test_quotation_shared_by_passages_appears_once() -> None:
    passages = [PassageText("", "It is cold. The wind blew."), PassageText("", "The wind blew. Nobody went out.")]
    quote = Quote(ScriptedReader(sentences={"wind": 0.9}), around=0, share=0.1)
    for places, count in (([("a", 0), ("a", 12)], 1), ([("a", 0), ("b", 12)], 2), ([("a", 0), ("a", 99)], 2)):
        assert len(quote.quotes("How was the wind?", passages, Run(), places)[0]) == count


CHAT = (
    "[11/03/2024, 10:45] Mark: the chimney sweep comes on 21 March\n[11/03/2024, 10:47] Gareth: will do\n"
    "[18/03/2024, 14:30] Mark: the sweep has moved it, now 28 March\n[19/03/2024, 09:00] Gareth: the bins are empty\n"
)
MINUTES = ("# Minutes\n\nThe exhibition on light opens on 4 May.\n", "# Minutes\n\nThe exhibition opens on 25 May.\n")


@pytest.mark.parametrize(
    ("files", "best", "expected"),
    [
        ({"chat.txt": CHAT}, "21 March", ["21 March", "28 March"]),
        ({"chat.txt": CHAT}, "28 March", ["28 March"]),
        ({"2024-01-17 board.md": MINUTES[0], "2024-03-20 board.md": MINUTES[1]}, "4 May", ["4 May", "25 May"]),
        ({"2024-01-17 board.md": MINUTES[0], "2024-03-20 board.md": MINUTES[1]}, "25 May", ["25 May"]),
        ({"a.md": MINUTES[0], "notes.md": MINUTES[1]}, "4 May", ["4 May"]),
    ],
)
def test_quotation_of_chat_or_minutes_is_followed_by_what_is_said_later(
    tmp_path: Path, files: dict[str, str], best: str, expected: list[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with Index.create(tmp_path / "ix") as index:
        index.add(list(read_documents([tmp_path / name for name in files], lambda skipped: None)))
        others = {part: 0.01 for part in ("March", "May", "bins")}
        reader = ScriptedReader(sentences={best: 0.9} | others)
        passages = index.graph.passages
        assert passages is not None
        state = start("When?", index.graph).with_(
            passages=Ranking.of(passages.nodes.tolist(), [1] * len(passages.nodes))
        )
        answer = Quote(reader, around=0)(state).answer
    assert answer is not None and re.findall(r"\d+ Ma(?:y|rch)", answer.text) == expected


def passages_of(folder: Path, name: str, text: str) -> list[PassageText]:
    (folder / name).write_text(text)
    with Index.create(folder / "ix") as index:
        index.add(list(read_documents([folder / name], lambda skipped: None)))
        graph = index.graph
        assert graph.passages is not None
        return [passage_text(graph, int(node)) for node in graph.passages.nodes]


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("a.csv", "boat,crew\nAurora,4\n", ["boat: ", "crew: "]),
        ("a.md", "## 4.9 Term\nOne year.\n\n## 4.10 Notice\nIt is due.\n\n## 5 Costs\nNone.\n", ["4.9", "4.10", "5"]),
        ("a.eml", "From: Bo <bo@a.org>\nSubject: Quay\n\nIt is full.\n", ["From: ", "Subject: "]),
        ("a.txt", "It costs 4.9 euros.\n", []),
    ],
)
def test_passage_text_names_of_fields_and_numbers_of_clauses_are_labels(
    tmp_path: Path, name: str, text: str, labels: list[str]
) -> None:
    passages = passages_of(tmp_path, name, text)
    assert [p.text[start:end].rstrip(" ") for p in passages for start, end in p.labels] == [
        label.rstrip(" ") for label in labels
    ]


@pytest.mark.parametrize(
    ("name", "text", "found", "quotation", "kind"),
    [
        ("a.md", "|Boat|Fee|\n|-|-|\n|Barge|6 euros. Or so|\n", "6", "Boat: Barge; Fee: 6 euros. Or so.", "row"),
        ("a.json", '{"boats": [{"name": "Aurora", "crew": 4}]}', "Aurora", "name: Aurora; crew: 4.", "row"),
        ("a.csv", "boat,text\nAurora,It sails. It is red.\n", "red", "It is red.", "sentence"),
        ("a.eml", "From: Bo <bo@a.org>\nSubject: Quay\n\nIt is full.\n", "Quay", "Subject: Quay", "header"),
        ("a.eml", 'From: "Bo" <bo@a.org>\nSubject: Quay\n\nYes.\n\nOn 2 May 2025, Cy Moe wrote:\n> Is it full?\n',
         "wrote", "On 2 May 2025, Cy Moe wrote:", "header"),
        ("a.eml", 'From: "Bo" <bo@a.org>\nSubject: Quay\n\nYes.\n', "Quay", "Subject: Quay", "header"),
        ("a.txt", "1.1 Fees. They are due.\n1.2 Costs\nMoorings cost 6 euros.\n2. Keys\nNone.\n", "6",
         "Moorings cost 6 euros.", "sentence"),
        ("a.txt", "1.1 Fees. They are due.\n1.2 Costs\nMoorings cost 6 euros.\n2. Keys\nNone.\n", "Costs",
         "1.2 Costs", "heading"),
        ("a.txt", "Anna: It is full. I wait.\nBo: Yes.\nAnna: Good.\nBo: Bye.\n", "wait", "I wait.", "sentence"),
    ],
)  # fmt: skip
def test_passage_text_of_records_has_their_lines(
    tmp_path: Path, name: str, text: str, found: str, quotation: str, kind: str
) -> None:
    passages = passages_of(tmp_path, name, text)
    sentences = [(p.text[s.start : s.end], s.kind) for p in passages for s in sentences_of(p)]
    assert (quotation, kind) in [sentence for sentence in sentences if found in sentence[0]]


DIVER_MAIL = (
    "From: Bo Ek <bo@a.org>\nTo: Cy Moe <cy@a.org>\nDate: Tue, 10 Jun 2025 08:00:00 +0200\nSubject: Quay\n\n"
    "It is full. I called the diver.\n"
)


def test_passage_text_of_mail_opens_with_its_headers_in_words(tmp_path: Path) -> None:
    (passage,) = passages_of(tmp_path, "a.eml", DIVER_MAIL)
    assert passage.opening == "Quay (10 June 2025, to Cy Moe). Bo Ek wrote"
    assert passage.text[passage.begin :] == "It is full. I called the diver."


def test_sentences_of_a_quoted_mail_are_apart_from_what_introduces_it(tmp_path: Path) -> None:
    text = "From: Bo Ek <bo@a.org>\nSubject: Quay\n\nYes.\n\nOn 2 May 2025, Cy Moe wrote:\n> It is full. I wait.\n"
    (passage,) = passages_of(tmp_path, "a.eml", text)
    assert not any(sentence.block for sentence in sentences_of(passage))


def test_passage_text_of_a_version_opens_with_its_title_and_date(tmp_path: Path) -> None:
    for year, fee in ((2018, 3), (2021, 4)):
        (tmp_path / f"rules-{year}.md").write_text(f"---\ndate: {year}-03-14\n---\n# Rules\n\nThe fee is {fee} euros.")
    with Index.create(tmp_path / "ix") as index:
        index.add(list(read_documents(sorted(tmp_path.glob("*.md")), print)))
        state = index.ask("What was the fee in 2018?", confidence=0.5)
        assert index.graph.passages is not None
        passages = [passage_text(index.graph, int(node)) for node in index.graph.passages.nodes]
    assert [(p.title, p.opening) for p in passages] == [("Rules", f"Rules (14 March {year})") for year in (2018, 2021)]
    assert state.answer is not None and state.answer.short == ("3 euros",)


def test_passage_text_of_a_version_that_says_its_date_has_no_opening(tmp_path: Path) -> None:
    for year in (2018, 2021):
        text = f"---\ndate: {year}-03-14\n---\n# Rules\n\nSince 14 March {year} the fee is {year} euros."
        (tmp_path / f"rules-{year}.md").write_text(text)
    with Index.create(tmp_path / "ix") as index:
        index.add(list(read_documents(sorted(tmp_path.glob("*.md")), print)))
        assert index.graph.passages is not None
        assert [passage_text(index.graph, int(node)).opening for node in index.graph.passages.nodes] == ["", ""]


def test_passage_text_of_a_row_opens_with_the_fields_that_its_text_does_not_say(tmp_path: Path) -> None:
    rows = [("Ida", "The tent leaks."), ("Bo", "I bring the tarp on Friday."), ("Ida", "And both pegs?")]
    lines = [json.dumps({"ts": f"2026-05-14T18:0{n}:11Z", "sender": s, "body": b}) for n, (s, b) in enumerate(rows)]
    (tmp_path / "camp.jsonl").write_text("\n".join(lines))
    with Index.create(tmp_path / "ix") as index:
        index.add(list(read_documents([tmp_path / "camp.jsonl"], print)))
        answer = index.ask("Who brings the tarp?", confidence=0.5).answer
        assert index.graph.passages is not None
        passages = [passage_text(index.graph, int(node)) for node in index.graph.passages.nodes]
    assert [passage.opening for passage in passages] == [f"ts: 14 May 2026; sender: {name}" for name, _ in rows]
    assert answer is not None and answer.short == ("Bo",)
    assert [citation.text for citation in answer.citations][:1] == ["I bring the tarp on Friday."]


def test_quote_from_mail_says_who_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(DIVER_MAIL)
    (tmp_path / "b.txt").write_text("The diver mends the north quay in June.")
    with Index.create(tmp_path / "ix") as index:
        index.add(list(read_documents([tmp_path / "a.eml", tmp_path / "b.txt"], lambda skipped: None)))
        state = start("Who called the diver?", index.graph)
        assert index.graph.passages is not None
        nodes = index.graph.passages.nodes
        state = state.with_(passages=Ranking.of(nodes, [1.0] * len(nodes)))
        answer = Quote(ScriptedReader(sentences={"diver": 0.9}), around=0)(state).answer
    assert answer is not None
    assert answer.text.splitlines() == [
        "Bo Ek, 2025-06-10 08:00: I called the diver. [1]",
        "The diver mends the north quay in June. [2]",
    ]


def test_quotation_with_number_of_question_comes_before_newer_mail(tmp_path: Path) -> None:
    for number, budget in ((1, "40,000"), (2, "32,000")):
        answered = "References: <1@a.org>\n" * (number - 1)
        head = (
            f"From: Bo{number} <b@a.org>\nDate: {number} Mar 2026 09:00 +0100\nMessage-ID: <{number}@a.org>\n{answered}"
        )
        (tmp_path / f"{number}.eml").write_text(f"{head}Subject: Quay\n\nThe budget is {budget} euros.\n")
    with Index.create(tmp_path / "ix") as index:
        index.add(list(read_documents(sorted(tmp_path.glob("*.eml")), lambda skipped: None)))
        assert index.graph.passages is not None
        nodes = index.graph.passages.nodes
        quote = Quote(ScriptedReader(sentences={"40,000": 0.5, "32,000": 0.9}), around=0)
        for question, first in (("What is the budget?", "2.eml"), ("Who said that it is 40,000?", "1.eml")):
            state = start(question, index.graph).with_(passages=Ranking.of(nodes, [1.0] * len(nodes)))
            answer = quote(state).answer
            assert answer is not None and answer.citations[0].document == first


def test_quotation_of_the_mail_that_moves_a_day_comes_before_the_day(tmp_path: Path) -> None:
    bodies = ("He repairs the kiln on Tuesday 17 February 2026.", "They moved us to Thursday the 19th.")
    for number, body in enumerate(bodies, 1):
        answered = "References: <1@a.org>\n" * (number - 1)
        head = f"From: Bo <b@a.org>\nDate: {number} Feb 2026 09:00 +0100\nMessage-ID: <{number}@a.org>\n{answered}"
        (tmp_path / f"{number}.eml").write_text(f"{head}Subject: Kiln\n\n{body}\n")
    with Index.create(tmp_path / "ix") as index:
        index.add(list(read_documents(sorted(tmp_path.glob("*.eml")), lambda skipped: None)))
        assert index.graph.passages is not None
        nodes = index.graph.passages.nodes
        reader = ScriptedReader(("Tuesday 17 February 2026",), sentences={"17": 0.5, "19th": 0.03})
        state = start("When is the kiln repaired?", index.graph)
        answer = Quote(reader, around=0)(state.with_(passages=Ranking.of(nodes, [1.0] * len(nodes)))).answer
    assert answer is not None and [citation.text for citation in answer.citations] == [bodies[1], bodies[0]]


def test_overlapping_spans_of_document_share_number(tmp_path: Path) -> None:
    text = " ".join(f"On day {day} the wind blew from the north." for day in range(30))
    with Index.create(tmp_path / "ix", settings=Settings(chunk_tokens=40, overlap=20)) as index:
        index.add([Document("log", text), Document("other", "The wind blew from the south.")])
        state = start("How was the wind?", index.graph)
        graph = index.graph
        assert graph.passages is not None
        nodes = [int(node) for node in graph.passages.nodes]
        log = [node for node in nodes if graph.passages.of(node).document == "log"]  # type: ignore[union-attr]
        one, two = log[:2]
        first, second = graph.passages.of(one), graph.passages.of(two)
        assert first is not None and second is not None and first.start < second.start < first.end < second.end
        shared = first.end - second.start
        other = next(node for node in nodes if node not in log)
        spans = [(two, 0, shared), (other, 0, 8), (one, second.start - first.start, first.end - first.start)]
        citations, numbers = numbered(state, spans)
        assert numbers == [1, 2, 1] and [c.document for c in citations] == ["log", "other"]
        citations, numbers = numbered(state, [(one, 5, first.end - first.start), (other, 0, 8), (two, 0, shared + 9)])
        assert numbers == [1, 2, 1]
        # The second span joins the first and the third.
        ends = [(one, 0, 9), (two, shared + 3, shared + 9), (other, 0, 8), (one, 4, first.end - first.start)]
        joined, numbers = numbered(state, [*ends, (two, 0, shared + 5)])
        assert numbers == [1, 1, 2, 1, 1] and joined[0].start == first.start
        for cited in (*citations, *joined):
            assert index.text(cited.document)[cited.start : cited.end] == cited.text != ""
        for question in ("How was the wind on day 7?", "Where did the wind blow from?", "What about day 12 and 13?"):
            answer = index.ask(question).answer
            assert answer is not None
            assert not any(overlap(a, b) for a, b in combinations(answer.citations, 2))
            assert all(f"[{n}]" in answer.text for n in range(1, len(answer.citations) + 1))


@pytest.mark.parametrize("colon", [":", "："])
@pytest.mark.parametrize("asked", ["verify the backup", "kestrel verify", "kestrel list"])
def test_around_announced_block_is_quoted_with_its_sentence(colon: str, asked: str) -> None:
    block = f"Then verify the backup{colon}\n\nkestrel verify --all\nkestrel list"
    text = f"Stop the service first. {block}\n\nAll is well now."
    at = text.index(asked)
    first, last = around(PassageText("", text), at, at + len(asked), 3)
    assert text[first:last] == block


@pytest.mark.parametrize("label", ["2. Prices.", "Prices:", "Prices.", "(b)"])
def test_around_marked_paragraph_is_quoted_without_its_neighbours(label: str) -> None:
    item = f"{label} A lunch costs 7 euros. It is warm."
    text = f"1. Meals. None on Sundays.\n\n{item}\n\n3. Delivery. At noon."
    at = text.index("7 euros")
    assert text[slice(*around(PassageText("", text), at, at + 1, 40))] == item


@pytest.mark.parametrize("asked", ["pays for the roof", "By share"])
def test_around_answer_to_a_question_on_its_own_line_is_quoted_with_it(asked: str) -> None:
    item = "Who pays for the roof?\nAll owners. By share."
    text = f"Who pays for the lift?\nThose above.\n\n{item}\nOthers do not."
    at = text.index(asked)
    assert text[slice(*around(PassageText("", text), at, at + len(asked), 20))] == item


def test_around_line_without_an_announcement_stands_alone() -> None:
    text = "Ports: 80 and 443 are open.\n\nThe rest is closed."
    assert around(PassageText("", text), 0, 5, 3) == (0, 27)


STEPS = (
    "Stop the service first. After that do this:\n\n1. Clear the cache.\n2. Remove the lock file:\n\n"
    "   rm /run/a.lock\n\n3. Tell the users.\n\nTo roll back, run\n\n    kestrel rollback\n    kestrel list\n\n"
    "Copy 7\n\nAll is well. It is over."
)


@pytest.mark.parametrize(
    ("asked", "begins", "ends"),
    [
        ("rm", "After that", "the users."),  # a block in a list
        ("Tell", "After that", "the users."),  # an item after it
        ("rollback", "To roll back", "list"),  # announced without a colon
        ("well", "All", "over."),  # a line of its own is no context
        ("Copy", "Copy", "7"),
    ],
)
def test_around_line_of_a_block_begins_with_what_announces_it(asked: str, begins: str, ends: str) -> None:
    at = STEPS.index(asked)
    first, last = around(PassageText("", STEPS), at, at + len(asked), 9)
    assert STEPS[first:last].startswith(begins) and STEPS[first:last].endswith(ends)


def test_around_item_of_a_long_list_ends_with_the_item() -> None:
    text = "Bring these:\n\n" + "\n".join(f"- tool {at} with its box, its key and its paper" for at in range(10))
    at = text.index("tool 2")
    assert text[slice(*around(PassageText("", text), at, at + 6, 9))] == text[: text.index("\n- tool 3")]


WORKER = "Run this as root:\n\n# stop it\nkilnctl stop kiln\nsleep 9\n# start it\nkilnctl start kiln\n\nAll is well."


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        ("start kiln", "# start it\nkilnctl start kiln"),
        ("start it", "# start it\nkilnctl start kiln"),
        ("stop kiln", "# stop it\nkilnctl stop kiln\nsleep 9"),
        ("sleep", "# stop it\nkilnctl stop kiln\nsleep 9"),
        ("as root", WORKER.removesuffix("\n\nAll is well.")),
    ],
)
def test_around_command_is_quoted_with_the_comment_on_it(asked: str, command: str) -> None:
    at = WORKER.index(asked)
    assert WORKER[slice(*around(PassageText("", WORKER), at, at + len(asked), 30))] == command


@pytest.mark.parametrize(
    ("scores", "quotations"),
    [
        ({"start": 0.8, "root": 0.1}, ["# start it\nkilnctl start kiln"]),  # what announces it is not quoted again
        ({"start": 0.8, "root": 0.5}, [WORKER.removesuffix("\n\nAll is well.")]),
    ],
)
def test_quotation_of_commands_is_whole_where_what_announces_them_answers(
    scores: dict[str, float], quotations: list[str]
) -> None:
    found, _, _ = Quote(ScriptedReader(sentences=scores)).quotes("?", [PassageText("", WORKER)], Run())
    assert [WORKER[quote.start : quote.end] for quote in found] == quotations


def test_sentences_of_comment_without_a_line_below_it_is_a_sentence() -> None:
    text = "# one\n# two\nmake\n\n# three\n\nIt is done. # four"
    assert [(text[s.start : s.end], s.kind) for s in sentences_of(PassageText("", text))] == [
        ("# one", "sentence"), ("# two\nmake", "command"), ("# three", "heading"), ("It is done.", "sentence"),
        ("# four", "sentence"),
    ]  # fmt: skip


@pytest.mark.parametrize("asked", ["fails", "pad", "edge"])
def test_around_item_of_a_list_has_the_line_above_it(asked: str) -> None:
    steps = "The seal fails\n1. Close the lid.\n2. Take the pad off.\n3. Rub the edge."
    text = f"It is quick.\n\n{steps}\n\nThe lamp fails\n1. Turn it."
    at = text.index(asked)
    assert text[slice(*around(PassageText("", text), at, at + len(asked), 9))] == steps


def test_around_row_of_a_table_in_text_has_its_header() -> None:
    text = "It is old.\n\n| Place | Height |\n|---|---|\n| Sorn | 4 m |\n| Orlen | 3 m |\n\nIt is small."
    at = text.index("3 m")
    quotation = text[slice(*around(PassageText("", text), at, at + 3, 9))]
    assert shown(quotation) == "Place; Height\nSorn; 4 m\nOrlen; 3 m"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Verify it:\n\nkestrel stop --all\nkestrel verify", ["Verify it:", "kestrel stop --all", "kestrel verify"]),
        ("Do this:\n\n* Wait\n  here.\n* Go.", ["Do this:", "* Wait here.", "* Go."]),
        ("Cleaning\n\nDust it\nonce.\n\nThen rest.", ["Cleaning", "Dust it once. Then rest."]),
        ("the wall that was built beside the northern river bank\nin the year of the flood", 1),
    ],
)
def test_shown_keeps_lines_of_lists_and_commands_and_joins_prose(text: str, lines: list[str] | int) -> None:
    assert lines in (shown(text).split("\n"), len(shown(text).split("\n")))


def test_quotations_of_commands_keep_their_lines() -> None:
    cited = [Citation("a", "a#0", 0, 9, "Do this:\n\nmake\nmake install"), Citation("b", "b#0", 0, 9, "It is\ncold.")]
    assert quotations(cited) == ["Do this:\nmake\nmake install [1]", "It is cold. [2]"]


@pytest.mark.parametrize(
    ("text", "found", "quotation"),
    [
        ("Kettle\n\nBasil needs warmth. It dies in frost.\n\nChives stand frost. Cut them.", "Chives",
         "Chives stand frost. Cut them."),
        ("F12 zeigt Wassermangel. Nachfüllen.\nF13 zeigt die Haube. Schließen.\nF14 zeigt Hitze.", "Haube",
         "F13 zeigt die Haube. Schließen."),
        ("`--dry` prints the plan. It is slow.\n`--wet` runs it. It is slower.", "plan",
         "`--dry` prints the plan. It is slow."),
        ("The log is small. It is kept.\n\nTo cut it, stop the mill:\n\n    millctl stop\n    millctl cut", "stop",
         "To cut it, stop the mill:\n\n    millctl stop\n    millctl cut"),
    ],
)  # fmt: skip
def test_quotation_of_an_entry_or_paragraph_ends_with_it(text: str, found: str, quotation: str) -> None:
    at = text.index(found)
    start, end = around(PassageText("", text), at, at + len(found), 40)
    assert text[start:end] == quotation


def test_commands_keep_their_lines_and_lone_item_loses_its_bullet() -> None:
    commands = "curl -O https://tessel.example/tessel-4.2.tar.gz\ntar xf tessel-4.2.tar.gz"
    assert shown(f"Unpack it:\n\n{commands}") == f"Unpack it:\n{commands}"
    assert shown("- On Debian, install it.") == "On Debian, install it."
    assert shown("Either:\n- cold\n- warm") == "Either:\n- cold\n- warm"
