"""The map in docs/lego.md: its code runs, its expressions are what the named cells are made of."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.toys import corpus_index

from graphwright import Composed, Operator, Rerank, ShortestPaths, start
from graphwright.methods.lego import EXTRACTIONS, INSTANCES, PRUNINGS, RETRIEVALS, cell, scorer
from graphwright.methods.registry import METHODS, pipeline

PAGE = Path(__file__).parents[1] / "docs" / "lego.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """What the page's code has defined when all of it has run."""
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    assert len(blocks) == 4
    defined: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), defined)
    return defined


def expressions() -> list[tuple[str, str]]:
    found = []
    for line in TEXT.splitlines():
        cells = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and re.fullmatch(r"`[A-Za-z(].*\)(?: % \d+)?`", cells[2]):
            found.append((cells[1].strip("`"), cells[2].strip("`").replace("\\|", "|")))
    return found


def test_the_tables_are_read() -> None:
    assert len(expressions()) >= 30


@pytest.mark.parametrize(("name", "code"), expressions())
def test_an_expression_is_an_operator_that_runs(name: str, code: str, known: dict[str, Any]) -> None:
    operator = eval(code, known)
    assert isinstance(operator, Operator)
    state = operator(start("Who starred in a film that Mann directed?", known["graph"], entities=["Mann"]))
    assert state.evidence is None or len(state.evidence) or "PPR" not in name


@pytest.mark.parametrize(
    ("name", "code"),
    [row for row in expressions() if re.match("[A-Z]|none|communities", row[0]) and " + " not in row[0]],
)
def test_a_named_row_or_column_is_what_its_name_makes(name: str, code: str, known: dict[str, Any]) -> None:
    operator, models = eval(code, known), known["models"]
    kind = name.partition("-")[0]
    if name in EXTRACTIONS:
        after = ShortestPaths()
        assert cell(name, after, models) == (after if name == "none" else operator >> after)
    elif kind in PRUNINGS:
        assert cell(f"PPR+{name}", "SPR", models) == cell("PPR", operator >> cell("none", "SPR"))
    elif kind in RETRIEVALS:
        assert cell("none", name, models) == operator
    else:
        pytest.fail(f"nothing is called {name}")


SYSTEMS = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| `(.+)` \|$", TEXT, re.M)


@pytest.mark.parametrize(("name", "code"), SYSTEMS)
def test_a_system_is_what_its_method_runs(name: str, code: str, known: dict[str, Any]) -> None:
    bare = replace(corpus_index().snapshot, encoder=known["E"], names=None, triples=None)
    assert repr(eval(code, known)) in repr(pipeline(name, bare))


@pytest.mark.parametrize("name", ["lego-2", "lego-12", "kelp", "grag-m"])
def test_vectors_that_an_index_has_are_what_paths_are_scored_by(name: str) -> None:
    index = corpus_index().snapshot
    assert repr(Rerank(scorer(index))) in repr(pipeline(name, index)) and isinstance(scorer(index), Composed)
    assert "Composed" not in repr(pipeline(name, replace(index, names=None, triples=None)))


def test_every_name_is_on_the_map() -> None:
    for name in (*EXTRACTIONS, *RETRIEVALS):
        assert re.search(rf"\| `{re.escape(name)}(?:-[A-Z0-9]+)?` \|", TEXT), name
    for name in PRUNINGS:
        assert f"| `{name}-E` |" in TEXT
    for name in ("rog", "gsr", "kelp", "tog", "grag-m"):
        assert name in METHODS and f"| `{name}` |" in TEXT


def test_the_table_of_instances_is_that_of_the_code() -> None:
    rows = {"PPR": "`PPR`", "E": "`PPR+TP-E`", "L": "`PPR+TP-L`"}
    columns = ["SPR", "OSAR-E", "OSAR-L", "ISAR-E", "ISAR-L"]
    for extraction, name in rows.items():
        line = next(line for line in TEXT.splitlines() if line.startswith(f"| {name} | 1"))
        for column, number in zip(columns, re.findall(r"\d+", line.partition("|")[2].partition("|")[2]), strict=True):
            made = INSTANCES[int(number)]
            assert made.extraction == extraction
            assert column == (f"{made.retrieval}-{made.judge}" if made.judge else made.retrieval)


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert link.startswith("http") or (PAGE.parent / link).exists(), link
