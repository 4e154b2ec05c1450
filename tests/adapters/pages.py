"""Run the code of a framework's page in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "frameworks"


def run_page(name: str, index: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the Python blocks of a page in turn, in a folder that has the index as `my-index`."""
    (folder / "my-index").symlink_to(index)
    monkeypatch.chdir(folder)
    blocks = re.findall(r"^```python\n(.*?)^```", (PAGES / f"{name}.md").read_text(encoding="utf-8"), re.S | re.M)
    assert blocks
    names: dict[str, object] = {}
    for code in blocks:
        exec(compile(code, name, "exec", dont_inherit=True), names)
