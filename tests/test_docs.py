"""Run the code of the README and of docs/, block by block, and compare links, tables and names with the repository."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import inspect
import io
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.cli.command import graphwright
from tests.cli.test_experiments import LEARNED, TRIPLES, write
from tests.cli.test_indexing import model
from tests.data.formats.made import page_picture
from tests.llm_server import LLMServer
from tests.shared import CORPUS, corpus_index
from tests.test_layers import ORDER

import graphwright as package
from graphwright import Evidence, Graph, Rerank, ShortestPaths, evaluate, generate, learn, models, operators, start
from graphwright.evaluate import MEASURES
from graphwright.generate.contexts import CONTEXT_PASSAGES
from graphwright.methods.papers.lego import EXTRACTIONS, INSTANCES, PRUNINGS, RETRIEVALS, cell, scorer
from graphwright.methods.registry import METHODS, make_method
from graphwright.operators import Composed, Operator, Run
from graphwright.search import Facts
from graphwright.serve.feedback import Feedback, FeedbackBody, Quote

ROOT = Path(__file__).parents[1]
DOCS = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "frameworks")
PAGES = [ROOT / "README.md", *DOCS]
OTHERS = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]  # without code that runs
ADDRESS = "http://localhost:11434/v1"  # stands for the server of the test
STORAGE = "s3://bucket"  # stands for a folder of the test
ELSEWHERE = ("pip", "python", "pytest", "ruff", "mypy", "bash", ".")  # commands of a clone; CI runs them
BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?"
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```)?",
    re.S | re.M,
)
Outputs = list[str]


def name_of(page: Path) -> str:
    """Return a page's path below docs/, or its name at the root, without its suffix."""
    return page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


# --- The code of each page, in its order, in a folder of its own; tests/serve/test_docs.py runs that of docs/server.md


@dataclass(frozen=True)
class Runner:
    """Runs the blocks of a page in the current folder; `outputs` are those of its commands and Python blocks."""

    address: str
    outputs: Outputs
    names: dict[str, Any]

    def run(self, block: re.Match[str]) -> None:
        code = block["code"].replace(ADDRESS, self.address).replace(STORAGE, f"{Path.cwd().as_uri()}/storage")
        if block["file"]:
            Path(block["file"]).parent.mkdir(parents=True, exist_ok=True)
            Path(block["file"]).write_text(code, encoding="utf-8")
        elif block["language"] == "python":
            self._python(code, block["output"])
        elif block["language"] == "sh":
            for line in code.splitlines():
                self._command(line)
        else:
            assert block["language"] in ("text", "sql"), f"a block of {block['language']!r} is not run: name its file"

    def _python(self, code: str, output: str | None) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "<docs>", "exec", dont_inherit=True), self.names)
        self.outputs.append(printed.getvalue())
        if output is not None:
            options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert doctest.OutputChecker().check_output(output, printed.getvalue(), options), printed.getvalue()

    def _command(self, line: str) -> None:
        words = shlex.split(line, comments=True)
        if not words or words[0] in ELSEWHERE:
            return
        if words[0] != "graphwright":
            subprocess.run(["bash", "-c", line], check=True)
            return
        if words[1] == "train" and not importlib.util.find_spec("torch"):
            pytest.skip("torch is not installed")
        if words[1] in ("push", "pull") and not importlib.util.find_spec("obstore"):
            pytest.skip("obstore is not installed")
        with mock.patch("sys.stdin", io.StringIO()):  # a conversation ends at once
            done = graphwright(*words[1:])
        # The scripted model follows no schema but its own, and the doctor reports it.
        assert done.returncode == 0 or (words[1] == "doctor" and "schema" in done.stdout), done.stderr
        self.outputs.append(done.stdout)


def readme_inputs() -> None:
    Path("docs").mkdir()
    shutil.copy(ROOT / "docs" / "index-lifecycle.md", "docs")
    question = {"id": "1", "question": "What does verify do?", "gold_ids": ["index-lifecycle.md"]}
    Path("questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")


def cli_inputs() -> None:
    Path("docs").mkdir()
    for row in CORPUS:
        Path("docs", f"{row['id']}.txt").write_text(f"{row['title']}\n\n{row['text']}", encoding="utf-8")


