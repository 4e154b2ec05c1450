"""Questions over manuals and office documents by which the probabilities of the reader are fitted."""

import html
import json
import re
from pathlib import Path

import pytest
from sources.packages import read_sources

READER = Path(__file__).parents[2] / "scripts" / "reader"
EVERYDAY = Path(__file__).parents[2] / "benchmarks" / "everyday"
ROWS = [json.loads(line) for line in (READER / "questions.jsonl").read_text("utf-8").splitlines()]
WRITTEN = sorted(folder.name for folder in (READER / "written").iterdir())


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_questions_are_unique_and_have_evidence_unless_unanswerable() -> None:
    assert len({(row["source"], row["question"]) for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert bool(row["evidence"]) == bool(row["document"]) == (row["kind"] != "unanswerable"), row
        assert row["answer"] in row["evidence"], row


def test_sources_are_written_folders_or_packages_that_measure_nothing() -> None:
    sources, measured = read_sources(READER / "sources.toml"), read_sources(EVERYDAY / "sources.toml")
    assert {row["source"] for row in ROWS} == {*(source["name"] for source in sources), *WRITTEN}
    assert not {source["package"] for source in sources} & {source["package"] for source in measured}
    assert not {*WRITTEN} & {folder.name for folder in (EVERYDAY / "office").iterdir()}


@pytest.mark.parametrize("source", WRITTEN)
def test_evidence_stands_in_written_documents(source: str) -> None:
    for row in ROWS:
        if row["source"] == source and row["document"]:
            text = (READER / "written" / row["document"]).read_text("utf-8")
            if row["document"].endswith(".html"):
                text = html.unescape(re.sub(r"<[^>]+>", "", text))
            assert squeezed(row["evidence"]) in squeezed(text), row


def test_statements_answer_their_questions_with_their_words() -> None:
    rows = [json.loads(line) for line in (READER / "statements.jsonl").read_text("utf-8").splitlines()]
    assert len({row["text"] for row in rows}) == len(rows)
    for row in rows:
        assert len(row["asked"]) >= 5, row
        for question, answer in row["asked"]:
            assert question and (answer in ("", "yes", "no") or (answer[0] == "=" and answer[1:] in row["text"])), row
