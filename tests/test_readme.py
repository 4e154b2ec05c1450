"""The README's Python runs as it stands, block after block, in an empty folder with a few documents."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [b for b in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S) if "import" in b]
    assert len(blocks) == 3
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "week.md").write_text("# A week\n\nThe command verify looks for damage to the files.\n")
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), known)
    printed = capsys.readouterr().out
    assert "The command verify looks for damage to the files." in printed
    assert "['Lothair II mother Ermengarde']" in printed


def test_its_two_commands_are_marked_for_ci_and_its_links_lead_somewhere() -> None:
    text = README.read_text(encoding="utf-8")
    assert re.search(r"<!-- demo -->\n```sh\npip install \. && graphwright demo\n", text)
    assert re.search(r"<!-- tests -->\n```sh\npip install -e .* && pytest\n", text)
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert link.startswith("http") or (README.parent / link).exists(), link