def lifecycle_inputs() -> None:
    cli_inputs()
    Path("docs").rename("notes")
    Path("notes", "lotharingia.txt").write_text("Lotharingia\n\nA kingdom in the west of Europe.", encoding="utf-8")


def evaluate_inputs() -> None:
    data_inputs()
    rivers = {
        "mur.txt": "The Mur flows through Graz.",
        "drava.txt": "The Mur joins the Drava.",
        "history.txt": "Abbey.",
    }
    for folder in ("docs", "musique"):
        Path(folder).mkdir()
    for name, text in rivers.items():
        Path("docs", name).write_text(text, encoding="utf-8")
    write(Path("musique/corpus.jsonl"), [{"id": name, "text": text} for name, text in rivers.items()])
    Path("musique/questions.jsonl").write_text(next(blocks("docs/evaluate.md"))["code"], encoding="utf-8")
    assert graphwright("index", "docs", "--into", "my-index").returncode == 0
    with package.Index.open("my-index") as index, contextlib.closing(Feedback(Path("data"))) as feedback:
        quotes, answers = (Quote(document="mur.txt", quote=rivers["mur.txt"]),), ("the Mur",)
        question = "What flows through Graz?"
        said = FeedbackBody(question=question, verdict="helpful", answers=answers, quotes=quotes)
        feedback.add(index, said, "Ida")


def data_inputs() -> None:
    context = [["Mur", ["The Mur flows through Graz."]], ["Drava", ["The Drava is longer."]]]
    record = {"_id": "1", "question": "What flows through Graz?", "answer": "the Mur", "type": "bridge"}
    record |= {"context": context, "supporting_facts": [["Mur", 0]]}
    Path("hotpot_dev_distractor_v1.json").write_text(json.dumps([record]), encoding="utf-8")


def sources_inputs() -> None:
    pytest.importorskip("obstore")
    lifecycle_inputs()
    Path("storage").mkdir()
    Path("notes").rename("storage/reports")
    mail = "From a@example.org Mon Jan  1 10:00:00 2024\nFrom: a@example.org\nMessage-ID: <1@example.org>\n\nDinner.\n"
    Path("team.mbox").write_text(mail, encoding="utf-8")


def training_inputs() -> None:
    Path("kb.tsv").write_text("".join("\t".join(row) + "\n" for row in TRIPLES), encoding="utf-8")
    write(Path("questions.jsonl"), LEARNED)


def scans_inputs() -> None:
    pytest.importorskip("rapidocr")
    Path("scans").mkdir()
    page_picture("Ernst Haber repaired the crane on 7 May 2024.").save("scans/crane.png")


INPUTS: dict[str, Callable[[], None]] = {
    "README": readme_inputs,
    "cli": cli_inputs,
    "evaluate": evaluate_inputs,
    "guides/scans": scans_inputs,
    "object-storage": lifecycle_inputs,
    "sources": sources_inputs,
    "training": training_inputs,
}


def check_lifecycle(outputs: Outputs) -> None:
    count = 3  # texts that the page writes
    assert f"{count} added" in outputs[0] and "Erstein" in outputs[1]
    assert f"1 added, 1 replaced, {count - 2} unchanged, 1 removed" in outputs[2]
    assert ["chunks", str(count), str(count)] in map(str.split, outputs[5].splitlines())
    assert "hours" in outputs[5] and f"{count} chunks read by the model" in outputs[7]
    assert "It was founded [1]" in outputs[9] and "It was founded" not in outputs[10]
    assert outputs[11].startswith("rebuilt") and outputs[13].startswith("rebuilt")
    assert "1 triple" in outputs[14] and outputs[15].startswith("rebuilt")
    assert "Erstein" in outputs[16] and Path("graph.graphml").stat().st_size > 1000
    assert "removed 1 document" in outputs[19]
    assert "no problems" in outputs[20] and "no problems" in outputs[21]


def check_sources(outputs: Outputs) -> None:
    added, mail, again, answer, _ = outputs
    count = int(added.split()[0])
    assert count > 2 and mail.startswith("1 added") and again.startswith(f"{count} unchanged") and "[1]" in answer


