from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import stamps
from harness import Rows, arguments, parse, read_results, update_results, write_page, write_results

MODULE = '"""A module."""\n\nX = 1  # one\n\n\ndef f() -> str:\n    """Say hash."""\n    return "# no comment"\n'


@pytest.fixture(autouse=True)
def nothing_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the folder of a benchmark that another test began."""
    monkeypatch.setattr(stamps, "_work", [])


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one module and one prompt, in the place of graphwright."""
    folder = tmp_path / "package"
    (folder / "serve" / "static").mkdir(parents=True)
    (folder / "module.py").write_text(MODULE)
    (folder / "prompt.txt").write_text("Answer.")
    monkeypatch.setattr(stamps, "package", lambda: folder)
    return folder


def parsed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *more: str) -> Namespace:
    """The options of a benchmark called in a folder."""
    given = ["--work", str(tmp_path / "runs"), "--out", str(tmp_path / "out"), *more]
    monkeypatch.setattr(sys, "argv", ["benchmark", *given])
    return parse(arguments("About.", data=False))


@pytest.mark.parametrize(
    ("file", "text", "same"),
    [
        ("module.py", MODULE.replace("# one", "# uno").replace("Say hash.", "Return a text.\n\n    Always."), True),
        ("module.py", MODULE.replace("\n\n\n", "\n"), True),
        ("module.py", MODULE.replace("X = 1", "X = 2"), False),
        ("module.py", MODULE.replace("# no comment", "# other"), False),
        ("prompt.txt", "Answer!", False),
        ("CARD.md", "About the weights.", True),
        ("serve/static/app.js", "1", True),
        ("__pycache__/module.pyc", "1", True),
        ("new.py", "", False),
    ],
)
def test_state_changes_with_relevant_files(package: Path, file: str, text: str, same: bool) -> None:
    before = stamps.state()
    (package / file).parent.mkdir(exist_ok=True)
    (package / file).write_text(text)
    assert len(before) == 12
    assert (stamps.state() == before) == same


@pytest.mark.parametrize("file", ["serve/routes.py", "cli/app.py", "adapters/langchain.py", "__main__.py"])
def test_outer_rooms_are_not_in_engine_state(package: Path, file: str) -> None:
    before, whole = stamps.state("quality.py"), stamps.state("serve.py")
    (package / file).parent.mkdir(exist_ok=True)
    (package / file).write_text("X = 1")
    assert stamps.state("quality.py") == before == whole[:12]
    assert stamps.state("serve.py") != whole and stamps.state("serve.py").startswith(f"{before}-")


def test_scripts_running_outer_rooms_are_listed() -> None:
    folder = Path(stamps.__file__).parent
    assert all(any(folder.rglob(f"{name}.py")) for name in stamps.RUN_ALL)
    runs_all = ("graphwright.cli.app", "graphwright.adapters", "graphwright.serve", '"-m", "graphwright"')
    parts = {"attacks": "faults", "fuzzing": "faults", "server_process": "serve"}  # folders and modules by script
    for path in folder.rglob("*.py"):
        if any(call in path.read_text() for call in runs_all) and path.stem != "stamps":
            script = parts.get(path.parent.name, parts.get(path.stem, path.stem))
            assert script in stamps.RUN_ALL, path


def test_docstrings_and_comments_are_ignored() -> None:
    assert stamps.without_comments(MODULE) == 'X = 1\ndef f() -> str:\n    return "# no comment"\n'


def test_package_has_state() -> None:
    names = {path.name for path in stamps._files(stamps.package())}
    assert {"model.onnx", "answer.txt", "registry.py", "__init__.pyi"} <= names
    assert "CARD.md" not in names


