"""The short form of benchmarks/attacks/fuzz.py: at least fifty edited inputs for each target."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.exists(), reason="the benchmarks are not here")
# fmt: off
QUICK = (
    "txt", "md", "html", "jsonl", "csv", "ipynb", "eml", "docx", "questions", "openie", "settings", "plan",
    "labels", "structured", "reply", "stream", "options", "terminal", "extra-body", "server-file", "vectors",
    "retriever", "hotpotqa", "musique", "rog", "beir", "ours", "hipporag", "metaqa", "mail-mbox",
)
# fmt: on
# fmt: off
SLOW = (
    "json", "tsv", "rst", "adoc", "py", "pdf", "odt", "epub", "zip", "import-tsv", "import-csv", "import-nt",
    "graphml", "gexf", "gml", "graph-questions", "triples", "question", "command", "openie-run", "rows", "manifest",
    "get", "http", "rdf-ttl", "rdf-trig", "rdf-nq", "rdf-rdf", "rdf-jsonld", "node-link", "apoc-json", "neo4j-csv",
    "graphrag", "graphrag-parquet", "lightrag", "lightrag-vectors", "networkx", "post-ask",
    "post-compare", "post-chat", "post-estimate", "post-mcp", "post-files", "pptx", "pptx-presentation",
    "pptx-notesSlide", "xlsx", "xlsx-workbook", "xlsx-styles", "mail-eml", "tar", "tar-files", "zip-files",
)
# fmt: on


def fuzzed(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    from attacks import fuzz as fault_fuzz
    from fuzzing.targets import TARGETS

    assert set(TARGETS) == {*QUICK, *SLOW}
    tried, failures = fault_fuzz.fuzz(TARGETS[name], folder, seconds, seed=7)
    assert not failures and tried >= 50
    assert name in SLOW or list(folder.glob("*.input"))  # archives have few outcomes that differ


@pytest.mark.parametrize("name", QUICK)
def test_edited_input_gives_result_or_named_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fuzzed(name, tmp_path, monkeypatch, 0.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of parts without an end
@pytest.mark.parametrize("name", SLOW)
def test_heavily_edited_input_gives_result_or_named_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fuzzed(name, tmp_path, monkeypatch, 0.4)


def test_fuzz_target_reads_its_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    from fuzzing.targets import TARGETS

    refused = {"ipynb", "reply"}  # their second inputs are errors
    outcomes = {name: TARGETS[name].check(TARGETS[name].inputs()[0]) for name in QUICK if name not in refused}
    assert not {name: outcome for name, outcome in outcomes.items() if "Error" in outcome}


def test_fuzz_failure_is_shortened_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    from attacks import fuzz as fault_fuzz
    from fuzzing.targets import Target

    def broken(data: bytes) -> str:
        if b"!" in data:
            raise KeyError("broken")
        return ""

    _, failures = fault_fuzz.fuzz(Target("broken", broken, (b"abc" * 20,), (b"!", b"?")), tmp_path, 1.0, seed=1)
    assert failures and "KeyError: 'broken'" in failures[0] and len(list(tmp_path.glob("*.failed"))) == 1


def test_fuzz_options_combine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    monkeypatch.setattr(sys, "argv", ["faults.py", "--help"])
    import faults

    with pytest.raises(SystemExit) as end:
        faults.main()
    assert end.value.code == 0 and "fuzz" in faults.PARTS
