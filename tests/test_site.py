"""The documentation site: its pages are complete, its list for language models is current, its files agree."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import graphwright

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """The script that builds the site."""
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "scripts" / "build_site.py")
    assert spec and spec.loader
    module = sys.modules["build_site"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_navigation_lists_every_page_once(site: ModuleType) -> None:
    named = [page for _, pages in site.navigation() for page in pages]
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert len(named) == len(set(named)) and set(pages) <= set(named)
    rooms = {f"reference/graphwright.{room}.md" for room in site.ROOMS} | {"reference/graphwright.md"}
    assert set(named) - set(pages) == rooms | {"reference/commands.md"} | {
        page for page in named if (ROOT / page).is_file()
    }


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: page.stem)
def test_page_has_the_layout_that_the_site_reads(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    assert not re.findall(r"^ {1,3}(?:[-|]|\d+\.) .*", text, re.M), "indent what is in an item by four"
    assert not re.findall(r"^ *<!-- results:.*-->.+<!-- / -->", text, re.M), (
        "a comment at the start of a line ends a paragraph"
    )


def test_page_list_for_language_models_is_current(site: ModuleType) -> None:
    assert (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8") == site.llms(), (
        "run: python scripts/build_site.py --llms"
    )


def test_site_links_lead_to_pages_or_repository(site: ModuleType) -> None:
    places = {"docs/a.md": "a.md", "docs/b/c.md": "b/c.md", "benchmarks/results/r.md": "results/r.md"}
    text = "[a](../a.md#x) [r](../../benchmarks/results/r.md) [s](../../src/x.py) [w](https://x.org) ![p](../../p.png)"
    assert site.adapted(text, "docs/b/c.md", places) == (
        f"[a](../a.md#x) [r](../results/r.md) [s]({site.REPOSITORY}src/x.py) [w](https://x.org) ![p]({site.RAW}p.png)"
    )
    assert site.adapted("```sh\n[a](../a.md)\n```\n", "docs/b/c.md", places) == "```sh\n[a](../a.md)\n```\n"


def test_broken_site_is_reported(site: ModuleType, tmp_path: Path) -> None:
    head = '<link rel="stylesheet" href="https://elsewhere.org/a.css"><script src="b.js"></script>'
    body = '<a href="c/">c</a> <a href="c/#no">n</a> <a href="#here">h</a><p id="here"></p><a href="mailto:a@b.c">m</a>'
    (tmp_path / "index.html").write_text(head + body, encoding="utf-8")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "index.html").write_text('<a href="../d/">d</a>', encoding="utf-8")
    assert sorted(site.broken(tmp_path)) == [
        "c/index.html: ../d/ leads nowhere",
        "index.html: b.js leads nowhere",
        "index.html: c/#no has no such heading",
        "index.html: loads https://elsewhere.org/a.css",
    ]


def test_reference_examples_and_types_are_readable(site: ModuleType) -> None:
    assert site.prose("Add.\n\n>>> 1 + 1\n2\n") == "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n"
    page = site.room_page("graphwright")
    assert "Annotated" not in page and "## VectorSearch" in page


def test_all_files_name_one_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert graphwright.__version__ == version
    assert re.search(rf"^version: {re.escape(version)}$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.stem)
def test_workflows_pin_actions_and_limit_permissions(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert used and all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", name) and " # v" in more for name, more in used)
    assert "permissions:\n  contents: read\n" in text and "pull_request_target" not in text and "write-all" not in text
