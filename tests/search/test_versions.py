"""Copies in an index: one place in a ranking, one citation, and a report of copied documents."""

from pathlib import Path

import pytest

from graphwright import Index, start
from graphwright.data.documents import read_documents
from graphwright.generate.overview import NewestVersions
from graphwright.graph import Ranking
from graphwright.models import HashEncoder
from graphwright.search.versions import versions_of

BODY = "The Solvang dam was built by Kari Lund in 1957. It holds back 3 million cubic metres."
OTHERS = [
    {"id": "lund.txt", "text": "Kari Lund was born in Narvik. She studied in Bergen."},
    {"id": "ferry.txt", "text": "The ferry to Solvang leaves at noon."},
]


def make(path: Path, documents: list[dict[str, str]]) -> Index:
    index = Index.create(path, encoder=HashEncoder())
    index.add(documents)
    return index


@pytest.mark.parametrize("method", ["bm25", "vector", "hybrid", "ppr", "multihop"])
def test_retrieve_copies_take_one_place(method: str, tmp_path: Path) -> None:
    copies = [{"id": f"backup/{n}.txt", "text": f"Copy {n}\n\n{BODY}\n\nPrinted in 202{n}"} for n in range(6)]
    index = make(tmp_path / "ix", [*copies, *OTHERS])
    found = index.retrieve("Who built the Solvang dam?", method, top_k=3).passages
    assert found is not None and sum(p.document.startswith("backup/") for p in found) == 1
    assert "ferry.txt" in {p.document for p in found}


def test_ask_citation_names_other_copies(tmp_path: Path) -> None:
    index = make(
        tmp_path / "ix", [{"id": "a.txt", "text": BODY}, {"id": "b.txt", "text": f"{BODY}\n\nPage 4"}, *OTHERS]
    )
    answer = index.ask("Who built the Solvang dam?", "bm25").answer
    assert answer is not None
    dam = [cited for cited in answer.citations if cited.document in ("a.txt", "b.txt")]
    assert [{cited.document, *cited.also_in} for cited in dam] == [{"a.txt", "b.txt"}]
    assert dam[0].to_dict()["also_in"] == list(dam[0].also_in)


def test_retrieve_of_dated_copies_the_newest_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for year in (2021, 2024, 2022):
        (folder / f"dam-{year}.txt").write_text(f"{year}\n\n{BODY}\n")
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.add(folder)
    found = index.retrieve("Who built the Solvang dam?", "bm25").passages
    assert found is not None and [p.document for p in found] == ["dam-2024.txt"]


def test_copies_documents_are_reported_with_their_original(tmp_path: Path) -> None:
    index = make(tmp_path / "ix", [{"id": "b.txt", "text": BODY}, *OTHERS])
    index.add([{"id": "a.txt", "text": f"{BODY}\n\nPage 1"}, {"id": "c.txt", "text": BODY}])
    assert index.copies(["a.txt", "c.txt", "lund.txt"]) == {"a.txt": "b.txt", "c.txt": "a.txt"}
    assert index.copies(["lund.txt"]) == {}


def long_manual() -> list[str]:
    parts = ["boiler", "valve", "pump", "filter", "burner", "sensor", "tank", "fan"]
    return [
        f"The {parts[n % 8]} of hall {n} is checked every {n + 3} days, and form F-{100 + n} says so."
        for n in range(60)
    ]


