from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import papers
import pytest
from harness import RESULTS, read_results
from published import asked as paper_asked
from published.asked import (
    ASKED,
    BUBBLERAG,
    FASTINSIGHT,
    PATHRAG,
    SETS,
    Settings,
    answers,
    costs,
    judged,
    named,
    rows_of,
    wins,
)
from published.from_results import read_table
from published.tables import PAPERS, NotMeasured, Ours, Published, published, section, shown, title
from tests.evaluate.small_run import write_set

from graphwright.errors import OptionError
from graphwright.methods.registry import METHODS
from graphwright.models import ScriptedLLM

FIVE = ("bubblerag", "fastinsight", "lego", "pathrag", "reg")
LONG = "The abbey was founded by Ermengarde, who died in the year of its first chapter."
CORPUS = [
    {"id": "ermengarde", "title": "Ermengarde of Tours", "text": "Ermengarde of Tours founded Erstein Abbey."},
    {"id": "lothair", "title": "Lothair II", "text": "Lothair II was a son of Ermengarde of Tours."},
    {"id": "graz", "title": "Graz", "text": "Graz lies on the river Mur."},
]
QUESTIONS = [
    {"id": "1", "question": "Which abbey did the mother of Lothair II found?", "answers": ["Erstein Abbey", LONG],
     "gold_ids": ["ermengarde", "lothair"]},
    {"id": "2", "question": "On which river does Graz lie?", "answers": ["Mur", LONG], "gold_ids": ["graz"]},
]  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    write_set(tmp_path / "data" / SETS["HotpotQA"][0], CORPUS, QUESTIONS)
    return Settings(tmp_path / "data", tmp_path / "work", 2)


def test_every_paper_has_tables_with_numbers() -> None:
    assert PAPERS == FIVE
    for paper in PAPERS:
        tables = published(paper)
        assert title(paper) and tables
        for table in tables.values():
            assert table.about and all(len(cells) == len(table.columns) for cells in table.rows.values())
            assert bool(table.columns) == bool(table.rows)


@pytest.mark.parametrize(
    ("paper", "table", "row", "column", "number"),
    [
        ("bubblerag", "Table 2", "BubbleRAG", "2Wiki F1, 30B", "72.54"),
        ("bubblerag", "Table 5", "ToG", "s", "45.93"),
        ("fastinsight", "Table 3", "GAR", "NFCorpus-G nDCG", "38.6"),
        ("pathrag", "Table 1", "GraphRAG, Logicality", "Biology", "65.6"),
        ("pathrag", "Table 5", "GPT-4o, Comprehensiveness", "CS", "67.2"),
        ("reg", "Table 3", "GraphRAG-FI", "CWQ Hit", "71.12"),
        ("reg", "Table 4", "Path, ReG", "Micro-F1", "61.77"),
        ("lego", "Table 8", "SBE+OSAR-LLMs (EEMs-S)", "GrailQA", "0.476"),
    ],
)
def test_published_numbers_have_row_and_column(paper: str, table: str, row: str, column: str, number: str) -> None:
    of = published(paper)[table]
    assert of.rows[row][of.columns.index(column)] == number


def test_measures_name_tables_that_papers_have() -> None:
    for paper, tables in ASKED.items():
        assert set(tables) <= set(published(paper))


def test_rows_have_names_of_paper() -> None:
    assert set(BUBBLERAG) == set(published("bubblerag")["Table 2"].rows)
    for paper, name in (("fastinsight", "Table 3"), ("pathrag", "Table 4"), ("lego", "Table 4"), ("reg", "Table 6")):
        table = published(paper)[name]
        assert set(table.ours[0]["rows"]) <= set(table.rows)
    assert set(FASTINSIGHT) <= set(published("fastinsight")["Table 4"].rows)
    assert {name.split(", ")[0] for name in published("pathrag")["Table 1"].rows} == set(PATHRAG)


READ = [(paper, name) for paper in PAPERS for name, table in published(paper).items() if table.ours]


@pytest.mark.parametrize(("paper", "name"), READ)
def test_read_table_gives_measured_figures_or_missing_command(paper: str, name: str, tmp_path: Path) -> None:
    ours = read_table(published(paper)[name], RESULTS)
    assert ours.rows and ours.columns and ours.about and "{" not in ours.about
    with pytest.raises(NotMeasured, match=r"run `python benchmarks/[\w/]+\.py"):
        read_table(published(paper)[name], tmp_path)