def check_evaluate(outputs: Outputs) -> None:
    def measured(run: str) -> dict[str, Any]:
        return dict(json.loads(Path("runs", run, "summary.json").read_text(encoding="utf-8"))["methods"])

    assert list(measured("mine")) == ["multihop", "bubblerag", "vector"] and Path("runs/mine/report.md").exists()
    assert list(measured("own")) == ["vector", "wide", "reranked"]
    assert list(measured("planned")) == ["vector", "wide", "local", "short"]
    assert [json.loads(output)["gold_ids"] for output in outputs if '"verdict"' in output] == [["mur.txt"]]
    done = graphwright("evaluate", "runs/mine/experiment.toml", "--index", "my-index", "--out", "runs/again")
    assert done.returncode == 0, done.stderr
    again, first = measured("again"), measured("mine")
    assert [again[name]["metrics"] for name in first] == [first[name]["metrics"] for name in first]


def check_install(outputs: Outputs) -> None:
    *_, shown = outputs
    assert "200 passages" in shown and "[1] p" in shown
    questions = (
        "What river flows through the city Kevin Durant played for",
        "In what county is the city where Harris W.",
    )
    for question, answer in zip(questions, ("North Canadian River", "DuPage County, Illinois"), strict=True):
        assert answer in shown.partition(f"\n\n{question}")[2].partition("\n\n")[0]


CHECKS: dict[str, Callable[[Outputs], None]] = {
    "index-lifecycle": check_lifecycle,
    "evaluate": check_evaluate,
    "sources": check_sources,
    "start/install": check_install,
}


def blocks(page: str) -> Iterator[re.Match[str]]:
    return BLOCK.finditer(text_of(page))


ELSEWHERE_RUN = ("server", "notebooks/")  # by tests/serve/test_docs.py and tests/test_notebooks.py


@pytest.mark.parametrize("page", [p for p in PAGES if not name_of(p).startswith(ELSEWHERE_RUN)], ids=name_of)
def test_page_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    INPUTS.get(name_of(page), lambda: None)()
    with LLMServer(model) as server:
        runner = Runner(server.url, [], {"__name__": "docs"})
        for block in blocks(str(page.relative_to(ROOT))):
            runner.run(block)
    CHECKS.get(name_of(page), lambda outputs: None)(runner.outputs)


# --- References to files, tests, scripts and names


@pytest.mark.parametrize("page", [*PAGES, *OTHERS, ROOT / "CHANGELOG.md"], ids=name_of)
def test_page_links_lead_to_files_and_headings(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in headings(target), link


def headings(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=name_of)
def test_page_tests_and_scripts_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text):
        assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"
    for command in re.findall(r"python ((?:benchmarks|scripts)/[^`\n]+)", text):
        script, *words = shlex.split(command, comments=True)
        source = (ROOT / script).read_text(encoding="utf-8") + text_of("benchmarks/harness.py")
        for option in (word for word in words if word.startswith("--")):
            assert f'"{option}"' in source, f"{script} has no {option}"
    assert not re.search(r"/(?:work|home|root|tmp)/", text)


def test_readme_marks_both_commands() -> None:
    text = text_of("README.md")
    assert re.search(r"<!-- demo -->\n```sh\npip install \. && graphwright demo\n", text)
    assert re.search(r"<!-- tests -->\n```sh\npip install -e .* && pytest\n", text)
    assert len(text.splitlines()) <= 150


# --- docs/datamodel.md and docs/methods.md against the operators and methods of the package

BASES = {"Both", "Composite", "Cut", "Keep", "Operator", "Ranker", "Then"}


@cache
def public_operators() -> dict[str, type[Operator]]:
    values = {name: getattr(room, name) for room in (operators, generate, learn) for name in room.__all__}
    return {name: value for name, value in values.items() if inspect.isclass(value) and issubclass(value, Operator)}


def rows_of_operators() -> dict[str, tuple[list[str], str, str]]:
    rows = re.findall(r"^\| `(\w+)\((.*?)\)` \| ([^|]*) \| ([^|]*) \| .* \|$", text_of("docs/datamodel.md"), re.M)
    return {
        name: (re.findall(r"\w+", arguments), needs.strip(), gives.strip()) for name, arguments, needs, gives in rows
    }