def test_results_are_read_without_state(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "out" / "r.json"
    write_results(path, [{"a": 1}], "# Page\n")
    assert read_results(path) == [{"a": 1}]
    assert json.loads(path.read_text())["code"] == {"": [stamps.state()]}
    assert path.with_suffix(".md").read_text() == f"# Page\n\nState of the code: {stamps.state()}.\n"
    assert stamps.states_in(path) == stamps.states_in(path.with_suffix(".md")) == [stamps.state()]


def test_files_without_state_are_unknown(tmp_path: Path) -> None:
    for name, text in (("r.json", '{"a": {"x": 1}}'), ("r.md", "# Page\n"), ("list.json", "[1]")):
        (tmp_path / name).write_text(text)
        assert stamps.states_in(tmp_path / name) == ["unknown"]
    assert read_results(tmp_path / "r.json") == {"a": {"x": 1}}
    assert read_results(tmp_path / "none.json") == {}


def test_stamp_parts_keep_their_states(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"a": {"x": [1], "y": [2]}, "b": {"x": [3]}, "cores": 2}')
    first = stamps.state()
    results = update_results(path, ["a", "y"], [4], lambda results: f"# {len(results)}", order=["y", "x"])
    assert results == {"a": {"y": [4], "x": [1]}, "b": {"x": [3]}, "cores": 2}
    code, _ = stamps.read_stamped(path)
    assert code == {"a > y": [first], "a > x": ["unknown"], "b > x": ["unknown"]}
    assert path.with_suffix(".md").read_text() == f"# 3\n\nStates of the code: unknown, {first}.\n"

    (package / "module.py").write_text("X = 3")
    update_results(path, ["b", "x"], [5])
    assert stamps.states_in(path) == ["unknown", first, stamps.state()]
    update_results(path, ["a"], {"x": [0]})
    assert stamps.states_in(path) == [stamps.state()]
    assert stamps.states_of(path, "a", "x") == [stamps.state()]


def test_nested_parts_inherit_state(package: Path, tmp_path: Path) -> None:
    path, first = tmp_path / "r.json", stamps.state()
    write_results(path, {"a": {"x": [1], "y": [1]}})
    (package / "prompt.txt").write_text("Answer now.")
    update_results(path, ["a", "x"], [2])
    assert stamps.read_stamped(path)[0] == {"a > x": [stamps.state()], "a > y": [first]}


def test_rows_of_other_state_are_not_used(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, first = parsed(monkeypatch, tmp_path), stamps.state()
    assert options.work == options.fetched / first
    Rows(options.work / "rows.jsonl", "id").add({"id": 1})
    assert (1,) in Rows(parsed(monkeypatch, tmp_path).work / "rows.jsonl", "id")

    (package / "module.py").write_text("X = 3")
    second = stamps.state()
    assert (1,) not in Rows(parsed(monkeypatch, tmp_path).work / "rows.jsonl", "id")
    write_results(tmp_path / "r.json", {})
    assert stamps.states_in(tmp_path / "r.json") == [second]

    older = parsed(monkeypatch, tmp_path, "--state", first)
    assert (1,) in Rows(older.work / "rows.jsonl", "id")
    write_results(tmp_path / "r.json", {})
    assert stamps.states_in(tmp_path / "r.json") == [first, second]


def test_state_without_rows_raises(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed(monkeypatch, tmp_path)
    with pytest.raises(SystemExit, match=f"nothing of the state 0123.*{stamps.state()}"):
        parsed(monkeypatch, tmp_path, "--state", "0123")


def test_concurrent_writers_lose_no_part(tmp_path: Path) -> None:
    """Each of two processes writes 12 parts of one file at the same time."""
    code = (
        "import sys; from pathlib import Path; from harness import update_results\n"
        "import stamps; stamps.state = lambda: 'abc'\n"
        "for n in range(12):\n"
        "    update_results(Path(sys.argv[1]), [sys.argv[2], str(n)], [n], lambda results: f'# {len(results)}')"
    )
    path = tmp_path / "r.json"
    folders = [Path(stamps.__file__).parent, stamps.package().parent]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), name], env=environment) for name in "ab"]
    assert [process.wait() for process in running] == [0] * 2
    assert {name: len(of) for name, of in read_results(path).items()} == dict.fromkeys("ab", 12)
    assert len(stamps.read_stamped(path)[0]) == 24
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["r.json", "r.md"]


def test_pages_name_their_states(tmp_path: Path) -> None:
    write_page(tmp_path / "p.md", "# P", ["abc", "def"])
    assert stamps.states_in(tmp_path / "p.md") == ["abc", "def"]
    assert [path.name for path in tmp_path.iterdir()] == ["p.md"]