@pytest.mark.parametrize(
    ("paper", "table", "row", "column", "keys"),
    [
        ("fastinsight", "Table 3", "GAR", "cora nDCG", "corpora/cora.json > methods > gar (vector) > ndcg > mean"),
        ("fastinsight", "Figure 6", "Re2, cisi", "20 read", "corpora/cisi.json > curves > rerank (vector) > 1 > 3"),
        ("pathrag", "Table 4", "HyDE", "METEOR", "squality.json > methods > hyde > METEOR > mean"),
        ("reg", "Table 4", "Path, w/o S(I)", "2 hops: Hit", "reg.json > weak > path > 2 hops > Hit"),
        ("lego", "Figure 2", "1", "metaqa F1", "lego.json > metaqa > systems > PPR / SPR > pr f1"),
    ],
)
def test_read_table_figures_are_those_of_results(paper: str, table: str, row: str, column: str, keys: str) -> None:
    file, *path = keys.split(" > ")
    value = read_results(RESULTS / file)
    for key in path:
        value = value[int(key) if isinstance(value, list) else key]
    assert read_table(published(paper)[table], RESULTS).rows[row][column] == round(100 * value, 1)


def test_table_row_shows_published_and_own_numbers() -> None:
    of = Published("Table 1", "Of two.", ("F1", "s"), {"A": ("1", "-"), "B": ("2", "3")})
    lines = section(of, {"offline": {"about": "Ours.", "rows": {"B": {"F1": 12.34}, "C": {"F1": 1234.5}}}})
    assert lines.splitlines()[-3:] == ["| A | 1 | - |  |", "| B | 2 | 3 | 12.3 |", "| C | - | - | 1,234 |"]
    both = section(
        of, {"offline": {"about": "", "rows": {"A": {"F1": 1}}}, "m": {"about": "", "rows": {"A": {"F1": 2}}}}
    )
    assert "| offline: F1 | m: F1 |" in both and "| A | 1 | - | 1 | 2 |" in both
    assert "needs a model" in section(of, {"offline": {"missing": "needs a model"}})


def test_numbers_have_three_digits() -> None:
    assert [shown(value) for value in (None, "x", 7, 0.12345, 12.34, 1234.5, 6.0)] == [
        "", "x", "7", "0.123", "12.3", "1,234", "6"
    ]  # fmt: skip


def test_llm_only_methods_have_no_offline_row(settings: Settings) -> None:
    assert {"Vanilla LLM", "CoT + LLM"}.isdisjoint(rows_of(BUBBLERAG, settings))
    assert "Vanilla LLM" in rows_of(BUBBLERAG, replace(settings, llm=ScriptedLLM(["{}"])))
    assert set(rows_of({"A": "no such method", "B": "vector"}, settings)) == {"B"}


def test_papers_asks_and_judges_all_methods(settings: Settings) -> None:
    ours = answers(settings, ("HotpotQA",), {"Naive RAG": named("vector"), "BubbleRAG": named("bubblerag")})
    assert set(ours.rows) == {"Naive RAG", "BubbleRAG"} and "offline twin" in ours.about
    assert all(0 < row["HotpotQA F1"] <= 100 and row["HotpotQA ACC"] > 0 for row in ours.rows.values())


def test_win_rates_are_complements(settings: Settings) -> None:
    first = ("PathRAG", named("pathrag"))
    own = wins(settings, "HotpotQA", first, {"NaiveRAG": named("vector", top_k=1)})
    theirs = wins(settings, "HotpotQA", first, {"NaiveRAG": named("vector", top_k=1)}, own=False)
    assert set(own.rows) == {"NaiveRAG, Comprehensiveness", "NaiveRAG, Relevance"}
    rate = own.rows["NaiveRAG, Relevance"]["HotpotQA"]
    assert rate + theirs.rows["NaiveRAG"]["HotpotQA, relevance"] == pytest.approx(100)


def test_llm_costs_count_tokens(settings: Settings) -> None:
    reply = '{"reasoning": "r", "found": true, "text": "The Mur.", "answers": ["Mur"], "citations": []}'
    with_model = replace(settings, llm=ScriptedLLM(lambda system, user: reply, "scripted"), label="costs")
    ours = costs(with_model, "HotpotQA", {"Naive RAG": named("vector")}, 100)
    assert ours.rows["Naive RAG"]["tokens, 100 questions"] > 10_000 and "scripted" in ours.about
    _, out, questions = paper_asked.ask(with_model, "HotpotQA", {"Naive RAG": named("vector")})
    assert judged(settings, out, questions)["accuracy"]["Naive RAG"]["mean"] == 0.5
    with pytest.raises(OptionError):
        paper_asked.ask(with_model, "HotpotQA", {"other": named("vector")})