def test_data_model_lists_every_operator() -> None:
    text = text_of("docs/datamodel.md")
    assert {name for name in public_operators() if f"`{name}(" not in text} <= BASES
    assert set(rows_of_operators()) <= set(public_operators())


@pytest.mark.parametrize("name", sorted(rows_of_operators()))
def test_data_model_arguments_match_code(name: str) -> None:
    operator, (arguments, needs, gives) = public_operators()[name], rows_of_operators()[name]
    parameters = inspect.signature(operator).parameters
    if not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters.values()):
        assert set(arguments) <= set(parameters)
    for words, declared in ((needs, operator.needs), (gives, operator.gives)):
        if isinstance(declared, tuple):  # that of a composite follows from its parts
            assert tuple(filter(None, words.replace(" or ", "|").split(", "))) == declared


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("Graph", Graph.from_triples([("a", "b", "c")])),
        ("Evidence", Evidence.of_nodes([])),
        ("Run", Run()),
        ("Records and facts", Facts.of_rows([{"a": "b"}], "rows")),
    ],
    ids=["graph", "evidence", "run", "facts"],
)
def test_data_model_names_members_that_exist(section: str, value: object) -> None:
    page = text_of("docs/datamodel.md").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", page, re.M)
    names = [name for cell in cells for name in re.findall(r"`(?:\w+\.|\.)?(\w+)[^`]*`", cell) if name != "len"]
    assert names and not [name for name in names if not hasattr(value, name)]


def test_map_of_code_names_every_room_and_existing_modules() -> None:
    source, rooms = Path(package.__file__).parent, set[str]()
    section = text_of("docs/datamodel.md").partition("\n## Map of the code\n")[2]
    for line in re.findall(r"^\| (`.*)\|$", section, re.M):
        named, _, modules = (re.findall(r"`([\w.]+)`", cell) for cell in line.split("|"))
        rooms.update(named)
        assert not [name for name in modules if not (source / named[0] / name).is_file()], line
    assert rooms == {*ORDER} - {"__main__"}


@pytest.mark.parametrize("page", DOCS, ids=name_of)
def test_page_names_are_public(page: Path) -> None:
    rooms = (
        package,
        operators,
        generate,
        learn,
        models,
        evaluate,
        importlib.import_module("graphwright.data"),
        importlib.import_module("graphwright.extract"),
        importlib.import_module("graphwright.search"),
        importlib.import_module("graphwright.store"),
    )
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for code in re.findall(r"`([^`\n]+)`", text):
        for name in re.findall(r"(?<![\w.])([A-Z][a-z]\w+)\(", code):
            assert any(hasattr(room, name) for room in rooms) or name in CLASSES, f"{name} in {code}"


CLASSES = {
    "Passage",
    "Citation",
    "Method",
    "Summaries",
    "SummaryTree",
    "WrittenSummaries",
    "WrittenSummaryTree",
}  # values that operators return or take


def test_methods_page_lists_every_method() -> None:
    table = text_of("docs/methods.md").partition("\n## ")[0]
    families = ("lego-", "lightrag-", "graphrag-")
    missing = [name for name in METHODS if f"`{name}`" not in table and not name.startswith(families)]
    assert not missing
    for name in re.findall(r"^\| `([a-z][\w-]+)`", table, re.M):
        assert name in METHODS


def published() -> list[str]:
    """The methods that carry the name of a paper."""
    return [name for name, method in METHODS.items() if ".papers." in getattr(method.build, "__module__", "")]


def test_methods_page_states_deviations() -> None:
    section = (
        text_of("docs/methods.md").partition("## Published methods, and where they deviate")[2].partition("\n## ")[0]
    )
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in section.splitlines() if "| `" in line]
    rows = [row for row in rows if row[0] != "method"]
    assert all(len(row) == 4 and all(row) for row in rows)
    listed = [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]
    assert sorted(listed) == sorted(published())


@pytest.mark.parametrize("name", published())
def test_published_methods_give_equal_passage_counts(name: str) -> None:
    assert METHODS[name].options["top_k"] == CONTEXT_PASSAGES


