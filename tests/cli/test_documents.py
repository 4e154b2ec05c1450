"""Listing documents, and showing the text that citations count in, as a user does it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.cli.called import called

from graphwright import Graph, Index, OptionError, Settings

MARKDOWN = "# Graz\n\nGraz lies on the **Mur**.\n\n- It has a [tower](x.html).\n- It has a hill.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("documents")
    (place / "docs").mkdir()
    (place / "docs" / "graz.md").write_text(MARKDOWN)
    long = "\n\n".join(f"Day {day}. The wind blew from the north.  It was cold; nobody went out." for day in range(40))
    (place / "docs" / "log.txt").write_text(long)
    with Index.create(place / "index", settings=Settings(chunk_tokens=40, overlap=15)) as index:
        index.sync(place / "docs")
    return place


def test_documents_are_listed_and_found_by_id_or_title(folder: Path) -> None:
    listed = called("documents", "--index", folder / "index")
    assert [line.split("  ")[0] for line in listed.stdout.splitlines()] == ["graz.md", "log.txt"]
    assert listed.stdout.startswith("graz.md  Graz  (") and "1 chunk)" in listed.stdout
    assert called("documents", "GRAZ", "--index", folder / "index").stdout.count("\n") == 1
    [graz, log] = json.loads(called("documents", "--index", folder / "index", "--json").stdout)
    assert graz["id"] == "graz.md" and graz["title"] == "Graz" and graz["chunks"] == 1 and log["chunks"] > 10


def test_the_text_is_that_in_which_citations_count(folder: Path) -> None:
    cited_at_all = 0
    with Index.open(folder / "index") as index:
        for method in ("ppr", "hybrid"):
            for question in ("What does Graz lie on?", "How was the wind on day 17?", "What has it?"):
                answer = index.ask(question, method).answer
                assert answer is not None
                cited_at_all += len(answer.citations)
                for cited in answer.citations:
                    assert index.text(cited.document)[cited.start : cited.end] == cited.text
                    span = ("--characters", f"{cited.start}-{cited.end}")
                    assert (
                        called("show", cited.document, "--index", folder / "index", *span).stdout == f"{cited.text}\n"
                    )
        assert cited_at_all > 3
        assert index.text("log.txt").split() == (folder / "docs" / "log.txt").read_text().split()
        assert [one.characters for one in index.listed()] == [len(index.text(name)) for name in ("graz.md", "log.txt")]
    assert "Graz lies on the Mur." in called("show", "graz.md", "--index", folder / "index").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Graz.md",), "there is no document 'Graz.md' among the 2 of .*Did you mean 'graz.md'.*documents --index"),
        (("graz.md", "--characters", "9"), "--characters is '9'; give where they begin and end"),
        (("graz.md", "--characters", "9-3"), "--characters is '9-3'"),
    ],
)
def test_what_cannot_be_shown_is_said(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = called("show", *arguments, "--index", folder / "index")
    assert done.returncode == 2 and not done.stdout
    assert re.search(said, " ".join(done.stderr.split()))


def test_an_imported_graph_has_no_documents(tmp_path: Path) -> None:
    with Index.from_graph(tmp_path / "i", Graph.from_triples([("a", "r", "b")])) as index:
        assert index.listed() == []
        with pytest.raises(OptionError, match="no document 'a' among the 0"):
            index.text("a")
