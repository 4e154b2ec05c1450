"""Commands with a language model, over real HTTP."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import graphwright
from tests.extract.test_pictures import report
from tests.llm_server import LLMServer, Say, error
from tests.shared import CORPUS

from graphwright import Index
from graphwright.cli.indexing_output import show_notes
from graphwright.data.document import Skipped
from graphwright.data.formats.parsing import recognition
from graphwright.data.formats.parsing.recognition import Found
from graphwright.extract.extractors import extractor_of
from graphwright.models.embedded.encoder import MiniLM
from graphwright.store.changes import Changes

FORGED = "The moon is made of cheese"


def model(asked: dict[str, Any]) -> str:
    """Names every word in capitals when it extracts; quotes the first passage, and forges another, when it answers."""
    prompt = asked["messages"][-1]["content"]
    passages = [json.loads(line) for line in prompt.splitlines() if line.startswith('{"passage"')]
    if passages:
        quote = passages[0]["text"].split(". ")[0]
        citations = [{"passage": 1, "quote": quote}, {"passage": 1, "quote": FORGED}]
        return json.dumps({"found": True, "text": "It was founded [1], they say [2].", "citations": citations})
    names = list(dict.fromkeys(re.findall(r"\b[A-Z]\w{3,}", prompt.split('"text"')[-1])))
    entities = [{"name": name, "type": "thing", "description": f"About {name}."} for name in names]
    return json.dumps({"entities": entities, "relations": []})


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with LLMServer(model) as made:
        yield made


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for row in CORPUS:
        (tmp_path / "docs" / f"{row['id']}.txt").write_text(row["text"], encoding="utf-8")
    return tmp_path / "docs"


def info(index: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(graphwright("info", index, "--json").stdout)
    return result


def test_estimate_sends_and_writes_nothing(server: LLMServer, docs: Path, tmp_path: Path) -> None:
    done = graphwright(
        "index", docs, "--into", tmp_path / "ix", "--llm", "m", "--base-url", server.url, "--estimate",
        "--prices", "1,2", "--rate", "100,10",
    )  # fmt: skip
    rows = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0 and rows[0] == ["full", "triples"]
    assert rows[1] == ["chunks", str(len(CORPUS)), str(len(CORPUS))]
    for name, full, triples in (rows[-2], rows[-1]):
        assert name in ("hours", "cost") and 0 < float(triples) < float(full)
    assert not server.requests and not (tmp_path / "ix").exists()


def test_estimate_json_has_both_kinds_and_rates(docs: Path, tmp_path: Path) -> None:
    index = tmp_path / "ix"
    assert graphwright("index", docs, "--into", index).returncode == 0
    settings = '[llm]\nmodel = "m"\nbase_url = "http://localhost:1/v1"\nprompt_rate = 100\ncompletion_rate = 10\n'
    (index / "settings.toml").write_text(settings)
    result = json.loads(graphwright("reextract", "--index", index, "--estimate", "--json").stdout)
    assert list(result) == ["full", "triples"] and result["full"]["cost"] is None
    for made in result.values():
        tokens = made["prompt_tokens"] / 100 + made["completion_tokens"] / 10
        assert made["hours"] == pytest.approx(tokens / 3600)


def test_triples_extraction_sends_one_request_per_chunk(docs: Path, tmp_path: Path) -> None:
    index = tmp_path / "ix"
    reply = json.dumps({"triples": [["Xanthe", "founded", "Zebrano"]], "names": []})
    with LLMServer(lambda asked: reply) as server:
        options = ("--llm", "m", "--base-url", server.url, "--extraction", "triples")
        done = graphwright("index", docs, "--into", index, *options)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == len(CORPUS)
    assert {"triples", "names"} == set(
        server.requests[0].json["response_format"]["json_schema"]["schema"]["properties"]
    )
    (extractor,) = info(index)["extractors"]
    assert extractor.startswith("generative triples:1:m@")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--extraction", "triples"), "--extraction is for a language model"),
        (("--llm", "m", "--base-url", "http://localhost:1/v1", "--extraction", "both"), "one of 'full', 'triples'"),
        (("--llm", "m", "--base-url", "http://localhost:1/v1", "--rate", "fast"), "--rate is 'fast'"),
    ],
)
def test_wrong_extraction_options_are_refused(
    options: tuple[str, ...], problem: str, docs: Path, tmp_path: Path
) -> None:
    done = graphwright("index", docs, "--into", tmp_path / "ix", *options)
    assert done.returncode == 2 and problem in done.stderr, done.stderr
    assert not (tmp_path / "ix").exists()


def test_estimate_needs_no_key(docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert graphwright("index", docs, "--into", tmp_path / "ix").returncode == 0
    for command in (("reextract", "--index"), ("index", docs, "--into")):
        done = graphwright(*command, tmp_path / "ix", "--llm", "gpt-4o-mini", "--estimate")
        assert done.returncode == 0 and done.stdout.lstrip().startswith("full"), done.stderr
    done = graphwright("reextract", "--index", tmp_path / "ix", "--llm", "gpt-4o-mini")
    assert done.returncode == 2 and "no key for OpenAI" in done.stderr


def test_budget_stops_cleanly_and_next_run_continues(docs: Path, tmp_path: Path) -> None:
    index = tmp_path / "ix"
    with LLMServer(lambda asked: Say(model(asked), usage=(2000, 500))) as server:
        message = ("--llm", "m", "--base-url", server.url, "--prices", "1,2")
        done = graphwright("index", docs, "--into", index, *message, "--max-tokens", 12_000)
        assert done.returncode == 0 and "extraction failed" in done.stderr and "max_tokens" in done.stderr
        assert "10,000 tokens" in done.stdout and len(server.requests) == 4
        contents = info(index)
        assert contents["current"] and contents["documents"] == len(CORPUS)
        assert sum(contents["pending"].values()) == len(CORPUS) - 4
        result = json.loads(graphwright("index", docs, "--into", index, *message, "--json").stdout)
        assert result["extracted"] == len(CORPUS) - 4 and len(server.requests) == len(CORPUS)  # nothing is paid twice
    assert result["prompt_tokens"] == 2000 * result["extracted"] and result["cost"] > 0 and not info(index)["pending"]


def test_failures_of_run_are_listed_first_and_once() -> None:
    changes = Changes(pending=[("a", 0, "budget"), ("b", 0, "budget"), ("c", 1, "not tried again; earlier: timeout")])
    changes.skipped = [Skipped(f"{n}.png", "binary, not text") for n in range(30)] + [Skipped("x", "damaged", True)]
    err = StringIO()
    with redirect_stderr(err):
        show_notes(changes, Path("ix"), model=True)
    lines = err.getvalue().splitlines()
    assert lines[:2] == ["skipped x: damaged", "skipped 30 files, 0.png, 1.png, 2.png …: binary, not text"]
    assert lines[-2:] == ["  a#0, b#0: budget", "  c#1: not tried again; earlier: timeout"]


def test_offline_documents_are_extracted_again_without_files(server: LLMServer, docs: Path, tmp_path: Path) -> None:
    index = tmp_path / "ix"
    assert graphwright("index", docs, "--into", index).returncode == 0
    for file in docs.iterdir():
        file.unlink()
    (index / "settings.toml").write_text(f'[llm]\nmodel = "m"\nbase_url = "{server.url}"\n')
    name = f"{CORPUS[0]['id']}.txt"
    assert graphwright("reextract", "--index", index, name).returncode == 0
    assert sorted(info(index)["extractors"].values()) == [1, len(CORPUS) - 1] and len(server.requests) == 1
    assert graphwright("reextract", "--index", index).returncode == 0
    assert list(info(index)["extractors"].values()) == [len(CORPUS)]
    assert graphwright("reextract", "--index", index, "--offline").returncode == 0
    assert info(index)["extractors"] == {extractor_of(None, MiniLM()).id: len(CORPUS)}
    assert graphwright("verify", "--index", index).returncode == 0


def test_written_answer_reports_dropped_citations(server: LLMServer, docs: Path, tmp_path: Path) -> None:
    assert graphwright("index", docs, "--into", tmp_path / "ix").returncode == 0
    ask = (
        "ask",
        "Which abbey did Ermengarde found?",
        "--index",
        tmp_path / "ix",
        "--llm",
        "m",
        "--base-url",
        server.url,
    )
    result = json.loads(graphwright(*ask, "--json").stdout)
    (citation,) = result["citations"]
    text = (docs / citation["document"]).read_text(encoding="utf-8")
    assert text[citation["start"] : citation["end"]] == citation["text"] and "cheese" not in str(result["citations"])
    assert "[2]" not in result["answer"] and any(
        FORGED[:10] in n or "dropped" in n for s in result["trace"] for n in s["notes"]
    )
    assert [s["completion_tokens"] for s in result["trace"] if s["operator"].startswith("Generate")] == [3]
    shown = graphwright(*ask)
    assert "It was founded [1]" in shown.stdout and f"“{citation['text'][:20]}" in shown.stdout
    assert len(server.requests) == 1  # the same prompt is asked, and paid for, once
    own = tmp_path / "own.py"
    own.write_text("from graphwright import VectorSearch\ndef method(ix):\n    return VectorSearch(ix.passages) % 3\n")
    retrieved = graphwright(*ask, "--method-file", own)  # the model answers from it, too
    assert "It was founded [1]" in retrieved.stdout and len(server.requests) == 2, retrieved.stderr
    alone = graphwright(*ask, "--method", "vector(top_k=3)@offline")
    assert alone.returncode == 0 and "It was founded" not in alone.stdout and len(server.requests) == 2
    assert json.loads(graphwright(*ask[:-4], "--offline", "--json").stdout)["citations"]


def test_unavailable_model_leaves_documents_searchable(docs: Path, tmp_path: Path) -> None:
    with LLMServer([error(401, "no such key")]) as server:
        done = graphwright("index", docs, "--into", tmp_path / "ix", "--llm", "m", "--base-url", server.url)
    assert done.returncode == 0 and "extraction failed" in done.stderr and "Traceback" not in done.stderr
    assert sum(info(tmp_path / "ix")["pending"].values()) == len(CORPUS)
    assert json.loads(graphwright("ask", "Which abbey?", "--index", tmp_path / "ix", "--json").stdout)["citations"]


def test_waiting_extractions_are_reported_and_released(docs: Path, tmp_path: Path) -> None:
    index = tmp_path / "ix"
    assert graphwright("sync", docs, "--into", index).returncode == 0
    with LLMServer([error(401, "no such key")]) as server:
        done = graphwright("reextract", "--index", index, "--llm", "m", "--base-url", server.url)
    assert done.returncode == 1 and "extraction failed" in done.stderr and "no such key" in done.stderr
    done = graphwright("sync", docs, "--into", index)
    assert done.returncode == 0 and not done.stderr, done.stderr
    shown = graphwright("info", index).stdout
    assert "by the rules; a model is pending for " in shown
    counts = re.findall(r"(\d+) chunks?: ", shown)  # one reason or two: the threads end as they come
    assert sum(map(int, counts)) == sum(info(index)["pending"].values()) == len(CORPUS)
    assert f"reextract --index {index} --offline\n" in shown
    done = graphwright("reextract", "--index", index, "--offline")
    assert done.returncode == 0 and "read" not in done.stdout
    assert f"{len(CORPUS)} chunks wait for no model any more" in done.stdout
    assert not info(index)["pending"] and "pending" not in graphwright("info", index).stdout


def test_missing_server_names_offline_alternative(docs: Path, tmp_path: Path) -> None:
    assert graphwright("index", docs, "--into", tmp_path / "ix").returncode == 0
    with LLMServer([]) as server:
        url = server.url
    question = ("ask", "Which abbey did Ermengarde found?", "--index", tmp_path / "ix", "--llm", "m", "--base-url")
    done = graphwright(*question, url)
    assert done.returncode == 1 and f"No server answers at {url}" in done.stderr and "Tried 2 times" in done.stderr
    assert "Without --llm, or with --offline, the answer is quoted" in done.stderr
    with LLMServer([error(503, "loading")] * 20) as server:
        done = graphwright(*question, server.url, "--deadline", 1)
    assert done.returncode == 0 and "[1]" in done.stdout
    assert "'m' could not be reached, or its reply was cut off" in done.stderr and "loading" in done.stderr
    assert "no reply of m" in done.stderr and "no language model" not in done.stderr


def test_filters_apply_and_wrong_filters_are_refused(docs: Path, tmp_path: Path) -> None:
    graphwright("index", docs, "--into", tmp_path / "ix")
    name = f"{CORPUS[0]['id']}.txt"
    result = json.loads(
        graphwright("retrieve", "abbey", "--index", tmp_path / "ix", "--document", name, "--json").stdout
    )
    assert {row["document"] for row in result["passages"]} == {name}
    for wrong in (("--where", "year"), ("--document", "none"), ("--folder", "none")):
        done = graphwright("retrieve", "abbey", "--index", tmp_path / "ix", *wrong)
        assert done.returncode in (1, 2) and done.stderr.startswith("graphwright: ")


def test_index_with_server_encoder_remembers_it(docs: Path, tmp_path: Path) -> None:
    def vectors(asked: dict[str, Any]) -> dict[str, Any]:
        rows = [[float(len(text)), 1.0, float(text.count("e"))] for text in asked["input"]]
        data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
        return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    index = tmp_path / "ix"
    with LLMServer(vectors) as server:
        done = graphwright("index", docs, "--into", index, "--encoder", f"openai:m@{server.url}")
        assert done.returncode == 0, done.stderr
        asked = len(server.requests)
        assert json.loads(graphwright("ask", "Which abbey?", "--index", index, "--json").stdout)["passages"]
        assert info(index)["encoder"] == "m" and len(server.requests) > asked > 0
    done = graphwright("index", docs, "--into", tmp_path / "other", "--encoder", "word2vec")
    assert done.returncode == 2 and "There is no encoder 'word2vec'" in done.stderr
    done = graphwright("ask", "Which abbey?", "--index", index)
    assert done.returncode == 1 and "Traceback" not in done.stderr  # the server is gone


def test_sync_and_verify_succeed(docs: Path, tmp_path: Path) -> None:
    index = tmp_path / "ix"
    assert f"{len(CORPUS)} added" in graphwright("sync", docs, "--into", index).stdout
    (docs / f"{CORPUS[0]['id']}.txt").unlink()
    (docs / "new.txt").write_text("New.")
    assert "1 added" in (done := graphwright("sync", docs, "--into", index)).stdout and "1 removed" in done.stdout
    assert graphwright("verify", "--index", index).returncode == 0
    (index / (index / "CURRENT").read_text() / "passages.000000000.page").write_bytes(b"cut")
    done = graphwright("verify", "--index", index)
    assert done.returncode == 1 and "--repair" in done.stderr
    done = graphwright("verify", docs, "--index", index)
    assert done.returncode == 2 and "two indexes are named" in done.stderr
    assert graphwright("verify", "--index", index, "--repair").returncode == 0
    with closing(sqlite3.connect(index / "index.sqlite")) as db:
        db.execute("PRAGMA user_version = 77")
    done = graphwright("ask", "Who?", "--index", index)
    assert done.returncode == 1 and "schema 77" in done.stderr and "Traceback" not in done.stderr


def test_note_names_unreadable_rows_and_kept_documents(docs: Path, tmp_path: Path) -> None:
    rows, index = docs / "rows.jsonl", tmp_path / "ix"
    rows.write_text('{"id": "r 1", "text": "One."}\n{"id": "r2", "text": "Two."}\n')
    assert graphwright("sync", docs, "--into", index).returncode == 0
    rows.write_text('{"id": "r 1", "te\n{"id": "r2", "text": "Two."}\n')
    (docs / f"{CORPUS[0]['id']}.txt").unlink()
    done = graphwright("sync", docs, "--into", index)
    assert "1 removed" in done.stdout and "1 document not found any more" in done.stderr
    assert f"Repair {rows}:1 and sync again" in done.stderr and "graphwright remove 'r 1' --index" in done.stderr
    message = json.loads(graphwright("sync", docs, "--into", index, "--json").stdout)
    assert (message["retained"], message["retained_documents"], message["unreadable"]) == (1, ["r 1"], [f"{rows}:1"])


@pytest.mark.parametrize(
    "wrong",
    [
        ("index", "docs", "--into", "ix", "--max-tokens", "5"),
        ("index", "docs", "--into", "ix", "--base-url", "http://localhost:1/v1"),
        ("index", "docs", "--into", "ix", "--llm", "m", "--base-url", "http://localhost:1/v1", "--prices", "1"),
        ("index", "docs", "--into", "ix", "--llm", "m", "--base-url", "http://localhost:1/v1", "--max-cost", "1"),
        ("index", "docs", "--into", "ix", "--llm", "m", "--base-url", "localhost"),
    ],
)
def test_wrong_model_options_leave_nothing(
    wrong: tuple[str, ...], docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = graphwright(*wrong)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert not (tmp_path / "ix").exists()


def test_noted_command_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    show_notes(Changes(retained=["r 1"], unreadable=["rows.jsonl:1"]), Path("my index"), model=False)
    assert capsys.readouterr().err.endswith("graphwright remove 'r 1' --index 'my index'\n")


CITING = {
    "e12-2021.txt": "Web annotation\n\nBoth tools render vector graphics. They show Lothair.",
    "d19-3001.txt": "Dialogue annotation\n\nLIDA fills gaps of e12-2021.txt, as Ermengarde wrote.",
}


@pytest.fixture
def citing(tmp_path: Path) -> Path:
    """A folder of two documents, of which one names the other."""
    (tmp_path / "citing").mkdir()
    for name, text in CITING.items():
        (tmp_path / "citing" / name).write_text(text, encoding="utf-8")
    return tmp_path / "citing"


def references(index: Path) -> list[tuple[str, str]]:
    """The documents at both ends of each reference."""
    with Index.open(index) as opened:
        graph = opened.snapshot.graph
        assert graph.passages is not None
        return [
            (graph.passages.of(int(head)).document, graph.passages.of(int(tail)).document)
            for head, tail in zip(*graph.columns.references, strict=True)
        ]


def cites(asked: dict[str, Any]) -> str:
    """Lists the title of the other document where a text has the word "fills"; extracts names otherwise."""
    if "references" not in asked["response_format"]["json_schema"]["schema"]["properties"]:
        return model(asked)
    cited = ["e12-2021.txt"] if "fills" in asked["messages"][-1]["content"] else []
    return json.dumps({"references": cited})


def test_references_by_rules_agree_for_index_and_sync(citing: Path, tmp_path: Path) -> None:
    for command in ("index", "sync"):
        plain, joined = tmp_path / f"{command} plain", tmp_path / command
        assert graphwright(command, citing, "--into", plain).returncode == 0
        assert graphwright(command, citing, "--into", joined, "--references", "rules").returncode == 0
        assert references(plain) == [] and references(joined) == [("d19-3001.txt", "e12-2021.txt")]
        again = graphwright(command, citing, "--into", joined, "--references", "rules", "--json")
        assert json.loads(again.stdout)["unchanged"] == 2
    (citing / "e12-2021.txt").write_text("It cites d19-3001.txt in return.")
    assert graphwright("sync", citing, "--into", joined, "--references", "rules").returncode == 0
    assert sorted(references(joined)) == [("d19-3001.txt", "e12-2021.txt"), ("e12-2021.txt", "d19-3001.txt")]


def test_references_by_model_are_asked_once_and_estimated(citing: Path, tmp_path: Path) -> None:
    with LLMServer(cites) as server:
        index, usual = tmp_path / "ix", ("--llm", "m", "--base-url", server.url, "--references", "llm")
        estimate = graphwright("index", citing, "--into", index, *usual, "--estimate", "--json")
        result = json.loads(estimate.stdout)
        assert list(result) == ["full", "triples", "references"] and result["references"]["calls"] == 2
        assert not server.requests and not index.exists()
        done = graphwright("index", citing, "--into", index, *usual)
        assert done.returncode == 0, done.stderr
        assert references(index) == [("d19-3001.txt", "e12-2021.txt")] and len(server.requests) == 4
        assert re.search(r"language model: [1-9][\d,]* tokens", done.stdout)
        again = graphwright("sync", citing, "--into", index, *usual, "--json")
        assert json.loads(again.stdout)["unchanged"] == 2 and len(server.requests) == 4


def test_reference_replies_survive_failed_indexing(citing: Path, tmp_path: Path) -> None:
    index, refused = tmp_path / "ix", [True]
    index.mkdir()

    def refusing(asked: dict[str, Any]) -> Any:
        return error(400, "no more") if refused and "Both tools" in str(asked) else cites(asked)

    with LLMServer(refusing) as server:
        settings = f'[llm]\nmodel = "m"\nbase_url = "{server.url}"\nconcurrency = 1\n'
        (index / "settings.toml").write_text(settings, encoding="utf-8")
        failed = graphwright("index", citing, "--into", index, "--references", "llm")
        assert failed.returncode != 0 and "no more" in failed.stderr and len(server.requests) == 2
        refused.clear()
        assert graphwright("index", citing, "--into", index, "--references", "llm").returncode == 0
        assert len(server.requests) == 2 + 1 + 2  # the part that was refused, and two extractions
    assert references(index) == [("d19-3001.txt", "e12-2021.txt")]


@pytest.mark.parametrize(
    ("options", "message"),
    [(("--references", "all"), "choose from rules, llm"), (("--references", "llm"), "needs --llm MODEL")],
)
def test_impossible_references_raise(citing: Path, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    failed = graphwright("index", citing, "--into", tmp_path / "ix", *options)
    assert failed.returncode == 2 and message in failed.stderr and not (tmp_path / "ix").exists()


def test_rebuild_of_index_changes_setting_and_names_itself_in_refusal(docs: Path, tmp_path: Path) -> None:
    assert graphwright("index", docs, "--into", tmp_path / "ix").returncode == 0
    done = graphwright("index", docs, "--into", tmp_path / "ix", "--embed", "passages")
    assert done.returncode == 2 and "graphwright rebuild" in done.stderr
    done = graphwright("rebuild", "--index", tmp_path / "ix", "--embed", "passages")
    assert done.returncode == 0, done.stderr
    assert info(tmp_path / "ix")["settings"]["embed"] == ["passages"] and done.stdout.startswith("rebuilt\n")
    assert graphwright("index", docs, "--into", tmp_path / "ix", "--embed", "passages").returncode == 0


def test_index_with_vision_describes_pictures_and_shows_whose_words_they_are(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "report.pdf").write_bytes(report(10))
    where = ("--into", tmp_path / "index")
    with LLMServer(lambda asked: Say("A drawing of the old crane in Gmunden.", (900, 20))) as server:
        vision = f"eye@{server.url}"
        done = graphwright("index", tmp_path / "docs", *where, "--vision", vision, "--max-tokens", 9_000)
        assert done.returncode == 0 and "2 added" in done.stdout and "920 tokens" in done.stdout.replace(",", "")
        again = graphwright("sync", tmp_path / "docs", *where, "--vision", "eye", "--base-url", server.url)
        assert "2 unchanged" in again.stdout and len(server.requests) == 1
    asked = graphwright("ask", "Where is the old crane?", "--index", tmp_path / "index")
    assert "picture on page 1, described by eye" in asked.stdout
    without = graphwright("sync", tmp_path / "docs", *where)
    assert "1 removed" in without.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--vision", "eye", "--offline"], "leave out --vision"),
        (["--vision", "", "--base-url", "http://localhost:9/v1"], "name"),
        (["--vision", "eye@http://user:word@host/v1"], "base_url"),
        (["--vision", "eye@http://localhost:9/v1", "--max-cost", "1"], "--prices"),
        (["--vision", "eye@http://localhost:9/v1", "--gleanings", "1"], "--llm"),
    ],
)
def test_index_with_wrong_vision_is_refused(docs: Path, tmp_path: Path, arguments: list[str], reason: str) -> None:
    done = graphwright("index", docs, "--into", tmp_path / "index", *arguments)
    assert done.returncode == 2 and reason in done.stderr and not (tmp_path / "index").exists(), done.stderr


def test_index_recognises_a_picture_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = pytest.importorskip("PIL.Image").new("L", (700, 900), 255)
    (tmp_path / "docs").mkdir()
    image.save(tmp_path / "docs" / "scan.png")
    corners = [(40, 50), (240, 50), (240, 70), (40, 70)]
    read = list[str]()

    def recognised(pixels: Any) -> list[Found]:
        read.append("read")
        return [Found("Graz lies on the Mur.", 0.99, corners)]

    monkeypatch.setattr(recognition, "_recognised", recognised)
    monkeypatch.setattr(recognition, "version", lambda name: "3.10.0")
    monkeypatch.setattr("graphwright.data.formats.picture.can_recognise", lambda: True)
    where = ("--into", tmp_path / "index")
    done = graphwright("index", tmp_path / "docs", *where)
    assert "note: 1 document read by text recognition (OCR): scan.png (page 1)" in done.stderr
    again = graphwright("sync", tmp_path / "docs", *where, "--json")
    assert json.loads(again.stdout)["unchanged"] == 1 and json.loads(again.stdout)["recognised"] == {}
    assert read == ["read"] and "page 1" in graphwright("ask", "Where is Graz?", "--index", where[1]).stdout


def test_sync_address_reads_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    message = "From a@example.org Mon Jan  1 10:00:00 2024\nFrom: a@example.org\nMessage-ID: <{}@b.c>\n\nDinner {}.\n\n"
    Path("team.mbox").write_text("".join(message.format(number, number) for number in (1, 2)), encoding="utf-8")
    sync = ("sync", "mbox:team.mbox", "--into", "ix", "--json")
    assert json.loads(graphwright(*sync).stdout)["added"] == 2
    Path("team.mbox").write_text(message.format(2, 2), encoding="utf-8")
    changes = json.loads(graphwright(*sync).stdout)
    assert (changes["unchanged"], changes["removed"]) == (1, 1)
    shown = graphwright("info", "ix").stdout
    assert re.search(rf"synced from +mbox:{tmp_path}/team.mbox", shown)


@pytest.mark.parametrize(
    ("address", "code", "message"),
    [
        ("ftp://example.org", 2, "unknown scheme; there are az, file, gs, http"),
        ("s3://", 2, "names no bucket"),
        ("mbox:none", 1, "is no mbox file"),
        ("maildir:docs", 1, "is no Maildir"),
        ("urls:docs/rows.csv", 1, "give one address of http or https a line"),
        ("docs/rows.csv", 2, "sync takes a folder or an address"),
        ("http://127.0.0.1:1/sitemap.xml", 1, "which is private"),
    ],
)
def test_sync_wrong_address_leaves_no_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/rows.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    done = graphwright("sync", address, "--into", "ix")
    assert done.returncode == code and message in done.stderr and not Path("ix").exists(), done.stderr


def test_rebuild_asks_before_model_reads_chunks_again(server: LLMServer, docs: Path, tmp_path: Path) -> None:
    index, llm = tmp_path / "ix", ("--llm", "m", "--base-url", server.url)
    assert graphwright("index", docs, "--into", index, *llm).returncode == 0
    sent, smaller = len(server.requests), ("rebuild", "--index", index, "--chunk-tokens", "16", "--overlap", "0")
    refused = graphwright(*smaller, *llm)
    assert refused.returncode == 2 and "add --estimate" in refused.stderr and "nothing was changed" in refused.stderr
    estimated = graphwright(*smaller, "--estimate", "--prices", "1,2", *llm)
    chunks = int(estimated.stdout.splitlines()[1].split()[1])
    assert estimated.returncode == 0 and chunks and len(server.requests) == sent
    done = graphwright(*smaller, "--yes")
    assert done.returncode == 0 and f"{chunks} chunks wait for a language model: graphwright reextract" in done.stderr
    assert sum(info(index)["pending"].values()) == chunks and len(server.requests) == sent
    done = graphwright("rebuild", "--index", index, "--chunk-tokens", "200", "--yes", "--json", *llm)
    result = json.loads(done.stdout)
    assert result["rebuilt"] and not result["pending"] and len(server.requests) == sent  # the replies are cached
