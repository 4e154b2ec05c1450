"""Run the code of a framework's page in the documentation."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "frameworks"
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```)?", re.S | re.M)


def run_page(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the Python blocks of a page in turn, in an empty folder, and compare what they print with the page."""
    monkeypatch.chdir(folder)
    blocks = list(_BLOCK.finditer((PAGES / f"{name}.md").read_text(encoding="utf-8")))
    assert any(block["output"] for block in blocks)
    names: dict[str, object] = {}
    for block in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block["code"], name, "exec", dont_inherit=True), names)
        assert printed.getvalue() == (block["output"] or "")