def test_two_model_searches_have_offline_twins(tmp_path: Path) -> None:
    folder = tmp_path / "data" / SETS["PathQuestion"][0]
    folder.mkdir(parents=True)
    (folder / "kb.tsv").write_text("Heat\tdirected_by\tMann\nAli\tdirected_by\tMann\nAli\tstars\tSmith\n", "utf-8")
    row = {"id": "1", "question": "who directed Heat?", "answers": ["Mann"], "topic_entities": ["Heat"]}
    (folder / "questions.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    ours = paper_asked.lego_beams(Settings(tmp_path / "data", tmp_path / "work", 1))
    assert set(ours.rows) == set(published("lego")["Table 5"].rows)
    assert {values["PathQuestion recall"] for values in ours.rows.values()} == {1.0}


def test_papers_command_writes_files_and_names_missing_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["papers.py", "--paper", "reg", "--data", str(tmp_path), "--work", str(tmp_path / "w"), "--out"]
    monkeypatch.setattr("sys.argv", [*command, str(tmp_path / "out"), "--table", "1", "Figure 4"])
    papers.main()
    assert "run `python benchmarks/published/reg.py --data DIR --only labels`" in capsys.readouterr().out
    (tmp_path / "out" / "reg.json").write_text((RESULTS / "reg.json").read_text("utf-8"), "utf-8")
    papers.main()
    measured = read_results(RESULTS / "reg.json")["labels"]["weak"]
    ours = f"{measured['paths, mean']:.1f} | {measured['paths, max']:,} |"
    assert f"| Raw candidates | 275.16 | 98,602 | {ours}" in capsys.readouterr().out
    page = (tmp_path / "out" / "papers-reg.md").read_text("utf-8")
    assert "### Table 1" in page and "### Figure 4" in page and "not measured yet" not in page
    monkeypatch.setattr("sys.argv", [*command, str(tmp_path / "out"), "--table", "77"])
    with pytest.raises(SystemExit, match="Table 77 is not there"):
        papers.main()


def test_measure_without_data_gives_reason(settings: Settings) -> None:
    tables = published("reg")
    model, reason = papers.measure("reg", tables["Table 5"], settings, RESULTS) or ("", "")
    assert model == "offline" and "reasoning model" in str(reason)
    assert papers.measure("reg", tables["Table 5"], replace(settings, llm=ScriptedLLM(["{}"])), RESULTS) is None
    model, ours = papers.measure("reg", tables["Table 1"], settings, RESULTS) or ("", "")
    assert model == "offline" and isinstance(ours, Ours)


def test_every_table_is_measured_or_has_reason() -> None:
    for paper in PAPERS:
        for name, table in published(paper).items():
            measured = name in ASKED.get(paper, {}) or bool(table.ours)
            assert measured != bool(table.missing), (paper, name)


def test_rows_are_asked_alone_and_join_equal_questions(settings: Settings) -> None:
    methods = {"Naive RAG": named("vector"), "BubbleRAG": named("bubblerag")}
    alone = answers(replace(settings, rows=("BubbleRAG",)), ("HotpotQA",), methods)
    assert set(alone.rows) == {"BubbleRAG"}
    before = {"about": alone.about, "rows": {"Naive RAG": {"F1": 1}, "BubbleRAG": {"F1": 2}}}
    added = {"about": alone.about, "rows": dict(alone.rows)}
    assert papers.joined("Table 2", before, added)["rows"] == {"Naive RAG": {"F1": 1}, **alone.rows}
    assert papers.joined("Table 2", {}, added) == added
    with pytest.raises(SystemExit, match="rows of other questions"):
        papers.joined("Table 2", before | {"about": "3 questions"}, added)
    with pytest.raises(NotMeasured, match="there are: Naive RAG, BubbleRAG"):
        answers(replace(settings, rows=("ToG",)), ("HotpotQA",), methods)


def test_ircot_searches_twice_for_five_nodes(settings: Settings) -> None:
    ours = costs(settings, "HotpotQA", {"IRCoT + Vector Search": paper_asked.two_searches}, 100)
    assert ours.rows["IRCoT + Vector Search"]["R@10"] == 100.0 and "s" in ours.rows["IRCoT + Vector Search"]
    untimed = replace(settings, timed=False)
    again = costs(untimed, "HotpotQA", {"IRCoT + Vector Search": paper_asked.two_searches}, 100)
    assert again.rows == {"IRCoT + Vector Search": {"R@10": 100.0}} and "Seconds are left out" in again.about


def test_method_labels_are_registered() -> None:
    assert {*BUBBLERAG.values(), *PATHRAG.values(), *FASTINSIGHT.values()} <= set(METHODS)