def test_evaluation_page_metrics_exist() -> None:
    page = text_of("docs/evaluate.md")
    table = page[page.index("| documents | `recall") : page.index("| a judge, with")]
    for name in re.findall(r"`([^`]+)`", table.replace("`bench`", "")):
        assert name in MEASURES, name


# --- docs/lego.md: its expressions are those of the named cells and systems

LEGO = text_of("docs/lego.md")


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """The names that the code of the page defines."""
    defined: dict[str, Any] = {}
    for block in blocks("docs/lego.md"):
        if block["language"] == "python":
            exec(compile(block["code"], "docs/lego.md", "exec", dont_inherit=True), defined)
    return defined


def expressions() -> list[tuple[str, str]]:
    rows = []
    for line in LEGO.splitlines():
        cells = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and re.fullmatch(r"`[A-Za-z(].*\)(?: % \d+)?`", cells[2]):
            rows.append((cells[1].strip("`"), cells[2].strip("`").replace("\\|", "|")))
    return rows


def test_expression_tables_parse() -> None:
    assert len(expressions()) >= 30


@pytest.mark.parametrize(("name", "code"), expressions())
def test_page_expression_runs(name: str, code: str, known: dict[str, Any]) -> None:
    operator = eval(code, known)
    assert isinstance(operator, Operator)
    state = operator(start("Who starred in a film that Mann directed?", known["graph"], entities=["Mann"]))
    assert state.evidence is None or len(state.evidence) or "PPR" not in name


@pytest.mark.parametrize(
    ("name", "code"),
    [row for row in expressions() if re.match("[A-Z]|none|communities", row[0]) and " + " not in row[0]],
)
def test_named_table_cells_resolve(name: str, code: str, known: dict[str, Any]) -> None:
    operator, models = eval(code, known), (known["models"], known["llms"])
    kind = name.partition("-")[0]
    if name in EXTRACTIONS:
        after = ShortestPaths()
        assert cell(name, after, *models) == (after if name == "none" else operator >> after)
    elif kind in PRUNINGS:
        assert cell(f"PPR+{name}", "SPR", *models) == cell("PPR", operator >> cell("none", "SPR"))
    elif kind in RETRIEVALS:
        assert cell("none", name, *models) == operator
    else:
        pytest.fail(f"{name} is no row or column")


SYSTEMS = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| `(.+)` \|$", LEGO, re.M)


@pytest.mark.parametrize(("name", "code"), SYSTEMS)
def test_map_systems_belong_to_methods(name: str, code: str, known: dict[str, Any]) -> None:
    bare = replace(corpus_index().snapshot, encoder=known["E"], names=None, triples=None)
    assert repr(eval(code, known)) in repr(make_method(name, bare).pipeline)


@pytest.mark.parametrize("name", ["lego-2", "lego-12", "kelp", "grag-m"])
def test_stored_vectors_score_paths(name: str) -> None:
    index = corpus_index().snapshot
    assert repr(Rerank(scorer(index))) in repr(make_method(name, index).pipeline) and isinstance(
        scorer(index), Composed
    )
    assert "Composed" not in repr(make_method(name, replace(index, names=None, triples=None)).pipeline)


def test_map_lists_every_name() -> None:
    for name in (*EXTRACTIONS, *RETRIEVALS):
        assert re.search(rf"\| `{re.escape(name)}(?:-[A-Z0-9]+)?` \|", LEGO), name
    for name in PRUNINGS:
        assert f"| `{name}-E` |" in LEGO
    for name in ("rog", "gsr", "kelp", "tog", "grag-m", "gcr"):
        assert name in METHODS and f"| `{name}` |" in LEGO


def test_instance_table_matches_code() -> None:
    columns = ["SPR", "OSAR-E", "OSAR-L", "ISAR-E", "ISAR-L"]
    for extraction in ("PPR", "PPR+EP-E", "PPR+EP-L"):
        line = next(line for line in LEGO.splitlines() if line.startswith(f"| `{extraction}` | 1"))
        for column, number in zip(columns, re.findall(r"\d+", line.partition("|")[2].partition("|")[2]), strict=True):
            assert INSTANCES[int(number)] == (extraction, column)