@pytest.fixture(scope="module")
def headed(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index of a long text, of it under a header that moves all chunks, and with another number in the middle."""
    lines = long_manual()
    head = "Intranet export of 14 September 2025 by K. Lindner, printed on floor 3 of the main building"
    documents = {"manual.txt": lines, "print.txt": [f"{head}\n", *lines], "other.txt": [*lines[:30], *lines[31:]]}
    texts = [{"id": id, "text": "\n".join(text)} for id, text in documents.items()]
    return make(tmp_path_factory.mktemp("headed") / "ix", texts)


def test_copies_long_document_under_another_header_is_reported(headed: Index) -> None:
    copies = headed.copies(["manual.txt", "print.txt"])
    assert copies["print.txt"] == "manual.txt" and copies.get("manual.txt") in (None, "print.txt")


def test_ask_copies_that_are_cut_at_other_places_are_cited_once(headed: Index) -> None:
    answer = headed.ask("form F-148", "bm25").answer
    assert answer is not None
    cited = [citation for citation in answer.citations if "F-148 " in citation.text]
    assert [{citation.document, *citation.also_in} for citation in cited] == [{"manual.txt", "print.txt", "other.txt"}]


def test_retrieve_passage_that_better_ones_of_a_file_say_is_left_out(tmp_path: Path) -> None:
    parts = [f"The valve of hall {n} is checked every {n + 3} days, and form F-{n} says so." for n in range(30)]
    texts = [{"id": "all.txt", "text": " ".join(parts)}, {"id": "part.txt", "text": " ".join(parts[2:5])}]
    found = make(tmp_path / "ix", texts).retrieve("The valve of hall 3 is checked", "bm25", top_k=9).passages
    assert found is not None and {p.document for p in found} in ({"all.txt"}, {"all.txt", "part.txt"})
    documents = [p.document for p in found]
    assert "part.txt" not in documents or documents.index("part.txt") == 0


def test_ask_copies_that_the_question_keeps_apart_are_cited_once(tmp_path: Path) -> None:
    texts = [{"id": "a.txt", "text": f"House rules\n\n{BODY}"}, {"id": "b.txt", "text": f"House 2\n\n{BODY}"}, *OTHERS]
    answer = make(tmp_path / "ix", texts).ask("Which house has the rule who built the Solvang dam?", "bm25").answer
    assert answer is not None
    dam = [{cited.document, *cited.also_in} for cited in answer.citations if "1957" in cited.text]
    assert dam == [{"a.txt", "b.txt"}]


def test_retrieve_without_copies_ranks_no_more_passages(tmp_path: Path) -> None:
    index = make(tmp_path / "ix", OTHERS)
    assert "DistinctPassages" not in repr(index.method("bm25"))


@pytest.mark.parametrize(("numbers", "is_group"), [((1, 2), True), ((1, 1), False)])
def test_versions_of_one_title_under_unlike_names_are_versions(
    numbers: tuple[int, int], is_group: bool, tmp_path: Path
) -> None:
    for name, number, fee in zip(("keys", "keys-final"), numbers, (5, 8), strict=True):
        text = f"# Keys\n\nVersion {number}, {number} May 2021\n\nA lost key costs {fee} euros.\n"
        (tmp_path / f"{name}.md").write_text(text)
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.add(read_documents(sorted(tmp_path.glob("*.md")), print))
    groups = versions_of(index.graph.columns).of
    assert {name: [version.number for version in group] for name, group in groups.items()} == (
        {"keys.md": ["1", "2"], "keys-final.md": ["1", "2"]} if is_group else {}
    )


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (("keys_v2.md", "old/keys_v1.md"), ["1", "2"]),
        (("a/keys_v2.md", "b/keys_v1.md"), []),
        (("keys_v2.md", "a/keys_v1.md", "b/keys_v3.md"), []),  # of two houses
    ],
)
def test_versions_in_a_folder_below_are_versions_where_only_one_has_the_name(
    names: tuple[str, ...], numbers: list[str], tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("A lost key costs 5 euros. Ask the porter.\n")
    index = Index.create(tmp_path / "ix", encoder=HashEncoder())
    index.add(read_documents([tmp_path], print))
    groups = versions_of(index.graph.columns).of
    assert [version.number for version in groups.get(names[0], ())] == numbers


LOG = {
    "log.md": "# Weir\n\n## 2.4 (2024-05-01)\n\nThe sluice opens at 90 cm.\n\n"
    "## 2.3 (2022-03-04)\n\nThe sluice opens at 70 cm. The warden is Ida Holm.\n",
    "notes.txt": "Minutes\n\n3 May 2021\nThe toll is 4 crowns.\n\n9 June 2023: meeting\nThe toll is 6 crowns.\n",
}


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("docs")
    for name, text in LOG.items():
        (folder / name).write_text(text)
    index = Index.create(folder / "ix", encoder=HashEncoder())
    index.add(folder)
    return index


def test_versions_dated_sections_are_passages_with_dates(dated: Index) -> None:
    sections = versions_of(dated.snapshot.graph.columns).sections.values()
    assert {version.date for _, version in sections} == {
        "2.4 (2024-05-01)", "2.3 (2022-03-04)", "3 May 2021", "9 June 2023: meeting",
    }  # fmt: skip
    assert len({above for above, _ in sections}) == 2


@pytest.mark.parametrize(
    ("question", "date", "expected"),
    [
        ("At how many cm does the sluice open?", None, ["The sluice opens at 90 cm."]),
        ("At how many cm does the sluice open?", "2023", ["The sluice opens at 70 cm."]),
        ("At how many cm did the sluice open in 2022?", None, ["The sluice opens at 70 cm."]),
        ("How high is the toll?", None, ["The toll is 6 crowns."]),
        ("How high is the toll?", "2022-01", ["The toll is 4 crowns."]),
        ("Who is the warden of the sluice?", None, ["The warden is Ida Holm."]),  # no newer section says it
    ],
)
def test_ask_of_dated_sections_the_newest_that_says_it_answers(
    question: str, date: str | None, expected: list[str], dated: Index
) -> None:
    answer = dated.ask(question, "bm25", filter=None if date is None else {"as_of": date}).answer
    assert answer is not None and all(text in answer.text for text in expected)
    others = ("90 cm", "70 cm", "4 crowns", "6 crowns")
    assert sum(other in answer.text for other in others) == 1


def test_versions_dated_section_has_the_number_in_its_heading(dated: Index) -> None:
    sections = versions_of(dated.snapshot.graph.columns).sections.values()
    assert {version.number for _, version in sections} == {"2.4", "2.3", ""}


@pytest.mark.parametrize(
    ("question", "left_out"),
    [
        ("At how many cm does the sluice open in 2.3?", {"2.4 (2024-05-01)"}),
        ("What changed in 2.3?", {"2.4 (2024-05-01)"}),  # though it shares no word with the question
        ("How far does the sluice open since 2.3?", set()),
    ],
)
def test_newest_versions_section_named_by_its_number_leaves_out_the_others(
    question: str, left_out: set[str], dated: Index
) -> None:
    graph = dated.graph
    nodes = [node for node, (_, version) in versions_of(graph.columns).sections.items() if version.number]
    state = NewestVersions()(start(question, graph).with_(passages=Ranking.of(nodes, [2, 1])))
    assert state.passages is not None
    kept = {versions_of(graph.columns).sections[node][1].date for node in state.passages.ids.tolist()}
    assert {"2.4 (2024-05-01)", "2.3 (2022-03-04)"} - kept == left_out
